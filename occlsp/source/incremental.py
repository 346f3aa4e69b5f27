"""Puts together the facts of an edited file: what is in front of the edit stays as it is, what
follows is moved, and only the declarations around the edit are read again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from occlsp.source.branches import Scan
from occlsp.source.reader import Facts, Reader, place
from occlsp.source.scanner import Scanner
from occlsp.source.shifting import Shift
from occlsp.source.states import Checkpoint
from occlsp.source.stepping import Step
from occlsp.source.syntax import Define
from occlsp.source.text import Span, common_prefix, common_suffix

Item = TypeVar("Item")
NOWHERE = Span(-1, -1)


class Edit(Struct, frozen=True):
    """`old[start:old_end]` was replaced by `new[start:new_end]`."""

    start: int
    old_end: int
    new_end: int

    @property
    def delta(self) -> int:
        """How far the edit moves what follows it."""
        return self.new_end - self.old_end

    def before(self, span: Span) -> Span:
        """Where a piece of the new text stood, if it did and the edit is not at its border; nowhere
        where it ends with what was typed behind it."""
        if span.end <= self.start:
            return span
        start = span.start if span.start < self.new_end else span.start - self.delta
        end = span.end - self.delta
        return Span(start, end) if end > self.start else NOWHERE

    def spanning(self, other: Edit) -> Edit:
        """The smallest edit that holds this and another of as many bytes."""
        return Edit(
            min(self.start, other.start),
            max(self.old_end, other.old_end),
            max(self.new_end, other.new_end),
        )


def difference(pairs: list[tuple[bytes, bytes]]) -> Edit:
    """The smallest edit that makes each second text from its first, one for all of them."""
    old_length, new_length = len(pairs[0][0]), len(pairs[0][1])
    start = min(common_prefix(old, new) for old, new in pairs)
    rest = min(old_length, new_length) - start
    tail = min(rest, *(common_suffix(old, new, rest) for old, new in pairs))
    return Edit(start, old_length - tail, new_length - tail)


class Rescan(Struct):
    """A new scan of the region around an edit, and how to put it between the old parts."""

    scan: Scan
    start: int
    end: int
    """The region in the new text."""
    old_end: int
    """What follows the region stood here in the old text; past its end: nothing does."""


def rescan(
    text: bytes, masked: bytes, old: Scan, edit: Edit, most: int | None = None
) -> Rescan | None:
    """Scans again from the declaration before the edit until all goes on as before; None where that
    is not so `most` bytes behind it."""
    index = first_checkpoint(masked, old, edit)
    start = old.checkpoints[index]
    known = dict(zip(old.checkpoints, range(len(old.checkpoints)), strict=True))
    shift = Shift(edit.old_end, edit.delta)
    far = len(text) if most is None else edit.new_end + most

    def goes_on_as_before(offset: int, here: Checkpoint) -> bool:
        if offset < edit.new_end or offset <= start:
            return False
        if offset > far:
            return True
        number = known.get(offset - edit.delta)
        if not number or old.checkpoints[number] < edit.old_end:
            return False  # the first is where reading begins, and ends nothing
        there = shift.checkpoint(old.states[number])
        return (
            here.seen_directive == there.seen_directive
            and here.conditions == there.conditions
            and len(here.groups) == len(there.groups)
            and here.scope.same_as(there.scope)
            and all(
                mine.offset == its.offset and mine.outer == its.outer and mine.same_as(its)
                for mine, its in zip(here.groups, there.groups, strict=True)
            )
        )

    scanner = Scanner(text, masked, start, old.states[index])
    scan = scanner.run(goes_on_as_before)
    if scan.end > far:
        return None
    old_end = scan.end - edit.delta if scanner.stopped else old.end + 1
    return Rescan(scan, start, scan.end, old_end)


def first_checkpoint(masked: bytes, old: Scan, edit: Edit) -> int:
    """The number of the one from which to scan again: that in front of the edit, or the one before
    it where the first that follows is edited: it tells whether an initialiser ends there."""
    index = bisect_right(old.checkpoints, edit.start) - 1
    return index if masked[old.checkpoints[index] : edit.start].strip() else max(index - 1, 0)


def join_scans(old: Scan, new: Rescan, edit: Edit) -> Scan:
    """The scan of the whole text."""
    shift = Shift(edit.old_end, edit.delta)
    scan, start, old_end, delta = new.scan, new.start, new.old_end, edit.delta

    def join(name: str, where: Callable[[Any], int], move: Callable[[Any], Any]) -> list[Any]:
        return joined(getattr(old, name), getattr(scan, name), start, old_end, where, move)

    def join_with(places: str, values: str, move: Callable[[Any], Any]) -> list[Any]:
        """What holds from an offset on; the new scan's first says what holds at its start, and
        one at its end is what the old scan has there."""
        offsets = getattr(old, places)
        before = getattr(old, values)[: bisect_right(offsets, start)]
        after = getattr(old, values)[bisect_left(offsets, old_end) :]
        until = bisect_left(getattr(scan, places), new.end) if after else None
        return [*before, *getattr(scan, values)[1:until], *map(move, after)]

    def later(offset: int) -> int:
        return offset + delta

    return Scan(
        old.code[:start] + scan.code + old.code[old_end:],
        old.end + delta,
        join("blocks", lambda one: one.declaration, shift.block),
        join("statements", lambda one: one.start, shift.statement),
        join("defines", define_place, shift.define),
        join("includes", place, shift.include),
        join_with("condition_starts", "condition_starts", later),
        join_with("condition_starts", "condition_sets", shift.conditions),
        join("dead", lambda one: one.start, shift.span),
        join_with("scope_starts", "scope_starts", later),
        join_with("scope_starts", "scope_names", lambda one: one),
        join_with("checkpoints", "checkpoints", later),
        join_with("checkpoints", "states", shift.checkpoint),
        unclosed=scan.unclosed if old_end > old.end else old.unclosed,
    )


def join_facts(
    text: bytes, scan: Scan, old: Facts, new: Rescan, edit: Edit, names: frozenset[str]
) -> tuple[Facts, Step]:
    """The facts of the whole text, and what may have changed; `scan` is that of the whole, too."""
    start, old_end = new.start, new.old_end
    first = bisect_left(old.functions, start, key=place)
    last = bisect_left(old.functions, old_end, key=place)
    fresh = Reader(text, scan.code, new.scan, names, first).read(start, new.end)
    first_constant = bisect_left(old.constant_places, start)
    last_constant = bisect_left(old.constant_places, old_end)
    own = Shift(0, 0, constants=first_constant)
    shift = Shift(
        edit.old_end,
        edit.delta,
        functions=first + len(fresh.functions) - last,
        constants=first_constant + len(fresh.constants) - last_constant,
    )

    declared = [*old.constants[first_constant:last_constant], *fresh.constants]

    def join(name: str, move: Callable[[Any], Any]) -> list[Any]:
        if name in ("kernels", "functions", "aliases"):
            declared.extend(between(getattr(old, name), start, old_end))
            declared.extend(getattr(fresh, name))
        return joined(getattr(old, name), getattr(fresh, name), start, old_end, place, move)

    functions = join("functions", shift.function)
    facts = Facts(
        join("kernels", shift.kernel),
        join("launches", shift.launch),
        join("calls", shift.call),
        functions,
        [function.span.start for function in functions],
        [
            *old.constants[:first_constant],
            *(own.constant(one) if one.previous is not None else one for one in fresh.constants),
            *map(shift.constant, old.constants[last_constant:]),
        ],
        [
            *old.constant_places[:first_constant],
            *fresh.constant_places,
            *(offset + edit.delta for offset in old.constant_places[last_constant:]),
        ],
        join("aliases", shift.alias),
        join("shared", shift.shared),
    )
    changed = frozenset([one.name for one in declared])
    behind = len(old.functions) - last
    return facts, Step(start, new.end, old_end, first, behind, changed, same_macros=False)


def between(old: list[Any], start: int, end: int) -> list[Any]:
    """Those that stand in `[start, end)`."""
    return old[bisect_left(old, start, key=place) : bisect_left(old, end, key=place)]


def joined(
    old: list[Item],
    new: list[Item],
    start: int,
    old_end: int,
    where: Callable[[Item], int],
    move: Callable[[Item], Item],
) -> list[Item]:
    """`old` with what stands in `[start, old_end)` replaced, and what follows moved."""
    first = bisect_left(old, start, key=where)
    last = bisect_left(old, old_end, key=where)
    return [*old[:first], *new, *map(move, old[last:])]


def define_place(define: Define) -> int:
    """The offset that definitions of macros are sorted by."""
    return define.body.span.start


def is_same_macros(old: Sequence[Define], new: Sequence[Define]) -> bool:
    """Whether two lists define the same, wherever it stands."""
    return len(old) == len(new) and all(
        mine.name == its.name
        and mine.parameters == its.parameters
        and mine.body.text == its.body.text
        for mine, its in zip(old, new, strict=True)
    )


def replaced_defines(old: Scan, new: Rescan) -> list[Define]:
    """The definitions that a rescan puts others in the place of."""
    first = bisect_left(old.defines, new.start, key=define_place)
    return old.defines[first : bisect_left(old.defines, new.old_end, key=define_place)]
