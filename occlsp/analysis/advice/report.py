"""Measurements with all that is said of them: the score, the kernel, why occupancies differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from occlsp.analysis.advice.achieved import reasons, theoretical
from occlsp.analysis.advice.matching import kernels_of, readable
from occlsp.analysis.advice.measurements.facts import Measurement
from occlsp.analysis.advice.scoring import Peaks, Score, score, suspects
from occlsp.analysis.sources import KernelSite, Sources
from occlsp.occupancy import Gpu, UnknownGpu, gpu


class Line(Struct, frozen=True):
    """One kernel at one launch."""

    measured: Measurement
    name: str
    """Readable."""
    kernels: tuple[KernelSite, ...] | None
    """Those that it may be of; None: no sources were looked at."""
    score: Score
    peaks: Peaks
    theoretical: float | None
    """Occupancy, 0 to 1."""
    reasons: tuple[str, ...]
    """Why less was achieved."""
    suspects: tuple[str, ...]

    @property
    def binds(self) -> str:
        """ "write at 8 % of its peak", or why nothing is said."""
        found = self.score.binding
        if found is None or found.fraction is None:
            return f"no score: {self.score.why}" if self.score.why else "no score"
        unscored = f"; no peak for {', '.join(self.score.unscored)}" if self.score.unscored else ""
        return f"{found.resource} at {found.fraction * 100:.3g} % of its peak{unscored}"

    @property
    def reasons_told(self) -> Iterator[str]:
        """In sentences."""
        for reason in self.reasons:
            yield f"achieved is below theoretical: {reason}"

    @property
    def failures_told(self) -> Iterator[str]:
        """Each kind of failure once, with how often it happened."""
        for failure, count in Counter(self.measured.failures).items():
            yield f"{count} run{'s' * (count != 1)} without a time: {failure}"


def report(
    found: Iterable[Measurement],
    model: Gpu | None,
    peaks: Peaks | None,
    sources: Sources | None,
) -> Iterator[Line]:
    """A line for each measurement. `model` and `peaks` win over what the file says of its GPU."""
    for one in found:
        known = model if model is not None else _model(one)
        own = peaks if peaks is not None else (Peaks.of(known) if known is not None else Peaks())
        scored = score(one, own)
        told = suspects(one, scored)
        if known is not None and one.arch is not None and known.arch != one.arch:
            told.append(f"it was measured on {one.arch}, and {known.name} is {known.arch}")
            known = None
        share = theoretical(one)
        why: tuple[str, ...] = ()
        if share is not None and one.achieved_occupancy is not None:
            why = tuple(reasons(one.achieved_occupancy, share[0], one.grid, share[1], known))
        yield Line(
            one,
            readable(one),
            kernels_of(one, sources) if sources is not None else None,
            scored,
            own,
            share[0] if share is not None else None,
            why,
            tuple(told),
        )


def _model(measured: Measurement) -> Gpu | None:
    try:
        return gpu(measured.device) if measured.device is not None else None
    except UnknownGpu:
        return None


def time_text(nanoseconds: float) -> str:
    """ "12.3 µs"."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:.4g} {unit}"
    return f"{nanoseconds:.4g} ns"
