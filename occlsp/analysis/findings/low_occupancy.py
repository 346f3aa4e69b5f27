"""Occupancy at or below a threshold (25 %), once a kernel, with what limits it.

Low occupancy is not slow by itself: kernels with much independent work per thread do well with
few warps. The message names the limiter and the change that gains most. Nothing is said of
kernels that are built for it: those with wgmma, tcgen05 or `setmaxnreg`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from occlsp.analysis.cases import Case
from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import KernelJoin, Row
from occlsp.analysis.levers import best_lever, lever_text
from occlsp.analysis.results import Related
from occlsp.analysis.sources import LaunchKey
from occlsp.analysis.words import LONG, block_text, instance_name, percent, plural


def check(scene: Scene, kernel: KernelJoin) -> Iterator[Draft]:
    if kernel.site.kernel.features:
        return
    threshold = scene.snapshot.settings.diagnostics.low_occupancy / 100
    low = list(_low(kernel.on(scene.primary), threshold))
    if not low:
        return
    row = min(low, key=_share)
    case = row.best
    if case is None:
        return
    result = case.result
    lever = best_lever(row, case)
    bound = "at most " if case.is_bound else ""
    gain = f"; {lever_text(lever)}" if lever is not None else ""
    name = f" in `{instance_name(row.entry)}`" if row.is_candidate and row.entry else ""
    where = "" if row.launch is not None else ", the most that its launch bounds admit"
    related = (
        (Related(row.launch.path, row.launch.launch.config_span, "the launch"),)
        if row.launch is not None
        else ()
    )
    yield Draft(
        kernel.site.kernel.name_span,
        f"{bound}{percent(result.occupancy)} occupancy at {block_text(case.block)} threads"
        f"{name}{where} on {row.arch}: {plural(result.blocks_per_sm, 'block')} per SM, limited by "
        f"{LONG[result.limiter]}{_carveout(row, case)}{gain}",
        arch=row.arch,
        related=related,
    )


def _carveout(row: Row, case: Case) -> str:
    """That a preference, and no size, is what limits."""
    share = row.resources.carveout
    if share is None or case.result.limiter != "shared_memory":
        return ""
    return f" (of which the kernel prefers {share}%)"


def _low(rows: Iterable[Row], threshold: float) -> Iterator[Row]:
    """The rows of launches that are low whichever of their candidates runs."""
    launches: dict[LaunchKey | None, list[Row]] = {}
    for row in rows:
        launches.setdefault(row.launch.key if row.launch is not None else None, []).append(row)
    for candidates in launches.values():
        if all(_is_low(row, threshold) for row in candidates):
            yield from candidates


def _is_low(row: Row, threshold: float) -> bool:
    best = row.best
    return best is not None and row.is_shown and 0 < best.result.occupancy <= threshold


def _share(row: Row) -> float:
    return row.best.result.occupancy if row.best is not None else 1.0


RULE = Rule(
    code="low-occupancy",
    severity="hint",
    summary="at or below a threshold (25 %), once a kernel, with the limiter and the lever that "
    "gains most; silent for kernels with wgmma, tcgen05 or `setmaxnreg`, which are built for it",
    page=__doc__ or "",
    kernels=check,
)
