"""NVBench's JSON (`--json`): benchmarks, their states, and the summaries of each.

A state is a point of the benchmark's axes; an axis that is called after the block or the grid
gives them. Times are in seconds. Names of tags: NVBench's sources of summaries (`nv/cold/…`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from occlsp.analysis.advice.measurements.facts import Measurement, Timing, triple, usable
from occlsp.occupancy import UnknownArchitecture, limits

_TIMES: tuple[tuple[str, Timing], ...] = (
    ("nv/cold/time/gpu/median", "device"),
    ("nv/cold/time/gpu/mean", "device"),
    ("nv/batch/time/gpu/mean", "device"),
    ("nv/cold/time/cpu/mean", "system"),
    ("nv/cpu_only/time/cpu/mean", "system"),
)
_BLOCK = re.compile(r"(block|blocksize|blockdim|blockthreads|threads|threadsperblock|numthreads)x?")
_GRID = re.compile(r"(grid|gridsize|griddim|blocks|numblocks)x?")
MOST_STATES = 100_000


def is_nvbench(document: object) -> bool:
    """Whether a JSON document is one of these."""
    return isinstance(document, dict) and isinstance(document.get("benchmarks"), list)


def read(document: Mapping[str, Any], source: str) -> tuple[list[Measurement], list[str]]:
    """The states of all benchmarks, and what could not be read."""
    devices = {one.get("id"): one for one in _objects(document.get("devices"))}
    found: list[Measurement] = []
    problems: list[str] = []
    for benchmark in _objects(document.get("benchmarks")):
        name = benchmark.get("name")
        if not isinstance(name, str) or not name:
            problems.append(f"{source}: a benchmark without a name is left out")
            continue
        for state in _objects(benchmark.get("states")):
            if len(found) < MOST_STATES:
                found.append(_state(name, state, devices, source))
    return found, problems


def _state(
    name: str, state: Mapping[str, Any], devices: Mapping[Any, Mapping[str, Any]], source: str
) -> Measurement:
    axes = {
        str(axis.get("name")): str(axis.get("value")) for axis in _objects(state.get("axis_values"))
    }
    summaries = {
        one["tag"]: value
        for one in _objects(state.get("summaries"))
        if isinstance(one.get("tag"), str) and (value := _number(one)) is not None
    }
    device = devices.get(state.get("device"), {})
    duration, timing, failure = _time(state, summaries)
    block, grid = _axis(axes, _BLOCK), _axis(axes, _GRID)
    others = [axis for axis in axes if axis not in (block, grid)]
    model = device.get("name")
    return Measurement(
        kernel=name,
        source=source,
        block=triple(axes[block]) if block is not None else None,
        grid=triple(axes[grid]) if grid is not None else None,
        durations_ns=(duration,) if duration is not None else (),
        timing=timing,
        bytes_read=_total(summaries, "nv/gmem/reads"),
        bytes_written=_total(summaries, "nv/gmem/writes"),
        arch=_arch(device.get("sm_version")),
        device=model if isinstance(model, str) else None,
        failures=(failure,) if failure is not None else (),
        values=", ".join(f"{axis} = {axes[axis]}" for axis in others),
    )


def _time(
    state: Mapping[str, Any], summaries: Mapping[str, float]
) -> tuple[float | None, Timing, str | None]:
    if state.get("is_skipped"):
        return None, "device", f"skipped: {state.get('skip_reason') or 'no reason given'}"
    for tag, timing in _TIMES:
        seconds = summaries.get(tag)
        if seconds is not None and (times := usable([seconds * 1e9])):
            return times[0], timing, None
    return None, "device", "no time was measured"


def _number(summary: Mapping[str, Any]) -> float | None:
    for item in _objects(summary.get("data")):
        if item.get("name") == "value":
            try:
                # Numbers are text here, so that 64 bits survive.
                return float(item.get("value"))  # type: ignore[arg-type]
            except (TypeError, ValueError):
                return None
    return None


def _total(summaries: Mapping[str, float], tag: str) -> float | None:
    amounts = [
        value
        for name, value in summaries.items()
        if (name == tag or name.startswith(tag + "/")) and usable([value])
    ]
    return sum(amounts) if amounts else None


def _axis(axes: Mapping[str, str], pattern: re.Pattern[str]) -> str | None:
    for name in axes:
        bare = re.sub(r"\{.*?\}|[^a-z]", "", name.lower())
        if pattern.fullmatch(bare) and triple(axes[name]) is not None:
            return name
    return None


def _arch(version: object) -> str | None:
    """From 900, as `sm_version` has it."""
    if not isinstance(version, int) or isinstance(version, bool):
        return None
    try:
        return limits(f"{version // 100}.{version % 100 // 10}").name
    except UnknownArchitecture:
        return None


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
