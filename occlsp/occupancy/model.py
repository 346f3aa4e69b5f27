"""Occupancy of one launch configuration, as NVIDIA's reference header computes it.

The source of the arithmetic is `cuda_occupancy.h` of CUDA 13.5, which the tests compile and
compare with. Not modelled: tensor memory and the "virtual resources" of 10.x to 12.x, the GPC
layout for clusters, and the carveout that the driver picks when none is asked for (profilers
print it; it never lowers the theoretical occupancy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import gt
from typing import Literal

from msgspec import Struct

from occlsp.occupancy.capabilities import CHECKED_PARTITIONS, Limits, limits
from occlsp.occupancy.checks import block_threads, check_configuration
from occlsp.occupancy.reasons import (
    barriers_reason,
    registers_reason,
    shared_memory_reason,
    threads_reason,
)

Limiter = Literal["warps", "registers", "shared_memory", "blocks", "barriers", "threads_per_block"]
Block = int | Sequence[int]
"""Threads per block, or its dimensions (x, y, z), of which the last ones may be missing."""


class LimitSet(Struct, frozen=True, gc=False):
    """Blocks per SM that each resource allows; None is no limit."""

    warps: int
    blocks: int
    registers: int | None
    shared_memory: int | None
    barriers: int | None


class Allocated(Struct, frozen=True, gc=False):
    """What one block really takes, rounded up to the units of allocation."""

    registers_per_block: int
    shared_memory_per_block: int
    """Bytes, the driver's reserve included."""


class Occupancy(Struct, frozen=True):
    """How many blocks of a kernel an SM holds at once, and what keeps it from holding more."""

    blocks_per_sm: int
    active_warps: int
    """Warps resident on an SM."""
    max_warps: int
    """Warps that an SM can hold."""
    occupancy: float
    """active_warps / max_warps, 0 to 1."""
    limiter: Limiter
    """The first of `limiters`."""
    limiters: tuple[Limiter, ...]
    """All that bind, in the order warps, registers, shared memory, blocks, barriers."""
    limits: LimitSet
    allocated: Allocated
    reason: str | None
    """Why no block fits, in words; None where one does."""

    @property
    def percent(self) -> float:
        """The occupancy in percent, rounded to one digit as people do: 0.3125 is 31.3."""
        return math.floor(self.occupancy * 1000 + 0.5) / 10


_ORDER: tuple[Limiter, ...] = ("warps", "registers", "shared_memory", "blocks", "barriers")
_BINDING: tuple[tuple[Limiter, ...], ...] = tuple(
    tuple(name for bit, name in enumerate(_ORDER) if mask >> bit & 1) for mask in range(32)
)
"""Bit mask over `_ORDER` → the names."""
_NO_LIMIT = 1 << 31
_USUAL = 1 << 20
"""Sizes below it need no closer look."""


def occupancy(
    arch: Limits | str,
    block: Block,
    registers: int,
    static_smem: int = 0,
    dynamic_smem: int = 0,
    *,
    opt_in: bool = True,
    max_dynamic_smem: int | None = None,
    carveout: int | None = None,
    barriers: int | None = None,
    launch_bounds: int | None = None,
) -> Occupancy:
    """The occupancy of a kernel launched with `block` threads.

    `registers` are per thread, as the compiler reports them; sizes are bytes per block.
    `opt_in`: the kernel has opted into the dynamic size that it needs, or into
    `max_dynamic_smem` where that is given; without it the 48 KiB rule holds. `carveout` is the
    preferred share of shared memory in percent, None for all. `barriers` is the number of block
    barriers in the compiler's report; None or 0 where unknown or none. `launch_bounds` is the
    largest block that the kernel admits.

    No block that fits is a result, with its `reason`. Raises `UnknownArchitecture`, and
    `InvalidInput`, which names the field, for what no launch can have: a block without threads,
    a negative or absurd number.
    """
    row = limits(arch) if isinstance(arch, str) else arch
    if isinstance(block, int):
        shape, threads = None, block
    else:
        shape, threads = block, block_threads(block)
    bounds = threads if launch_bounds is None else launch_bounds
    try:
        # One `or` of them all is negative if one of them is, and fails on what is no integer.
        every = (
            (threads | bounds | registers | static_smem | dynamic_smem)
            | (max_dynamic_smem or 0)
            | (carveout or 0)
            | (barriers or 0)
        )
        plain = threads and bounds and 0 <= every < _USUAL and registers <= 255
    except TypeError:
        plain = False
    if not plain or carveout:
        check_configuration(
            threads,
            registers,
            static_smem,
            dynamic_smem,
            max_dynamic_smem,
            carveout,
            barriers,
            launch_bounds,
        )

    # Written out for speed: warps of 32 threads, and registers in units of 256 per warp, are the
    # same for every capability.
    warps = (threads + 31) // 32
    max_warps = row.threads_per_sm // 32
    by_warps = max_warps // warps if threads <= row.threads_per_block else 0
    by_blocks = row.blocks_per_sm

    per_warp = (registers + 7) // 8 * 256
    if not per_warp:
        by_registers = _NO_LIMIT
    elif (
        registers > row.registers_per_thread
        or per_warp * ((warps + 3) // CHECKED_PARTITIONS * CHECKED_PARTITIONS)
        > row.registers_per_block
    ):
        by_registers = 0
    else:
        parts = row.sub_partitions
        by_registers = row.registers_per_sm // parts // per_warp * parts // warps

    unit = row.smem_unit
    smem = (static_smem + dynamic_smem + row.smem_reserved + unit - 1) // unit * unit
    most = row.smem_per_block_optin if opt_in else row.smem_per_block
    if smem > most + row.smem_reserved or (
        opt_in and max_dynamic_smem is not None and dynamic_smem > max_dynamic_smem
    ):
        by_smem = 0
    elif not smem:
        by_smem = _NO_LIMIT
    else:
        by_smem = (
            row.smem_per_sm if carveout is None else carveout_size(row, carveout, smem)
        ) // smem

    by_barriers = row.barriers_per_sm // barriers if barriers and row.barriers_per_sm else _NO_LIMIT

    blocks = min(by_warps, by_registers, by_smem, by_blocks, by_barriers)
    admitted = by_warps and threads <= bounds
    if shape is not None and any(map(gt, shape, row.block_dims)):
        admitted = False
    if not admitted:
        blocks = 0
    limiters = _BINDING[
        (by_warps == blocks)
        | (by_registers == blocks) << 1
        | (by_smem == blocks) << 2
        | (by_blocks == blocks) << 3
        | (by_barriers == blocks) << 4
    ]
    reason = None
    if not blocks:
        causes = []
        if not admitted:
            limiters = ("threads_per_block", *(name for name in limiters if name != "warps"))
            causes.append(threads_reason(row, threads, launch_bounds, shape))
        if not by_registers:
            causes.append(registers_reason(row, threads, registers))
        if not by_smem:
            causes.append(
                shared_memory_reason(row, static_smem, dynamic_smem, opt_in, max_dynamic_smem)
            )
        if not by_barriers:
            causes.append(barriers_reason(row, barriers or 0))
        reason = "0 blocks fit: " + "; ".join(causes)
    active = blocks * warps
    return Occupancy(
        blocks,
        active,
        max_warps,
        active / max_warps,
        limiters[0],
        limiters,
        LimitSet(
            by_warps,
            by_blocks,
            by_registers if by_registers != _NO_LIMIT else None,
            by_smem if by_smem != _NO_LIMIT else None,
            by_barriers if by_barriers != _NO_LIMIT else None,
        ),
        Allocated(per_warp * warps, smem),
        reason,
    )


def carveout_size(row: Limits, percent: int, block_smem: int) -> int:
    """Bytes of shared memory that an SM is given for a preference of `percent`.

    The preference is rounded up to a size that the hardware has, and raised to the smallest that
    holds one block, of `block_smem` allocated bytes.
    """
    if not row.carveouts:
        return row.smem_per_sm
    wanted = max(percent * row.smem_per_sm // 100, block_smem)
    return next((size for size in row.carveouts if size >= wanted), row.smem_per_sm)
