"""Findings and kernels of `occlsp check` as JSON."""

from __future__ import annotations

from typing import Any

from occlsp.analysis import join
from occlsp.analysis.cases import Case
from occlsp.analysis.join import Row
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.words import instance_name
from occlsp.cli.formats.located import Located
from occlsp.source.facts import Triple


def rows(snapshot: Snapshot, path: str) -> list[Row]:
    """A row for each kernel entry, architecture and launch of the kernels of a file."""
    found: list[Row] = []
    for site in snapshot.sources.kernels_of(path):
        if not site.kernel.inactive:
            found += join.all_rows(snapshot, site)
    return found


def finding_json(found: Located) -> dict[str, Any]:
    """One finding."""
    return {
        "code": found.finding.code,
        "severity": found.finding.severity,
        "path": found.path,
        "line": found.region.line,
        "character": found.region.character,
        "end_line": found.region.end_line,
        "end_character": found.region.end_character,
        "message": found.finding.message,
        "arch": found.finding.arch,
        "estimated": found.finding.estimated,
    }


def row_json(snapshot: Snapshot, row: Row, shown: str) -> dict[str, Any]:
    """One row; a value that can be several is null."""
    entry, launch = row.entry, row.launch
    case = _one(row.cases) if row.is_shown else None
    file = snapshot.sources.file(row.site.path)
    line = file.lines.line_of(row.site.kernel.name_span.start) + 1 if file is not None else None
    return {
        "path": shown,
        "line": line,
        "name": instance_name(entry) if entry is not None else row.site.kernel.qualified_name,
        "entry": entry.entry if entry is not None else None,
        "arch": row.arch,
        "launch_path": launch.path if launch is not None else None,
        "launch_line": _launch_line(snapshot, row),
        "block": _block(row, case),
        "grid": _triple(launch.launch.grid.value) if launch is not None else None,
        "registers": entry.registers if entry is not None else None,
        "static_smem": row.resources.static_smem,
        "dynamic_smem": case.dynamic_smem if case is not None else _dynamic(row),
        "spill_stores": entry.spill_stores if entry is not None else None,
        "spill_loads": entry.spill_loads if entry is not None else None,
        "blocks_per_sm": case.result.blocks_per_sm if case is not None else None,
        "occupancy": case.result.occupancy if case is not None else None,
        "limiter": case.result.limiter if case is not None else None,
        "reason": case.result.reason if case is not None else row.why,
        "source": entry.source if entry is not None else None,
        "stale": row.age.is_stale,
        "bound": row.is_bound,
        "estimated": False,
    }


def _one(cases: tuple[Case, ...]) -> Case | None:
    """The case, where all that it can be come to the same."""
    first = cases[0] if cases else None
    return first if all(case.result == first.result for case in cases if first) else None


def _launch_line(snapshot: Snapshot, row: Row) -> int | None:
    if row.launch is None:
        return None
    file = snapshot.sources.file(row.launch.path)
    return file.lines.line_of(row.launch.launch.span.start) + 1 if file is not None else None


def _block(row: Row, case: Case | None) -> list[int] | None:
    if row.launch is None:
        return None
    if case is not None and len({one.block for one in row.cases}) == 1:
        return list(case.block)
    return _triple(row.launch.launch.block.value)


def _dynamic(row: Row) -> int | None:
    return row.launch.launch.dynamic_smem.value if row.launch is not None else None


def _triple(value: Triple | None) -> list[int] | None:
    return list(value) if value is not None else None
