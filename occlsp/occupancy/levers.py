"""Headroom: how far a limiting resource must go down to gain the next resident block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from occlsp.occupancy.capabilities import Limits, limits
from occlsp.occupancy.model import Limiter, Occupancy, occupancy
from occlsp.occupancy.search import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack

LeverResource = Literal["registers", "shared_memory", "barriers", "threads_per_block"]


class Lever(Struct, frozen=True):
    """The largest value of one resource that gains resident blocks (or warps, for the block)."""

    resource: LeverResource
    """`registers` per thread, bytes of `shared_memory` per block (static and dynamic together),
    `barriers` per block, or `threads_per_block`."""
    now: int
    value: int | None
    """The largest value with the gain; None where this resource alone gains nothing."""
    result: Occupancy
    """With the value; where that is None, as it is now."""
    held_by: tuple[Limiter, ...] = ()
    """The other limits that bind at the same count, where `value` is None."""

    @property
    def change(self) -> int:
        """`value - now`, below zero; 0 where nothing is gained."""
        return 0 if self.value is None else self.value - self.now

    @property
    def gains(self) -> bool:
        """Whether pulling this lever alone makes more resident."""
        return self.value is not None


def levers(
    arch: Limits | str,
    block: int,
    registers: int,
    static_smem: int = 0,
    dynamic_smem: int = 0,
    **options: Unpack[Options],
) -> tuple[Lever, ...]:
    """For each resource that limits: what gains the next resident block, and the one after.

    A resource that alone gains nothing, because another limit binds at the same count, is one
    lever without a value that names the other. Warps and blocks are no resource to save: there
    the lever is the block size, the largest whole number of warps below it with more of them
    resident. Shared memory is taken from the dynamic part first. Raises as `occupancy` does.
    """
    row = arch if isinstance(arch, Limits) else limits(arch)
    now = occupancy(row, block, registers, static_smem, dynamic_smem, **options)

    def with_registers(value: int) -> Occupancy:
        return occupancy(row, block, value, static_smem, dynamic_smem, **options)

    def with_smem(value: int) -> Occupancy:
        dynamic = max(0, value - static_smem)
        return occupancy(row, block, registers, value - dynamic, dynamic, **options)

    def with_barriers(value: int) -> Occupancy:
        changed: Options = {**options, "barriers": value}
        return occupancy(row, block, registers, static_smem, dynamic_smem, **changed)

    def with_threads(value: int) -> Occupancy:
        return occupancy(row, value, registers, static_smem, dynamic_smem, **options)

    found: list[Lever] = []
    for limiter in now.limiters:
        if limiter == "registers":
            found += _steps("registers", registers, now, with_registers)
        elif limiter == "shared_memory":
            found += _steps("shared_memory", static_smem + dynamic_smem, now, with_smem)
        elif limiter == "barriers":
            found += _steps("barriers", options.get("barriers") or 0, now, with_barriers)
        elif limiter in ("warps", "threads_per_block") and now.active_warps < now.max_warps:
            found += _smaller_block(row, block, now, with_threads)
    return tuple(found)


def _steps(
    resource: LeverResource, used: int, now: Occupancy, at: Callable[[int], Occupancy]
) -> list[Lever]:
    """The next gain and the one after, or one lever that says what holds it."""
    found: list[Lever] = []
    blocks = now.blocks_per_sm
    least = at(0).blocks_per_sm
    while blocks < least and len(found) < 2:
        value = _largest(used if not found else found[-1].value or 0, blocks, at)
        found.append(Lever(resource, used, value, at(value)))
        blocks = found[-1].result.blocks_per_sm
    if found:
        return found
    others = tuple(name for name in now.limiters if name != resource)
    return [Lever(resource, used, None, now, others)]


def _largest(used: int, blocks: int, at: Callable[[int], Occupancy]) -> int:
    """The largest value below `used` with more than `blocks`; 0 has, and less never has fewer."""
    low, high = 0, used
    while high - low > 1:
        middle = (low + high) // 2
        if at(middle).blocks_per_sm > blocks:
            low = middle
        else:
            high = middle
    return low


def _smaller_block(
    row: Limits, block: int, now: Occupancy, at: Callable[[int], Occupancy]
) -> list[Lever]:
    start = (min(block, row.threads_per_block + 1) - 1) // row.warp_size * row.warp_size
    for value in range(start, 0, -row.warp_size):
        result = at(value)
        if result.active_warps > now.active_warps:
            return [Lever("threads_per_block", block, value, result)]
    others = tuple(name for name in now.limiters if name not in ("warps", "threads_per_block"))
    return [Lever("threads_per_block", block, None, now, others)]
