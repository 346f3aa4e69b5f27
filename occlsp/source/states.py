"""What the scanner is at between two tokens, and what it hands on: immutable, but for `Scope`."""

from __future__ import annotations

from msgspec import Struct

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


class Block(Struct, frozen=True, order=True):
    """A function or enumeration: its declaration's start, its braces, and what is around it."""

    declaration: int
    opening: int
    end: int
    names: tuple[str, ...]
    kind: str
    heads: tuple[bytes, ...]
    """Of the class templates around it."""


class Statement(Struct, frozen=True):
    """A declaration without a body that may hold constants."""

    start: int
    end: int
    names: tuple[str, ...]
    heads: tuple[bytes, ...]
    """Of the class templates around it."""


class State(Struct, frozen=True):
    """Where the machine stands between two tokens."""

    scope: Scope
    depth: int
    declaration: int
    blocks: int


class Group(Struct, frozen=True):
    """An `#if` that is not closed yet."""

    offset: int
    outer: Conditions
    at_start: State
    texts: tuple[str, ...]
    branch: int = 0
    is_live: bool = True
    rest_is_dead: bool = False
    is_guard: bool = False
    """An include guard, whose condition says nothing."""
    starts_settled: bool = False
    """Whether it begins between two declarations."""
    is_settled: bool = False
    """Whether its first branch ends so, too."""
    ends: tuple[State, ...] = ()

    @property
    def flags(self) -> tuple[int, ...]:
        """What is said of it besides texts and places."""
        is_at_rest = self.starts_settled, self.is_settled
        return self.branch, self.is_live, self.rest_is_dead, self.is_guard, *is_at_rest

    def same_as(self, other: Group) -> bool:
        """Whether scanning goes on alike in both, places aside."""
        return (
            self.texts == other.texts
            and self.flags == other.flags
            and self.at_start.scope.same_as(other.at_start.scope)
            and len(self.ends) == len(other.ends)
            and all(a.scope.same_as(b.scope) for a, b in zip(self.ends, other.ends, strict=True))
        )


class Checkpoint(Struct, frozen=True):
    """The machine's state between two declarations."""

    scope: Scope
    groups: tuple[Group, ...]
    conditions: Conditions
    seen_directive: bool
