"""Baselines as files, what regressed as findings, and baselines of reports alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from occlsp.analysis.baseline import BadBaseline, Baseline, Change, Key, Mark, read
from occlsp.analysis.findings import BY_CODE, severity_of
from occlsp.analysis.join import Row
from occlsp.analysis.results import Finding, Related
from occlsp.analysis.snapshot import Snapshot
from occlsp.cli.usage import Unusable
from occlsp.reports.facts import Report
from occlsp.reports.names import demangle
from occlsp.source.text import Span


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file; `Unusable` says what is wrong with it and what to do."""
    try:
        return read(path.read_bytes().decode(), str(path))
    except FileNotFoundError:
        raise Unusable(f"{path}: no such baseline; make it with --write-baseline {path}") from None
    except UnicodeDecodeError as error:
        raise Unusable(f"{path}: not UTF-8 at byte {error.start}; write it anew") from None
    except (OSError, BadBaseline) as error:
        raise Unusable(str(error)) from None


def write_baseline(path: Path, text: str) -> None:
    """Replaces the file whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text, "utf-8", newline="\n")
        beside.replace(path)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}; the baseline is not written") from None


def regressions(
    changes: Iterable[Change], origins: Mapping[Key, Row], snapshots: Mapping[Key, Snapshot]
) -> list[Finding]:
    """A finding on the name of each kernel that regressed, as configured: the largest change,
    the kernel's other launches, instantiations and architectures beside it."""
    rule = BY_CODE["regressed"]
    found: dict[tuple[str, Span], Finding] = {}
    for change in changes:
        if change.kind != "regressed":
            continue
        row, snapshot = origins[change.key], snapshots[change.key]
        severity = severity_of(rule, snapshot.settings)
        if severity == "off" or _is_ignored(snapshot, row, rule.code):
            continue
        path, span = row.site.path, row.site.kernel.name_span
        first = found.get((path, span))
        if first is None:
            found[path, span] = Finding(
                rule.code, severity, path, span, _told(change), arch=change.key.arch
            )
        else:
            other = Related(path, span, _told(change))
            found[path, span] = replace(first, related=(*first.related, other))
    return list(found.values())


def _told(change: Change) -> str:
    by = "" if change.key.launched_by == "-" else f" (launched by {change.key.launched_by})"
    fact = f"`{change.key.kernel}` on {change.key.arch} against the baseline: {change.message}"
    return fact + by


def _is_ignored(snapshot: Snapshot, row: Row, code: str) -> bool:
    file = snapshot.sources.file(row.site.path)
    if file is None:
        return False
    codes = file.facts.ignores.get(file.lines.line_of(row.site.kernel.name_span.start))
    return codes is not None and (not codes or code in codes)


def of_reports(reports: Iterable[Report]) -> Baseline:
    """A baseline of compiled code alone: registers, spills, static shared memory."""
    baseline: Baseline = {}
    for report in reports:
        for entry in report.entries:
            if entry.registers is None:
                continue
            spills = None
            if entry.spill_stores is not None and entry.spill_loads is not None:
                spills = entry.spill_stores + entry.spill_loads
            key = Key(entry.name or demangle(entry.entry), entry.arch or "?", "-")
            mark = Mark(None, None, None, entry.registers, spills, entry.static_smem, None, None)
            if key not in baseline or (spills or 0) > (baseline[key].spill_bytes or 0):
                baseline[key] = mark
    return baseline
