"""How quick fixes are called: the outcome first, then what else changes."""

from __future__ import annotations

from msgspec.structs import replace

from occlsp.analysis.cases import Case, compute
from occlsp.analysis.join import Row
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.words import number_of_percent
from occlsp.occupancy import Occupancy
from occlsp.reports import whatif as compiler
from occlsp.source.facts import Triple


def share(result: Occupancy) -> str:
    """Like "37.5 %"."""
    return f"{number_of_percent(result.occupancy)} %"


def outcome(row: Row, case: Case | None, after: Case, *, is_estimate: bool) -> str:
    """Like "75 % on sm_86 (now 50 %)"; "≤" for a bound, "est." where the compiler has to say."""
    mark = "est. " if is_estimate else ""
    mark += "≤ " if after.is_bound else ""
    now = f" (now {share(case.result)})" if case is not None else ""
    return f"{mark}{share(after.result)} on {row.arch}{now}"


def compiled(answer: compiler.Row) -> str:
    """Like "64 registers, 0 spills": what the compiler said."""
    spills = (answer.spill_stores or 0) + (answer.spill_loads or 0)
    return f"{answer.registers} registers, {f'{spills} bytes of' if spills else '0'} spills"


def answer_for(
    snapshot: Snapshot, row: Row, max_threads: int | None, min_blocks: int | None
) -> compiler.Row | None:
    """The compiler's answer to these bounds, where it is at hand."""
    if row.entry is None:
        return None
    for asked in snapshot.whatif:
        if asked.entry == row.entry.entry and asked.arch == row.arch:
            for answer in asked.rows:
                bounds = answer.bounds
                if (
                    answer.registers is not None
                    and bounds.max_registers is None
                    and (bounds.max_threads, bounds.min_blocks) == (max_threads, min_blocks)
                ):
                    return answer
    return None


def under(row: Row, answer: compiler.Row | None, block: Triple, dynamic: int | None) -> Case | None:
    """The configuration with the compiler's answer; without one, with the present numbers. The
    launch bounds are taken to admit the block."""
    resources = replace(row.resources, max_threads=None)
    if answer is not None:
        static = answer.static_smem
        resources = replace(
            resources,
            registers=answer.registers,
            static_smem=static if static is not None else resources.static_smem,
        )
    return compute(row.limits, resources, block, dynamic)
