"""More than one wave and fewer than ten, the last of which leaves most of the machine idle.

A grid runs in waves of blocks per SM times SMs. When the last wave holds few blocks, most SMs
wait for it; with few waves that shows. A grid that is a multiple of the wave, or blocks that loop
over the work, avoid it. Needs a GPU model (setting `gpu`).
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene, at_kernel
from occlsp.analysis.gpus import gpu_on
from occlsp.analysis.join import LaunchJoin
from occlsp.analysis.words import number_of_percent, percent
from occlsp.occupancy import InvalidInput, waves

MOST_WAVES = 10
IDLE = 0.5


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    grid = launch.site.launch.grid.value
    gpu = gpu_on(scene.snapshot, scene.primary)
    rows = launch.on(scene.primary)
    if grid is None or gpu is None or len(rows) != 1 or len(rows[0].cases) != 1:
        return
    case = rows[0].cases[0]
    if case.is_bound or case.is_least:
        return
    try:
        found = waves(grid, case.result.blocks_per_sm, gpu.sms)
    except InvalidInput:
        return
    if found is None or not 1 < found.waves < MOST_WAVES or found.tail <= IDLE:
        return
    yield Draft(
        launch.site.launch.config_span,
        f"{found.count} waves on {gpu.name} ({found.wave_blocks} blocks each), the last of which "
        f"leaves {percent(found.tail)} of the machine idle: {found.tail_blocks} blocks, "
        f"{number_of_percent(1 - found.tail)}% full; a grid of "
        f"{found.full_waves * found.wave_blocks} blocks has no tail",
        arch=scene.primary,
        related=(at_kernel(rows[0].site),),
    )


RULE = Rule(
    code="tail-effect",
    severity="hint",
    summary="more than one wave and fewer than ten, the last of which leaves more than half of "
    "the machine idle",
    page=__doc__ or "",
    launches=check,
)
