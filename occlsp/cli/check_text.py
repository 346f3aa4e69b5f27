"""`occlsp check` for people: the finding, its line of source, a caret, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from occlsp.analysis.results import Severity
from occlsp.cli.formats.located import Located

COLOURS: dict[Severity, str] = {
    "error": "red",
    "warning": "yellow",
    "information": "blue",
    "hint": "cyan",
}
LONGEST_SOURCE = 160


def print_findings(found: Sequence[Located]) -> None:
    """Prints every finding with its place."""
    for one in found:
        region = one.region
        severity = click.style(one.finding.severity, fg=COLOURS[one.finding.severity], bold=True)
        place = click.style(f"{one.path}:{region.line}:{region.character + 1}", bold=True)
        click.echo(f"{place}: {severity}: {one.finding.message} [{one.finding.code}]")
        _print_source(one)


def _print_source(one: Located) -> None:
    source = one.source.expandtabs(1)
    if len(source) > LONGEST_SOURCE or not source.strip():
        return
    start = one.region.character
    end = one.region.end_character if one.region.end_line == one.region.line else len(source)
    caret = click.style("^" * max(1, end - start), fg=COLOURS[one.finding.severity])
    click.echo(f"  {source}\n  {' ' * start}{caret}")


def print_summary(found: Sequence[Located], kernels: int, files: int) -> None:
    """The last line: how many of what."""
    counts = Counter(one.finding.severity for one in found)
    severities: tuple[Severity, ...] = ("error", "warning", "information", "hint")
    words = [
        f"{counts[name]} {name if counts[name] == 1 or name == 'information' else name + 's'}"
        for name in severities
        if counts[name]
    ]
    said = ", ".join(words) or "no findings"
    click.echo(f"{said} in {files} files with {kernels} kernels")
