"""What binds a measured run: time at each resource's own peak, against the median."""

from __future__ import annotations

import json
import math
import sys
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from occlsp.analysis.advice.measurements.facts import Measurement, median_ns
from occlsp.occupancy import Gpu

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Resource = Literal["compute", "read", "write", "launch"]
_KEYS = ("flops_per_s", "read_bytes_per_s", "write_bytes_per_s", "launch_ns")


class PeaksError(ValueError):
    """A file of peaks that cannot be used; names the file and the key."""


class Peaks(Struct, frozen=True):
    """What a machine can do at most. None: not known, so nothing is held against it."""

    flops_per_s: float | None = None
    """32-bit floating-point operations."""
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    launch_ns: float | None = None
    """Nanoseconds that an empty launch takes; in the GPU table there is none."""
    source: str = "no peaks"

    @staticmethod
    def of(gpu: Gpu) -> Peaks:
        """The published ones."""
        bandwidth = gpu.bandwidth * 1e9 if gpu.bandwidth is not None else None
        flops = gpu.fp32 * 1e12 if gpu.fp32 is not None else None
        return Peaks(flops, bandwidth, bandwidth, None, f"{gpu.name}: {gpu.source}")


class Share(Struct, frozen=True):
    """One resource of a run."""

    resource: Resource
    amount: float
    """Operations, bytes, or launches."""
    time_ns: float | None
    """At the resource's own peak; None: no usable peak, so it is not scored."""
    fraction: float | None
    """Of the peak that was reached: time / median. Above 1 the measurement is suspect."""


class Score(Struct, frozen=True):
    """A run against the peaks."""

    median_ns: float | None
    shares: tuple[Share, ...] = ()
    """Every declared resource, scored or not."""
    why: str | None = None
    """Why nothing binds, where nothing does."""

    @property
    def binding(self) -> Share | None:
        """The resource that takes longest."""
        if self.why is not None:
            return None
        scored = [share for share in self.shares if share.time_ns is not None]
        return max(scored, key=lambda share: share.time_ns or 0.0, default=None)

    @property
    def unscored(self) -> tuple[Resource, ...]:
        """Declared, but with no usable peak."""
        return tuple(share.resource for share in self.shares if share.time_ns is None)


def score(measured: Measurement, peaks: Peaks) -> Score:
    """What binds a measured run, if it declares any work."""
    median = median_ns(measured.durations_ns)
    declared: list[tuple[Resource, float | None, float | None]] = [
        ("compute", measured.flops, peaks.flops_per_s),
        ("read", measured.bytes_read, peaks.read_bytes_per_s),
        ("write", measured.bytes_written, peaks.write_bytes_per_s),
    ]
    shares = [
        Share(resource, amount, *_at_peak(amount, peak, median))
        for resource, amount, peak in declared
        if amount is not None and amount > 0
    ]
    has_work = bool(shares)
    if measured.timing == "system":
        launch = peaks.launch_ns
        rate = 1e9 / launch if _is_usable(launch) and launch else None
        shares.append(Share("launch", 1, *_at_peak(1, rate, median)))
    why = None
    if median is None:
        why = measured.failures[0] if measured.failures else "no run has a time"
    elif not has_work:
        why = "no work is declared"
    elif all(share.time_ns is None for share in shares if share.resource != "launch"):
        why = "no usable peak for the declared work"
    return Score(median, tuple(shares), why)


def _at_peak(
    amount: float, peak: float | None, median: float | None
) -> tuple[float | None, float | None]:
    if peak is None or not _is_usable(peak):
        return None, None
    time = amount / peak * 1e9
    return time, time / median if median else None


def _is_usable(peak: float | None) -> bool:
    return peak is not None and math.isfinite(peak) and peak > 0


def suspects(measured: Measurement, found: Score) -> list[str]:
    """What cannot be: told, and not capped."""
    told = [
        f"{share.fraction * 100:.0f} % of the {share.resource} peak is above what can be reached"
        for share in found.shares
        if share.fraction is not None and share.fraction > 1
    ]
    achieved = measured.achieved_occupancy
    if achieved is not None and achieved > 1:
        told.append(f"an achieved occupancy of {achieved * 100:.1f} % is above 100 %")
    return [f"suspect measurement: {text}" for text in told]


def read_peaks(text: str, source: str, base: Peaks | None = None) -> Peaks:
    """Peaks measured on a machine, JSON or TOML: `flops_per_s`, `read_bytes_per_s`,
    `write_bytes_per_s`, `launch_ns`, `source`. Those not given stay as in `base`.

    A value that is no peak (zero, null) stays unusable, and is never divided by. Raises
    `PeaksError` for text that is neither, an unknown key, and what is no number.
    """
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PeaksError(f"{source}: {error}") from None
    for key in found:
        if key not in (*_KEYS, "source"):
            known = ", ".join((*_KEYS, "source"))
            raise PeaksError(f"{source}: {key}: not known; known are {known}")
    changes: dict[str, float | None] = {}
    for key in _KEYS:
        if key not in found:
            continue
        value = found[key]
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise PeaksError(f"{source}: {key}: {value!r} is not a number")
        changes[key] = value
    name = found.get("source")
    told = name if isinstance(name, str) and name else f"measured: {source}"
    known_from = f"{told}; else {base.source}" if base is not None else told
    return replace(base or Peaks(), **changes, source=known_from)
