"""Nsight Compute's raw page (`ncu --csv --page raw`): one row a launch, metrics as columns.

The row below the header holds the units.
"""

from __future__ import annotations

from occlsp.analysis.advice.measurements import ncu
from occlsp.analysis.advice.measurements.facts import Measurement
from occlsp.analysis.advice.measurements.numbers import style_of
from occlsp.analysis.advice.measurements.tables import KERNEL, Table


def read(table: Table, source: str) -> list[Measurement]:
    """The launches of a table, in order."""
    if not table.rows:
        return []
    _, first = table.rows[0]
    has_units = not first[KERNEL]
    units = first if has_units else {}
    rows = table.rows[1:] if has_units else table.rows
    metrics = [name for name in table.columns if "__" in name]
    style = style_of(row[name] for _, row in rows for name in metrics)
    return [
        ncu.launch(
            row, {name: (units.get(name, ""), row[name]) for name in metrics}, style, source, line
        )
        for line, row in rows
    ]
