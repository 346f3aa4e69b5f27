"""The launch cannot fit one block on an SM.

The registers that the compiler gave each thread, times the threads of a block, are more than a
block may have: the launch fails with "too many resources requested for launch" (701). The same
where a block uses more barriers than an SM has.

Ways out: a smaller block; `__launch_bounds__` with the block that is launched, so that the
compiler keeps within the registers that there are (and spills the rest); `-maxrregcount`.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.cases import Case
from occlsp.analysis.findings.rule import Draft, Rule, Scene, draft, judge
from occlsp.analysis.join import LaunchJoin, Row
from occlsp.analysis.levers import largest_fitting_block, registers_that_fit
from occlsp.analysis.words import instance_name, listing


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    judgement = judge(scene, launch, fails)
    if judgement is None:
        return
    row, case = judgement.row, judgement.case
    fact = (case.result.reason or "0 blocks fit").split("; ")[0]
    name = f" (`{instance_name(row.entry)}`)" if row.is_candidate and row.entry else ""
    others = [arch for arch in judgement.archs if arch != row.arch]
    also = f", and on {listing(others)}" if others else ""
    yield draft(
        launch,
        judgement,
        f"{fact}{also}{name}{judgement.extent}{_way_out(row, case)}",
    )


def fails(row: Row, case: Case) -> bool:
    """The block is admitted, and its registers or barriers do not fit."""
    limits = case.result.limits
    return (
        case.result.blocks_per_sm == 0
        and "threads_per_block" not in case.result.limiters
        and (limits.registers == 0 or limits.barriers == 0)
    )


def _way_out(row: Row, case: Case) -> str:
    ways = []
    block = largest_fitting_block(row, case)
    if block is not None:
        ways.append(f"up to {block} threads fit")
    registers = registers_that_fit(row, case)
    if registers is not None and row.site.kernel.launch_bounds is None:
        ways.append(
            f"`__launch_bounds__({case.threads})` keeps the compiler to {registers} registers"
        )
    return f"; {', or '.join(ways)}" if ways else ""


RULE = Rule(
    code="zero-occupancy",
    severity="error",
    summary="the launch cannot fit one block on an SM: which resource, how much of it, the limit",
    page=__doc__ or "",
    launches=check,
    family="block",
)
