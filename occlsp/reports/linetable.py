"""The line table of a cubin (`.debug_line`): from code to source lines.

ptxas writes one sequence of rows a function; its first row, at address 0, is the line of the
kernel's name. Addresses are relocated, so each relocation of the section is where a sequence
sets its address, and names its function: sequences are read from there, singly, without going
through the rows of all the others. NVIDIA's extended opcode 0x90 (inlining) is skipped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from occlsp.reports.elf import BrokenFileError, Elf

_SET_ADDRESS = b"\x00\x09\x02"
_END_SEQUENCE, _DEFINE_FILE = 1, 3
_MOST_ROWS = 1_000_000
"""Rows read of one function, at most."""


@dataclass(frozen=True)
class _Unit:
    """One line program: its header. Files are (name, directory index)."""

    start: int
    end: int
    instruction_size: int
    line_base: int
    line_range: int
    operands: bytes
    """Number of operands of standard opcodes 1, 2, …"""
    directories: list[str] = field(default_factory=list)
    files: list[tuple[str, int]] = field(default_factory=list)

    def path(self, index: int) -> str | None:
        if not 1 <= index <= len(self.files):
            return None
        name, directory = self.files[index - 1]
        if name.startswith("/") or not 1 <= directory <= len(self.directories):
            return name
        return f"{self.directories[directory - 1].rstrip('/')}/{name}"


class LineTable:
    """Where functions and their instructions come from, by mangled function name."""

    def __init__(self, elf: Elf) -> None:
        section = elf.sections.get(".debug_line")
        self._data = elf.content(section) if section is not None else b""
        self._units = _read_units(self._data)
        self._starts = [unit.start for unit in self._units]
        self._sequences: dict[str, int] = {}
        if self._data:
            for offset, symbol in elf.relocations(".debug_line"):
                self._sequences.setdefault(elf.symbols[symbol].name, offset)

    def place(self, function: str) -> tuple[str, int] | None:
        """File and 1-based line of the function's name."""
        for _, file, line in self._rows(function):
            return file, line
        return None

    def rows(self, function: str) -> list[tuple[int, str, int]]:
        """(offset into the code, file, 1-based line) of each row of the function."""
        return list(self._rows(function))

    def _rows(self, function: str) -> Iterator[tuple[int, str, int]]:
        at = self._sequences.get(function)
        if at is None:
            return
        index = bisect_right(self._starts, at) - 1
        if index < 0 or self._data[at - 3 : at] != _SET_ADDRESS:
            return
        unit = self._units[index]
        if at + 8 <= unit.end:
            yield from _run(self._data, at + 8, unit)


def _run(data: bytes, at: int, unit: _Unit) -> Iterator[tuple[int, str, int]]:
    """Runs a line program from behind its first set_address to its end of sequence."""
    address, file, line, count = 0, 1, 1, 0
    base = len(unit.operands) + 1
    while at < unit.end:
        opcode = data[at]
        at += 1
        if opcode >= base:
            steps, advance = divmod(opcode - base, unit.line_range)
            address += steps * unit.instruction_size
            line += unit.line_base + advance
        elif opcode == 0:
            size, at = _unsigned(data, at)
            if size and data[at] == _END_SEQUENCE:
                return
            at += size
            continue
        elif opcode != 1:
            operands = []
            if opcode == 9:  # fixed_advance_pc
                address += int.from_bytes(data[at : at + 2], "little")
                at += 2
                continue
            for _ in range(unit.operands[opcode - 1]):
                value, at = (_signed if opcode == 3 else _unsigned)(data, at)
                operands.append(value)
            if opcode == 2 and operands:
                address += operands[0] * unit.instruction_size
            elif opcode == 3 and operands:
                line += operands[0]
            elif opcode == 4 and operands:
                file = operands[0]
            elif opcode == 8:  # const_add_pc
                address += (255 - base) // unit.line_range * unit.instruction_size
            continue
        count += 1
        path = unit.path(file)
        if path is not None and line > 0:
            yield address, path, line
        if count >= _MOST_ROWS:
            return


def _read_units(data: bytes) -> list[_Unit]:
    units = []
    at = 0
    while at + 4 <= len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        if length == 0 or length >= 0xFFFFFFF0:  # padding, or the 64-bit form that ptxas never has
            break
        end = min(at + 4 + length, len(data))
        unit = _read_unit(data, at, end)
        if unit is not None:
            units.append(unit)
        at = end
    return units


def _read_unit(data: bytes, start: int, end: int) -> _Unit | None:
    version = int.from_bytes(data[start + 4 : start + 6], "little")
    if version not in (2, 3, 4) or end - start < 17:
        return None
    at = start + 10
    instruction_size = data[at]
    at += 3 if version == 4 else 2  # is_stmt; version 4 also has operations per instruction
    line_base = int.from_bytes(data[at : at + 1], "little", signed=True)
    line_range, base = data[at + 1], data[at + 2]
    at += 3
    if line_range == 0 or base == 0:
        return None
    unit = _Unit(start, end, instruction_size, line_base, line_range, data[at : at + base - 1])
    at += base - 1
    while at < end and data[at]:
        name, at = _text(data, at)
        unit.directories.append(name)
    at += 1
    while at < end and data[at]:
        name, at = _text(data, at)
        directory, at = _unsigned(data, at)
        _, at = _unsigned(data, at)  # time
        _, at = _unsigned(data, at)  # size
        unit.files.append((name, directory))
    return unit


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.find(b"\0", at)
    if end < 0:
        raise BrokenFileError(at, "a file name of the line table has no end")
    return data[at:end].decode("utf-8", "backslashreplace"), end + 1


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            break
    raise BrokenFileError(at, "a number of the line table has no end")


def _signed(data: bytes, at: int) -> tuple[int, int]:
    start = at
    value, at = _unsigned(data, at)
    bits = 7 * (at - start)
    return (value - (1 << bits) if data[at - 1] & 0x40 else value), at
