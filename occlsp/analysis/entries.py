"""Which entry of the reports is which kernel, and which instantiation a launch runs.

Nothing is guessed: where several entries fit, all of them are the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from occlsp.analysis.sources import KernelSite
from occlsp.reports.facts import Entry, Report, ReportWarning
from occlsp.source.facts import Launch


@dataclass(frozen=True, slots=True)
class Pick:
    """The entries that a launch may run, of all architectures."""

    entries: tuple[Entry, ...]
    is_exact: bool
    """It is known to be this one instantiation."""


@dataclass(frozen=True)
class EntryIndex:
    """The entries of all reports by kernel, made once for a set of reports."""

    reports: tuple[Report, ...] = ()
    by_name: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    """By the simple name of the function."""
    warnings: dict[str, tuple[ReportWarning, ...]] = field(default_factory=dict)
    """By mangled name."""

    @staticmethod
    def of(reports: tuple[Report, ...]) -> EntryIndex:
        """An index of `reports`."""
        names: dict[str, list[Entry]] = {}
        warnings: dict[str, list[ReportWarning]] = {}
        for report in reports:
            for entry in report.entries:
                names.setdefault(simple_name(entry.entry), []).append(entry)
            for warning in report.warnings:
                if warning.entry is not None:
                    warnings.setdefault(warning.entry, []).append(warning)
        return EntryIndex(
            reports,
            {name: tuple(found) for name, found in names.items()},
            {entry: tuple(found) for entry, found in warnings.items()},
        )

    def updated(self, reports: tuple[Report, ...]) -> EntryIndex:
        """The index for another set of reports."""
        return self if reports == self.reports else EntryIndex.of(reports)

    def of_kernel(self, site: KernelSite) -> tuple[Entry, ...]:
        """All entries that are this kernel."""
        return self.by_name.get(site.kernel.name, ())

    def pick(self, site: KernelSite, launch: Launch) -> Pick:
        """The entries that a launch of this kernel may run."""
        entries = self.of_kernel(site)
        return Pick(entries, len({entry.entry for entry in entries}) == 1)


_SOURCE_NAME = re.compile(r"(\d+)")


def simple_name(mangled: str) -> str:
    """The function's own name in an Itanium-mangled one; what is not mangled is a C name."""
    if not mangled.startswith("_Z"):
        return mangled
    at = 2
    while at < len(mangled) and mangled[at] in "NLKVrRO":
        at += 1
    name = ""
    while (match := _SOURCE_NAME.match(mangled, at)) is not None:
        start = match.end()
        at = start + int(match[1])
        name = mangled[start:at]
    return name or mangled
