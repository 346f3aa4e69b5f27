"""Text that tells of resources: `ptxas -v`, `nvlink -v` and `cuobjdump --dump-resource-usage`.

In any log, of any length, through any wrapping: lines are recognised by what the tools say, not
by what stands before it. What cannot be attributed gives no number, but a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from occlsp.reports.attribution import Attribution, Block, Stack
from occlsp.reports.dumps import (
    LINKED_WITH_RESERVE,
    DumpReader,
    arch_in_name,
    without_reserve,
)
from occlsp.reports.facts import Entry, Report, ReportWarning
from occlsp.reports.loglines import Line, read_lines
from occlsp.reports.merge import EntrySet, merge_entries
from occlsp.reports.toolwarnings import read_warning
from occlsp.reports.used import UsedReader

_MOST_WARNINGS = 10_000
_MOST_LANES = 1_000
_MOST_CACHED = 4_096
_MOST_OF_A_UNIT = 4_096
"""Entries of one ptxas that wait for what its form says of all of them."""

_COMPILING = re.compile(r"Compiling entry function '(.+)' for '(\w+)'$")
_PROPERTIES = re.compile(r"Function properties for (?!')(.+)$")
_LINK_PROPERTIES = re.compile(r"Function properties for '(.+)':?(?: \(target: (\w+)\))?$")
_STACK = re.compile(
    r"(?:^|\W)(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads$"
)
_USED = re.compile(r"\bUsed (\d+ registers(?:,.*)?)$")
_LINK_USED = re.compile(r"\bused (\d+ registers(?:,.*?)?)(?: \(target: (\w+)\))?$")
_PHRASES = (
    "Function properties for ",
    "bytes stack frame, ",
    "Compiling entry function ",
    ": Used ",
    ": used ",
)
"""What lines of numbers have one of, each; two in a line: two lines that ran together."""
_INFO = re.compile(r"\binfo +:")
_GLOBALS = re.compile(r"\binfo *: \d+ bytes gmem")
_COMPILE_TIME = "Compile time = "
_DEBUG_FLAG = re.compile(r" (?:-G|--device-debug)(?: |$)")
_SEPARATE_FLAG = re.compile(
    r" (?:-dc|-rdc[= ]true|--(?:device-c|relocatable-device-code[= ]true))\b"
)
_BUILDING = re.compile(r"^\[\d+/\d+\] (?:Building CUDA object (\S+\.cu\w*)\.(?:o|obj)$)?")

_BUILD_FOLDER = re.compile(r"CMakeFiles/[^/]+\.dir/")


def read_text(file: BinaryIO, head: bytes, source: str, *, time: float | None = None) -> Report:
    """The entries of a log. `file` stands at its start; `head` are its first bytes."""
    reader = _TextReader(source, time)
    for line in read_lines(file, head):
        reader.feed(line)
    return reader.report()


@dataclass(slots=True)
class _Unit:
    """What a compile is known to be: by its command or build line, and by what it printed."""

    name: str | None = None
    debug: bool = False
    separate: bool = False
    timed_function: bool = False
    """A device function has a compile time of its own: `-rdc` or `-G`."""
    final: bool = False
    """Shared memory or a cumulative stack is told, which `-rdc` compiles leave to the linker."""
    entries: list[Entry] = field(default_factory=list)
    """Those that this ptxas told of, as long as its form decides about them."""


class _Lane:
    """One stream of lines, as far as a log tells several apart."""

    def __init__(self) -> None:
        self.compiles = Attribution()
        self.links: dict[str | None, Attribution] = {}
        self.unit = _Unit()
        self.mixed = False


class _TextReader:
    def __init__(self, source: str, time: float | None) -> None:
        self._source = source
        self._time = time
        self._lanes: dict[str, _Lane] = {}
        self._compiled = EntrySet()
        self._linked = EntrySet()
        self._warnings: list[ReportWarning] = []
        self._dumps = DumpReader(source, time)
        self._numbers = UsedReader()
        self._stacks: dict[str, Stack] = {}

    def feed(self, line: Line) -> None:
        """Takes the next line."""
        lane = self._lanes.get(line.lane)
        if lane is None:
            name = line.lane if len(self._lanes) < _MOST_LANES else ""
            lane = self._lanes.setdefault(name, _Lane())
        text = line.text
        phrases = [phrase for phrase in _PHRASES if phrase in text]
        if not phrases:
            if not self._dumps.feed(text):
                self._context(lane, line)
        elif len(phrases) > 1 or _is_two_lines(text, phrases[0]):
            self._garbled(lane)
        else:
            self._numbers_line(lane, line, phrases[0])

    def _numbers_line(self, lane: _Lane, line: Line, phrase: str) -> None:
        text = line.text
        if phrase == "bytes stack frame, ":
            match = _STACK.search(text)
            if match is not None:
                lane.compiles.stack(self._stack(match))
        elif phrase == "Function properties for ":
            match = _PROPERTIES.search(text) or _LINK_PROPERTIES.search(text)
            if match is not None and match.re is _PROPERTIES:
                lane.compiles.properties(match.group(1), line.number)
            elif match is not None:
                link = lane.links.setdefault(match.group(2), Attribution())
                link.announce(match.group(1), match.group(2) or "", line.number)
                link.properties(match.group(1), line.number)
                link.stack(Stack(0, 0, 0))
        elif phrase == "Compiling entry function ":
            match = _COMPILING.search(text)
            if match is not None:
                lane.compiles.announce(match.group(1), match.group(2), line.number)
        else:
            match = _USED.search(text) or _LINK_USED.search(text)
            if match is not None:
                self._used(lane, line, match)
        if match is None and line.complete:
            self._garbled(lane)

    def _stack(self, match: re.Match[str]) -> Stack:
        """The numbers; one object for all the same, as logs have many."""
        stack = self._stacks.get(match.group())
        if stack is None:
            if len(self._stacks) > _MOST_CACHED:
                self._stacks.clear()
            stack = self._stacks[match.group()] = Stack(*map(int, match.groups()))
        return stack

    def _used(self, lane: _Lane, line: Line, match: re.Match[str]) -> None:
        numbers = self._numbers.read(match.group(1), complete=line.complete)
        if match.re is _USED:
            block = lane.compiles.used(numbers)
            if block is not None:
                self._add(lane.unit, block)
            return
        link = lane.links.get(match.group(2))
        block = link.used(numbers) if link is not None else None
        if block is not None:
            self._linked.add(self._entry(block, _Unit()))

    def _add(self, unit: _Unit, block: Block) -> None:
        entry = self._entry(block, unit)
        unit.final |= bool(entry.static_smem or entry.cumulative_stack)
        unit.entries.append(entry)
        if len(unit.entries) >= _MOST_OF_A_UNIT:
            self._settle(unit)

    def _entry(self, block: Block, unit: _Unit) -> Entry:
        used, stack = block.used, block.stack
        assert used is not None
        is_link = used.stack is not None
        return Entry(
            entry=block.name,
            arch=block.arch or None,
            registers=used.registers,
            static_smem=used.static_smem,
            spill_stores=stack.stores if stack and not is_link else None,
            spill_loads=stack.loads if stack and not is_link else None,
            stack=used.stack if is_link else stack.frame if stack else None,
            cumulative_stack=used.cumulative_stack,
            barriers=used.barriers,
            cmem=used.cmem,
            debug=unit.debug,
            source=self._source,
            origin="dump" if is_link else "log",
            unit=unit.name,
            time=self._time,
        )

    def _garbled(self, lane: _Lane) -> None:
        lane.mixed = True
        lane.compiles.garbled()
        for link in lane.links.values():
            link.garbled()

    def _context(self, lane: _Lane, line: Line) -> None:
        """Takes a line without numbers: a warning, or what says which compile it is."""
        text = line.text
        if _COMPILE_TIME in text:
            lane.unit.timed_function |= lane.compiles.after_function
        elif _GLOBALS.search(text):
            self._next_ptxas(lane)
        elif ".cu" in text and "nvcc" in text and " -" in text:
            self._next_ptxas(lane)
            debug = bool(_DEBUG_FLAG.search(text))
            lane.unit = _Unit(debug=debug, separate=bool(_SEPARATE_FLAG.search(text)))
        elif ".cu" in text and (building := _BUILDING.search(text)):
            self._next_ptxas(lane)
            name = building.group(1)
            lane.unit = _Unit(name=_BUILD_FOLDER.sub("", name) if name else None)
        elif len(self._warnings) < _MOST_WARNINGS:
            warning = read_warning(text, self._source)
            if warning is not None:
                self._warnings.append(warning)

    def _next_ptxas(self, lane: _Lane) -> None:
        """Settles what the form of a ptxas's output said of its entries, at the next one."""
        unit = lane.unit
        if not lane.compiles.is_idle:
            lane.mixed = True
        if unit.timed_function and not lane.mixed:
            unit.debug |= unit.final
            unit.separate |= not unit.final
        self._settle(unit)
        unit.timed_function = unit.final = False

    def _settle(self, unit: _Unit) -> None:
        for entry in unit.entries:
            self._compiled.add(_as_built(entry, unit))
        unit.entries = []

    def report(self) -> Report:
        """Everything that was read."""
        functions: dict[str, None] = {}
        for lane in self._lanes.values():
            for block in lane.compiles.finish():
                self._add(lane.unit, block)
            self._next_ptxas(lane)
            functions.update(lane.compiles.functions)
            for attribution in (lane.compiles, *lane.links.values()):
                self._warnings += map(self._lost, attribution.lost[:_MOST_WARNINGS])
        self._dumps.flush()
        functions.update(dict.fromkeys(self._dumps.functions))
        joined = bool(self._linked or self._dumps.entries)
        entries = merge_entries(self._entries()) if joined else list(self._compiled.merged())
        for entry in entries:
            functions.pop(entry.entry, None)
        return Report(self._source, tuple(entries), tuple(self._warnings), tuple(functions))

    def _entries(self) -> Iterator[Entry]:
        linked = {entry.entry for entry in self._linked}
        archs: dict[str, set[str | None]] = {}
        for entry in self._compiled:
            if entry.entry in linked:
                archs.setdefault(entry.entry, set()).add(entry.arch)
                yield replace(entry, linked=False)
            else:
                yield entry
        by_arch: dict[str | None, list[Entry]] = {}
        for entry in self._linked:
            arch = entry.arch
            if arch is None:
                known = archs.get(entry.entry, set())
                arch = next(iter(known)) if len(known) == 1 else arch_in_name(self._source)
            by_arch.setdefault(arch, []).append(replace(entry, arch=arch))
        for group in by_arch.values():
            yield from without_reserve(group, LINKED_WITH_RESERVE)
        yield from self._dumps.entries

    def _lost(self, block: Block) -> ReportWarning:
        kind = "ambiguous" if block.ambiguous else "truncated"
        why = (
            "lines of parallel compiles are mixed, so its numbers cannot be told from others'"
            if block.ambiguous
            else "its numbers are missing, as if the log were cut off"
        )
        message = f"{self._source}:{block.number}: {block.name}: {why}; no number is shown"
        return ReportWarning(kind, message, block.name, block.arch or None, self._source)


def _as_built(entry: Entry, unit: _Unit) -> Entry:
    """The entry with what is known of its build by now."""
    if not (unit.debug or unit.separate):
        return entry
    smem = None if unit.separate and not entry.static_smem else entry.static_smem
    return replace(entry, debug=unit.debug, linked=not unit.separate, static_smem=smem)


def _is_two_lines(text: str, phrase: str) -> bool:
    """Whether two lines ran together, as when two compilers write at the same time."""
    if text.count(phrase) > 1:
        return True
    return text.count("info") > 1 and len(_INFO.findall(text)) > 1
