"""An edit inside of a function's braces that opens and closes nothing: the scan around it is the
one before, moved. Of a long function nothing is scanned again but the edited lines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from occlsp.source.branches import Scan
from occlsp.source.incremental import Edit, Rescan, define_place, first_checkpoint
from occlsp.source.reader import place
from occlsp.source.shifting import Shift
from occlsp.source.states import Block, Statement

_WORDS = (b"__global__", b"template", b"namespace", b"extern")
"""What cannot stand in a function's body, and how it may go on over some lines."""
_MARKS = (b";", b"{", b"}")
_MOST_TWINS = 8


def rescan_inside(masked: bytes, old: Scan, old_masked: bytes, edit: Edit) -> Rescan | None:
    """The scan of the declarations around an edit; None where it has to be made anew."""
    around = _functions_around(old, edit)
    if not around or _is_dead(old, edit):
        return None
    least = max(block.opening for block in around) + 1
    if _decides(old_masked, least, edit.start, edit.old_end):
        return None
    if _decides(masked, least, edit.start, edit.new_end):
        return None
    start = old.checkpoints[first_checkpoint(masked, old, edit)]
    last = bisect_left(old.checkpoints, max(block.end for block in around))
    if last == len(old.checkpoints):
        return None
    old_end = old.checkpoints[last]
    return Rescan(_moved(masked, old, edit, start, old_end), start, old_end + edit.delta, old_end)


def _functions_around(old: Scan, edit: Edit) -> list[Block]:
    """The functions in whose braces an edit is: several where branches of an `#if` begin one."""
    index = bisect_right(old.blocks, edit.start, key=lambda block: block.declaration)
    return [
        block
        for block in old.blocks[max(index - _MOST_TWINS, 0) : index]
        if block.kind == "function" and block.opening < edit.start and edit.old_end < block.end
    ]


def _is_dead(old: Scan, edit: Edit) -> bool:
    """Whether an edit is in text that an `#if 0` hides, or at its border."""
    index = bisect_right(old.dead, edit.old_end, key=lambda span: span.start)
    return index > 0 and old.dead[index - 1].end >= edit.start


def _decides(masked: bytes, least: int, start: int, end: int) -> bool:
    """Whether what is between two offsets says how a function goes on: itself, by the lines that it
    is in, by the end of the one before them, or by the statement that it is in."""
    if any(masked.find(brace, start, end) >= 0 for brace in (b"{", b"}")):
        return True
    line = max(masked.rfind(b"\n", least, start), least)
    ending = masked.find(b"\n", end)
    lines = masked[line : len(masked) if ending < 0 else ending]
    if b"#" in lines or b"\\" in lines or b"\\" in masked[max(line - 2, least) : line]:
        return True
    statement = max(masked.rfind(mark, least, start) for mark in _MARKS)
    around = masked[max(min(line, statement), least) : line] + lines
    return any(word in around for word in _WORDS)


def _moved(masked: bytes, old: Scan, edit: Edit, start: int, old_end: int) -> Scan:
    """The scan of the old text from `start` to `old_end`, as it is with the edit."""
    shift = Shift(edit.old_end, edit.delta)

    def is_behind(at: int) -> bool:
        return at > edit.start

    def offset(at: int) -> int:
        return at + edit.delta if is_behind(at) else at

    def between(name: str, where: Callable[[Any], int]) -> list[Any]:
        """What stands there of one kind, as it was."""
        items = getattr(old, name)
        first, last = (bisect_left(items, at, key=where) for at in (start, old_end))
        return list(items[first:last])

    def part(name: str, where: Callable[[Any], int], move: Callable[[Any], Any]) -> list[Any]:
        found = between(name, where)
        return [move(one) if is_behind(where(one)) else one for one in found]

    def block(one: Block) -> Block:
        """One that may begin in front of the edit, in another branch its brace behind it."""
        if is_behind(one.declaration):
            return shift.block(one)
        return replace(one, opening=offset(one.opening), end=offset(one.end))

    def statement(one: Statement) -> Statement:
        return shift.statement(one) if is_behind(one.start) else replace(one, end=offset(one.end))

    def holding(places: str, values: str, move: Callable[[Any], Any]) -> list[Any]:
        """What holds at the start, and from other offsets on."""
        offsets = getattr(old, places)
        first, last = bisect_right(offsets, start) - 1, bisect_left(offsets, old_end)
        pairs = zip(offsets[first:last], getattr(old, values)[first:last], strict=True)
        return [move(one) if is_behind(at) else one for at, one in pairs]

    def offsets(name: str) -> list[int]:
        return [start, *holding(name, name, offset)[1:]]

    return Scan(
        old.code[start : edit.start]
        + masked[edit.start : edit.new_end]
        + old.code[edit.old_end : old_end],
        old_end + edit.delta,
        [block(one) for one in between("blocks", lambda one: one.declaration)],
        [statement(one) for one in between("statements", lambda one: one.start)],
        part("defines", define_place, shift.define),
        part("includes", place, shift.include),
        offsets("condition_starts"),
        holding("condition_starts", "condition_sets", shift.conditions),
        part("dead", lambda one: one.start, shift.span),
        offsets("scope_starts"),
        holding("scope_starts", "scope_names", lambda one: one),
        offsets("checkpoints"),
        holding("checkpoints", "states", shift.checkpoint),
    )
