"""Numbers that calls give together: of `run<4, 1>()` and `run<1, 4>()` none is `run<4, 4>()`.

What is made of such numbers is made of those of one call, one call after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from occlsp.source.numbers import Number

MAX_ROWS = 64
"""Different calls that are told apart."""


class Together(Struct, frozen=True):
    """What a number of several values is, call by call."""

    calls: str
    """Stands for the calls: those of the same can be paired."""
    values: tuple[int, ...]


def rows_of(number: Number) -> Together | None:
    """What a number is call by call, where that tells anything."""
    return number.together if number.values is not None and len(number.values) > 1 else None


def paired(
    left: Number, right: Number, make: Callable[[int, int], int]
) -> tuple[Iterable[int], Together | None]:
    """All that can be made of two numbers of which all values are known."""
    assert left.values is not None
    assert right.values is not None
    if left.together is not None or right.together is not None:
        found = call_by_call((left, right))
        if found is not None:
            made = tuple([make(*row) for row in found[1]])
            return made, Together(found[0], made)
    return {make(x, y) for x in left.values for y in right.values}, None


def is_told_apart(number: Number) -> bool:
    """Whether it is known what a number is in each of some calls."""
    return number.value is not None or rows_of(number) is not None


def call_by_call(numbers: Sequence[Number]) -> tuple[str, list[tuple[int, ...]]] | None:
    """The calls, and what numbers are in each; None where they are not all of the same calls, or
    one value."""
    rows = [rows_of(number) for number in numbers]
    found = [one for one in rows if one is not None]
    if not found or any(one.calls != found[0].calls for one in found):
        return None
    columns: list[Sequence[int]] = []
    for number, one in zip(numbers, rows, strict=True):
        if one is not None:
            columns.append(one.values)
        elif number.value is not None:
            columns.append((number.value,) * len(found[0].values))
        else:
            return None
    return found[0].calls, list(zip(*columns, strict=True))


def either(condition: Number, yes: Number, no: Number) -> Together | None:
    """`condition ? yes : no`, where it is known which it is in which call."""
    found = call_by_call((condition, yes, no))
    return found and Together(
        found[0], tuple([yes if is_so else no for is_so, yes, no in found[1]])
    )


def in_rows(
    place: str, names: Sequence[str], calls: Iterable[tuple[int, ...]]
) -> dict[str, Together]:
    """Numbers by name as calls of what stands at a place give them together."""
    rows = list(dict.fromkeys(calls))
    if not 1 < len(rows) <= MAX_ROWS:
        return {}
    digest = _digest(place, names, rows)
    columns = zip(*rows, strict=True)
    return {name: Together(digest, one) for name, one in zip(names, columns, strict=True)}


def alone(place: str, name: str, number: Number) -> Together | None:
    """A parameter that is one of some values, whatever else its calls give: it is the same one
    wherever it is named."""
    if number.values is None:
        return None
    return Together(_digest(place, (name,), number.values), number.values)


def _digest(place: str, names: Sequence[str], given: Sequence[object]) -> str:
    text = repr((place, names, given))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
