"""A kernel's measured runs beside what the model says of it: for hovers, and the quick fixes' gate.

Measured: 31.2% of 37.5% achieved, median 1.205 ms (3 runs, profile.csv)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from occlsp.analysis.advice.achieved import reasons
from occlsp.analysis.advice.correlation import Gate, gate
from occlsp.analysis.advice.matching import of_instance
from occlsp.analysis.advice.measurements.facts import Measurement, Triple, median_ns
from occlsp.analysis.advice.rank import cost_of, waves_of
from occlsp.analysis.advice.report import time_text
from occlsp.analysis.architecture import canonical
from occlsp.analysis.cases import Case, compute, of_block
from occlsp.analysis.gpus import gpu_on
from occlsp.analysis.join import Row
from occlsp.analysis.results import Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.words import block_text, listing, percent, plural

MOST_SHOWN = 3


def measured_lines(snapshot: Snapshot, row: Row, case: Case) -> list[str]:
    """What was measured of a row, in lines for its hover; empty where nothing was."""
    found = runs_of(snapshot, row)
    if not found:
        return []
    here = [one for one in found if one.block in (case.block, None)]
    grid = row.launch.launch.grid.value if row.launch is not None else None
    same = [one for one in here if one.grid == grid] if grid is not None else here
    lines = [_line(snapshot, row, case, one) for one in (same or here)[:MOST_SHOWN]]
    if not lines:
        blocks = sorted({one.block for one in found if one.block is not None}, key=math.prod)
        lines = [f"Measured at other blocks: {listing(map(block_text, blocks))}"]
    told = gate_text(gate_of(snapshot, row))
    return [*lines, *([f"Block sizes by the model: {told}"] if told is not None else [])]


def runs_of(snapshot: Snapshot, row: Row) -> tuple[Measurement, ...]:
    """The measured runs of a row's kernel instance, on its architecture or on none that is told."""
    found = snapshot.measured.of_kernel(row.site, snapshot.sources)
    fitting = of_instance(found, row.site, row.entry, snapshot.sources)
    arch = canonical(row.arch)
    return tuple(one for one in fitting if one.arch is None or canonical(one.arch) == arch)


def _line(snapshot: Snapshot, row: Row, case: Case, one: Measurement) -> str:
    parts = []
    why: list[str] = []
    if one.achieved_occupancy is not None:
        achieved, share = one.achieved_occupancy, case.result.occupancy
        parts.append(f"{percent(achieved)} achieved of {percent(share)} theoretical")
        if achieved > 1:
            why = ["suspect: above 100%"]
        elif not case.is_bound:
            gpu = gpu_on(snapshot, row.arch)
            why = list(reasons(achieved, share, one.grid, case.result.blocks_per_sm, gpu))
    median = median_ns(one.durations_ns)
    if median is not None:
        parts.append(f"median {time_text(median)}")
    elif one.failures:
        parts.append(f"no time: {one.failures[0]}")
    name = one.source.replace("\\", "/").rsplit("/", 1)[-1].replace("`", "")
    runs = plural(len(one.durations_ns), "run")
    grid = f" at grid {block_text(one.grid)}" if one.grid is not None else ""
    said = f"; {'; '.join(why)}" if why else ""
    return f"Measured{grid}: {', '.join(parts) or 'nothing usable'} ({runs}, `{name}`){said}"


def gate_of(snapshot: Snapshot, row: Row) -> Gate:
    """The model's cost against the time of each block size that was measured of a kernel."""
    key = ("gate", row.site.path, row.site.kernel.name_span.start, row.arch, _name(row))
    found: Gate | None = snapshot.memo.get(key)
    if found is None:
        found = gate(list(_pairs(snapshot, row, runs_of(snapshot, row))))
        snapshot.memo[key] = found
    return found


def _name(row: Row) -> str | None:
    return row.entry.entry if row.entry is not None else None


def _pairs(
    snapshot: Snapshot, row: Row, runs: Sequence[Measurement]
) -> Iterator[tuple[float, float]]:
    gpu = gpu_on(snapshot, row.arch)
    for block, one in _by_block(runs).items():
        time = median_ns(one.durations_ns)
        threads = math.prod(block)
        dynamic = one.dynamic_smem
        if dynamic is None:
            launch = row.launch.launch if row.launch is not None else None
            dynamic = of_block(launch.dynamic_smem, threads) if launch is not None else 0
        after = compute(row.limits, replace(row.resources, max_threads=None), block, dynamic)
        if time is None or after is None:
            continue
        blocks = math.prod(one.grid) if one.grid is not None else None
        waves = waves_of(blocks, after.result.blocks_per_sm, gpu.sms if gpu is not None else None)
        yield cost_of(waves, after.result.occupancy), time


def _by_block(runs: Sequence[Measurement]) -> dict[Triple, Measurement]:
    """One run a block size, that of most threads: costs are comparable within one problem only."""
    largest: dict[Triple, tuple[int, Measurement]] = {}
    for one in runs:
        if one.block is None or median_ns(one.durations_ns) is None:
            continue
        total = math.prod(one.grid) * math.prod(one.block) if one.grid is not None else 0
        if one.block not in largest or total > largest[one.block][0]:
            largest[one.block] = (total, one)
    return {block: one for block, (_, one) in largest.items()}


def gate_text(found: Gate) -> str | None:
    """ "not trusted here: rank correlation -0.50 on 4 measured block sizes"; None where too
    little was measured to say."""
    if found.correlation is None:
        return None
    told = f"rank correlation {found.correlation:.2f} on {found.pairs} measured block sizes"
    return f"recommended: {told}" if found.is_trusted else f"not trusted here: {told}"


def gated(snapshot: Snapshot, row: Row | None, fix: Fix) -> Fix:
    """A fix that rests on the model's ranking of block sizes, with what measurements say of that:
    where they disagree it is never preferred. What cannot run at all needs no measurement."""
    case = row.worst if row is not None else None
    if row is None or case is None or not case.result.blocks_per_sm or fix.disabled is not None:
        return fix
    found = gate_of(snapshot, row)
    told = gate_text(found)
    if told is None:
        return fix
    return replace(
        fix,
        title=f"{fix.title}; {told}",
        is_preferred=fix.is_preferred and found.is_trusted,
        is_trusted=found.is_trusted,
    )
