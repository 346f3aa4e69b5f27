"""Achieved beside theoretical occupancy, and why the two may differ."""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.advice.measurements.facts import Measurement, Triple
from occlsp.analysis.words import percent
from occlsp.occupancy import Gpu, InvalidInput, occupancy, waves

NEAR = 0.9
"""An achieved occupancy from this share of the theoretical one on needs no explanation."""
MOST_WAVES = 10
"""Above this a tail is small against the whole."""


def theoretical(measured: Measurement) -> tuple[float, int | None] | None:
    """The theoretical occupancy (0 to 1) and the blocks per SM, from the exact core where the
    file has the resources, else as the profiler says; None where neither does."""
    if (
        measured.arch is not None
        and measured.block is not None
        and measured.registers is not None
        and measured.static_smem is not None
    ):
        x, y, z = measured.block
        try:
            found = occupancy(
                measured.arch,
                x * y * z,
                measured.registers,
                measured.static_smem,
                measured.dynamic_smem or 0,
            )
        except InvalidInput:
            return None
        if found.blocks_per_sm:
            return found.occupancy, found.blocks_per_sm
    if measured.theoretical_occupancy is not None:
        return measured.theoretical_occupancy, None
    return None


def reasons(
    achieved: float, share: float, grid: Triple | None, blocks_per_sm: int | None, gpu: Gpu | None
) -> Iterator[str]:
    """Why a run achieved less than is theoretically possible; nothing where it did not."""
    if achieved >= share * NEAR:
        return
    filled = None
    if grid is not None and gpu is not None and blocks_per_sm:
        try:
            filled = waves(grid, blocks_per_sm, gpu.sms)
        except InvalidInput:
            filled = None
    if filled is None:
        yield "too few blocks, a tail, or blocks and warps of unequal work"
    elif filled.waves < 1:
        yield (
            f"too few blocks: {filled.tail_blocks} of the {filled.wave_blocks} that "
            f"{gpu.name if gpu else 'the GPU'} can hold"
        )
    elif filled.tail_blocks and filled.waves < MOST_WAVES:
        yield f"a tail: the last of {filled.count} waves leaves {percent(filled.tail)} idle"
    else:
        yield "imbalance: blocks or warps of unequal work, or that end early"
