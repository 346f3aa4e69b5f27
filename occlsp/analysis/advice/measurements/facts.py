"""What a measurement says, whatever wrote it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Triple = tuple[int, int, int]
Timing = Literal["device", "system"]


class Measurement(Struct, frozen=True):
    """Runs of one kernel at one launch. None is "not said"."""

    kernel: str
    """As the file names it: readable, mangled, or a benchmark's name."""
    source: str
    """The file."""
    line: int = 0
    """1-based; 0 where the format has no lines."""
    block: Triple | None = None
    grid: Triple | None = None
    durations_ns: tuple[float, ...] = ()
    """Of runs that succeeded; nanoseconds, above zero."""
    timing: Timing = "device"
    """ "system": the time holds the launch's overhead."""
    flops: float | None = None
    """Floating-point operations of one run; a multiply-add is two."""
    bytes_read: float | None = None
    """From device memory, by one run; `bytes_written` likewise."""
    bytes_written: float | None = None
    achieved_occupancy: float | None = None
    """0 to 1 as a rule; what is above 1 is kept, and told as suspect."""
    theoretical_occupancy: float | None = None
    registers: int | None = None
    static_smem: int | None = None
    """Bytes per block."""
    dynamic_smem: int | None = None
    arch: str | None = None
    """ "sm_90"."""
    device: str | None = None
    """A model's name, or the number that the profiler gives it."""
    context: str | None = None
    """Process and context, where the file tells them apart."""
    failures: tuple[str, ...] = ()
    """Why runs have no time."""
    values: str = ""
    """The benchmark's other axes, in words: they tell runs apart."""


class Read(Struct, frozen=True):
    """A file that was read."""

    source: str
    format: str
    measurements: tuple[Measurement, ...]
    problems: tuple[str, ...] = ()
    """What could not be read, one line each, with the place."""


def median_ns(durations: Sequence[float]) -> float | None:
    """Element n div 2 of the sorted durations; None for no samples, or a median of zero."""
    if not durations:
        return None
    return sorted(durations)[len(durations) // 2] or None


def usable(durations: Iterable[object]) -> tuple[float, ...]:
    """The durations that are times at all: numbers, finite, not below zero."""
    return tuple(
        float(value)
        for value in durations
        if isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0
    )


def grouped(found: Iterable[Measurement]) -> list[Measurement]:
    """One measurement for each kernel, launch, device and context, in the order of the files."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for one in found:
        key = (
            *(one.kernel, one.block, one.grid, one.device, one.arch, one.context),
            *(one.timing, one.values, one.dynamic_smem, one.source),
        )
        groups.setdefault(key, []).append(one)
    return [_joined(group) for group in groups.values()]


def _joined(group: Sequence[Measurement]) -> Measurement:
    if len(group) == 1:
        return group[0]
    return replace(
        group[0],
        durations_ns=tuple(value for one in group for value in one.durations_ns),
        failures=tuple(failure for one in group for failure in one.failures),
        flops=_middle(one.flops for one in group),
        bytes_read=_middle(one.bytes_read for one in group),
        bytes_written=_middle(one.bytes_written for one in group),
        achieved_occupancy=_middle(one.achieved_occupancy for one in group),
        theoretical_occupancy=_middle(one.theoretical_occupancy for one in group),
    )


def _middle(values: Iterable[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[(len(known) - 1) // 2] if known else None


def triple(value: object) -> Triple | None:
    """(256, 1, 1) from 256, [256], "(256, 1, 1)" or "16x16"; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        value = [value]
    if isinstance(value, str):
        parts = value.strip().strip("()[]").lower().replace("x", ",").replace(" ", ",").split(",")
        value = [int(part) for part in parts if part.isascii() and part.isdigit()]
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= 3:
        return None
    if not all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in value):
        return None
    x, y, z = [*value, 1, 1][:3]
    return x, y, z
