"""Which launches only some of the values reach that they are given.

In `n = a > 1 ? 256 : 128; if (a > 1) kernel<<<grid, n>>>();` 128 never gets to the launch. What
each condition leaves of each value is not followed: it is enough to see that a launch stands under
a condition with a name in it that another one has, which may have chosen its values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from occlsp.source import statements as st
from occlsp.source.facts import Launch

_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*\b(?!\s*[(:])")
"""No function's name, member or scope: those are shared by conditions of different things."""


def mark_selected(launches: list[Launch], first: int, text: str, position: int) -> None:
    """Marks the launches from `first` on, which stand at an offset of a body's text."""
    for index in range(first, len(launches)):
        launch = launches[index]
        several = [launch.block.values, launch.dynamic_smem.values]
        if any(len(values or ()) > 1 for values in several) and is_selected(text, position):
            launches[index] = replace(launch, is_selected=True)


def is_selected(text: str, position: int) -> bool:
    """Whether a condition that holds at an offset shares a name with another one before it."""
    conditions = _conditions(text)
    if conditions is None:
        return True
    around: set[str] = set()
    beside: set[str] = set()
    for condition in conditions:
        if condition.start <= position:
            is_around = position < condition.end
            if not is_around:
                beside |= condition.names
            if is_around or condition.leaves:
                around |= condition.names
    return not around.isdisjoint(beside)


class _Condition(NamedTuple):
    """The names in one condition, and where it may hold, or may not."""

    start: int
    end: int
    names: frozenset[str]
    leaves: bool = False
    """Whether what is behind is come to by it."""


@lru_cache(maxsize=8)
def _conditions(text: str) -> tuple[_Condition, ...] | None:
    """The conditions of a body; None where it is not read."""
    try:
        return tuple(_in_all(text, st.read(text)))
    except (st.Unreadable, RecursionError):
        return None


def _in_all(text: str, statements: Iterable[st.Statement]) -> Iterator[_Condition]:
    for one in statements:
        match one:
            case st.If():
                yield _condition(text, one, one.condition)
                yield from _in_all(text, (one.yes,) if one.no is None else (one.yes, one.no))
            case st.Switch():
                yield _condition(text, one, one.condition)
                yield from _in_all(text, (one.body,))
            case st.Loop():
                yield from _in_all(text, (one.body,))
            case st.Block():
                yield from _in_all(text, one.statements)
            case st.Choice():
                for branch in one.branches:
                    yield from _in_all(text, branch)
            case st.Simple():
                last = text.rfind("?", one.start, one.end)
                if last >= 0:  # it holds nowhere but in the expression
                    yield _Condition(one.start, one.start, _names(text, one.start, last))
                yield from _in_all(text, [inner.body for inner in one.lambdas])


def _condition(text: str, statement: st.Statement, condition: st.Range) -> _Condition:
    leaves = _LEAVES.search(text, statement.start, statement.end) is not None
    return _Condition(statement.start, statement.end, _names(text, *condition), leaves)


def _names(text: str, start: int, end: int) -> frozenset[str]:
    return frozenset(_WORD.findall(text, start, end))


_LEAVES = re.compile(r"\b(?:return|break|continue|throw|goto)\b")
