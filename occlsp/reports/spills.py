"""Spill instructions of a kernel: how many bytes each stores or loads, and on which line.

Toolkits from 12.6 on list the offsets of spill instructions in the attribute ANNOTATIONS of the
kernel's `.nv.info`; the instructions themselves say what they move. Their sum is what `ptxas -v`
prints, except for callee saves of functions that are not inlined.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from occlsp.reports.facts import LineSpills

_SPILL = 1
"""The annotation's type for a spill instruction."""
_STORE_LOCAL, _LOAD_LOCAL = 0x387, 0x983
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}
"""Bytes that an instruction moves, by its width field: 8 and 16 bits have a signed form each."""
FIRST_ARCH = 70
"""Instructions are 16 bytes, encoded like this, from Volta on."""


@dataclass(frozen=True, slots=True)
class Spill:
    """One spill instruction at a byte offset into the kernel's code."""

    offset: int
    size: int
    """Bytes per thread."""
    is_store: bool


def decode_spills(annotations: bytes, code: bytes) -> list[Spill]:
    """The spill instructions that the annotations of a kernel with this code point to."""
    whole = annotations[: len(annotations) // 8 * 8]
    spills = []
    for kind, offset in struct.iter_unpack("<II", whole):
        if kind != _SPILL or offset + 16 > len(code):
            continue
        low, high = struct.unpack_from("<QQ", code, offset)
        opcode, size = low & 0xFFF, _WIDTHS.get(high >> 9 & 7)
        if size is not None and opcode in (_STORE_LOCAL, _LOAD_LOCAL):
            spills.append(Spill(offset, size, is_store=opcode == _STORE_LOCAL))
    return spills


def spills_by_line(
    spills: Sequence[Spill], rows: Sequence[tuple[int, str, int]]
) -> tuple[LineSpills, ...]:
    """Sums the spills of each source line. `rows` are (offset, file, line) as the code goes."""
    rows = sorted(rows, key=lambda row: row[0])
    offsets = [row[0] for row in rows]
    sums: dict[tuple[str, int], list[int]] = {}
    for spill in spills:
        at = bisect_right(offsets, spill.offset) - 1
        if at < 0:
            continue
        total = sums.setdefault(rows[at][1:], [0, 0])
        total[not spill.is_store] += spill.size
    return tuple(
        LineSpills(file, line, stores, loads)
        for (file, line), (stores, loads) in sorted(sums.items())
    )
