"""What the scanner is at between two tokens, and what it hands on: immutable, but for `Scope`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from occlsp.source.syntax import Condition

Conditions = tuple[Condition, ...]


class Scope:
    """A region in braces; `parent` chains to the root."""

    __slots__ = (
        *("closed", "declaration", "heads", "holds_declarations", "kind", "names", "opening"),
        *("parent", "twins"),
    )

    def __init__(
        self,
        kind: str,
        parent: Scope | None,
        names: tuple[str, ...],
        declaration: int,
        opening: int,
    ) -> None:
        self.kind = kind
        self.holds_declarations = kind in ("root", "namespace", "linkage", "class", "rest")
        """Whether it is no function body and no initialiser."""
        self.parent = parent
        self.names = names
        """Of all enclosing namespaces and classes, its own included."""
        self.heads: tuple[bytes, ...] = () if parent is None else parent.heads
        """Of the class templates around it, its own included."""
        self.declaration = declaration
        self.opening = opening
        self.closed = False
        self.twins: list[Scope] = []

    def same_as(self, other: Scope | None) -> bool:
        """Whether scanning goes on alike from both."""
        mine: Scope | None = self
        while mine is not None and other is not None:
            if mine is other:
                return True
            if (mine.kind, mine.names, mine.heads) != (other.kind, other.names, other.heads):
                return False
            mine, other = mine.parent, other.parent
        return mine is other


class Block(NamedTuple):
    """A function or enumeration: its declaration's start, its braces, and what is around it."""

    declaration: int
    opening: int
    end: int
    names: tuple[str, ...]
    kind: str
    heads: tuple[bytes, ...]
    """Of the class templates around it."""


class Statement(NamedTuple):
    """A declaration without a body that may hold constants."""

    start: int
    end: int
    names: tuple[str, ...]
    heads: tuple[bytes, ...]
    """Of the class templates around it."""


class State(NamedTuple):
    """Where the machine stands between two tokens."""

    scope: Scope
    depth: int
    declaration: int
    blocks: int


state_of: Callable[[tuple[Scope, int, int, int]], State] = partial(tuple.__new__, State)
"""A state of its parts, without the call that names them."""


class Group(NamedTuple):
    """An `#if` that is not closed yet."""

    offset: int
    outer: Conditions
    at_start: State
    texts: tuple[str, ...]
    branch: int
    is_live: bool
    rest_is_dead: bool
    is_guard: bool
    """An include guard, whose condition says nothing."""
    starts_settled: bool
    """Whether it begins between two declarations."""
    is_settled: bool
    """Whether its first branch ends so, too."""
    ends: tuple[State, ...]

    def same_as(self, other: Group) -> bool:
        """Whether scanning goes on alike in both, places aside."""
        return (
            self.texts == other.texts
            and self[4:10] == other[4:10]
            and self.at_start.scope.same_as(other.at_start.scope)
            and len(self.ends) == len(other.ends)
            and all(a.scope.same_as(b.scope) for a, b in zip(self.ends, other.ends, strict=True))
        )


class Checkpoint(NamedTuple):
    """The machine's state between two declarations."""

    scope: Scope
    groups: tuple[Group, ...]
    conditions: Conditions
    seen_directive: bool
