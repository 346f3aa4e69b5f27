"""Which kernel a measurement is of: its name against the sources', as entries are matched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from occlsp.analysis.advice.measurements.facts import Measurement
from occlsp.analysis.entries import key_of
from occlsp.analysis.sources import KernelSite, Sources
from occlsp.reports.facts import Entry
from occlsp.reports.match import match_entries, match_launch
from occlsp.reports.names import demangle, parse_name


@dataclass(frozen=True)
class Measured:
    """All measurements of a workspace, by the last part of the kernel's name."""

    measurements: tuple[Measurement, ...] = ()
    by_name: dict[str, tuple[Measurement, ...]] = field(default_factory=dict)

    @staticmethod
    def of(measurements: Iterable[Measurement]) -> Measured:
        """An index of `measurements`."""
        found = tuple(measurements)
        names: dict[str, list[Measurement]] = {}
        for one in found:
            names.setdefault(base_name(one), []).append(one)
        return Measured(found, {name: tuple(some) for name, some in names.items()})

    def of_kernel(self, site: KernelSite, sources: Sources) -> tuple[Measurement, ...]:
        """The measurements that are of a kernel and of no other of its name."""
        known = self.by_name.get(site.kernel.name, ())
        if not known:
            return ()
        return tuple(
            one
            for one in known
            if any(found.kernel is site.kernel for found in kernels_of(one, sources))
        )


def base_name(measured: Measurement) -> str:
    """ "reduce" of "void ns::reduce<256>(float *)"."""
    return parse_name(measured.kernel).base


def readable(measured: Measurement) -> str:
    """The name demangled."""
    return demangle(measured.kernel)


def kernels_of(measured: Measurement, sources: Sources) -> tuple[KernelSite, ...]:
    """The kernels in view that a measurement may be of."""
    rivals = [
        site for site in sources.by_name.get(base_name(measured), ()) if not site.kernel.inactive
    ]
    if not rivals:
        return ()
    keys = [key_of(site, sources) for site in rivals]
    match = match_entries(keys, [_entry(measured)])[0]
    if not match.kernels and _is_bare(measured):
        return tuple(rivals)
    return tuple(rivals[number] for number in match.kernels)


def of_instance(
    found: Sequence[Measurement], site: KernelSite, entry: Entry | None, sources: Sources
) -> tuple[Measurement, ...]:
    """Those that may be of one instantiation; those without template arguments may be any."""
    if entry is None or not site.kernel.is_template:
        return tuple(found)
    arguments = parse_name(entry.entry).arguments
    named = [_entry(one) for one in found if not _is_bare(one)]
    fitting = {each.entry for each in match_launch(arguments, key_of(site, sources), named)}
    return tuple(one for one in found if _is_bare(one) or one.kernel in fitting)


def _is_bare(measured: Measurement) -> bool:
    """The name says neither template arguments nor parameters (`--kernel-name-base function`)."""
    parsed = parse_name(measured.kernel)
    return parsed.arguments is None and parsed.parameters is None


def _entry(measured: Measurement) -> Entry:
    return Entry(measured.kernel, measured.arch)
