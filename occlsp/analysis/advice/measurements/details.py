"""Nsight Compute's details page (`ncu --csv`): one row for each metric of each launch.

The summaries (`--print-summary`) have the same shape, with averages in place of values.
"""

from __future__ import annotations

from occlsp.analysis.advice.measurements import ncu
from occlsp.analysis.advice.measurements.facts import Measurement
from occlsp.analysis.advice.measurements.numbers import style_of
from occlsp.analysis.advice.measurements.tables import METRIC, Table

_VALUE = ("Metric Value", "Average")
_UNIT = "Metric Unit"
_LAUNCH = (
    "Process ID",
    "ID",
    "Kernel Name",
    "Context",
    "Stream",
    "Device",
    "Block Size",
    "Grid Size",
)


def read(table: Table, source: str) -> list[Measurement]:
    """The launches of a table, in order."""
    value = next((name for name in _VALUE if name in table.columns), None)
    if value is None:
        return []
    style = style_of(row[value] for _, row in table.rows)
    launches: dict[tuple[str, ...], tuple[int, dict[str, str], dict[str, tuple[str, str]]]] = {}
    for line, row in table.rows:
        key = tuple(row.get(name, "") for name in _LAUNCH)
        _, _, metrics = launches.setdefault(key, (line, row, {}))
        if row[METRIC]:
            metrics.setdefault(row[METRIC], (row.get(_UNIT, ""), row[value]))
    return [
        ncu.launch(identity, metrics, style, source, line)
        for line, identity, metrics in launches.values()
    ]
