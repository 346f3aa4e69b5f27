"""`occlsp check`: the findings of the server, without an editor."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from occlsp.cli.usage import OneLineCommand, Unusable

if TYPE_CHECKING:
    from occlsp.analysis.baseline import Baseline
    from occlsp.cli.check_project import Request

EXAMPLE = """
\b
Example:
  occlsp check src --compile --arch sm_90
  occlsp check kernels.cu --report build.log --format json
  occlsp check src --compile --baseline occupancy.txt --format github
"""
FailOn = Literal["error", "warning", "never"]
UNUSABLE = 2
INTERRUPTED = 130
"""As a shell has it: 128 and the signal's number."""


@click.command("check", cls=OneLineCommand, epilog=EXAMPLE)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(path_type=Path))
@click.option("--arch", multiple=True, metavar="sm_90", help="Architecture; the first is primary.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A log, object or cubin with the compiler's numbers.",
)
@click.option(
    "--reports",
    "report_folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder of them, as `occlsp record` leaves one.",
)
@click.option("--compile", "is_compiling", is_flag=True, help="Compile the sources with nvcc.")
@click.option(
    "--compile-commands",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder of compile_commands.json.",
)
@click.option("--gpu", metavar="NAME", help='GPU model for waves: "H100 SXM".')
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    show_default=True,
    help="The mildest finding that makes the exit status 1.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Warn of what is worse than in this baseline.",
)
@click.option(
    "--write-baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write what every kernel comes to.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "sarif", "github", "markdown"]),
    default="text",
    show_default=True,
)
@click.option(
    "-j",
    "jobs",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    help="Processes that read and compile.",
)
def command(
    paths: tuple[Path, ...],
    arch: tuple[str, ...],
    reports: tuple[Path, ...],
    report_folder: Path | None,
    is_compiling: bool,
    compile_commands: Path | None,
    gpu: str | None,
    fail_on: FailOn,
    baseline: Path | None,
    write_baseline: Path | None,
    format_: str,
    jobs: int,
) -> None:
    """Report what cannot launch, spills or wastes the GPU in the sources at PATHs."""
    from occlsp.cli.check_project import Request

    _refuse_missing([*paths, *reports, *([report_folder] if report_folder else [])])
    _refuse_unknown(arch, gpu)
    request = Request(
        paths, arch, reports, report_folder, is_compiling, compile_commands, gpu, jobs
    )
    from occlsp.cli.check_baseline import read_baseline

    # Before hours of compiling, not after.
    before = read_baseline(baseline) if baseline is not None else None
    sys.exit(_run(request, fail_on, format_, before, write_baseline))


def _refuse_missing(paths: list[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise Unusable(f"{path}: no such file or folder")


def _refuse_unknown(archs: tuple[str, ...], gpu_name: str | None) -> None:
    from occlsp.occupancy import UnknownArchitecture, UnknownGpu, gpu, limits

    try:
        for arch in archs:
            limits(arch)
        if gpu_name is not None:
            gpu(gpu_name)
    except (UnknownArchitecture, UnknownGpu) as error:
        raise Unusable(str(error)) from None


def _run(
    request: Request,
    fail_on: FailOn,
    format_: str,
    before: Baseline | None,
    write_to: Path | None,
) -> int:
    from occlsp.cli.check_output import Output
    from occlsp.cli.check_progress import progress
    from occlsp.cli.check_project import projects

    output = Output(format_, before)
    is_short = is_interrupted = False
    with progress() as show:
        for project in projects(request, show):
            for problem in project.problems:
                click.echo(f"occlsp check: {problem}", err=True)
            is_short |= project.is_short
            is_interrupted |= project.is_interrupted
            output.add(project)
    output.finish(is_whole=not is_interrupted)
    output.print()
    if is_interrupted:
        click.echo("occlsp check: interrupted; what is told is of what was read before", err=True)
        return INTERRUPTED
    if write_to is not None:
        output.write_baseline(write_to)
    status = _status([one.finding.severity for one in output.located], fail_on)
    return status or (UNUSABLE if is_short else 0)


def _status(severities: list[str], fail_on: FailOn) -> int:
    failing = {"error": {"error"}, "warning": {"error", "warning"}, "never": set()}[fail_on]
    return int(any(severity in failing for severity in severities))
