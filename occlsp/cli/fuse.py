"""`occlsp fuse`: whether neighbouring launches can be one kernel, and are worth it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from occlsp.cli.usage import OneLineCommand, Unusable

if TYPE_CHECKING:
    from occlsp.analysis.advice.neighbours import Overrides
    from occlsp.cli.fuse_pairs import Judged


@click.command(
    cls=OneLineCommand,
    epilog="Example: occlsp fuse src/ --arch sm_90 --verify",
    short_help="Judge whether neighbouring launches can be one kernel.",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(path_type=Path))
@click.option("--arch", metavar="ARCH", help="Architecture; default: the settings' first.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A log, object or cubin with the compiler's numbers.",
)
@click.option("--verify", is_flag=True, help="Compile simple fused kernels with nvcc.")
@click.option(
    "--compile-commands",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder of compile_commands.json, for --verify.",
)
@click.option("--max-registers", type=click.IntRange(1), metavar="N", help="Instead of 255.")
@click.option(
    "--smem-budget", metavar="SIZE", help="Instead of the architecture's opt-in maximum per block."
)
@click.option("--threshold", type=float, metavar="X", help="Score that is worthwhile, else 1.05.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def command(
    paths: tuple[Path, ...],
    arch: str | None,
    reports: tuple[Path, ...],
    verify: bool,
    compile_commands: Path | None,
    max_registers: int | None,
    smem_budget: str | None,
    threshold: float | None,
    as_json: bool,
) -> None:
    """Judge launches in a row on one stream, with equal grid and block, where the second reads
    what the first wrote at the same index.

    The score is estimated: base · register factor · shared-memory factor · ILP factor.
    """
    from occlsp.cli.check_project import Request, projects
    from occlsp.cli.fuse_pairs import Question, judged

    for path in (*paths, *reports):
        if not path.exists():
            raise Unusable(f"{path}: no such file or folder")
    _refuse_unknown(arch)
    overrides = _overrides(max_registers, smem_budget, threshold)
    request = Request(
        paths, (arch,) if arch is not None else (), reports, commands=compile_commands
    )
    found: list[Judged] = []
    for project in projects(request):
        for problem in project.problems:
            click.echo(f"occlsp fuse: {problem}", err=True)
        if project.is_interrupted:
            raise click.Abort
        question = Question(project, overrides, compile_commands, verify)
        found += judged(question)
    if as_json:
        click.echo(
            json.dumps({"estimated": True, "pairs": [one.as_json() for one in found]}, indent=1)
        )
    else:
        _print(found)


def _refuse_unknown(arch: str | None) -> None:
    from occlsp.occupancy import UnknownArchitecture, limits

    try:
        if arch is not None:
            limits(arch)
    except UnknownArchitecture as error:
        raise Unusable(str(error)) from None


def _overrides(
    registers: int | None, smem_budget: str | None, threshold: float | None
) -> Overrides:
    from occlsp.analysis.advice.neighbours import Overrides
    from occlsp.occupancy import InvalidInput, parse_size

    try:
        smem = parse_size(smem_budget, "--smem-budget") if smem_budget is not None else None
    except InvalidInput as error:
        raise Unusable(str(error)) from None
    return Overrides(registers, smem, threshold)


def _print(found: list[Judged]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)
    if not found:
        console.print("nothing to fuse")
    for one in found:
        console.print(f"{one.place}: {one.names}", markup=False)
        console.print(f"  {one.verdict}", markup=False)
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 2))
        for name, value, told in one.factors():
            table.add_row(name, value, _plain(told))
        console.print(table)
        for line in one.notes():
            console.print(f"  {line}", markup=False)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
