"""The compiler's answers to other launch bounds, joined with the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from occlsp.analysis.words import percent, size
from occlsp.occupancy import InvalidInput, Occupancy, occupancy

if TYPE_CHECKING:
    from occlsp.analysis.cases import Case
    from occlsp.analysis.join import Row
    from occlsp.analysis.snapshot import Snapshot
    from occlsp.reports import whatif as compiler


class WhatIf(Struct, frozen=True):
    """The rows of one entry on one architecture, as `occlsp.reports.whatif` gives them."""

    entry: str
    """The mangled name."""
    arch: str
    rows: tuple[compiler.Row, ...]


class Answer(Struct, frozen=True):
    """One row with the occupancy that it would give."""

    row: compiler.Row
    threads: int
    result: Occupancy
    is_best: bool
    """No other row beats it in both occupancy and spills."""

    @property
    def spill_bytes(self) -> int:
        """Stores and loads together."""
        return (self.row.spill_stores or 0) + (self.row.spill_loads or 0)


def answers(snapshot: Snapshot, row: Row, case: Case) -> tuple[Answer, ...]:
    """The compiler's rows for the entry of `row`, at the launch of `case` (its block, or that of
    the bounds where the launch's is above them)."""
    if row.entry is None:
        return ()
    found = list(_computed(snapshot, row, case))
    return tuple(
        Answer(
            one.row,
            one.threads,
            one.result,
            is_best=not any(_beats(other, one) for other in found),
        )
        for one in found
    )


def _computed(snapshot: Snapshot, row: Row, case: Case) -> Iterator[Answer]:
    for asked in snapshot.whatif:
        if row.entry is None or asked.entry != row.entry.entry or asked.arch != row.arch:
            continue
        for answer in asked.rows:
            if answer.registers is None:
                continue
            bound = answer.bounds.max_threads
            threads = min(case.threads, bound) if bound is not None else case.threads
            static = answer.static_smem if answer.static_smem is not None else case.static_smem
            try:
                result = occupancy(
                    row.limits,
                    threads,
                    answer.registers,
                    static or 0,
                    case.dynamic_smem or 0,
                    carveout=row.resources.carveout,
                    barriers=row.resources.barriers,
                )
            except InvalidInput:
                continue
            yield Answer(answer, threads, result, is_best=False)


def _beats(one: Answer, other: Answer) -> bool:
    """As good in both, and better in one."""
    ours = (one.result.active_warps, -one.spill_bytes)
    theirs = (other.result.active_warps, -other.spill_bytes)
    return ours != theirs and ours[0] >= theirs[0] and ours[1] >= theirs[1]


def bounds_text(row: compiler.Row) -> str:
    """Like "(256, 4)", "maxnreg 64" or "no bounds"."""
    bounds = row.bounds
    if bounds.max_registers is not None:
        return f"maxnreg {bounds.max_registers}"
    if bounds.max_threads is None:
        return "no bounds"
    blocks = f", {bounds.min_blocks}" if bounds.min_blocks is not None else ""
    return f"({bounds.max_threads}{blocks})"


def whatif_table(snapshot: Snapshot, row: Row, case: Case) -> list[str]:
    """The table of the compiler's answers; empty where it was not asked."""
    from occlsp.analysis.present import table

    found = answers(snapshot, row, case)
    if not found:
        return []
    lines = [
        (
            f"{bounds_text(one.row)}{' (now)' if one.row.is_current else ''}"
            f"{' ★' if one.is_best else ''}",
            str(one.row.registers),
            size(one.spill_bytes) if one.spill_bytes else "none",
            str(one.result.blocks_per_sm),
            percent(one.result.occupancy),
        )
        for one in found
    ]
    head = ("launch bounds", "registers", "spills", "blocks/SM", "occupancy")
    return table(head, lines)
