"""The exact what-if: the source recompiled with other launch bounds on one kernel.

The bounds are put into the preprocessed text, where macros that hold them are expanded, so that
nothing of the source has to be understood and the workspace is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from occlsp.reports import heads
from occlsp.reports.compile import Context, compile_unit
from occlsp.reports.facts import Entry
from occlsp.reports.flags import Filtered
from occlsp.reports.outline import Item, Outline
from occlsp.reports.preprocessed import Place, Preprocessed
from occlsp.reports.ptx import Bounds
from occlsp.reports.whatif import EXACT_LABEL, Row

_GLOBAL = re.compile(rb"__attribute__\s*\(\(\s*_*global_*\s*\)\)")
_BOUNDS = re.compile(rb"__attribute__\s*\(\(\s*_*(?:launch_bounds|maxnreg)_*\s*\(")


def exact_rows(
    context: Context,
    unit: Path,
    arch: str,
    flags: Filtered,
    entry: Entry,
    bounds: Iterable[Bounds],
    *,
    current: Bounds,
    text: bytes | None = None,
) -> Iterator[Row]:
    """Compiles the unit once for each of `bounds`, put on the kernel that `entry` comes from.

    `entry` is as `compile_unit` gave it for the same flags (with its file and line). Each row
    costs a whole compile; none is kept in the cache.
    """
    made: list[bytes] = []
    plain = replace(context, cache=None, slow=None)
    compile_unit(plain, unit, arch, flags, text=text, keep_preprocessed=made.append)
    source = _Bounded(made[-1], entry) if made else None
    for wanted in bounds:
        row = Row(wanted, wanted == current, label=EXACT_LABEL)
        changed = source.under(wanted) if source is not None else None
        if changed is None:
            yield replace(row, problem="the kernel's definition was not found in the source")
            continue
        result = compile_unit(plain, unit, arch, flags, text=changed)
        if result.status == "cancelled":
            return
        found = next((e for e in result.entries if e.entry == entry.entry), None)
        if found is None:
            problem = result.message or "the kernel is not instantiated any more"
            yield replace(row, problem=problem, took=result.took)
            continue
        yield replace(
            row,
            registers=found.registers,
            spill_stores=found.spill_stores,
            spill_loads=found.spill_loads,
            static_smem=found.static_smem,
            stack=found.stack,
            took=result.took,
        )


class _Bounded:
    """A unit's text whose one kernel can be given other bounds."""

    def __init__(self, preprocessed: bytes, entry: Entry) -> None:
        self._text = Preprocessed(preprocessed, lambda path: path == entry.file)
        self._own = self._text.own
        self._outline = Outline(self._own)
        self._definition = self._find(entry)

    def _find(self, entry: Entry) -> Item | None:
        if entry.file is None or entry.line is None:
            return None
        offset = self._text.offset_at(Place(entry.file, entry.line))
        chain = self._outline.chain(offset) if offset is not None else []
        return next((item for item in chain if item.kind == "function"), None)

    def under(self, bounds: Bounds) -> bytes | None:
        """The text with `bounds` and no others; None where the kernel was not found."""
        if self._definition is None:
            return None
        name = heads.function_name(self._head(self._definition))
        text = self._own
        for found in reversed(list(_GLOBAL.finditer(self._outline.masked))):
            chain = self._outline.chain(found.start())
            item = next((i for i in chain if i.kind in ("function", "declaration")), None)
            if item is None or heads.function_name(self._head(item)) != name:
                continue
            head = _without_bounds(self._own[item.start : item.head_end])
            if item == self._definition:
                head = _GLOBAL.sub(lambda m: m.group() + _attribute(bounds), head, count=1)
            text = text[: item.start] + head + text[item.head_end :]
        self._text.own = text
        return self._text.whole()

    def _head(self, item: Item) -> bytes:
        return self._outline.masked[item.start : item.head_end]


def _without_bounds(head: bytes) -> bytes:
    while found := _BOUNDS.search(head):
        depth, end = 3, found.end()
        while depth and end < len(head):
            depth += {b"(": 1, b")": -1}.get(head[end : end + 1], 0)
            end += 1
        kept = b"\n" * head[found.start() : end].count(b"\n")
        head = head[: found.start()] + kept + head[end:]
    return head


def _attribute(bounds: Bounds) -> bytes:
    words = b""
    if bounds.max_threads is not None:
        numbers = [bounds.max_threads]
        numbers += [bounds.min_blocks] if bounds.min_blocks is not None else []
        listed = b",".join(b"%d" % number for number in numbers)
        words += b" __attribute__((launch_bounds(%s)))" % listed
    if bounds.max_registers is not None:
        words += b" __attribute__((maxnreg(%d)))" % bounds.max_registers
    return words
