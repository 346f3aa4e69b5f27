"""What an edited file is read from: the file just before the edit, or what it was before another
edit that much had to be read again for. A comment or a brace that is closed again gives back what
stood there, and is not read a second time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from occlsp.source.entries import Entry
from occlsp.source.incremental import difference
from occlsp.source.parse import NEARBY, Parsed, nearby, reparse
from occlsp.source.stepping import MOST_STEPS

_MARKS = frozenset(b"{}()<>/*\"'#\\\n;")
"""What opens or closes something that reaches far."""


class Reread(NamedTuple):
    """A parsed file, and what it was read from."""

    parsed: Parsed
    base: Entry | None
    """The file as it was before the one edit that leads here; None where it was read anew."""
    kept: Entry | None
    """What the next edit may be read from, too."""
    waited: int
    """The edits that this was kept for."""


def reread(old: Entry | None, text: bytes, aliases: frozenset[str]) -> Reread:
    """Parses a file, with as little as possible read again of what it was."""
    if old is None or old.parsed is None:
        return Reread(reparse(None, text, aliases=aliases), None, None, 0)
    fuller = old.fuller
    if fuller is not None and fuller.parsed is not None and _may_close(old.parsed, text):
        parsed = nearby(fuller.parsed, text, aliases)
        if parsed is not None:
            return Reread(parsed, fuller, _bare(old), 0)
    parsed = reparse(old.parsed, text, aliases=aliases)
    if _is_much(old.parsed, parsed):
        return Reread(parsed, old, _bare(old), 0)
    waited = old.waited + 1
    return Reread(parsed, old, fuller if waited < MOST_STEPS else None, waited)


def _may_close(old: Parsed, text: bytes) -> bool:
    """Whether an edit may close, or take away, what another one opened."""
    edit = difference([(old.syntax.text, text)])
    changed = old.syntax.text[edit.start : edit.old_end] + text[edit.start : edit.new_end]
    return not _MARKS.isdisjoint(changed)


def _is_much(old: Parsed, new: Parsed) -> bool:
    """Whether an edit had much read again, or hid it."""
    step = new.step
    if step is None:
        return True
    ranges = (old.mask, step.old_end), (new.mask, step.end)
    return any(
        end - step.start > NEARBY and len(mask[step.start : end].replace(b" ", b"")) > NEARBY
        for mask, end in ranges
    )


def _bare(old: Entry) -> Entry:
    """A file as an edit can be read from it, without its facts."""
    return replace(old, local=None, facts=None, fuller=None)
