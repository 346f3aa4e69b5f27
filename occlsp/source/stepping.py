"""What an edit leaves of what is known of a file's declarations, so that the rest is not read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from occlsp.source.syntax import FileSyntax, Function
from occlsp.source.text import common_prefix, common_suffix

if TYPE_CHECKING:
    from occlsp.source.view import Callable_, FileIndex

MOST_STEPS = 50
"""Edits back that are remembered of an index."""


class Step(Struct, frozen=True):
    """From one reading of a file to the next: what stands around a part is as it was."""

    start: int
    end: int
    """The part that was read again, in the new text."""
    old_end: int
    """Where it ended in the old one."""
    functions: int
    """Functions in front of it."""
    behind: int
    """Functions behind it."""
    names: frozenset[str]
    """Of all that was declared in it, or is now."""
    same_macros: bool
    """Whether its `#define`s are those that were there."""


class Since(Struct, frozen=True):
    """The reading before, and the way from it to this one."""

    index: FileIndex
    syntax: FileSyntax
    step: Step

    def says(self, new: bytes, old: bytes, *words: bytes) -> bool:
        """Whether one of some words is, or was, in what differs in a text, or in a declaration that
        this is in."""
        start, end, old_end = self.step.start, self.step.end, self.step.old_end
        now, before = new[start:end], old[start:old_end]
        alike = common_prefix(now, before)
        rest = common_suffix(now, before, min(len(now), len(before)) - alike)
        pieces = (
            _declarations(new, start + alike, start + len(now) - rest),
            _declarations(old, start + alike, start + len(before) - rest),
        )
        return any(word in piece for word in words for piece in pieces)

    def callables(self, functions: Sequence[Function]) -> tuple[list[Callable_], list[Callable_]]:
        """The functions in front of the part and behind it; those behind as they stood before."""
        step = self.step
        known = sorted(
            chain.from_iterable(self.index.functions.values()), key=lambda one: one.function.span
        )
        front = known[: step.functions]
        behind = known[len(known) - step.behind :]
        moved = functions[len(functions) - step.behind :]
        if any(
            one.function.name != function.name
            for one, function in zip(
                (*front, *behind), (*functions[: len(front)], *moved), strict=True
            )
        ):
            return [], []
        return front, behind

    def steps(self) -> tuple[tuple[object, frozenset[str]], ...]:
        """Earlier indexes, with the names of what may have changed since."""
        if self.index.token is None:
            self.index.token = object()
        names = self.step.names
        earlier = [(token, names | known) for token, known in self.index.steps[: MOST_STEPS - 1]]
        return (self.index.token, names), *earlier


def _declarations(text: bytes, start: int, end: int) -> bytes:
    """A part of a text, from the end of the declaration in front of it to that of its last."""
    first = max(text.rfind(mark, 0, start) for mark in (b";", b"{", b"}"))
    ends = [at for mark in (b";", b"{", b"}") if (at := text.find(mark, end)) >= 0]
    return text[max(first, 0) : min(ends, default=len(text)) + 1]
