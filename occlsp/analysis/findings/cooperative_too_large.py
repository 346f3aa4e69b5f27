"""A cooperative grid that cannot be resident on the GPU at once.

`grid.sync()` needs every block on the machine: a cooperative launch of more than blocks per SM
times SMs fails with "too many blocks in cooperative launch" (720). Needs a GPU model (setting
`gpu`), since the number of SMs counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from occlsp.analysis.cases import Case
from occlsp.analysis.findings.rule import Draft, Rule, Scene, draft, judge
from occlsp.analysis.gpus import gpu_on
from occlsp.analysis.join import LaunchJoin, Row
from occlsp.analysis.words import plural
from occlsp.occupancy import max_cooperative_blocks


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    site = launch.site.launch
    if not site.cooperative or not site.grid.values:
        return
    gpu = gpu_on(scene.snapshot, scene.primary)
    if gpu is None:
        return
    blocks = min(math.prod(grid) for grid in site.grid.values)

    def fails(row: Row, case: Case) -> bool:
        most = max_cooperative_blocks(case.result.blocks_per_sm, gpu.sms)
        return row.arch == scene.primary and 0 < most < blocks

    judgement = judge(scene, launch, fails)
    if judgement is None:
        return
    per_sm = judgement.case.result.blocks_per_sm
    yield draft(
        launch,
        judgement,
        f"a cooperative grid of {plural(blocks, 'block')}, but {gpu.name} holds "
        f"{per_sm * gpu.sms} at once ({per_sm} per SM × {gpu.sms} SMs); launch at most as many",
    )


RULE = Rule(
    code="cooperative-too-large",
    severity="error",
    summary="a cooperative grid that cannot be resident at once (needs a GPU model)",
    page=__doc__ or "",
    launches=check,
    family="grid",
)
