"""The section and symbol tables of 64-bit little-endian ELF files: cubins and host objects.

Not pyelftools, which makes an object of each section and symbol (about 30 µs each, measured):
a cubin has half a dozen sections a kernel, a host object thousands, and here reading all of them
is two `struct` calls.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property
from mmap import mmap
from typing import NamedTuple

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
RELOCATABLE = 1
"""`e_type` of code that is still to be linked: what `-rdc=true` makes."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QII")
SHARED_MEMORY = 0x7000000A
_NOBITS = (8, SHARED_MEMORY)
"""Section types without bytes in the file: SHT_NOBITS and CUDA's shared memory."""


Bytes = bytes | mmap
"""What is read: in memory, or mapped."""


class BrokenFileError(Exception):
    """Bytes that are not what they should be, with where: "…: offset 0x40: …" for people."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"offset {offset:#x}: {reason}")
        self.offset = offset


class Section(NamedTuple):
    """A row of the section table."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True)
class Elf:
    """One file: its header, and its sections by name (the last of several that share one)."""

    data: Bytes
    kind: int
    abi: int
    flags: int
    sections: dict[str, Section] = field(default_factory=dict)
    by_index: tuple[Section, ...] = ()

    def content(self, section: Section) -> bytes:
        """The section's bytes; empty for one that has none in the file."""
        if section.kind in _NOBITS:
            return b""
        end = section.offset + section.size
        if end > len(self.data):
            raise BrokenFileError(
                section.offset, f"section {section.name} ends past the file, at {end:#x}"
            )
        return self.data[section.offset : end]

    @cached_property
    def symbols(self) -> _Symbols:
        """The symbol table."""
        table = self.sections.get(".symtab")
        strings = self.sections.get(".strtab")
        if table is None or strings is None:
            return _Symbols(b"", b"")
        return _Symbols(self.content(table), self.content(strings))

    def relocations(self, name: str) -> list[tuple[int, int]]:
        """Offset and symbol index of each relocation of the section `name`."""
        found = []
        for prefix, form in ((".rel", _RELOCATION), (".rela", _WITH_ADDEND)):
            section = self.sections.get(prefix + name)
            if section is not None:
                content = self.content(section)
                whole = content[: len(content) // form.size * form.size]
                found += [(offset, symbol) for offset, _, symbol in form.iter_unpack(whole)]
        return found


_WITH_ADDEND = struct.Struct("<QII8x")


class Symbol(NamedTuple):
    """A row of the symbol table."""

    name: str
    other: int
    section: int
    value: int
    size: int


class _Symbols:
    def __init__(self, table: bytes, strings: bytes) -> None:
        self._table = table
        self._strings = strings

    def __getitem__(self, index: int) -> Symbol:
        if not 0 <= index < len(self._table) // _SYMBOL.size:
            raise BrokenFileError(0, f"symbol {index} of {len(self._table) // _SYMBOL.size}")
        name, _, other, section, value, size = _SYMBOL.unpack_from(
            self._table, index * _SYMBOL.size
        )
        return Symbol(text_at(self._strings, name), other, section, value, size)


def text_at(strings: bytes, offset: int) -> str:
    """The zero-terminated text at `offset`."""
    end = strings.find(b"\0", offset)
    if end < 0 or offset < 0:
        raise BrokenFileError(max(offset, 0), "a name without end")
    return strings[offset:end].decode("utf-8", "backslashreplace")


def is_cubin(data: Bytes) -> bool:
    """Whether these are the first bytes of a cubin."""
    return (
        len(data) >= 20
        and data[:4] == MAGIC
        and int.from_bytes(data[18:20], "little") == MACHINE_CUDA
    )


def read_elf(data: Bytes) -> Elf:
    """The tables of the ELF file `data`. Raises `BrokenFileError`."""
    if data[:4] != MAGIC:
        raise BrokenFileError(0, "not an ELF file")
    if data[4:6] != b"\2\1":
        raise BrokenFileError(4, "a 32-bit or big-endian ELF file, of which nothing is read")
    if len(data) < _HEADER.size:
        raise BrokenFileError(len(data), "the ELF header is cut off")
    header = _HEADER.unpack_from(data)
    ident, kind, flags, start = header[0], header[1], header[7], header[6]
    rows = _section_rows(data, start, count=header[12], row_size=header[11])
    names_at = header[13] if header[13] != 0xFFFF else rows[0][6]
    if names_at >= len(rows):
        raise BrokenFileError(62, f"section {names_at} is to hold the names, of {len(rows)}")
    names = data[rows[names_at][4] : rows[names_at][4] + rows[names_at][5]]
    by_index = tuple(
        Section(text_at(names, row[0]) if row[1] else "", *row[1:3], *row[4:8]) for row in rows
    )
    sections = {section.name: section for section in by_index if section.name}
    return Elf(data, kind, ident[8], flags, sections, by_index)


def _section_rows(data: Bytes, start: int, *, count: int, row_size: int) -> list[tuple[int, ...]]:
    if row_size != _SECTION.size:
        raise BrokenFileError(58, f"section rows of {row_size} bytes, not {_SECTION.size}")
    if start + _SECTION.size > len(data):
        raise BrokenFileError(start, f"the section table lies past the file's {len(data)} bytes")
    if count == 0:  # more than the header's field can hold
        count = _SECTION.unpack_from(data, start)[5]
    end = start + count * _SECTION.size
    if end > len(data):
        raise BrokenFileError(start, f"the section table ends past the file, at {end:#x}")
    return list(_SECTION.iter_unpack(data[start:end]))
