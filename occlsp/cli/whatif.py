"""`occlsp whatif`: what the compiler makes of a kernel under other launch bounds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from occlsp.cli.usage import OneLineCommand, Unusable

if TYPE_CHECKING:
    from occlsp.cli.whatif_rows import Answered

EXAMPLE = """
\b
Example:
  occlsp whatif src/reduce.cu --kernel reduce --arch sm_90
  occlsp whatif src/reduce.cu --kernel "reduce<256>" --maxnreg 64 --exact --json
"""


@click.command("whatif", cls=OneLineCommand, epilog=EXAMPLE)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--kernel", required=True, metavar="NAME", help="The kernel, or one instantiation.")
@click.option("--arch", metavar="sm_90", help="Architecture; default: the settings' first.")
@click.option("--block", type=click.IntRange(1, 1024), help="Threads per block of the rows.")
@click.option(
    "--dynamic-smem", "dynamic_smem", default=0, type=click.IntRange(0), help="Bytes a block."
)
@click.option(
    "--maxnreg",
    multiple=True,
    type=click.IntRange(16, 255),
    help="A row with so many registers at most, too.",
)
@click.option("--exact", is_flag=True, help="Recompile the source for each row (slow).")
@click.option(
    "--compile-commands",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder of compile_commands.json.",
)
@click.option("--json", "is_json", is_flag=True, help="One JSON document.")
def command(
    file: Path,
    kernel: str,
    arch: str | None,
    block: int | None,
    dynamic_smem: int,
    maxnreg: tuple[int, ...],
    exact: bool,
    compile_commands: Path | None,
    is_json: bool,
) -> None:
    """Ask the compiler for KERNEL's registers and spills under a row of launch bounds.

    Each row is what ptxas makes of the kernel's current PTX, in a tenth of a second; with
    --exact the source is recompiled instead, since the front end reads the bounds too. FILE is
    compiled first if it has to be: naming it here is the word that it may be.
    """
    from occlsp.cli.whatif_rows import Question, answer

    if not file.is_file():
        raise Unusable(f"{file}: no such file")
    _refuse_unknown(arch)
    question = Question(file, kernel, arch, block, dynamic_smem, maxnreg, exact, compile_commands)
    found = list(answer(question))
    if is_json:
        json.dump({"kernels": [one.as_json() for one in found]}, sys.stdout, indent=2)
        click.echo()
    else:
        _show(found)


def _refuse_unknown(arch: str | None) -> None:
    from occlsp.occupancy import UnknownArchitecture, limits

    try:
        if arch is not None:
            limits(arch)
    except UnknownArchitecture as error:
        raise Unusable(str(error)) from None


def _show(found: list[Answered]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    for one in found:
        console.print(f"{one.name} on {one.arch}, at {one.block_text}", markup=False)
        table = Table(box=None, pad_edge=False)
        for head in ("", "bounds"):
            table.add_column(head)
        for head in ("registers", "spill bytes", "blocks/SM", "occupancy"):
            table.add_column(head, justify="right")
        table.add_column("limiter")
        for row in one.rows:
            table.add_row(*row.cells())
        console.print(table)
        for row in one.rows:
            if row.row.problem:
                console.print(f"{row.bounds_text}: {row.row.problem}", markup=False)
        console.print(f"{one.label}; ▸ now, ★ no other row beats it in both", markup=False)
