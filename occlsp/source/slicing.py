"""What of a body decides what is asked of it: the rest is not followed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from occlsp.source import statements as st
from occlsp.source.bodies import MOST_BODY
from occlsp.source.effects import Change, changes
from occlsp.source.lexer import tokenize
from occlsp.source.relevance import Relevance, last_that_counts
from occlsp.source.setting_macros import Setting
from occlsp.source.words import cut

_ENDS = frozenset(
    (
        *("return", "co_return", "goto", "break", "continue", "throw", "exit", "_exit"),
        *("quick_exit", "abort", "terminate", "using", "typedef"),
    )
)


class Slice:
    """The part of a body that matters: `events`, what they say, and what decides that."""

    def __init__(
        self,
        text: str,
        events: Sequence[int],
        names: Iterable[str],
        parameters: Collection[str],
        setting: Setting,
        until: int,
    ) -> None:
        self.events = events
        self.until = until
        """What stands behind decides nothing that is asked for."""
        self.ends = _ends(text)
        self.fixed = sorted((*events, *[place for place in self.ends if place < until]))
        """Where something matters whatever is asked for."""
        self.relevance = Relevance(text, parameters, setting, until)
        self.relevance.add(names)
        self.names = self.relevance.names
        self.positions = self.relevance.positions
        """Where any of `names` may change."""
        self._changes: dict[tuple[int, int], list[Change]] = {}

    def ask(self, found: Sequence[st.Statement]) -> None:
        """Takes in the conditions on which it depends what is come to."""
        while asked := self.relevance.asked(self.conditions(found)):
            self.relevance.add(asked)

    def conditions(self, found: Sequence[st.Statement]) -> list[st.Range]:
        """The conditions that decide whether something is come to that matters."""
        conditions: list[st.Range] = []
        pending = [node for node in found if node.start < self.until and self.matters(node)]
        while pending:
            node = pending.pop()
            inside: Sequence[st.Statement] = ()
            match node:
                case st.Simple():
                    inside = [one for inner in node.lambdas for one in inner.body.statements]
                case st.Block():
                    inside = node.statements
                case st.If():
                    inside = (node.yes,) if node.no is None else (node.yes, node.no)
                case st.Loop() | st.Switch():
                    inside = (node.body,)
                case st.Choice():
                    inside = [one for branch in node.branches for one in branch]
            inside = [one for one in inside if self.matters(one)]
            pending += inside
            if inside and isinstance(node, st.If | st.Switch):
                conditions.append(node.condition)
            elif inside and isinstance(node, st.Loop) and node.kind in ("while", "do"):
                conditions.append(node.head)
        return conditions

    def matters(self, node: st.Statement) -> bool:
        """Whether what a statement does may matter, or that it ends something."""
        start, end = node.start, node.end
        for places in (self.positions, self.fixed):  # without a call: asked of each statement
            index = bisect_left(places, start)
            if index < len(places) and places[index] < end:
                return True
        return False

    def touches(self, start: int, end: int) -> bool:
        """Whether a relevant name or an event stands between two offsets."""
        return _any_between(self.positions, start, end) or _any_between(self.events, start, end)

    def may_change(self, start: int, end: int) -> bool:
        """Whether a relevant name may change between two offsets."""
        return _any_between(self.positions, start, end)

    def may_end(self, start: int, end: int) -> bool:
        """Whether something between two offsets matters that changes nothing: what follows may
        not be come to, or a type is named."""
        return _any_between(self.ends, start, end)

    def changes(self, start: int, end: int) -> Iterator[Change]:
        """The changes of relevant names between two offsets."""
        for piece in self.changing(start, end):
            found = self._changes.get(piece)
            if found is None:
                text = self.relevance.sentences.text[slice(*piece)]
                found = self._changes[piece] = changes(tokenize(text), self.names)
            yield from found

    def changing(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The statements, roughly, between two offsets that may change what is asked for."""
        behind = start
        for index in range(bisect_left(self.positions, start), len(self.positions)):
            position = self.positions[index]
            if position >= end:
                break
            if position >= behind:
                first, behind = self.relevance.sentences.around(position)
                behind = min(behind, end)
                yield max(first, start), behind


class Plan(Struct, frozen=True):
    """What of a body is followed."""

    text: str
    """As far as it is looked at."""
    slice: Slice
    statements: tuple[st.Statement, ...] | None
    """None where they cannot be read."""


@lru_cache(maxsize=64)
def plan(
    text: str,
    events: tuple[int, ...],
    names: frozenset[str],
    parameters: frozenset[str],
    setting: Setting,
    *,
    is_whole: bool,
) -> Plan:
    """What is followed for some names at some places, or behind all of a body (`is_whole`). Most
    bodies are asked for what decides it, and then followed once or twice, so `is_whole` is always
    given by name: what is asked for in another way is not found again."""
    until = len(text)
    if until > MOST_BODY:
        return _unreadable(text, names, setting)
    if events and not is_whole:
        until = last_that_counts(text, events[-1])
        if until < len(text) and st.is_whole(text, until):
            text = text[:until]  # what is behind is not even looked at
    if st.is_unbalanced(text):
        return _unreadable(text, names, setting)
    found = Slice(text, events, names, parameters, setting, until)
    try:
        statements = st.read(text)
        if not is_whole:
            found.ask(statements)
    except (st.Unreadable, RecursionError):
        return Plan(text, found, None)
    return Plan(text, found, statements)


def _unreadable(text: str, names: frozenset[str], setting: Setting) -> Plan:
    return Plan(text, Slice("", (), names, (), setting, 0), None)


def _any_between(places: Sequence[int], start: int, end: int) -> bool:
    index = bisect_left(places, start)
    return index < len(places) and places[index] < end


def _ends(text: str) -> list[int]:
    """Where a text says one of `_ENDS`."""
    return sorted(place for place, _ in cut(text).placed(_ENDS))
