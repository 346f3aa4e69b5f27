"""The whole grid: waves and their tail, cooperative launches, clusters."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from occlsp.occupancy.capabilities import GRID_DIMS, Limits
from occlsp.occupancy.checks import LARGEST, InvalidInput, check_integer, dimensions

PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every GPU from 9.0 on can launch."""
LARGEST_CLUSTER = 16
"""Blocks of a cluster with the non-portable attribute. Source: CUDA programming guide."""
CLUSTER_NOTE = "how many clusters fit depends on the GPU's GPC layout, which is not computed"


class Waves(Struct, frozen=True):
    """How a grid fills a GPU in turns."""

    waves: float
    """Blocks of the grid / blocks of one wave."""
    full_waves: int
    """Waves that fill the machine."""
    wave_blocks: int
    """Blocks resident on the whole GPU at once."""
    tail_blocks: int
    """Blocks in the last wave where it is not full; 0: no tail."""
    tail: float
    """The share of the machine that is idle in the last wave, 0 to 1."""

    @property
    def count(self) -> int:
        """Waves in all, the last one counted however little of it is used."""
        return self.full_waves + (self.tail_blocks > 0)


def waves(grid: int | Sequence[int], blocks_per_sm: int, sms: int) -> Waves | None:
    """The waves of a grid on a GPU with `sms` SMs; None where no block fits.

    `grid` is the number of blocks or [x, y, z]. Raises `InvalidInput` for an SM count below one,
    or a grid with a dimension below one or past the hardware's.
    """
    blocks = grid_blocks(grid)
    check_integer("sms", sms, 1, LARGEST)
    check_integer("blocks_per_sm", blocks_per_sm, 0, LARGEST)
    if not blocks_per_sm:
        return None
    wave = blocks_per_sm * sms
    full, rest = divmod(blocks, wave)
    return Waves(blocks / wave, full, wave, rest, (wave - rest) / wave if rest else 0.0)


def grid_blocks(grid: int | Sequence[int]) -> int:
    """The blocks of a grid. Raises `InvalidInput` for a dimension that cannot be launched."""
    x, y, z = dimensions("grid", grid, GRID_DIMS[0])
    for axis, size, most in zip("yz", (y, z), GRID_DIMS[1:], strict=True):
        if size > most:
            raise InvalidInput(f"grid.{axis}", f"{size} blocks, at most {most} can be launched")
    return x * y * z


def max_cooperative_blocks(blocks_per_sm: int, sms: int) -> int:
    """The largest grid of a cooperative launch: all of its blocks are resident at once."""
    check_integer("sms", sms, 1, LARGEST)
    check_integer("blocks_per_sm", blocks_per_sm, 0, LARGEST)
    return blocks_per_sm * sms


def cluster_problems(
    row: Limits, cluster: Sequence[int], grid: Sequence[int] | None, *, non_portable: bool = False
) -> tuple[str, ...]:
    """What keeps a grid from being launched in clusters of [x, y, z] blocks, in words.

    `grid` None: it is not known, and only the cluster's size is judged. Empty: nothing that can
    be known here; see `CLUSTER_NOTE`. Raises `InvalidInput` for a dimension below one.
    """
    shape = dimensions("cluster", cluster)
    size = shape[0] * shape[1] * shape[2]
    if not row.has_clusters:
        return (f"{row.name} has no clusters, they exist from sm_90 on",) if size > 1 else ()
    problems = []
    if size > LARGEST_CLUSTER:
        problems.append(f"{size} blocks per cluster, above the {LARGEST_CLUSTER} of {row.name}")
    elif size > PORTABLE_CLUSTER and not non_portable:
        problems.append(
            f"{size} blocks per cluster, above the portable {PORTABLE_CLUSTER}; up to "
            f"{LARGEST_CLUSTER} need cudaFuncAttributeNonPortableClusterSizeAllowed"
        )
    if grid is not None:
        problems += [
            f"grid {axis} is {blocks}, not a multiple of the cluster's {step}"
            for axis, blocks, step in zip("xyz", dimensions("grid", grid), shape, strict=True)
            if blocks % step
        ]
    return tuple(problems)
