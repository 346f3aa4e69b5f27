"""`occlsp measured`: what profilers and benchmarks measured, and what binds each kernel."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from occlsp.cli.usage import OneLineCommand, Unusable

if TYPE_CHECKING:
    from occlsp.analysis.advice.report import Line
    from occlsp.analysis.advice.scoring import Peaks
    from occlsp.analysis.sources import Sources
    from occlsp.occupancy import Gpu


@click.command(
    cls=OneLineCommand,
    epilog='Example: occlsp measured profile.csv bench.json --gpu "H100 SXM"',
    short_help="Read measurements and say what binds each kernel.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--gpu", metavar="NAME", help="GPU model that it was measured on: gives the peaks.")
@click.option(
    "--peaks",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Peaks measured on the machine (JSON or TOML): flops_per_s, read_bytes_per_s, "
    "write_bytes_per_s, launch_ns.",
)
@click.option(
    "--sources",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Sources to match kernels with; default: the project that the working folder is in.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def command(
    files: tuple[str, ...],
    gpu: str | None,
    peaks: Path | None,
    sources: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Read Nsight Compute CSV (details and raw pages), NVBench JSON, and JSON lines.

    For each kernel and launch: the median, achieved against theoretical occupancy, and the
    resource that binds. A line of JSON lines is an object like {"kernel": "scale", "block": 256,
    "grid": 65536, "durations_ns": [10250], "timing": "device", "bytes_read": 67108864}.
    """
    from occlsp.analysis.advice.measurements.read import NoMeasurements, read_file
    from occlsp.analysis.advice.report import report

    model = _gpu(gpu)
    known = _peaks(peaks, model)
    view = _sources(sources)
    problems: list[str] = []
    found: list[Line] = []
    unreadable: list[str] = []
    for file in files:
        try:
            read = read_file(file)
        except NoMeasurements as error:
            unreadable.append(str(error))
            continue
        problems += read.problems
        found += report(read.measurements, model, known, view)
    for text in unreadable:
        click.echo(f"occlsp: {text}", err=True)
    unmatched = list(dict.fromkeys(one.name for one in found if one.kernels == ()))
    if as_json:
        document = {
            "measurements": [_json(one) for one in found],
            "unmatched": unmatched,
            "problems": [*unreadable, *problems],
        }
        click.echo(json.dumps(document, indent=1))
    else:
        _print(found, unmatched, problems)
    if unreadable:
        sys.exit(2)


def _gpu(name: str | None) -> Gpu | None:
    from occlsp.occupancy import UnknownGpu, gpu

    try:
        return gpu(name) if name is not None else None
    except UnknownGpu as error:
        raise Unusable(f"--gpu: {error}") from None


def _peaks(path: Path | None, model: Gpu | None) -> Peaks | None:
    from occlsp.analysis.advice.scoring import Peaks, PeaksError, read_peaks

    base = Peaks.of(model) if model is not None else None
    if path is None:
        return base
    try:
        return read_peaks(path.read_text("utf-8-sig"), str(path), base)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Unusable(f"{path}: not UTF-8") from None
    except PeaksError as error:
        raise Unusable(str(error)) from None


def _sources(paths: Sequence[Path]) -> Sources | None:
    """What kernels are looked up in; None where there is no project."""
    from occlsp.analysis.sources import SourceFile, Sources
    from occlsp.cli.check_project import MARKERS, root_of
    from occlsp.source.scanning import scan_folder

    for path in paths:
        if not path.exists():
            raise Unusable(f"{path}: no such file or folder")
    if not paths:
        root = root_of(Path.cwd())
        is_project = any((root / marker).exists() for marker in MARKERS)
        if not is_project and not any(root.glob("*.cu*")):
            return None
        paths = [root]
    names = [str(path) for path in paths]
    workspace, _ = scan_folder(names)
    return Sources.of(SourceFile(workspace.facts(path)) for path in workspace.paths())


def _json(one: Line) -> dict[str, Any]:
    measured, score = one.measured, one.score
    binding = score.binding
    return {
        "kernel": one.name,
        "path": one.kernels[0].path if one.kernels else None,
        "matches": None if one.kernels is None else len(one.kernels),
        "block": measured.block,
        "grid": measured.grid,
        "values": measured.values or None,
        "gpu": measured.device,
        "arch": measured.arch,
        "context": measured.context,
        "timing": measured.timing,
        "samples": len(measured.durations_ns),
        "median_ns": score.median_ns,
        "failures": list(measured.failures),
        "achieved_occupancy": measured.achieved_occupancy,
        "theoretical_occupancy": one.theoretical,
        "why_they_differ": list(one.reasons),
        "binding": binding.resource if binding is not None else None,
        "fraction": binding.fraction if binding is not None else None,
        "no_score": score.why,
        "resources": [
            {
                "resource": share.resource,
                "amount": share.amount,
                "time_ns": share.time_ns,
                "fraction": share.fraction,
            }
            for share in score.shares
        ],
        "unscored": list(score.unscored),
        "peaks": one.peaks.source,
        "suspect": list(one.suspects),
        "source": measured.source,
        "line": measured.line or None,
    }


def _print(found: Sequence[Line], unmatched: Sequence[str], problems: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    from occlsp.analysis.words import block_text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)
    table = Table(box=None, pad_edge=False)
    table.add_column("kernel", overflow="fold")
    for name in ("block", "grid"):
        table.add_column(name)
    for name in ("runs", "median", "achieved", "theoretical"):
        table.add_column(name, justify="right")
    table.add_column("binds", overflow="fold")
    several = len({one.measured.context for one in found}) > 1
    for one in found:
        measured = one.measured
        told = [one.name, measured.values, measured.context or "" if several else ""]
        table.add_row(
            _plain("; ".join(filter(None, told))),
            block_text(measured.block) if measured.block else "–",
            block_text(measured.grid) if measured.grid else "–",
            str(len(measured.durations_ns)),
            _time(one.score.median_ns),
            _share(measured.achieved_occupancy),
            _share(one.theoretical),
            _plain(one.binds),
        )
    console.print(table)
    for one in found:
        for text in (*one.reasons_told, *one.suspects, *one.failures_told):
            console.print(f"{one.name}: {text}", markup=False)
    for source in dict.fromkeys(one.peaks.source for one in found):
        console.print(f"peaks: {source}", markup=False)
    if unmatched:
        console.print(f"no kernel in the sources: {', '.join(unmatched)}", markup=False)
    for problem in problems:
        console.print(problem, markup=False)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _time(nanoseconds: float | None) -> str:
    from occlsp.analysis.advice.report import time_text

    return "–" if nanoseconds is None else time_text(nanoseconds)


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f} %"
