"""The line table of a cubin (`.debug_line`): from code to source lines, decoded by pyelftools.

ptxas writes one sequence of rows a function; its first row, at address 0, is the line of the
kernel's name. Addresses are relocated, so each relocation of the section is where a sequence
sets its address, and names its function: the library's `LineProgram` is run from there, on that
function alone (its `get_entries` takes about 5 µs an instruction, measured). The library passes
over NVIDIA's extended opcode 0x90 (inlining). It is not asked for units by `get_dwarf_info`:
what `-lineinfo` makes has no `.debug_info` that would name them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from io import BytesIO

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.dwarf.lineprogram import LineProgram
from elftools.dwarf.structs import DWARFStructs

from occlsp.reports.elf import Elf, translated

_SET_ADDRESS = b"\x00\x09\x02"
_ADDRESS_SIZE = 8
_VERSIONS = (2, 3, 4)
"""Of line programs. Later ones have other headers; ptxas writes 2."""
_LARGEST = 1 << 19
"""Bytes of a header or of one function's rows, at most: 30 times what the largest of CUB has."""
_FIRST_ROW = (16, 1 << 12)
"""Bytes in which a function's first row is, nearly always and always."""
_LONGEST_NUMBER = 1 << 10
"""Bytes of a number (LEB128) or of other than ASCII text in a row, at most."""


class _Stream(BytesIO):
    """A line program's bytes. The library reads numbers of any length, in time that grows with the
    square of it: half a megabyte takes 16 s."""

    _run = 0

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._run = 0  # the library seeks each instruction
        return super().seek(offset, whence)

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._run = self._run + 1 if data >= b"\x80" else 0
        if self._run > _LONGEST_NUMBER:
            raise ELFError("a number has no end")
        return data


class _Unit:
    """One line program, at `start` to `end` in the section."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self.end = end
        self._structs = DWARFStructs(
            little_endian=True, dwarf_format=32, address_size=_ADDRESS_SIZE
        )
        with translated(start):
            stream = _Stream(data[start : min(end, start + _LARGEST)])
            self._header = struct_parse(self._structs.Dwarf_lineprog_header, stream)
        self._paths = list(self._read_paths())

    def _read_paths(self) -> Iterator[str]:
        directories = [_text(name) for name in self._header.include_directory]
        for entry in self._header.file_entry:
            name, directory = _text(entry.name), entry.dir_index
            if name.startswith("/") or not 1 <= directory <= len(directories):
                yield name
            else:
                yield f"{directories[directory - 1].rstrip('/')}/{name}"

    def rows(self, program: bytes, size: int) -> Iterator[tuple[int, str, int]]:
        """(offset into the code, file, 1-based line) of the instructions that begin in the first
        `size` bytes of `program`, which begins behind its set_address."""
        lines = LineProgram(self._header, _Stream(program), self._structs, 0, size)
        for entry in lines.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                return
            if 1 <= state.file <= len(self._paths) and state.line > 0:
                yield state.address, self._paths[state.file - 1], state.line


class LineTable:
    """Where functions and their instructions come from, by mangled function name."""

    def __init__(self, elf: Elf) -> None:
        section = elf.sections.get(".debug_line")
        self._data = elf.content(section) if section is not None else b""
        self._units = list(_read_units(self._data))
        self._starts = [start for start, _ in self._units]
        self._sequences: dict[str, int] = {}
        if self._data:
            functions: dict[int, str] = {}  # one of each offset, else work could be any multiple
            for offset, symbol in elf.relocations(".debug_line"):
                functions.setdefault(offset, elf.symbols[symbol].name)
            for offset, name in functions.items():
                self._sequences.setdefault(name, offset)
        self._offsets = sorted(self._sequences.values())

    def place(self, function: str) -> tuple[str, int] | None:
        """File and 1-based line of the function's name."""
        for most in _FIRST_ROW:
            for _, file, line in self._rows(function, most):
                return file, line
        return None

    def rows(self, function: str) -> list[tuple[int, str, int]]:
        """(offset into the code, file, 1-based line) of each row of the function."""
        return list(self._rows(function, _LARGEST))

    def _rows(self, function: str, most: int) -> Iterator[tuple[int, str, int]]:
        at = self._sequences.get(function)
        if at is None:
            return
        index = bisect_right(self._starts, at) - 1
        if index < 0 or self._data[at - len(_SET_ADDRESS) : at] != _SET_ADDRESS:
            return
        unit = self._units[index][1]
        following = bisect_right(self._offsets, at)
        end = unit.end
        if following < len(self._offsets):
            end = min(end, self._offsets[following] - len(_SET_ADDRESS))
        program = self._data[at + _ADDRESS_SIZE : end]
        if len(program) <= _LARGEST or most < _LARGEST:
            with translated(at):
                yield from unit.rows(program[:_LARGEST], min(most, len(program)))


def _read_units(data: bytes) -> Iterator[tuple[int, _Unit]]:
    """The line programs that can be read, with their offsets."""
    at = 0
    while at + 6 <= len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        if length == 0 or length >= 0xFFFFFFF0:  # padding, or the 64-bit form that ptxas never has
            break
        end = min(at + 4 + length, len(data))
        if int.from_bytes(data[at + 4 : at + 6], "little") in _VERSIONS:
            yield at, _Unit(data, at, end)
        at = end


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
