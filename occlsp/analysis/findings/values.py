"""Verdicts on values alone: certain where each that can be fails, else uncertain."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from occlsp.analysis.cases import are_combined
from occlsp.source.facts import Triple, Value, Value3

ERROR_CODES = frozenset({-1, 2**32 - 1})
"""-1, and what `dim3` makes of it."""
Verdict = tuple[str, bool]
"""The message, and whether it is certain."""


def triples(values: Iterable[Value3], problem: Callable[[Triple], str | None]) -> Verdict | None:
    """The verdict on the triples that some values can be; an unknown one is no failure."""
    problems: list[str | None] = []
    for value in values:
        if value.values:
            problems += _problems(_sizes(value.values), problem)
        elif value.min is not None and any(least is not None for least in value.min):
            x, y, z = (1 if least is None else max(1, least) for least in value.min)
            found = problem((x, y, z))
            problems.append(f"at least {found}" if found is not None else None)
        else:
            problems.append(None)
    return _verdict(problems)


def _problems(
    sizes: tuple[Triple, ...], problem: Callable[[Triple], str | None]
) -> list[str | None]:
    """Of each size. Where dimensions are known apart, only what is wrong with one of them by
    itself: no size that has it is fit."""
    found = [problem(size) for size in sizes]
    if not are_combined(sizes):
        return found
    fit = [size for size, wrong in zip(sizes, found, strict=True) if wrong is None]
    known = [{size[axis] for size in fit} for axis in range(3)]
    return [
        wrong if any(size[axis] not in known[axis] for axis in range(3)) else None
        for size, wrong in zip(sizes, found, strict=True)
    ]


def _sizes(triples_: tuple[Triple, ...]) -> tuple[Triple, ...]:
    """Without those that are a function's -1 for "no such size", which callers look for: others
    of the values are sizes."""
    sizes = tuple(triple for triple in triples_ if not ERROR_CODES.intersection(triple))
    return sizes or triples_


def numbers(values: Iterable[Value], problem: Callable[[int], str | None]) -> Verdict | None:
    """As `triples`, for single numbers."""
    problems: list[str | None] = []
    for value in values:
        if value.values:
            problems += [problem(number) for number in value.values]
        elif value.min is not None:
            problems.append(problem(value.min))
        else:
            problems.append(None)
    return _verdict(problems)


def _verdict(problems: list[str | None]) -> Verdict | None:
    bad = [message for message in problems if message is not None]
    if not bad:
        return None
    if len(bad) == len(problems):
        return bad[0], True
    return f"for {len(bad)} of the {len(problems)} values that it can have: {bad[0]}", False
