"""`occlsp rank`: the configurations of one kernel by an estimated cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from occlsp.cli.usage import OneLineCommand, Unusable

if TYPE_CHECKING:
    from occlsp.analysis.advice.rank import Ranked, Ranking
    from occlsp.analysis.advice.space import Space
    from occlsp.analysis.advice.times import Times

MAX_BYTES = 64 << 20
SHOWN = 30
"""Candidates that the table shows unless told otherwise; JSON holds all of them."""


@click.command(
    cls=OneLineCommand,
    epilog="Example: occlsp rank reduce.toml --measured times.csv",
    short_help="Rank the configurations of one kernel (estimated).",
)
@click.argument("space", metavar="SPACE.toml", type=click.Path(path_type=Path))
@click.option(
    "--measured",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="CSV or JSON lines with the space's names and a time.",
)
@click.option("--arch", metavar="ARCH", help="Architecture, instead of the file's.")
@click.option("--gpu", metavar="NAME", help="GPU model, instead of the file's.")
@click.option(
    "--top",
    type=click.IntRange(1),
    metavar="N",
    help=f"Show the best N (the table: {SHOWN}; JSON: all).",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def command(
    space: Path,
    measured: Path | None,
    arch: str | None,
    gpu: str | None,
    top: int | None,
    as_json: bool,
) -> None:
    """Rank the cross product of choices in SPACE.toml: cost = waves / occupancy.

    The cost is estimated, without a unit, and only meaningful within one space. What cannot
    launch ranks last.
    """
    from occlsp.analysis.advice.rank import rank
    from occlsp.analysis.advice.space import SpaceError, read_space
    from occlsp.analysis.advice.times import TimesError, read_times

    try:
        choices = read_space(_text(space), str(space), arch=arch, gpu_name=gpu)
        times = read_times(_text(measured), str(measured), choices) if measured else None
    except (SpaceError, TimesError) as error:
        raise Unusable(str(error)) from None
    ranking = rank(choices, times.by_candidate if times is not None else None)
    notes = [*ranking.notes, *(_left_out(times, measured) if times is not None else [])]
    shown = ranking.ranked[: top or (None if as_json else SHOWN)]
    if as_json:
        click.echo(json.dumps(_document(ranking, shown, times, notes), indent=1))
    else:
        _print(ranking, shown, times, notes)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Unusable(f"{path}: above {MAX_BYTES >> 20} MiB")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Unusable(f"{path}: not UTF-8 at byte {error.start}") from None


def _left_out(times: Times, source: Path | None) -> Iterator[str]:
    if times.failed:
        yield f"{source}: {times.failed} rows have no time and do not count"
    if times.unmatched:
        yield f"{source}: {times.unmatched} rows are of no candidate"
    yield from times.problems


def _document(
    ranking: Ranking, shown: tuple[Ranked, ...], times: Times | None, notes: list[str]
) -> dict[str, Any]:
    space, gate = ranking.space, ranking.gate
    return {
        "kernel": space.kernel,
        "arch": space.limits.name,
        "gpu": space.gpu.name if space.gpu is not None else None,
        "estimated": True,
        "recommended": gate.is_trusted,
        "verdict": gate.verdict,
        "correlation": gate.correlation,
        "pairs": gate.pairs,
        "time": times.unit if times is not None else None,
        "candidates": [_candidate(place, one, space) for place, one in enumerate(shown, 1)],
        "excluded": space.excluded,
        "notes": notes,
    }


def _candidate(place: int, one: Ranked, space: Space) -> dict[str, Any]:
    configuration = one.configuration
    return {
        "rank": place,
        "values": configuration.values,
        "block": list(configuration.block),
        "grid": configuration.grid,
        "registers": configuration.registers,
        "smem_bytes": configuration.smem,
        "blocks_per_sm": one.blocks_per_sm,
        "occupancy": one.occupancy,
        "limiter": one.limiter,
        "waves": one.waves if one.can_launch else None,
        "cost": one.cost if one.can_launch else None,
        "launches": one.can_launch,
        "reason": one.reason,
        "measured": one.time,
        "estimated": True,
    }


def _print(
    ranking: Ranking, shown: tuple[Ranked, ...], times: Times | None, notes: list[str]
) -> None:
    from rich.console import Console
    from rich.table import Table

    space = ranking.space
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)
    gpu = f", {space.gpu.name}" if space.gpu is not None else ""
    console.print(f"{space.kernel} on {space.limits.name}{gpu}", markup=False)
    table = Table(box=None, pad_edge=False)
    heads = ["#", *space.names, "regs", "smem", "blk/SM", "occupancy", "waves", "est. cost"]
    for head in [*heads, *([times.unit] if times is not None else [])]:
        table.add_column(head, justify="right")
    table.add_column("")
    for place, one in enumerate(shown, 1):
        table.add_row(*_row(place, one, space, has_times=times is not None))
    console.print(table)
    if len(shown) < len(ranking.ranked):
        more = len(ranking.ranked) - len(shown)
        console.print(f"… and {more} more; --top N shows more of them", markup=False)
    console.print(ranking.gate.verdict, markup=False)
    for note in notes:
        console.print(note, markup=False)


def _row(place: int, one: Ranked, space: Space, *, has_times: bool) -> list[str]:
    configuration = one.configuration
    registers = configuration.registers
    return [
        str(place),
        *(str(configuration.values[name]) for name in space.names),
        "?" if registers is None else str(registers),
        str(configuration.smem),
        str(one.blocks_per_sm),
        f"{one.occupancy * 100:.1f} %",
        f"{one.waves:.2f}" if one.can_launch else "–",
        f"{one.cost:.2f}" if one.can_launch else "∞",
        *([f"{one.time:g}" if one.time is not None else "–"] if has_times else []),
        one.reason or "",
    ]
