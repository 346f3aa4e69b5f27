"""Measured times of a space's candidates: CSV or JSON lines with the space's names and a time."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from occlsp.analysis.advice.measurements.numbers import Style, style_of
from occlsp.analysis.advice.space import Space

_TIME = re.compile(
    r"(median|mean|avg|min|gpu|kernel|wall|device)?[_ ]?(time|duration|runtime|elapsed|latency)s?"
    r"([_ ]?[\[(]?(ns|us|µs|ms|s|sec|seconds)[\])]?)?|ns|us|µs|ms|seconds",
    re.IGNORECASE,
)
MOST_TOLD = 5


class TimesError(ValueError):
    """A file of times that cannot be used; names the file, and what is missing."""


@dataclass(slots=True)
class Times:
    """The times by candidate, and what was left out."""

    unit: str = ""
    """The column's name, which tells the unit."""
    by_candidate: dict[tuple[int, ...], float] = field(default_factory=dict)
    """The median (element n div 2) where a candidate has several."""
    failed: int = 0
    """Rows with no time: empty, no number, zero or below."""
    unmatched: int = 0
    """Rows of no candidate."""
    problems: list[str] = field(default_factory=list)


def read_times(text: str, source: str, space: Space) -> Times:
    """The times in a file's text. Raises `TimesError` where no column is a time, or a name of the
    space is missing."""
    head = text.lstrip("\ufeff \t\r\n")[:1]
    times = Times()
    rows = list(_json_rows(text, source, times) if head == "{" else _csv_rows(text))
    if not rows:
        raise TimesError(f"{source}: no rows; expected {', '.join(space.names)} and a time")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    missing = [name for name in space.names if name not in columns]
    if missing:
        raise TimesError(f"{source}: no column {missing[0]!r}; there are {', '.join(columns)}")
    times.unit = _time_column(columns, space, source)
    style = style_of(str(row.get(times.unit, "")) for row in rows)
    known = {tuple(one.values[name] for name in space.names) for one in space.configurations}
    samples: dict[tuple[int, ...], list[float]] = {}
    for row in rows:
        candidate = tuple(_whole(row.get(name)) for name in space.names)
        time = _number(row.get(times.unit), style)
        if candidate not in known:
            times.unmatched += 1
        elif time is None or time <= 0:
            times.failed += 1
        else:
            samples.setdefault(candidate, []).append(time)  # type: ignore[arg-type]
    times.by_candidate = {
        candidate: sorted(some)[len(some) // 2] for candidate, some in samples.items()
    }
    return times


def _time_column(columns: list[str], space: Space, source: str) -> str:
    others = [name for name in columns if name not in space.names]
    named = [name for name in others if _TIME.fullmatch(name.strip())]
    if named:
        return named[0]
    if len(others) == 1:
        return others[0]
    raise TimesError(
        f"{source}: no column is called time, time_us, duration_ns or the like; "
        f"there are {', '.join(columns)}"
    )


def _csv_rows(text: str) -> Iterator[Mapping[str, Any]]:
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    if not lines:
        return
    separator = max(",;\t", key=lines[0].count)
    reader = csv.DictReader(io.StringIO("\n".join(lines)), delimiter=separator)
    for row in reader:
        yield {name.strip(): value for name, value in row.items() if name and value is not None}


def _json_rows(text: str, source: str, times: Times) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            yield row
        elif len(times.problems) < MOST_TOLD:
            times.problems.append(f"{source}:{number}: no JSON object; the line is left out")


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        value = _number(value, Style())
    if isinstance(value, (int, float)) and math.isfinite(value) and value == int(value):
        return int(value)
    return None


def _number(value: Any, style: Style) -> float | None:
    if isinstance(value, str):
        return style.number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e300 else None
