"""The tables of 64-bit little-endian ELF files, cubins and host objects, as pyelftools reads them.

Files are hostile as a normal case, so the library's structures are read out of slices that were
checked against the file before; its own `Section` objects follow offsets unchecked, and one broken
section would cost the file. Whatever is wrong is a `BrokenFileError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from mmap import mmap
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.elf.elffile import ELFFile
from elftools.elf.structs import ELFStructs

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
RELOCATABLE = "ET_REL"
"""`e_type` of code that is still to be linked: what `-rdc=true` makes."""

_HEADER_SIZE = 64
SHARED_MEMORY = 0x7000000A
_NOBITS = ("SHT_NOBITS", SHARED_MEMORY)
"""Section types without bytes in the file: the standard's and CUDA's shared memory."""
_LONGEST_NAME = 1 << 16
"""Bytes of a name, at most: else few bytes of file could make every section's name megabytes."""
_OTHER_AT = 5
"""Offset of `st_other` in a symbol."""


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
    kind: int | str
    """The type: pyelftools' name of it, the number of one that it does not know."""
    flags: int
    offset: int
    size: int


@dataclass(frozen=True)
class Elf:
    """One file: its header, and its sections by name (the last of several that share one)."""

    data: Bytes
    structs: ELFStructs
    kind: int | str
    """`e_type`: pyelftools' name of it, the number of one that it does not know."""
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
            return _Symbols(self.structs, b"", b"")
        return _Symbols(self.structs, self.content(table), self.content(strings))

    def relocations(self, name: str) -> list[tuple[int, int]]:
        """Offset and symbol index of each relocation of the section `name`."""
        found = []
        for prefix, form in ((".rel", self.structs.Elf_Rel), (".rela", self.structs.Elf_Rela)):
            section = self.sections.get(prefix + name)
            if section is not None:
                rows = _rows(form, self.content(section), section.offset)
                found += [(row.r_offset, row.r_info_sym) for row in rows]
        return found


class Symbol(NamedTuple):
    """A row of the symbol table."""

    name: str
    other: int
    """`st_other` whole: pyelftools leaves out the bits where NVIDIA marks kernels."""
    section: int | str
    """Index of the symbol's section; pyelftools' name of what is no index, as "SHN_UNDEF"."""
    value: int
    size: int


class _Symbols:
    def __init__(self, structs: ELFStructs, table: bytes, strings: bytes) -> None:
        self._form = structs.Elf_Sym
        self._size = self._form.sizeof()
        self._table = table
        self._stream = BytesIO(table)
        self._strings = strings
        self._read: dict[int, Symbol] = {}

    def __getitem__(self, index: int) -> Symbol:
        symbol = self._read.get(index)
        return symbol if symbol is not None else self._read.setdefault(index, self._parse(index))

    def _parse(self, index: int) -> Symbol:
        if not 0 <= index < len(self._table) // self._size:
            raise BrokenFileError(0, f"symbol {index} of {len(self._table) // self._size}")
        at = index * self._size
        with translated(at):
            row = struct_parse(self._form, self._stream, at)
        name = _text_at(self._strings, row.st_name)
        other = self._table[at + _OTHER_AT]
        return Symbol(name, other, row.st_shndx, row.st_value, row.st_size)


@contextmanager
def translated(offset: int) -> Iterator[None]:
    """Turns what pyelftools raises on broken bytes into an error that tells the place."""
    try:
        yield
    except (ELFError, ValueError, ArithmeticError) as error:
        raise BrokenFileError(offset, str(error) or type(error).__name__) from error


def _rows(form: Any, content: bytes, offset: int) -> list[Any]:
    """The rows of a table, by pyelftools' form of one; a cut off row at its end is left out."""
    stream = BytesIO(content)
    with translated(offset):
        return [struct_parse(form, stream) for _ in range(len(content) // form.sizeof())]


def _text_at(strings: bytes, offset: int) -> str:
    end = strings.find(b"\0", offset, offset + _LONGEST_NAME)
    if end < 0:
        raise BrokenFileError(offset, f"a name without end in {_LONGEST_NAME} bytes")
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
    if len(data) < _HEADER_SIZE:
        raise BrokenFileError(len(data), "the ELF header is cut off")
    stream: Any = BytesIO(data) if isinstance(data, bytes) else data
    with translated(0):
        file = ELFFile(stream)
        count, names_at = file.num_sections(), file.get_shstrndx()
    rows = _section_rows(data, file, count)
    if names_at >= len(rows):
        raise BrokenFileError(62, f"section {names_at} is to hold the names, of {len(rows)}")
    strings = rows[names_at]
    names = data[strings.sh_offset : strings.sh_offset + strings.sh_size]
    by_index = tuple(
        Section(
            _text_at(names, row.sh_name) if row.sh_name else "",
            row.sh_type,
            row.sh_flags,
            row.sh_offset,
            row.sh_size,
        )
        for row in rows
    )
    sections = {section.name: section for section in by_index if section.name}
    header = file.header
    abi = header.e_ident.EI_ABIVERSION
    return Elf(data, file.structs, header.e_type, abi, header.e_flags, sections, by_index)


def _section_rows(data: Bytes, file: ELFFile, count: int) -> list[Any]:
    start, size = file.header.e_shoff, file.header.e_shentsize
    if size != file.structs.Elf_Shdr.sizeof():
        raise BrokenFileError(58, f"section rows of {size} bytes, which is no size of them")
    end = start + count * size
    if end > len(data):
        raise BrokenFileError(start, f"the section table ends past the file, at {end:#x}")
    return _rows(file.structs.Elf_Shdr, data[start:end], start)
