"""`occlsp check`: the findings of the server, without an editor."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import click

from occlsp.cli.usage import OneLineCommand, Unusable

EXAMPLE = """
\b
Example:
  occlsp check src --compile --arch sm_90
  occlsp check kernels.cu --report build.log --format json
"""
FailOn = Literal["error", "warning", "never"]


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
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
)
@click.option("-j", "jobs", default=1, show_default=True, help="Compiles at a time.")
def command(
    paths: tuple[Path, ...],
    arch: tuple[str, ...],
    reports: tuple[Path, ...],
    report_folder: Path | None,
    is_compiling: bool,
    compile_commands: Path | None,
    gpu: str | None,
    fail_on: FailOn,
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
    sys.exit(_run(request, fail_on, format_))


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


def _run(request: Any, fail_on: FailOn, format_: str) -> int:
    from occlsp.analysis.findings import findings
    from occlsp.cli.check_project import projects
    from occlsp.cli.check_rows import finding_json, row_json, rows
    from occlsp.cli.check_text import print_findings, print_summary
    from occlsp.cli.formats.located import Located, region

    located: list[Located] = []
    kernels: list[dict[str, Any]] = []
    files = 0
    for project in projects(request, _progress()):
        for problem in project.problems:
            click.echo(f"occlsp check: {problem}", err=True)
        for path in project.paths:
            files += 1
            shown = _shown(path)
            file = project.snapshot.sources.file(path)
            if file is None:
                continue
            for found in findings(project.snapshot, path):
                line = file.lines.line_span(file.lines.line_of(found.span.start))
                text = file.text[line.start : line.end].decode("utf-8", "replace")
                located.append(Located(found, shown, region(file.lines, found.span), text))
            kernels += [
                row_json(project.snapshot, row, shown) for row in rows(project.snapshot, path)
            ]
    if format_ == "json":
        document = {"findings": [finding_json(one) for one in located], "kernels": kernels}
        click.echo(json.dumps(document, indent=1))
    else:
        print_findings(located)
        print_summary(located, len({(k["path"], k["line"]) for k in kernels}), files)
    return _status([one.finding.severity for one in located], fail_on)


def _status(severities: list[str], fail_on: FailOn) -> int:
    failing = {"error": {"error"}, "warning": {"error", "warning"}, "never": set()}[fail_on]
    return int(any(severity in failing for severity in severities))


def _shown(path: str) -> str:
    """Relative to the working folder where it lies below it."""
    relative = os.path.relpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")


def _progress() -> Callable[[str], None]:
    """One line on a terminal, written over."""
    if not sys.stderr.isatty():
        return lambda text: None

    def show(text: str) -> None:
        width = 78
        sys.stderr.write(f"\r{text[-width:].ljust(width)}\r")

    return show
