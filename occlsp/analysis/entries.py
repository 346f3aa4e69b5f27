"""Which entry of the reports is which kernel, and which instantiation a launch runs.

Nothing is guessed: where several entries fit, all of them are the answer. What two reports say
of one kernel is told once: by what was compiled from this very source, else the newer, else the
more trustworthy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import get_args

from msgspec import Struct

from occlsp.analysis.architecture import canonical
from occlsp.analysis.sources import KernelSite, Sources
from occlsp.reports.facts import Entry, Origin, Report, ReportWarning
from occlsp.reports.match import KernelKey, TemplateParameterKey, match_entries, match_launch
from occlsp.reports.merge import merge_reports
from occlsp.source.facts import Kernel, Launch

TRUST: dict[Origin, int] = {name: rank for rank, name in enumerate(get_args(Origin))}
_LENGTH = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class EntryIndex:
    """The entries of all reports by kernel, made once for a set of reports."""

    reports: tuple[Report, ...] = ()
    by_name: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    """By every identifier in the entry's name: one of them is the kernel's."""
    by_file: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    """By the name of the file that the line table names, for kernels that macros name."""
    warnings: dict[str, tuple[ReportWarning, ...]] = field(default_factory=dict)
    """By mangled name."""
    _groups: dict[tuple[KernelKey, ...], tuple[tuple[Entry, ...], ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _picks: dict[object, dict[tuple[str | None, ...] | None, tuple[Entry, ...]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @staticmethod
    def of(reports: tuple[Report, ...]) -> EntryIndex:
        """An index of `reports`."""
        names: dict[str, list[Entry]] = {}
        files: dict[str, list[Entry]] = {}
        warnings: dict[str, list[ReportWarning]] = {}
        for entry in map(_plausible, merge_reports(reports)):
            for name in identifiers(entry.entry):
                names.setdefault(name, []).append(entry)
            if entry.file is not None:
                files.setdefault(_file_name(entry.file), []).append(entry)
        for report in reports:
            for warning in report.warnings:
                if warning.entry is not None:
                    warnings.setdefault(warning.entry, []).append(warning)
        return EntryIndex(
            reports,
            {name: tuple(found) for name, found in names.items()},
            {name: tuple(found) for name, found in files.items()},
            {entry: tuple(found) for entry, found in warnings.items()},
        )

    def updated(self, reports: tuple[Report, ...]) -> EntryIndex:
        """The index for another set of reports; this one where they are the same objects."""
        same = len(reports) == len(self.reports) and all(
            old is new for old, new in zip(self.reports, reports, strict=True)
        )
        return self if same else EntryIndex.of(reports)

    def of_kernel(self, site: KernelSite, sources: Sources) -> tuple[Entry, ...]:
        """The entries that are this kernel, or may be: one for each name and architecture."""
        if not self.by_name:
            return ()
        rivals = _rivals(site, sources)
        if len(rivals) == 1 and site.kernel.from_macro is None:
            keys: tuple[KernelKey, ...] = (key_of(site),)
        else:
            keys = tuple(key_of(rival, sources) for rival in rivals)
        found = self._groups.get(keys)
        if found is None:
            found = self._match(rivals, sources)
            self._groups[keys] = found
        index = next(i for i, rival in enumerate(rivals) if rival.kernel is site.kernel)
        return _once(found[index], site.kernel)

    def named(self, site: KernelSite) -> tuple[Entry, ...]:
        """The entries that may be a kernel as far as names tell: a quick first look."""
        found = self.by_name.get(site.kernel.name, ())
        if site.kernel.from_macro is None:
            return found
        return found + self.by_file.get(_file_name(site.path), ())

    def _match(
        self, rivals: Sequence[KernelSite], sources: Sources
    ) -> tuple[tuple[Entry, ...], ...]:
        keys = [key_of(rival, sources) for rival in rivals]
        entries: dict[int, Entry] = {}
        for rival in rivals:
            entries |= {id(entry): entry for entry in self.named(rival)}
        matches = match_entries(keys, entries.values())
        found: list[list[Entry]] = [[] for _ in keys]
        for entry, match in zip(entries.values(), matches, strict=True):
            for number in match.kernels:
                found[number].append(entry)
        return tuple(tuple(some) for some in found)

    def choice(self, site: KernelSite, entries: tuple[Entry, ...]) -> Choice:
        """Which of a kernel's entries on one architecture its launches may run; what is found
        stays as long as the index does."""
        kernel = site.kernel
        key = (kernel.qualified_name, kernel.template_parameters, tuple(map(id, entries)))
        return Choice(site, entries, self._picks.setdefault(key, {}))


class Choice(Struct, frozen=True):
    """The entries of a kernel on one architecture."""

    site: KernelSite
    entries: tuple[Entry, ...]
    _found: dict[tuple[str | None, ...] | None, tuple[Entry, ...]]
    """By the template arguments of launches."""

    def of(self, launch: Launch) -> tuple[Entry, ...]:
        """Those that a launch may run."""
        if len(self.entries) < 2 and not self.site.kernel.is_template:
            return self.entries
        known = launch.template_args_known or _literals(launch.template_args)
        found = self._found.get(known)
        if found is None:
            found = self._found[known] = match_launch(known, key_of(self.site), self.entries)
        return found


def _literals(arguments: Sequence[str]) -> tuple[str | None, ...] | None:
    """Template arguments of which some are known since they are numbers; None where none is.
    Behind a pack it is not known which is which."""
    told = list(takewhile(lambda one: not one.endswith("..."), arguments))
    found = tuple([one if _NUMBER.fullmatch(one) else None for one in told])
    return found if any(found) else None


_NUMBER = re.compile(r"true|false|-?\d+")
_LARGEST = {"registers": 65535, "static_smem": 2**31 - 1, "barriers": 65535}


def _plausible(entry: Entry) -> Entry:
    """The entry; a number that no compiler says (a broken file does) is not known."""
    absurd = {
        name: None
        for name, most in _LARGEST.items()
        if (value := getattr(entry, name)) is not None and not 0 <= value <= most
    }
    if entry.max_threads is not None and entry.max_threads < 1:
        absurd["max_threads"] = None
    return replace(entry, **absurd) if absurd else entry  # type: ignore[arg-type]


def entries_on(
    entries: tuple[Entry, ...], arch: str, *, is_only: bool = False
) -> tuple[Entry, ...]:
    """The entries for an architecture: those of its very name, else of the same capability.

    Those whose text does not say which it is for count where it is the only one in force.
    """
    exact = tuple(entry for entry in entries if entry.arch == arch)
    if exact:
        return exact
    name = canonical(arch)
    same = [entry for entry in entries if entry.arch is not None and canonical(entry.arch) == name]
    if same:
        return tuple(entry for entry in same if entry.arch == same[0].arch)
    return tuple(entry for entry in entries if entry.arch is None) if is_only else ()


def key_of(site: KernelSite, sources: Sources | None = None) -> KernelKey:
    """What the matching compares of a kernel; its line where the sources are given."""
    kernel = site.kernel
    file = sources.file(site.path) if sources is not None else None
    return KernelKey(
        path=site.path,
        name_line=file.lines.line_of(kernel.name_span.start) + 1 if file is not None else 0,
        qualified_name=kernel.qualified_name,
        parameters=kernel.parameters,
        is_template=kernel.is_template,
        template_parameters=tuple(
            TemplateParameterKey(parameter.name, parameter.default, parameter.is_pack)
            for parameter in kernel.template_parameters
        ),
        template_arguments=kernel.template_arguments,
        is_definition=kernel.is_definition,
        from_macro=kernel.from_macro is not None,
    )


def identifiers(mangled: str) -> set[str]:
    """Every identifier that a name is made of; cheap, unlike demangling."""
    if not mangled.startswith(("_Z", "__nv_static")):
        return set(_WORD.findall(mangled))
    found = set()
    for match in _LENGTH.finditer(mangled):
        digits, start = match[0], match.end()
        for skip in range(len(digits)):
            length = int(digits[skip:][:6])
            name = mangled[start : start + length]
            if len(name) == length and _WORD.fullmatch(name):
                found.add(name)
    return found


def _rivals(site: KernelSite, sources: Sources) -> tuple[KernelSite, ...]:
    """The kernels that share the name, this one included: an entry may be any of them."""
    rivals = sources.by_name.get(site.kernel.name, ())
    if any(rival.kernel is site.kernel for rival in rivals):
        return tuple(rival for rival in rivals if not rival.kernel.inactive or rival == site)
    return (site,)


def _once(entries: tuple[Entry, ...], kernel: Kernel) -> tuple[Entry, ...]:
    """One entry for each name and architecture, of the best report; more only where units of
    that report differ."""
    if len(entries) < 2:
        return entries
    groups: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.entry, entry.arch), []).append(entry)
    if len(groups) == len(entries):
        return entries
    kept: list[Entry] = []
    for group in groups.values():
        best = max(group, key=lambda entry: _worth(entry, kernel))
        kept.append(best)
        kept += [
            entry
            for entry in group
            if entry is not best
            and entry.unit != best.unit
            and (entry.origin, entry.debug) == (best.origin, best.debug)
            and (entry.registers, entry.static_smem) != (best.registers, best.static_smem)
        ]
    return tuple(kept)


def _worth(entry: Entry, kernel: Kernel) -> tuple[bool, bool, float, int]:
    is_this = entry.fingerprint is not None and entry.fingerprint == kernel.fingerprint
    return (not entry.debug, is_this, entry.time or 0.0, -TRUST[entry.origin])


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]
