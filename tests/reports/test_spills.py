"""What spill instructions move, by the width that they are encoded with."""

from __future__ import annotations

import struct

import pytest

from occlsp.reports.spills import Spill, decode_spills

STORE, LOAD = 0x7387, 0x7983


@pytest.mark.parametrize(
    ("width", "size"),
    [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 8), (6, 16)],
    ids=["U8", "S8", "U16", "S16", "32", "64", "128"],
)
def test_every_width_counts(width: int, size: int) -> None:
    """`STL.S16`, with which bf16 values spill, counts as its two bytes."""
    code = struct.pack("<QQQQ", STORE, width << 9, LOAD, width << 9)
    annotations = struct.pack("<IIII", 1, 0, 1, 16)
    assert decode_spills(annotations, code) == [
        Spill(0, size, is_store=True),
        Spill(16, size, is_store=False),
    ]
