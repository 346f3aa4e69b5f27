"""Which launches only some of the values reach that they are given.

In `n = a > 1 ? 256 : 128; if (a > 1) kernel<<<grid, n>>>();` 128 never gets to the launch. What
each condition leaves of each value is not followed: it is enough to see that a launch stands under
a condition with a name in it that another one has, which may have chosen its values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from occlsp.source import statements as st
from occlsp.source.facts import Launch
from occlsp.source.record import changed

_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*\b(?!\s*[(:])")
"""No function's name, member or scope: those are shared by conditions of different things."""


def mark_selected(launches: list[Launch], first: int, text: str, position: int) -> None:
    """Marks the launches from `first` on, which stand at an offset of a body's text."""
    for index in range(first, len(launches)):
        launch = launches[index]
        several = [launch.block.values, launch.dynamic_smem.values]
        if any(len(values or ()) > 1 for values in several) and is_selected(text, position):
            launches[index] = changed(launch, is_selected=True)


def is_selected(text: str, position: int) -> bool:
    """Whether a condition that holds at an offset shares a name with another one before it."""
    try:
        found = st.read(text)
    except (st.Unreadable, RecursionError):
        return True
    conditions = _Conditions(text, position)
    conditions.take(found)
    return not conditions.around.isdisjoint(conditions.beside)


class _Conditions:
    """The names in the conditions before an offset."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.around: set[str] = set()
        """Of those that hold there, or do not."""
        self.beside: set[str] = set()
        """Of all others."""

    def take(self, statements: Sequence[st.Statement]) -> None:
        for statement in statements:
            if statement.start > self.position:
                return
            match statement:
                case st.If():
                    self.condition(statement, statement.condition)
                    self.take([statement.yes, *([statement.no] if statement.no else [])])
                case st.Switch():
                    self.condition(statement, statement.condition)
                    self.take([statement.body])
                case st.Loop():
                    self.take([statement.body])
                case st.Block():
                    self.take(statement.statements)
                case st.Choice():
                    for branch in statement.branches:
                        self.take(branch)
                case st.Simple():
                    self.choices(statement)
                    for inner in statement.lambdas:
                        self.take([inner.body])

    def condition(self, statement: st.Statement, condition: st.Range) -> None:
        names = self.names(*condition)
        is_around = statement.start <= self.position < statement.end
        if not is_around:
            self.beside |= names
        if is_around or _LEAVES.search(self.text, statement.start, statement.end):
            self.around |= names

    def choices(self, statement: st.Simple) -> None:
        """The conditions of `?` in an expression."""
        last = self.text.rfind("?", statement.start, statement.end)
        if last >= 0:
            self.beside |= self.names(statement.start, last)

    def names(self, start: int, end: int) -> set[str]:
        return set(_WORD.findall(self.text, start, end))


_LEAVES = re.compile(r"\b(?:return|break|continue|throw|goto)\b")
