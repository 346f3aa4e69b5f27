"""What is around an offset of a file: its declaration, its scope, its `#if` branches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TypeVar, cast

from msgspec.structs import replace

from occlsp.source.branches import Scan, one_branch
from occlsp.source.fragment import Fragment, moved
from occlsp.source.states import Conditions
from occlsp.source.syntax import Condition, RawCall, RawKernel, RawLaunch
from occlsp.source.text import Span

_BACK, _AHEAD = 8192, 32768
"""How far around a token its surroundings are read branch by branch."""
_MOST_VARIANTS = 8
_MOST_BRANCHES = 400
_MOST_VIEWS = 4000
"""In one file: beyond, what is read is the text with all branches in it."""

Fact = TypeVar("Fact", RawKernel, RawLaunch, RawCall)
Read = Callable[[Fragment, int], Fact | None]


class Surroundings:
    """A text with its scan, or with that of a part of it."""

    def __init__(self, text: bytes, code: bytes, scan: Scan) -> None:
        self.text = text
        self.code = code
        self.scan = scan
        self.views = 0
        self.last: Fragment | None = None

    def fragment(self, offset: int) -> Fragment:
        """What lies between the checkpoints around an offset."""
        if self.last is None or not self.last.start <= offset < self.last.end:
            self.last = Fragment(self.text, self.code, *self.bounds(offset))
        return self.last

    def bounds(self, offset: int) -> tuple[int, int]:
        """The checkpoints around an offset."""
        checkpoints = self.scan.checkpoints
        index = bisect_right(checkpoints, offset)
        end = checkpoints[index] if index < len(checkpoints) else self.scan.end
        return checkpoints[index - 1], end

    def scope(self, offset: int) -> tuple[str, ...]:
        """The namespaces and classes around an offset."""
        return self.scan.scope_names[bisect_right(self.scan.scope_starts, offset) - 1]

    def branch(self, start: int, end: int) -> tuple[bytes, int]:
        """Code that reads as `code[start:end]` does from `end`, and what its offsets lack."""
        if not self.scan.is_branched(start, end):
            return self.code, 0
        starts, sets = self.scan.condition_starts, self.scan.condition_sets
        return one_branch(self.code[start:end], start, end, starts, sets), start

    def variants(
        self, offset: int, read: Read[Fact], extent: Callable[[Fact], Span]
    ) -> Iterator[Fact]:
        """The fact at an offset, or one for each `#if` branch that stands inside of it."""
        around = self.fragment(offset)
        fact = read(around, offset)
        conditions: Conditions = self.scan.conditions_at(offset)
        near = max(around.start, offset - _BACK), min(around.end, offset + _AHEAD)
        is_dense = self.scan.branches_between(*near) > _MOST_BRANCHES
        is_whole = fact is not None and not self.scan.is_branched(*extent(fact))
        is_plain = is_dense or not self.scan.is_branched(*near) or self.views > _MOST_VIEWS
        if is_whole or is_plain:
            if fact is not None:
                yield replace(fact, conditions=conditions) if conditions else fact
            return
        first = self.view(around, offset, read, None)
        seen: list[Fact] = []
        for chosen, condition in self.choices(extent(first), conditions) if first else ():
            one = self.view(around, offset, read, chosen)
            if one is not None and one not in seen:
                seen.append(one)
                extra: Conditions = () if condition is None else (condition,)
                yield replace(one, conditions=(*conditions, *extra))

    def view(
        self, around: Fragment, offset: int, read: Read[Fact], chosen: dict[int, int] | None
    ) -> Fact | None:
        """The fact at an offset as it reads with one branch of each `#if`."""
        self.views += 1
        start = max(around.start, offset - _BACK)
        end = min(around.end, offset + _AHEAD)
        starts, sets = self.scan.condition_starts, self.scan.condition_sets
        code = one_branch(self.code[start:end], start, offset, starts, sets, chosen)
        fact = read(Fragment(self.text[start:end], code, 0, end - start), offset - start)
        return None if fact is None else cast(Fact, moved(fact, start))

    def choices(
        self, extent: Span, outer: Conditions
    ) -> Iterator[tuple[dict[int, int] | None, Condition | None]]:
        """The ways through the first `#if` inside of `extent`."""
        starts, sets = self.scan.condition_starts, self.scan.condition_sets
        known = {condition.group for condition in outer}
        inside: list[Condition] = []
        for index in range(bisect_right(starts, extent.start), bisect_right(starts, extent.end)):
            for condition in sets[index]:
                if condition.group not in known and condition not in inside:
                    inside.append(condition)
        if not inside:
            yield None, None
            return
        group = inside[0].group
        branches = [condition for condition in inside if condition.group == group]
        for condition in branches[:_MOST_VARIANTS]:
            yield {group: condition.branch}, condition
        if len(branches) == 1:
            only = branches[0]
            yield {group: -1}, replace(only, text=f"!({only.text})", branch=only.branch + 1)
