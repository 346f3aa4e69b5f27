"""What `occlsp calc` prints for people: a sentence, the limits, the levers, the sweep."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from occlsp.cli.calc_answer import Answer
from occlsp.cli.calc_report import Report
from occlsp.occupancy import Lever, max_cooperative_blocks, waves

NAMES = {
    "warps": "warps",
    "registers": "registers",
    "shared_memory": "shared memory",
    "blocks": "blocks",
    "barriers": "barriers",
    "threads_per_block": "threads per block",
}


def show(found: Report) -> None:
    """Prints the report on standard output."""
    console = Console(highlight=False, soft_wrap=True)
    if found.answer is not None:
        for line in _sentences(found, found.answer):
            console.print(line, markup=False)
        console.print(_limits(found, found.answer))
        for line in _levers(found.levers):
            console.print(line, markup=False)
        for line in _grid(found, found.answer):
            console.print(line, markup=False)
    if found.sweep:
        console.print(_sweep(found))
    if found.row.provisional is not None:
        console.print(found.row.provisional, markup=False)


def _sentences(found: Report, answer: Answer) -> Iterator[str]:
    question = found.question
    block = f"{found.threads} threads ×" if found.threads else "no block size fits with"
    smem = f"{question.static_smem} + {found.dynamic_smem} bytes of shared memory"
    yield f"{found.row.name}: {block} {question.regs} registers, {smem}"
    if answer.reason is not None:
        yield answer.reason
        return
    limiters = " and ".join(NAMES[name] for name in answer.limiters)
    yield (
        f"{_blocks(answer.blocks_per_sm)} per SM, "
        f"{answer.active_warps} of {answer.max_warps} warps, "
        f"{_percent(answer.occupancy)}, limited by {limiters}"
    )


def _limits(found: Report, answer: Answer) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("limit")
    table.add_column("blocks", justify="right")
    table.add_column("")
    table.add_column("allocated per block")
    row, allocated = found.row, answer.allocated
    details = {
        "registers": f"{allocated.registers_per_block} of {row.registers_per_sm} per SM",
        "shared_memory": f"{allocated.shared_memory_per_block} of {_smem(found)} bytes per SM",
    }
    for name in ("warps", "registers", "shared_memory", "blocks", "barriers"):
        value = getattr(answer.limits, name)
        table.add_row(
            NAMES[name],
            "–" if value is None else str(value),
            "binds" if name in answer.limiters else "",
            details.get(name, ""),
        )
    return table


def _smem(found: Report) -> str:
    carveout = found.question.carveout
    return str(found.row.smem_per_sm) + (f" ({carveout} % asked for)" if carveout else "")


def _levers(levers: tuple[Lever, ...]) -> Iterator[str]:
    for lever in levers:
        unit = " bytes" if lever.resource == "shared_memory" else ""
        if lever.value is None:
            others = " and ".join(NAMES[name] for name in lever.held_by)
            held = f": {others} would still bind" if others else ""
            yield f"{NAMES[lever.resource]}: nothing to gain by less alone{held}"
        else:
            yield (
                f"{NAMES[lever.resource]} ≤ {lever.value}{unit} ({lever.change:+d}) → "
                f"{_blocks(lever.result.blocks_per_sm)}, {_percent(lever.result.occupancy)}"
            )


def _grid(found: Report, answer: Answer) -> Iterator[str]:
    if found.sms is None:
        return
    machine = f"{found.machine or 'the device'} ({found.sms} SMs)"
    if found.question.grid is not None:
        filled = waves(found.question.grid, answer.blocks_per_sm, found.sms)
        if filled is not None:
            tail = (
                f"; the last one leaves {_percent(filled.tail)} of the machine idle"
                if filled.tail_blocks
                else ""
            )
            yield (
                f"{filled.waves:.2f} waves of {filled.wave_blocks} blocks on {machine}: "
                f"{filled.count} in turn{tail}"
            )
    most = max_cooperative_blocks(answer.blocks_per_sm, found.sms)
    yield f"a cooperative grid has at most {most} blocks on {machine}"


def _sweep(found: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("block", "blocks/SM", "warps", "occupancy"):
        table.add_column(name, justify="right")
    table.add_column("limited by")
    most = max(one.resident_threads for one in found.sweep)
    best = max((one.block for one in found.sweep if one.resident_threads == most), default=0)
    for one in found.sweep:
        marks = [" and ".join(NAMES[name] for name in one.result.limiters)]
        marks += ["best"] if one.block == best and most else []
        table.add_row(
            str(one.block),
            str(one.result.blocks_per_sm),
            f"{one.result.active_warps}/{one.result.max_warps}",
            _percent(one.result.occupancy),
            ", ".join(marks),
        )
    return table


def _blocks(number: int) -> str:
    return "1 block" if number == 1 else f"{number} blocks"


def _percent(share: float) -> str:
    return f"{int(share * 1000 + 0.5) / 10:g} %"
