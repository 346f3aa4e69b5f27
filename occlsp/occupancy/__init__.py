"""The occupancy model: pure integers in, frozen data out.

>>> from occlsp.occupancy import occupancy
>>> occupancy("sm_90", 256, 72, dynamic_smem=40960).blocks_per_sm
3

Units: sizes are bytes per block, registers are per thread, blocks and warps per SM. Errors are
`UnknownArchitecture` and `InvalidInput` (both `ValueError`); no block that fits is a result, with
its reason. Sources: `capabilities.py` for the limits, `gpus.py` for the models.
"""

from occlsp.occupancy.capabilities import (
    ARCHITECTURES,
    Limits,
    UnknownArchitecture,
    arch_name,
    limits,
)
from occlsp.occupancy.checks import InvalidInput, block_threads
from occlsp.occupancy.device import Device, limits_from_device
from occlsp.occupancy.gpus import GPUS, Gpu, UnknownGpu, gpu
from occlsp.occupancy.grid import (
    CLUSTER_NOTE,
    LARGEST_CLUSTER,
    PORTABLE_CLUSTER,
    Waves,
    cluster_problems,
    grid_blocks,
    max_cooperative_blocks,
    waves,
)
from occlsp.occupancy.levers import Lever, levers
from occlsp.occupancy.model import Allocated, Limiter, LimitSet, Occupancy, occupancy
from occlsp.occupancy.search import (
    Candidate,
    Options,
    available_dynamic_smem,
    best_block,
    candidate,
    sweep,
)
from occlsp.occupancy.sizes import BlockExpression, DynamicSmem, parse_size

__all__ = [
    "ARCHITECTURES",
    "CLUSTER_NOTE",
    "GPUS",
    "LARGEST_CLUSTER",
    "PORTABLE_CLUSTER",
    "Allocated",
    "BlockExpression",
    "Candidate",
    "Device",
    "DynamicSmem",
    "Gpu",
    "InvalidInput",
    "Lever",
    "LimitSet",
    "Limiter",
    "Limits",
    "Occupancy",
    "Options",
    "UnknownArchitecture",
    "UnknownGpu",
    "Waves",
    "arch_name",
    "available_dynamic_smem",
    "best_block",
    "block_threads",
    "candidate",
    "cluster_problems",
    "gpu",
    "grid_blocks",
    "levers",
    "limits",
    "limits_from_device",
    "max_cooperative_blocks",
    "occupancy",
    "parse_size",
    "sweep",
    "waves",
]
