"""A summary for a pull request: counts, what changed against the baseline, the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from occlsp.analysis.baseline import Change, Mark
from occlsp.analysis.results import Severity
from occlsp.cli.formats.located import Located

_SIGNS: dict[Severity, str] = {"error": "🛑", "warning": "⚠️", "information": "ℹ️", "hint": "💡"}
_MOST_ROWS = 50
"""Comments on pull requests are cut at 65,536 characters."""


def markdown(findings: Sequence[Located], changes: Sequence[Change], kernels: int) -> str:
    """The summary. `kernels` is how many kernel entries were looked at."""
    parts = ["## CUDA occupancy\n", _headline(findings, kernels)]
    if changes:
        parts += ["\n### Against the baseline\n", _changes(changes)]
    if findings:
        parts += ["\n### Findings\n", _findings(findings)]
    return "\n".join(parts) + "\n"


def _headline(findings: Sequence[Located], kernels: int) -> str:
    counts = Counter(found.finding.severity for found in findings)
    told = [f"{_SIGNS[level]} {counts[level]} {level}" for level in _SIGNS if counts[level]]
    return f"{kernels} kernel entries; {', '.join(told) or 'nothing found'}."


def _changes(changes: Sequence[Change]) -> str:
    rows = ["| kernel | arch | what | before | after |", "|---|---|---|---|---|"]
    for change in changes[:_MOST_ROWS]:
        what = f"**{change.kind}**" if change.kind == "regressed" else change.kind
        if change.before is None or change.after is None or change.kind == "renamed":
            what = f"{what}: {change.message}"
        cells = [
            f"`{change.key.kernel}`",
            change.key.arch,
            what,
            _mark(change.before),
            _mark(change.after),
        ]
        rows.append(_row(cells))
    return "\n".join(rows) + _rest(len(changes))


def _findings(findings: Sequence[Located]) -> str:
    rows = ["| | where | finding | |", "|---|---|---|---|"]
    rows += [
        _row(
            [
                _SIGNS[found.finding.severity],
                f"`{found.path}:{found.region.line}`",
                found.finding.code,
                found.finding.message,
            ]
        )
        for found in findings[:_MOST_ROWS]
    ]
    return "\n".join(rows) + _rest(len(findings))


def _mark(mark: Mark | None) -> str:
    if mark is None:
        return ""
    parts = []
    if mark.occupancy is not None:
        parts.append(f"{mark.occupancy * 100:.1f}% ({mark.limiter})")
    if mark.registers is not None:
        parts.append(f"{mark.registers} regs")
    if mark.spill_bytes:
        parts.append(f"{mark.spill_bytes} B spilled")
    return ", ".join(parts)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _rest(count: int) -> str:
    return f"\n\n… and {count - _MOST_ROWS} more." if count > _MOST_ROWS else ""
