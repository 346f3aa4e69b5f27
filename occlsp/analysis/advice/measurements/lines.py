"""Our own format: a JSON object a line.

    {"kernel": "scale", "block": 256, "grid": [65536], "durations_ns": [10250, 10310],
     "timing": "device", "bytes_read": 67108864, "bytes_written": 67108864}

All but `kernel` may be absent. A run whose launch failed has an `error` (or `failed` true, or a
`status` other than "ok"): it has no time, however long the failure took.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from occlsp.analysis.advice.measurements.facts import Measurement, triple, usable
from occlsp.occupancy import UnknownArchitecture, limits

_FINE = {"ok", "success", "succeeded", "passed", "cudasuccess", "cuda_success", "no error", "0", ""}
MOST_PROBLEMS = 20


def is_lines(text: str) -> bool:
    """Whether the first line is an object with a kernel."""
    first = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    if not first.startswith("{"):
        return False
    try:
        found = json.loads(first)
    except (ValueError, RecursionError):
        return '"kernel"' in first
    return isinstance(found, dict) and "kernel" in found


def read(text: str, source: str) -> tuple[list[Measurement], list[str]]:
    """The lines, and what could not be read."""
    found: list[Measurement] = []
    problems: list[str] = []
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"{source}:{number}: not JSON ({error}); the line is left out")
            continue
        name = row.get("kernel") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name:
            problems.append(f'{source}:{number}: no "kernel"; the line is left out')
            continue
        found.append(_measurement(name, row, source, number, problems))
    more = len(problems) - MOST_PROBLEMS
    return found, [*problems[:MOST_PROBLEMS], *([f"{source}: {more} more"] if more > 0 else [])]


def _measurement(
    name: str, row: Mapping[str, Any], source: str, line: int, problems: list[str]
) -> Measurement:
    place = f"{source}:{line}"
    failure = _failure(row)
    durations = _durations(row, place, problems) if failure is None else ()
    timing = row.get("timing", "device")
    if timing not in ("device", "system"):
        problems.append(f'{place}: timing is {timing!r}; "device" or "system" is meant')
        timing = "device"
    return Measurement(
        kernel=name,
        source=source,
        line=line,
        block=_triple(row, "block", place, problems),
        grid=_triple(row, "grid", place, problems),
        durations_ns=durations,
        timing=timing,
        flops=_amount(row, "flops", place, problems),
        bytes_read=_amount(row, "bytes_read", place, problems),
        bytes_written=_amount(row, "bytes_written", place, problems),
        achieved_occupancy=_amount(row, "achieved_occupancy", place, problems),
        theoretical_occupancy=_amount(row, "theoretical_occupancy", place, problems),
        registers=_whole(row, "registers", place, problems),
        static_smem=_whole(row, "static_smem", place, problems),
        dynamic_smem=_whole(row, "dynamic_smem", place, problems),
        arch=_arch(row.get("arch")),
        device=_text(row.get("gpu", row.get("device"))),
        context=_text(row.get("context")),
        failures=(failure,) if failure is not None else (),
    )


def _failure(row: Mapping[str, Any]) -> str | None:
    error = row.get("error")
    if error is not None and error is not False and str(error).strip().lower() not in _FINE:
        return str(error)
    status = row.get("status")
    if status is not None and status is not True and str(status).strip().lower() not in _FINE:
        return str(status)
    return "the launch failed" if row.get("failed") is True else None


def _durations(row: Mapping[str, Any], place: str, problems: list[str]) -> tuple[float, ...]:
    given = row.get("durations_ns", [])
    if isinstance(given, (int, float)):
        given = [given]
    if not isinstance(given, list):
        problems.append(f"{place}: durations_ns is not a list of nanoseconds")
        return ()
    times = usable(given)
    if len(times) < len(given):
        problems.append(
            f"{place}: {len(given) - len(times)} of {len(given)} durations are no times"
        )
    return times


def _amount(row: Mapping[str, Any], key: str, place: str, problems: list[str]) -> float | None:
    value = row.get(key)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not usable([value]):
        problems.append(f"{place}: {key} is {value!r}, which is no amount")
        return None
    return float(value)


def _whole(row: Mapping[str, Any], key: str, place: str, problems: list[str]) -> int | None:
    value = _amount(row, key, place, problems)
    return round(value) if value is not None else None


def _triple(
    row: Mapping[str, Any], key: str, place: str, problems: list[str]
) -> tuple[int, int, int] | None:
    value = row.get(key)
    found = triple(value)
    if found is None and value is not None:
        problems.append(f"{place}: {key} is {value!r}; a number or [x, y, z] is meant")
    return found


def _arch(value: object) -> str | None:
    try:
        return limits(value).name if isinstance(value, str) else None
    except UnknownArchitecture:
        return None


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
