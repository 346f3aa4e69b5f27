"""Threads per block above 32 and not a multiple of 32.

Threads run in warps of 32: the last warp of each block has idle lanes, which take their
registers all the same. Round up, with a check of the index in the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from occlsp.analysis.findings import block_too_large
from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import LaunchJoin
from occlsp.analysis.words import block_text, plural
from occlsp.source.facts import Triple

WARP = 32


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    block = launch.site.launch.block
    if not block.values or not all(is_partial(value) for value in block.values):
        return
    worst = max(block.values, key=_idle)
    threads = math.prod(worst)
    shape = f" ({block_text(worst)})" if worst[1:] != (1, 1) else ""
    full = -(-threads // WARP) * WARP
    yield Draft(
        launch.site.launch.config_span,
        f"{threads} threads per block{shape} fill {plural(threads // WARP, 'warp')} and "
        f"{plural(threads % WARP, 'lane')} of another: {plural(_idle(worst), 'lane')} idle; "
        f"{full} would fill them",
    )


def is_partial(block: Triple) -> bool:
    """Whether the last of several warps is not full, in a block that can be launched."""
    threads = math.prod(block)
    return threads > WARP and threads % WARP != 0 and block_too_large.problem(block) is None


def _idle(block: Triple) -> int:
    return -math.prod(block) % WARP


RULE = Rule(
    code="partial-warp",
    severity="hint",
    summary="threads per block above 32 and not a multiple of 32",
    page=__doc__ or "",
    launches=check,
)
