"""One cubin, read directly: what each of its kernels costs, and where its source is.

The numbers are attributes of the section `.nv.info` (of all functions) and of `.nv.info.<kernel>`;
they equal what `ptxas -v` prints. ABI 7 is that of toolkits to 12.9, ABI 8 of 13 and later.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from occlsp.reports.dumps import FIRST_RESERVED_ARCH, RESERVED_SHARED
from occlsp.reports.elf import (
    RELOCATABLE,
    SHARED_MEMORY,
    BrokenFileError,
    Elf,
    is_cubin,
    read_elf,
)
from occlsp.reports.facts import Entry, LineSpills, Origin, Report, ReportWarning
from occlsp.reports.linetable import LineTable
from occlsp.reports.spills import FIRST_ARCH, decode_spills, spills_by_line

_MAX_THREADS, _REQUIRED_BLOCK, _FRAME_SIZE, _MIN_STACK_SIZE = 0x05, 0x10, 0x11, 0x12
_PARAMETER_BYTES, _MAX_REGISTERS, _REGISTERS, _API_VERSION = 0x19, 0x1B, 0x2F, 0x37
_CLUSTER, _BARRIERS, _ANNOTATIONS = 0x3D, 0x4C, 0x55
_SIZED = 4
"""The attribute format that has a payload after its size; the others have a 16-bit value."""
_KERNEL = 0x10
"""Bit of a function symbol's `st_other`: a kernel."""
_FIRST_ANNOTATED_API = 126
_NO_CAP = 255
_UNKNOWN = 0xFFFFFFFF
_ACCELERATED_ABI7 = 0x800
"""Bit of ABI 7's flags: sm_90a."""
_ARCH_OPTION = re.compile(rb"-arch[ =]+(sm_\d+[a-z]?)")
_RELEASE = re.compile(rb"release [\d.]+, V([\d.]+)")


class _Function(NamedTuple):
    """What `.nv.info` says of one function."""

    registers: int
    is_kernel: bool
    frame: int | None
    cumulative: int | None


def read_cubin(
    data: bytes,
    source: str,
    *,
    origin: Origin = "binary",
    lines: bool = True,
    unit: str | None = None,
    time: float | None = None,
) -> Report:
    """The entries of a cubin.

    `source` names where the bytes are from, for `Entry.source` and messages; `unit` is the
    translation unit and `time` the compile's, where they are known. `lines` also reads the line
    table, where there is one: `file`, `line` and `spill_lines`; without, it is half as fast
    again. Names are left mangled: `occlsp.reports.names.demangle` is slow next to all this.
    Never raises on broken bytes: a warning names the source and the offset, and what could be
    read is there.
    """
    try:
        if not is_cubin(data):
            raise BrokenFileError(0, "not an ELF file for NVIDIA's machines")
        return _Reader(read_elf(data), source, origin, unit, time, lines=lines).read()
    except (BrokenFileError, struct.error, IndexError, ValueError) as error:
        return Report(source, warnings=(_broken(source, f"{error}; nothing is read of it"),))


def _broken(source: str, reason: str, entry: str | None = None) -> ReportWarning:
    return ReportWarning("truncated", f"{source}: {reason}", entry=entry, source=source)


class _Reader:
    def __init__(
        self,
        elf: Elf,
        source: str,
        origin: Origin,
        unit: str | None,
        time: float | None,
        *,
        lines: bool,
    ) -> None:
        self._elf = elf
        self._unit = unit
        self._time = time
        self._source = source
        self._origin = origin
        note = self._content(".note.nv.tkinfo")
        self._capability = elf.flags & 0xFF if elf.abi < 8 else elf.flags >> 8 & 0xFF
        self._arch = self._find_arch(note)
        release = _RELEASE.search(note)
        self._toolkit = release.group(1).decode() if release else None
        self._linked = elf.kind != RELOCATABLE
        self._debug = ".debug_info" in elf.sections
        self._warnings: list[ReportWarning] = []
        self._lines = self._read_lines() if lines else None

    def read(self) -> Report:
        """All entries; a kernel that is broken costs that kernel."""
        entries, others = [], []
        for name, function in self._functions().items():
            if not function.is_kernel:
                others.append(name)
                continue
            try:
                entries.append(self._entry(name, function))
            except (BrokenFileError, struct.error, IndexError) as error:
                self._warnings.append(_broken(self._source, str(error), name))
        return Report(self._source, tuple(entries), tuple(self._warnings), tuple(others))

    def _content(self, name: str) -> bytes:
        section = self._elf.sections.get(name)
        return self._elf.content(section) if section is not None else b""

    def _find_arch(self, note: bytes) -> str:
        """The capability is in the header, its letter (sm_90a) in the tool's own command line."""
        option = _ARCH_OPTION.search(note)
        if option and int(re.sub(rb"\D", b"", option.group(1))) == self._capability:
            return option.group(1).decode()
        accelerated = self._elf.abi < 8 and self._elf.flags & _ACCELERATED_ABI7
        return f"sm_{self._capability}{'a' if accelerated else ''}"

    def _read_lines(self) -> LineTable | None:
        try:
            return LineTable(self._elf)
        except (BrokenFileError, struct.error, IndexError) as error:
            self._warnings.append(_broken(self._source, f"line table: {error}"))
            return None

    def _place(self, name: str) -> tuple[str, int] | None:
        try:
            return self._lines.place(name) if self._lines is not None else None
        except BrokenFileError as error:
            self._warnings.append(_broken(self._source, f"line table: {error}", name))
            return None

    def _rows(self, name: str) -> list[tuple[int, str, int]]:
        try:
            return self._lines.rows(name) if self._lines is not None else []
        except BrokenFileError as error:
            self._warnings.append(_broken(self._source, f"line table: {error}", name))
            return []

    def _functions(self) -> dict[str, _Function]:
        registers: dict[int, int] = {}
        frames: dict[int, int] = {}
        stacks: dict[int, int] = {}
        tables = {_REGISTERS: registers, _FRAME_SIZE: frames, _MIN_STACK_SIZE: stacks}
        for attribute, payload in _attributes(self._content(".nv.info")):
            table = tables.get(attribute)
            if table is not None and isinstance(payload, bytes) and len(payload) >= 8:
                index, value = struct.unpack_from("<II", payload)
                table[index] = value
        functions = {}
        for index, count in registers.items():
            symbol = self._elf.symbols[index]
            cumulative = stacks.get(index)
            functions[symbol.name] = _Function(
                count,
                is_kernel=bool(symbol.other & _KERNEL),
                frame=frames.get(index),
                cumulative=None if cumulative == _UNKNOWN else cumulative,
            )
        return functions

    def _entry(self, name: str, function: _Function) -> Entry:
        found = dict(_attributes(self._content(f".nv.info.{name}")))
        spill_stores, spill_loads, spill_lines = self._spills(name, function, found)
        threads = _three(found.get(_MAX_THREADS))
        cap = found.get(_MAX_REGISTERS)
        place = self._place(name)
        parameter_bytes = found.get(_PARAMETER_BYTES)
        return Entry(
            entry=name,
            arch=self._arch,
            registers=function.registers,
            static_smem=self._static_smem(name),
            spill_stores=spill_stores,
            spill_loads=spill_loads,
            stack=function.frame,
            cumulative_stack=function.cumulative,
            barriers=self._barriers(name, found),
            cmem=self._constants(name),
            linked=self._linked,
            debug=self._debug,
            file=place[0] if place else None,
            line=place[1] if place else None,
            source=self._source,
            origin=self._origin,
            max_threads=threads[0] * threads[1] * threads[2] if threads else None,
            required_block=_three(found.get(_REQUIRED_BLOCK)),
            max_registers=cap if isinstance(cap, int) and cap < _NO_CAP else None,
            cluster=_three(found.get(_CLUSTER)),
            parameter_bytes=parameter_bytes if isinstance(parameter_bytes, int) else 0,
            spill_lines=spill_lines,
            unit=self._unit,
            time=self._time,
            toolkit=self._toolkit or _release(found),
        )

    def _static_smem(self, name: str) -> int:
        section = self._elf.sections.get(f".nv.shared.{name}")
        size = section.size if section is not None else 0
        if not self._linked:
            return self._with_referenced(name, size)
        reserved = RESERVED_SHARED if self._capability >= FIRST_RESERVED_ARCH else 0
        return max(0, size - reserved)

    def _with_referenced(self, name: str, size: int) -> int:
        """Adds the shared variables of templates: before linking they are in no kernel's section,
        but symbols of their own (whose value is their alignment)."""
        for index in sorted({index for _, index in self._elf.relocations(f".text.{name}")}):
            symbol = self._elf.symbols[index]
            if isinstance(symbol.section, int) and symbol.section < len(self._elf.by_index):
                section = self._elf.by_index[symbol.section]
                if section.kind == SHARED_MEMORY and not section.name.startswith(".nv.shared."):
                    alignment = max(symbol.value, 1)
                    size = -(-size // alignment) * alignment + symbol.size
        return size

    def _barriers(self, name: str, found: dict[int, int | bytes]) -> int | None:
        if self._elf.abi >= 8:
            count = found.get(_BARRIERS, 0)
            return count if isinstance(count, int) else None
        text = self._elf.sections.get(f".text.{name}")
        return text.flags >> 20 & 0x7F if text is not None else None

    def _constants(self, name: str) -> dict[str, int]:
        banks = {}
        for bank in ("0", "2"):
            section = self._elf.sections.get(f".nv.constant{bank}.{name}")
            if section is not None:
                banks[bank] = section.size
        return banks

    def _spills(
        self, name: str, function: _Function, found: dict[int, int | bytes]
    ) -> tuple[int | None, int | None, tuple[LineSpills, ...]]:
        annotations = found.get(_ANNOTATIONS)
        if not isinstance(annotations, bytes):
            return (*self._spills_without_annotations(function, found), ())
        if self._capability < FIRST_ARCH:
            return None, None, ()
        spills = decode_spills(annotations, self._content(f".text.{name}"))
        stores = sum(spill.size for spill in spills if spill.is_store)
        loads = sum(spill.size for spill in spills if not spill.is_store)
        rows = self._rows(name) if spills else []
        return stores, loads, spills_by_line(spills, rows)

    @staticmethod
    def _spills_without_annotations(
        function: _Function, found: dict[int, int | bytes]
    ) -> tuple[int | None, int | None]:
        """None spilled, where the toolkit would have told, or where there is no stack at all."""
        version = _api_version(found)
        if version is not None and version >= _FIRST_ANNOTATED_API:
            return 0, 0
        return (0, 0) if function.frame == 0 and function.cumulative == 0 else (None, None)


def _attributes(info: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(attribute, value) pairs of a `.nv.info` section: a number, or the payload's bytes."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != _SIZED:
            yield attribute, value
            continue
        if at + value > len(info):
            raise BrokenFileError(at, f"attribute {attribute:#x} ends past its section")
        yield attribute, info[at : at + value]
        at += value


def _three(payload: int | bytes | None) -> tuple[int, int, int] | None:
    if not isinstance(payload, bytes) or len(payload) < 12:
        return None
    x, y, z = struct.unpack_from("<III", payload)
    return x, y, z


def _api_version(found: dict[int, int | bytes]) -> int | None:
    """The toolkit's release times ten: 126 is 12.6."""
    version = found.get(_API_VERSION)
    if not isinstance(version, bytes) or len(version) < 4:
        return None
    return int.from_bytes(version[:4], "little")


def _release(found: dict[int, int | bytes]) -> str | None:
    version = _api_version(found)
    return None if version is None else f"{version // 10}.{version % 10}"
