"""One launch as Nsight Compute tells of it, from whichever of its pages.

Names of metrics: the profiler's documentation (metrics reference, and the sections' tables).
"""

from __future__ import annotations

from collections.abc import Mapping

from occlsp.analysis.advice.measurements.facts import Measurement, Triple, triple, usable
from occlsp.analysis.advice.measurements.numbers import Style, nanoseconds, scaled
from occlsp.occupancy import UnknownArchitecture, limits

Metrics = Mapping[str, tuple[str, str]]
"""Name → unit and value, as written."""
_DURATION = ("gpu__time_duration.sum", "gpu__time_duration.avg", "Duration")
_ACHIEVED = ("sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved Occupancy")
_THEORETICAL = ("sm__maximum_warps_per_active_cycle_pct", "Theoretical Occupancy")
_REGISTERS = ("launch__registers_per_thread", "Registers Per Thread")
_STATIC = ("launch__shared_mem_per_block_static", "Static Shared Memory Per Block")
_DYNAMIC = ("launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block")
_READ = ("dram__bytes_read.sum",)
_WRITTEN = ("dram__bytes_write.sum",)
_BLOCK = ("launch__block_size", "Block Size")
_GRID = ("launch__grid_size", "Grid Size")
_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_OPERATIONS = {"fadd": 1, "fmul": 1, "ffma": 2}
"""32-bit instructions → operations; the peak that they are held against is that of fp32."""


def launch(
    identity: Mapping[str, str], metrics: Metrics, style: Style, source: str, line: int
) -> Measurement:
    """The measurement of one launch; `identity` are the columns that name it."""
    duration, failure = _duration(metrics, style)
    return Measurement(
        kernel=identity.get("Kernel Name", ""),
        source=source,
        line=line,
        block=_shape(identity.get("Block Size"), metrics, _BLOCK, style),
        grid=_shape(identity.get("Grid Size"), metrics, _GRID, style),
        durations_ns=(duration,) if duration is not None else (),
        flops=_flops(metrics, style),
        bytes_read=_amount(metrics, _READ, style),
        bytes_written=_amount(metrics, _WRITTEN, style),
        achieved_occupancy=_share(metrics, _ACHIEVED, style),
        theoretical_occupancy=_share(metrics, _THEORETICAL, style),
        registers=_count(metrics, _REGISTERS, style),
        static_smem=_count(metrics, _STATIC, style),
        dynamic_smem=_count(metrics, _DYNAMIC, style),
        arch=_arch(identity.get("CC", "")),
        device=identity.get("Device") or None,
        context=_context(identity),
        failures=(failure,) if failure is not None else (),
    )


def _duration(metrics: Metrics, style: Style) -> tuple[float | None, str | None]:
    for name in _DURATION:
        if name not in metrics:
            continue
        unit, text = metrics[name]
        value = style.number(text)
        if value is None:
            return None, f"{name} is {text or 'empty'}"
        time = nanoseconds(value, unit)
        if time is None:
            return None, f"{name} has the unit {unit!r}, which is no time"
        if not usable([time]):
            return None, f"{name} is {text}"
        return time, None
    return None, "no duration was collected"


def _value(metrics: Metrics, names: tuple[str, ...], style: Style) -> tuple[float, str] | None:
    for name in names:
        if name in metrics:
            unit, text = metrics[name]
            value = style.number(text)
            if value is not None:
                return value, unit
    return None


def _share(metrics: Metrics, names: tuple[str, ...], style: Style) -> float | None:
    found = _value(metrics, names, style)
    return found[0] / 100 if found is not None else None


def _amount(metrics: Metrics, names: tuple[str, ...], style: Style) -> float | None:
    found = _value(metrics, names, style)
    return scaled(*found) if found is not None else None


def _count(metrics: Metrics, names: tuple[str, ...], style: Style) -> int | None:
    found = _value(metrics, names, style)
    if found is None:
        return None
    value = scaled(*found) if "byte" in found[1].lower() else found[0]
    return round(value) if value is not None and value >= 0 else None


def _flops(metrics: Metrics, style: Style) -> float | None:
    total = 0.0
    for operation, each in _OPERATIONS.items():
        found = _value(metrics, (_SASS.format(operation),), style)
        if found is None:
            return None
        total += found[0] * each
    return total


def _shape(
    text: str | None, metrics: Metrics, names: tuple[str, ...], style: Style
) -> Triple | None:
    """From its column; older files have the product among the metrics alone."""
    if text:
        return triple(text)
    found = _value(metrics, names, style)
    return triple(found[0]) if found is not None else None


def _arch(capability: str) -> str | None:
    try:
        return limits(capability).name if capability else None
    except UnknownArchitecture:
        return None


def _context(identity: Mapping[str, str]) -> str | None:
    process, context = identity.get("Process ID"), identity.get("Context")
    if context is None:
        return None
    return f"process {process}, context {context}" if process else f"context {context}"
