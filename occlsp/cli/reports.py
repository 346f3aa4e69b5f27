"""`occlsp reports`: the resources that logs, objects and cubins tell of."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from occlsp.reports.facts import Entry, Report, ReportWarning
from occlsp.reports.names import demangle
from occlsp.reports.read import read_report

EXAMPLE = """
\b
Example:
  occlsp reports build/kernels.o
  occlsp reports build.log libkernels.a --json
"""

_WIDE = 10_000
"""Columns where no terminal breaks lines."""


@click.command("reports", epilog=EXAMPLE)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(files: tuple[str, ...], as_json: bool) -> None:
    """Print the resources of the kernels in FILEs of any form.

    Cubins, objects, executables, libraries and archives are read directly; logs of builds with
    -Xptxas -v, of nvlink and dumps of cuobjdump --dump-resource-usage as text.
    """
    reports = list(_read(files))
    if as_json:
        for piece in _json(reports):
            sys.stdout.write(piece)
    else:
        _print_table(reports)
    unusable = [report for report in reports if not report.entries and _problems(report)]
    for report in unusable:
        click.echo(f"occlsp reports: {_problems(report)[0].message}", err=True)
    if unusable:
        sys.exit(2)


def _read(files: tuple[str, ...]) -> Iterator[Report]:
    if len(files) < 2 or not sys.stderr.isatty():
        yield from map(read_report, files)
        return
    with click.progressbar(files, label="Reading", file=sys.stderr) as bar:
        yield from map(read_report, bar)


def _problems(report: Report) -> list[ReportWarning]:
    """What is wrong with the file as a whole."""
    return [w for w in report.warnings if w.kind in ("truncated", "other") and w.entry is None]


def _json(reports: Iterable[Report]) -> Iterator[str]:
    """The document, piece by piece: a build's log can have many entries."""
    import msgspec

    encode = msgspec.json.Encoder().encode
    separator = '{"entries": ['
    for report in reports:
        for entry in report.entries:
            yield separator + encode(_entry(entry)).decode()
            separator = ",\n"
    if separator != ",\n":
        yield separator
    warnings = [_warning(warning) for report in reports for warning in report.warnings]
    yield f'], "warnings": {encode(warnings).decode()}}}\n'


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "entry": entry.entry,
        "name": entry.name or demangle(entry.entry),
        "arch": entry.arch,
        "registers": entry.registers,
        "static_smem": entry.static_smem,
        "spill_stores": entry.spill_stores,
        "spill_loads": entry.spill_loads,
        "stack": entry.stack,
        "cumulative_stack": entry.cumulative_stack,
        "barriers": entry.barriers,
        "cmem": entry.cmem,
        "linked": entry.linked,
        "debug": entry.debug,
        "file": entry.file,
        "line": entry.line,
        "source": entry.source,
        "unit": entry.unit,
        "max_threads": entry.max_threads,
        "required_block": entry.required_block,
        "max_registers": entry.max_registers,
        "cluster": entry.cluster,
        "toolkit": entry.toolkit,
        "spill_lines": [
            {"file": s.file, "line": s.line, "stores": s.stores, "loads": s.loads}
            for s in entry.spill_lines
        ],
    }


def _warning(warning: ReportWarning) -> dict[str, str | None]:
    return {
        "kind": warning.kind,
        "message": warning.message,
        "entry": warning.entry,
        "arch": warning.arch,
        "source": warning.source,
    }


def _print_table(reports: list[Report]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else _WIDE)
    for report in reports:
        table = Table(title=escape(report.source), title_justify="left", box=None, pad_edge=False)
        table.add_column("kernel", overflow="fold")
        table.add_column("arch")
        for title in ("regs", "smem", "spill st/ld", "stack", "barriers"):
            table.add_column(title, justify="right")
        table.add_column("notes")
        for entry in report.entries:
            table.add_row(*map(escape, _row(entry)))
        if report.entries:
            console.print(table)
        elif not _problems(report):
            console.print(f"{escape(report.source)}: no kernels")
        for warning in report.warnings:
            if report.entries or warning.entry is not None:
                console.print(f"  {warning.kind}: {escape(warning.message)}", highlight=False)


def _row(entry: Entry) -> tuple[str, ...]:
    notes = [
        *(["before linking"] if not entry.linked else []),
        *(["debug build"] if entry.debug else []),
        *([f"{entry.file}:{entry.line}"] if entry.file else []),
    ]
    spills = (
        "–"
        if entry.spill_stores is None
        else f"{entry.spill_stores}/{_number(entry.spill_loads)}"
        if entry.spill_stores or entry.spill_loads
        else "0"
    )
    return (
        demangle(entry.entry),
        entry.arch or "–",
        _number(entry.registers),
        _number(entry.static_smem),
        spills,
        _number(entry.stack),
        _number(entry.barriers),
        ", ".join(notes),
    )


def _number(value: int | None) -> str:
    return "–" if value is None else str(value)
