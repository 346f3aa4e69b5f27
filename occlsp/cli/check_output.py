"""What `occlsp check` found, gathered over projects and printed in a format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from occlsp import HOME
from occlsp.analysis.baseline import Baseline, Change, Key, compare, of_rows, write
from occlsp.analysis.findings import RULES, findings
from occlsp.analysis.join import Row
from occlsp.analysis.results import Edit, Finding, Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.cli.check_baseline import regressions, write_baseline
from occlsp.cli.check_project import Project
from occlsp.cli.check_rows import finding_json, row_json, rows
from occlsp.cli.check_text import print_findings, print_summary
from occlsp.cli.diff import change_json, print_change
from occlsp.cli.formats.located import Located, Region, region
from occlsp.source.text import LineIndex


class Output:
    """The findings, kernels and changes so far."""

    def __init__(self, format_: str, before: Baseline | None) -> None:
        """`before` is the baseline to compare with."""
        self.format = format_
        self.before = before
        self.located: list[Located] = []
        self.rows: list[tuple[Snapshot, Row]] = []
        self.changes: list[Change] = []
        self.after: Baseline = {}
        self.files = 0
        self._origins: dict[Key, Row] = {}
        self._snapshots: dict[Key, Snapshot] = {}

    def add(self, project: Project) -> None:
        """One project's findings and kernels."""
        found_rows: list[Row] = []
        for path in project.paths:
            self.files += 1
            if project.snapshot.sources.facts(path) is None:
                continue
            for found in findings(project.snapshot, path):
                self._locate(project.snapshot, found)
            found_rows += rows(project.snapshot, path)
        self.rows += [(project.snapshot, row) for row in found_rows]
        baseline, origins = of_rows(found_rows)
        self.after.update(baseline)
        self._origins.update(origins)
        self._snapshots.update(dict.fromkeys(origins, project.snapshot))

    def finish(self, *, is_whole: bool = True) -> None:
        """Compares with the baseline, when every project is in. Where not all was read, what is
        missing is not said to have vanished."""
        if self.before is None:
            return
        self.changes = [
            change
            for change in compare(self.before, self.after)
            if is_whole or change.kind not in ("vanished", "renamed")
        ]
        for found in regressions(self.changes, self._origins, self._snapshots):
            snapshot = next(s for s in self._snapshots.values() if s.sources.file(found.path))
            self._locate(snapshot, found)

    def write_baseline(self, path: Path) -> None:
        """Keeps what every kernel comes to now."""
        write_baseline(path, write(self.after))

    def print(self) -> None:
        """On standard output."""
        if self.format == "json":
            document: dict[str, Any] = {
                "findings": [finding_json(one) for one in self.located],
                "kernels": [
                    row_json(snapshot, row, shown(row.site.path)) for snapshot, row in self.rows
                ],
            }
            if self.before is not None:
                document["changes"] = [change_json(change) for change in self.changes]
            click.echo(json.dumps(document, indent=1))
        elif self.format == "sarif":
            from occlsp.cli.formats.sarif import sarif

            document = sarif(self.located, RULES, _region_of, HOME)
            click.echo(json.dumps(document, indent=1))
        elif self.format == "github":
            from occlsp.cli.formats.github import github

            click.echo(github(self.located), nl=False)
        elif self.format == "markdown":
            from occlsp.cli.formats.markdown import markdown

            click.echo(markdown(self.located, self.changes, self._entries()), nl=False)
        else:
            print_findings(self.located)
            for change in self.changes:
                if change.kind != "regressed":
                    print_change(change)
            kernels = {(row.site.path, row.site.kernel.name_span.start) for _, row in self.rows}
            print_summary(self.located, len(kernels), self.files)

    def _entries(self) -> int:
        return len({(row.entry.entry, row.arch) for _, row in self.rows if row.entry is not None})

    def _locate(self, snapshot: Snapshot, found: Finding) -> None:
        file = snapshot.sources.file(found.path)
        assert file is not None
        line = file.lines.line_span(file.lines.line_of(found.span.start))
        text = file.text[line.start : line.end].decode("utf-8", "replace")
        offered: tuple[Fix, ...] = ()
        if self.format == "sarif":
            from occlsp.analysis.fixes import fixes

            every = fixes(snapshot, found.path, found.span)
            offered = tuple(f for f in every if found.code in f.codes and f.disabled is None)
        place = region(file.lines, found.span)
        self.located.append(Located(found, shown(found.path), place, text, offered))


def shown(path: str) -> str:
    """Relative to the working folder where it lies below it."""
    relative = os.path.relpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")


def _region_of(edit: Edit) -> tuple[str, Region]:
    return shown(edit.path), region(LineIndex(Path(edit.path).read_bytes()), edit.span)
