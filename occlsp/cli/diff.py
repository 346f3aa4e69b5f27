"""`occlsp diff`: what changed between two baselines, or between two builds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from occlsp.cli.usage import OneLineCommand, Unusable

if TYPE_CHECKING:
    from occlsp.analysis.baseline import Baseline, Change

EXAMPLE = """
\b
Example:
  occlsp diff old.baseline new.baseline
  occlsp diff build-main/ build-branch/ --json
"""


@click.command("diff", cls=OneLineCommand, epilog=EXAMPLE)
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def command(before: Path, after: Path, as_json: bool) -> None:
    """Print what changed from A to B, the largest change first.

    Each is a baseline that `occlsp check --write-baseline` made, or a report: a log, a compiled
    file, or a folder of them.
    """
    from occlsp.analysis.baseline import compare

    changes = compare(_read(before), _read(after))
    if as_json:
        document = {"changes": [change_json(change) for change in changes]}
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    elif not changes:
        click.echo("nothing changed")
    else:
        for change in changes:
            print_change(change)


def print_change(change: Change) -> None:
    """One line for people."""
    colours = {"regressed": "red", "improved": "green"}
    kind = click.style(change.kind, fg=colours.get(change.kind), bold=True)
    by = "" if change.key.launched_by == "-" else f", launched by {change.key.launched_by}"
    click.echo(f"{kind}: {change.key.kernel} ({change.key.arch}{by}): {change.message}")


def _read(path: Path) -> Baseline:
    from occlsp.analysis.baseline import HEADER
    from occlsp.cli.check_baseline import of_reports, read_baseline
    from occlsp.reports.read import read_reports

    if not path.exists():
        raise Unusable(f"{path}: no such file or folder")
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
    elif path.read_bytes()[: len(HEADER)] == HEADER.encode():
        return read_baseline(path)
    else:
        files = [path]
    baseline = of_reports(read_reports(files))
    if not baseline:
        raise Unusable(f"{path}: neither a baseline nor a report with kernels in it")
    return baseline


def change_json(change: Change) -> dict[str, object]:
    """A change as `--json` has it."""
    return {
        "kind": change.kind,
        **change.key._asdict(),
        "message": change.message,
        "before": structs.asdict(change.before) if change.before else None,
        "after": structs.asdict(change.after) if change.after else None,
        "was": change.old_key._asdict() if change.old_key else None,
    }
