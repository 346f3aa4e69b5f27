"""Whatever holds cubins: fatbins, host objects, executables, libraries and archives of them.

A fatbin is a header (magic 0xBA55ED50) and a row of entries: PTX, cubins, or (13.5's `--concat`)
several cubins in one compressed blob; entries may be packed by LZ4 or zstd. In ELF host code it
is in `.nv_fatbin`, and in `__nv_relfatbin` before linking (`-rdc`); in other files (Windows'
objects) it is found by its magic.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from occlsp.reports.elf import MAGIC, BrokenFileError, Bytes, is_cubin, read_elf

FATBIN_MAGIC: Final = b"\x50\xed\x55\xba"
ARCHIVE_MAGIC: Final = b"!<arch>\n"
MOST_UNPACKED: Final = 512 << 20
"""Bytes that one compressed entry may unpack to."""

_FATBIN = struct.Struct("<4sHHQ")
_ENTRY = struct.Struct("<HHIQIIIIIIQQQ")
_CUBIN, _CONCATENATED = 2, 256
_LZ4, _ZSTD = 0x2000, 0x8000
_MEMBER_HEADER = 60
_DEEPEST = 4
"""Containers within containers that are followed."""


class Image(NamedTuple):
    """A cubin found in a file."""

    data: bytes
    source: str
    """The file, with the member in parentheses where it is an archive: "libk.a(conv.o)"."""
    unit: str | None
    """The source file's name, where the fatbin has it (with `-lineinfo`)."""


def is_container(head: bytes) -> bool:
    """Whether a file that begins like this is one of those read here."""
    return head.startswith((MAGIC, FATBIN_MAGIC, ARCHIVE_MAGIC))


def find_cubins(data: Bytes, source: str, problems: list[str], depth: int = 0) -> Iterator[Image]:
    """All cubins in `data`, of any form. What is broken is told in `problems` and passed over."""
    if depth > _DEEPEST:
        problems.append(f"{source}: nested more than {_DEEPEST} deep; not read further")
    elif is_cubin(data):
        yield Image(bytes(data), source, None)
    elif data[:8] == ARCHIVE_MAGIC:
        for name, member in _members(data, source, problems):
            yield from find_cubins(member, f"{source}({name})", problems, depth + 1)
    elif data[:4] == MAGIC:
        yield from _in_host_code(data, source, problems)
    else:
        yield from _fatbins(data, 0, len(data), source, problems)


def _in_host_code(data: Bytes, source: str, problems: list[str]) -> Iterator[Image]:
    try:
        sections = read_elf(data).sections.values()
    except BrokenFileError as error:
        problems.append(f"{source}: {error}; searched for device code all the same")
        yield from _fatbins(data, 0, len(data), source, problems)
        return
    for section in sections:
        if section.name.startswith((".nv_fatbin", "__nv_relfatbin")):
            end = section.offset + section.size
            yield from _fatbins(data, section.offset, end, source, problems)


def _fatbins(
    data: Bytes, start: int, end: int, source: str, problems: list[str]
) -> Iterator[Image]:
    at = data.find(FATBIN_MAGIC, start, end)
    has_fatbin, has_code = at >= 0, False
    while at >= 0:
        after = at + 4
        if at + _FATBIN.size <= end:
            _, _, header_size, size = _FATBIN.unpack_from(data, at)
            first = at + header_size
            if header_size >= _FATBIN.size and first + size <= end:
                after = last = first + size
            else:
                last = end
                problems.append(
                    f"{source}: offset {at:#x}: a fatbin of {size} bytes ends past the file"
                )
            for image in _entries(data, first, last, source, problems):
                has_code = True
                yield image
        at = data.find(FATBIN_MAGIC, after, end)
    if has_fatbin and not has_code and not problems:
        problems.append(f"{source}: only PTX or LTO code, no machine code to read")


def _entries(data: Bytes, at: int, end: int, source: str, problems: list[str]) -> Iterator[Image]:
    while at + _ENTRY.size <= end:
        fields = _ENTRY.unpack_from(data, at)
        kind, header_size, size = fields[0], fields[2], fields[3]
        first = at + header_size
        if header_size < _ENTRY.size or first + size > end:
            problems.append(f"{source}: offset {at:#x}: a fatbin entry ends past its fatbin")
            return
        if kind in (_CUBIN, _CONCATENATED):
            packed, flags, unpacked_size = fields[4], fields[10], fields[12]
            payload = data[first : first + (packed or size)]
            try:
                payload = _unpack(payload, flags, unpacked_size)
                header = data[at:first]
                unit = _unit(header, fields[8], fields[9])
                yield from _cubins(payload, kind, header, source, unit)
            except (BrokenFileError, struct.error) as error:
                problems.append(f"{source}: fatbin entry at {at:#x}: {error}")
        at = first + size


def _cubins(
    payload: bytes, kind: int, header: bytes, source: str, unit: str | None
) -> Iterator[Image]:
    if kind != _CONCATENATED:
        if is_cubin(payload):
            yield Image(payload, source, unit)
        return
    count, _ = struct.unpack_from("<II", header, _ENTRY.size)
    for index in range(min(count, len(header) // _ENTRY.size)):
        _, _, offset, size, *_ = _ENTRY.unpack_from(header, _ENTRY.size * (index + 1) + 8)
        piece = payload[offset : offset + size]
        if is_cubin(piece):
            yield Image(piece, source, unit)


def _unit(header: bytes, offset: int, size: int) -> str | None:
    name = header[offset : offset + size].rstrip(b"\0")
    if not name or offset < _ENTRY.size or name.endswith(b" "):  # linked: the list of its objects
        return None
    return name.decode("utf-8", "backslashreplace")


def _unpack(payload: bytes, flags: int, unpacked_size: int) -> bytes:
    if not flags & (_LZ4 | _ZSTD):
        return payload
    if unpacked_size > MOST_UNPACKED:
        raise BrokenFileError(0, f"it claims {unpacked_size} bytes, more than {MOST_UNPACKED}")
    if flags & _ZSTD:
        return _unpack_zstd(payload, unpacked_size)
    import lz4.block

    if unpacked_size > 256 * len(payload):  # no LZ4 block grows more
        raise BrokenFileError(0, f"{len(payload)} bytes cannot unpack to {unpacked_size}")
    try:
        return bytes(lz4.block.decompress(payload, uncompressed_size=unpacked_size))
    except lz4.block.LZ4BlockError as error:
        raise BrokenFileError(0, f"LZ4: {error}") from error


def _unpack_zstd(payload: bytes, unpacked_size: int) -> bytes:
    import zstandard

    try:
        claimed = zstandard.get_frame_parameters(payload).content_size
        known = claimed not in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR)
        if known and claimed > MOST_UNPACKED:
            raise BrokenFileError(0, f"it claims {claimed} bytes, more than {MOST_UNPACKED}")
        return zstandard.ZstdDecompressor().decompress(payload, max_output_size=unpacked_size)
    except zstandard.ZstdError as error:
        raise BrokenFileError(0, f"zstd: {error}") from error


def _members(data: Bytes, source: str, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of an archive's members (`ar`: GNU's, BSD's and Windows' forms)."""
    long_names = b""
    at = len(ARCHIVE_MAGIC)
    while at + _MEMBER_HEADER <= len(data):
        header = data[at : at + _MEMBER_HEADER]
        size_text = header[48:58].strip()
        first = at + _MEMBER_HEADER
        if header[58:] != b"`\n" or not size_text.isdigit():
            problems.append(f"{source}: offset {at:#x}: not the header of an archive's member")
            return
        size = int(size_text)
        if first + size > len(data):
            problems.append(f"{source}: offset {at:#x}: the archive's last member is cut off")
            size = len(data) - first
        name = header[:16].rstrip()
        if name == b"//":
            long_names = data[first : first + size]
        elif name not in (b"/", b"/SYM64/"):
            skip = int(name[3:]) if name[:3] == b"#1/" and name[3:].isdigit() else 0
            if skip:
                name = data[first : first + min(skip, size)].rstrip(b"\0")
            elif name[:1] == b"/" and name[1:].isdigit():
                name = long_names[int(name[1:]) :].split(b"\n", 1)[0].split(b"\0", 1)[0]
            text = name.rstrip(b"/").decode("utf-8", "backslashreplace")
            yield text, data[first + min(skip, size) : first + size]
        at = first + size + (size & 1)
