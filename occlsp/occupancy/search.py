"""Over block sizes: the best one, the sweep, and the dynamic shared memory that is still free."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from msgspec import Struct

from occlsp.occupancy.capabilities import Limits, limits
from occlsp.occupancy.checks import LARGEST, check_integer
from occlsp.occupancy.model import Occupancy, carveout_size, occupancy
from occlsp.occupancy.sizes import DynamicSmem

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Options(TypedDict, total=False):
    """The optional inputs of `occupancy`, passed on as they are."""

    opt_in: bool
    max_dynamic_smem: int | None
    carveout: int | None
    barriers: int | None
    launch_bounds: int | None


class Candidate(Struct, frozen=True):
    """One block size, and what it gives."""

    block: int
    """Threads per block."""
    dynamic_smem: int
    """Bytes of dynamic shared memory at this size."""
    result: Occupancy

    @property
    def resident_threads(self) -> int:
        """Threads resident on an SM."""
        return self.block * self.result.blocks_per_sm

    def min_grid(self, sms: int) -> int:
        """The smallest grid, in blocks, that fills a GPU of `sms` SMs."""
        return self.result.blocks_per_sm * sms


def candidate(
    arch: Limits | str,
    block: int,
    registers: int,
    static_smem: int = 0,
    dynamic_smem: DynamicSmem = 0,
    **options: Unpack[Options],
) -> Candidate:
    """`occupancy` with the dynamic shared memory that belongs to the block size."""
    size = dynamic_smem(block) if callable(dynamic_smem) else dynamic_smem
    return Candidate(block, size, occupancy(arch, block, registers, static_smem, size, **options))


def best_block(
    arch: Limits | str,
    registers: int,
    static_smem: int = 0,
    dynamic_smem: DynamicSmem = 0,
    **options: Unpack[Options],
) -> Candidate | None:
    """The block size with the most resident threads; of equals the largest. None: none fits.

    As the reference's `cudaOccMaxPotentialOccupancyBlockSize`: the largest admitted size is
    tried first, then the multiples of the warp below it.
    """
    row = arch if isinstance(arch, Limits) else limits(arch)
    best: Candidate | None = None
    for block in reversed(_sizes(row, options.get("launch_bounds"))):
        found = candidate(row, block, registers, static_smem, dynamic_smem, **options)
        if found.resident_threads > (best.resident_threads if best else 0):
            best = found
            if found.resident_threads == row.threads_per_sm:
                break
    return best


def sweep(
    arch: Limits | str,
    registers: int,
    static_smem: int = 0,
    dynamic_smem: DynamicSmem = 0,
    **options: Unpack[Options],
) -> list[Candidate]:
    """Every multiple of the warp that the kernel admits, ascending, with what it gives.

    The launch bounds themselves are the last, where they are no multiple.
    """
    row = arch if isinstance(arch, Limits) else limits(arch)
    return [
        candidate(row, block, registers, static_smem, dynamic_smem, **options)
        for block in _sizes(row, options.get("launch_bounds"))
    ]


def _sizes(row: Limits, launch_bounds: int | None) -> list[int]:
    if launch_bounds is not None:
        check_integer("launch_bounds", launch_bounds, 1, LARGEST)
    most = min(row.threads_per_block, launch_bounds or row.threads_per_block)
    sizes = list(range(row.warp_size, most + 1, row.warp_size))
    return sizes if sizes and sizes[-1] == most else [*sizes, most]


def available_dynamic_smem(
    arch: Limits | str,
    blocks: int,
    block: int,
    registers: int,
    static_smem: int = 0,
    **options: Unpack[Options],
) -> int | None:
    """The most dynamic shared memory, in bytes, with which `blocks` blocks fit on an SM.

    As the reference's `cudaOccAvailableDynamicSMemPerBlock` of 13.5. None: that many blocks do
    not fit even without any. Never more than `max_dynamic_smem`. Raises as `occupancy` does.
    """
    row = arch if isinstance(arch, Limits) else limits(arch)
    check_integer("blocks", blocks, 1, LARGEST)
    if occupancy(row, block, registers, static_smem, 0, **options).blocks_per_sm < blocks:
        return None
    most = row.smem_per_block_optin if options.get("opt_in", True) else row.smem_per_block
    most += row.smem_reserved
    shared = most
    if blocks > 1:
        carveout = options.get("carveout")
        # At least a byte is wanted, as the smallest size of most architectures is none.
        shared = row.smem_per_sm if carveout is None else carveout_size(row, carveout, 1)
    each = min(shared // blocks // row.smem_unit * row.smem_unit, most)
    free = each - static_smem - row.smem_reserved
    opted = options.get("max_dynamic_smem")
    return free if opted is None else min(free, opted)
