"""The tables in what `ncu --csv` prints, among all else that the program and the profiler say."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field

KERNEL = "Kernel Name"
METRIC = "Metric Name"
MOST_LINE = 1 << 20


@dataclass(slots=True)
class Table:
    """One table: its columns, and its rows with their lines (1-based)."""

    columns: list[str]
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    """Lines that hold some of a row alone."""

    @property
    def is_details(self) -> bool:
        """One row a metric; else one row a launch, with a row of units first."""
        return METRIC in self.columns


def is_ncu(text: str) -> bool:
    """Whether a text holds such a table."""
    return any(_is_header(line) for line in text.splitlines()[:5000])


def tables(text: str) -> Iterator[Table]:
    """The tables of a text, in order; lines of programs and of the profiler are passed over."""
    table: Table | None = None
    separator = ","
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("==") or not line.strip() or len(line) > MOST_LINE:
            continue
        if _is_header(line):
            if table is not None:
                yield table
            separator = ";" if line.count(";") > line.count(",") else ","
            table = Table(_cells(line, separator))
            continue
        if table is None:
            continue
        cells = _cells(line, separator)
        if len(cells) == len(table.columns):
            table.rows.append((number, dict(zip(table.columns, cells, strict=True))))
        elif line.startswith('"') and len(cells) > 1:
            table.cut.append(number)
    if table is not None:
        yield table


def errors(text: str) -> list[str]:
    """What the profiler says went wrong."""
    return [
        line.removeprefix("==ERROR==").strip()
        for line in text.splitlines()
        if line.startswith("==ERROR==")
    ]


def _is_header(line: str) -> bool:
    return (
        KERNEL in line
        and ("ID" in line)
        and line.lstrip("\ufeff").strip('"').startswith(("ID", "Process ID"))
    )


def _cells(line: str, separator: str) -> list[str]:
    middle = line[1:-1]
    if line[:1] == line[-1:] == '"' and middle.count('"') == 2 * middle.count(f'"{separator}"'):
        # As the profiler writes them, quotes around each cell and none in any.
        return [cell.strip() for cell in middle.split(f'"{separator}"')]
    try:
        cells = next(csv.reader([line.lstrip("\ufeff")], delimiter=separator), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]
