"""Whether a grid follows when the block changes, and what must be edited so that it does."""

from __future__ import annotations

import re

from msgspec import Struct

from occlsp.analysis.fixes.places import Piece, bare, literals, names
from occlsp.analysis.sources import SourceFile
from occlsp.source.text import Span


class Change(Struct, frozen=True):
    """One component of the block that gets another value."""

    axis: int
    old: int
    new: int
    reads: tuple[str, ...]
    """What the source calls the value, where an edit at its definition changes it: `kThreads`,
    `block.x`."""


class Follow(Struct, frozen=True):
    """How the grid follows one change."""

    follows: bool
    is_exact: bool = False
    """The same items are covered (rounded up), or the old size is a multiple of the new."""
    edits: tuple[tuple[Span, str], ...] = ()


NO = Follow(follows=False)


def follow(file: SourceFile, grid: list[Piece], change: Change) -> Follow:
    """How the pieces of a grid follow a change: by name, by literals to edit, or not."""
    for_axis = [p for p in grid if p.axis in (None, change.axis)]
    for piece in for_axis:
        if _reads(file, piece.span, change.reads):
            return Follow(follows=True, is_exact=_is_exact(file, piece.span, change))
    for piece in for_axis:
        edits = _literal_edits(file, piece.span, change)
        if edits:
            exact = _is_exact(file, piece.span, change)
            return Follow(follows=True, is_exact=exact, edits=tuple(edits))
    return NO


def _reads(file: SourceFile, span: Span, reads: tuple[str, ...]) -> bool:
    code = bare(file, span)
    return any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code) is not None for name in reads)


def _literal_edits(file: SourceFile, span: Span, change: Change) -> list[tuple[Span, str]]:
    """The divisor, and one less than it, where the piece divides by the old value."""
    found = list(literals(file, span))
    if not any(one.value == change.old for one in found) or not _divides(file, span, change):
        return []
    values = {change.old: change.new, change.old - 1: change.new - 1}
    return [(one.span, str(values[one.value])) for one in found if one.value in values]


_ROUNDING_CALL = re.compile(r"(?i)\b\w*(?:ceil|div|round|blocks)\w*[(<]")


def _divides(file: SourceFile, span: Span, change: Change) -> bool:
    """`… / 256`, `ceil_div(n, 256)`: the block is what the work is divided by."""
    code = bare(file, span)
    old = rf"{change.old}(?:[uU]?[lL]*)(?![\w.])"
    return bool(
        re.search(rf"/\(?(?:\([\w:]+\)|float\(|double\()?{old}", code)
        or (_ROUNDING_CALL.search(code) and re.search(rf",\(?{old}", code))
    )


def _is_exact(file: SourceFile, span: Span, change: Change) -> bool:
    """Rounded up, the new grid covers what the old one did; rounded down, only where the old
    block was a multiple of the new."""
    code = bare(file, span)
    values = [one.value for one in literals(file, span)]
    rounds_up = (
        "%" in code
        or "-1" in code
        or "+1" in code
        or _ROUNDING_CALL.search(code) is not None
        or change.old - 1 in values
    )
    return rounds_up or change.old % change.new == 0


def mentions(file: SourceFile, span: Span, change: Change) -> bool:
    """Whether a span reads the value, by name or as the number itself."""
    if any(name in names(file, span) for name in change.reads if "." not in name):
        return True
    return any(one.value == change.old for one in literals(file, span))
