"""One entry for each kernel and architecture, out of all that was read of it.

A kernel compiled with `-rdc` is told of twice: before linking and after. The link's numbers are
final; spills are only known to the compile. A debug build's numbers give way to a release build's.
What differs beyond that are different kernels that share a name (internal linkage, two programs
in one log): all are kept, as candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from occlsp.reports.facts import Entry, Report

_MOST_VARIANTS = 64
"""Different entries of one name and architecture in one source that are kept."""


class EntrySet:
    """Entries by architecture and name; what is added again, as logs repeat it, is kept once."""

    def __init__(self) -> None:
        self._groups: dict[str | None, dict[str, list[Entry] | Entry]] = {}

    def add(self, entry: Entry) -> None:
        """Adds an entry, unless it is there."""
        by_name = self._groups.setdefault(entry.arch, {})
        known = by_name.setdefault(entry.entry, entry)
        if isinstance(known, list):
            if len(known) < _MOST_VARIANTS and not any(_same(entry, other) for other in known):
                known.append(entry)
        elif known is not entry and not _same(entry, known):
            by_name[entry.entry] = [known, entry]

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __iter__(self) -> Iterator[Entry]:
        for by_name in self._groups.values():
            for group in by_name.values():
                if isinstance(group, list):
                    yield from group
                else:
                    yield group

    def merged(self) -> Iterator[Entry]:
        """One for each kernel and architecture, in the order of first appearance."""
        for by_name in self._groups.values():
            for group in by_name.values():
                if isinstance(group, list):
                    yield from _merge_group(group)
                else:
                    yield group


def merge_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Merges the entries of one source, architecture by architecture."""
    kept = EntrySet()
    for entry in entries:
        kept.add(entry)
    return list(kept.merged())


def merge_reports(reports: Iterable[Report]) -> list[Entry]:
    """The entries of several sources: one for each kernel and architecture in a source.

    Where one source has the linked kernel (an executable) and others what it was compiled to
    (objects), the linked entry stays and gets the spills of its compile, where that is one.
    """
    merged = [entry for report in reports for entry in merge_entries(report.entries)]
    linked = {(entry.entry, entry.arch) for entry in merged if entry.linked}
    compiled: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in merged:
        if not entry.linked:
            compiled.setdefault((entry.entry, entry.arch), []).append(entry)
    return [
        _with_spills(entry, compiled.get((entry.entry, entry.arch), ())) if entry.linked else entry
        for entry in merged
        if entry.linked or (entry.entry, entry.arch) not in linked
    ]


def _merge_group(group: list[Entry]) -> list[Entry]:
    if not all(entry.debug for entry in group):
        group = [entry for entry in group if not entry.debug]
    linked = [entry for entry in group if entry.linked]
    compiled = [entry for entry in group if not entry.linked]
    return [_with_spills(entry, compiled) for entry in linked] or compiled


def _same(one: Entry, other: Entry) -> bool:
    """Whether two entries say the same: units apart, as templates are compiled in several."""
    return one == other or replace(one, unit=None, time=None) == replace(
        other, unit=None, time=None
    )


def _with_spills(linked: Entry, compiled: Iterable[Entry]) -> Entry:
    """The linked entry with what only its compile knows: the frame too, where the link's text
    has only the whole stack."""
    compiled = list(compiled)
    spills = {(e.spill_stores, e.spill_loads, e.spill_lines) for e in compiled}
    if len(spills) != 1 or linked.spill_stores is not None:
        return linked
    return replace(
        linked,
        spill_stores=compiled[0].spill_stores,
        spill_loads=compiled[0].spill_loads,
        spill_lines=compiled[0].spill_lines,
        stack=linked.stack if linked.origin == "binary" else compiled[0].stack,
        barriers=_barriers(linked, compiled),
        file=linked.file or compiled[0].file,
        line=linked.line if linked.file else compiled[0].line,
        unit=linked.unit or compiled[0].unit,
    )


def _barriers(linked: Entry, compiled: Iterable[Entry]) -> int | None:
    """The linked entry's barriers; unknown where only nvlink's text tells a kernel that has none
    itself of some: they may be its callees', but nvlink 13.5 tells such a kernel the number of the
    kernel told before it (its code has no barrier, nor has the cubin's table)."""
    told_by_text = linked.origin != "binary"
    if told_by_text and linked.barriers and any(entry.barriers == 0 for entry in compiled):
        return None
    return linked.barriers
