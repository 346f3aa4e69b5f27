"""What would make more resident: the core's levers, asked about a case of a row."""

from __future__ import annotations

from occlsp.analysis.cases import Case
from occlsp.analysis.join import Row
from occlsp.analysis.words import LONG, listing, percent, plural, size
from occlsp.occupancy import InvalidInput, Lever, levers, occupancy


def of_case(row: Row, case: Case) -> tuple[Lever, ...]:
    """The levers of one configuration; none where a resource is not known."""
    if case.is_bound:
        return ()
    try:
        return levers(
            row.limits,
            case.threads,
            case.registers or 0,
            case.static_smem or 0,
            case.dynamic_smem or 0,
            **row.resources.options(),
        )
    except InvalidInput:
        return ()


def best_lever(row: Row, case: Case) -> Lever | None:
    """The resource whose next step gains most, of equals the one that asks least."""
    next_steps: dict[str, Lever] = {}
    for lever in of_case(row, case):
        next_steps.setdefault(lever.resource, lever)
    gaining = [lever for lever in next_steps.values() if lever.gains]
    return max(
        gaining,
        key=lambda lever: (lever.result.active_warps, lever.change / max(1, lever.now)),
        default=None,
    )


def lever_text(lever: Lever) -> str:
    """Like "≤ 64 registers (−8) → 4 blocks, 50%", or what holds it."""
    if lever.value is None:
        held = listing(LONG[name] for name in lever.held_by) if lever.held_by else "nothing less"
        return f"fewer {_noun(lever)}: no gain, {held} binds at the same count"
    result = lever.result
    return (
        f"≤ {_amount(lever, lever.value)} (−{_plain(lever, -lever.change)}) → "
        f"{plural(result.blocks_per_sm, 'block')}, {percent(result.occupancy)}"
    )


def _noun(lever: Lever) -> str:
    nouns = {
        "registers": "registers",
        "shared_memory": "bytes of shared memory",
        "barriers": "barriers",
        "threads_per_block": "threads",
    }
    return nouns[lever.resource]


def _amount(lever: Lever, value: int) -> str:
    if lever.resource == "shared_memory":
        return f"{size(value)} of shared memory"
    return f"{value} {_noun(lever)}"


def _plain(lever: Lever, value: int) -> str:
    return size(value) if lever.resource == "shared_memory" else str(value)


def largest_fitting_block(row: Row, case: Case) -> int | None:
    """The most threads, in whole warps, with which one block fits; None where none does."""
    top = min(case.threads, row.limits.threads_per_block) // row.limits.warp_size
    for warps in range(top, 0, -1):
        threads = warps * row.limits.warp_size
        if _blocks(row, case, threads, case.registers or 0):
            return threads
    return None


def registers_that_fit(row: Row, case: Case) -> int | None:
    """The most registers per thread with which one block of this size fits."""
    for registers in range(min(case.registers or 0, row.limits.registers_per_thread), 0, -1):
        if _blocks(row, case, case.threads, registers):
            return registers
    return None


def _blocks(row: Row, case: Case, threads: int, registers: int) -> int:
    return occupancy(
        row.limits,
        threads,
        registers,
        case.static_smem or 0,
        case.dynamic_smem or 0,
        **row.resources.options(),
    ).blocks_per_sm
