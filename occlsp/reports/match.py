"""Which kernel of the sources an entry is, and which entry a launch runs: no guessing.

An entry with a line table stands at the file and line of its kernel's name. Without, or where
the source has moved on since, names are compared: the qualified name, whether it is a template,
template arguments and parameter types as far as they can be told apart. What stays open is
answered with all its candidates.

The sources' facts come as `KernelKey`s, since this layer does not know the source's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename, normpath
from typing import Literal

from occlsp.reports.facts import Entry
from occlsp.reports.names import ParsedName, parse_name
from occlsp.reports.typenames import (
    compare,
    normalise_argument,
    normalise_parameter,
    strip_internal,
)

_HEADERS = (".h", ".cuh", ".hpp", ".hh", ".inl", ".inc", ".hxx", ".ipp", ".tpp")


@dataclass(frozen=True, slots=True)
class TemplateParameterKey:
    """One template parameter of a kernel."""

    name: str | None
    default: str | None = None
    is_pack: bool = False


@dataclass(frozen=True, slots=True)
class KernelKey:
    """What is compared of a kernel of the sources: a part of `occlsp.source.facts.Kernel`."""

    path: str
    """Absolute, links resolved where the caller can."""
    name_line: int
    """1-based line of the kernel's name; of the macro's use, where a macro makes the kernel."""
    qualified_name: str
    """Anonymous namespaces as "(anonymous namespace)"."""
    parameters: tuple[str, ...] = ()
    """Types as written, without names."""
    is_template: bool = False
    template_parameters: tuple[TemplateParameterKey, ...] = ()
    template_arguments: tuple[str, ...] | None = None
    """Of an explicit specialisation; with no definition, of an instantiation: no entry's place."""
    is_definition: bool = True
    from_macro: bool = False
    """A macro makes it, so that its name may not be what is written."""

    @property
    def name(self) -> str:
        """The last component of the qualified name."""
        return self.qualified_name.rpartition("::")[2]


@dataclass(frozen=True, slots=True)
class EntryMatch:
    """The kernels that an entry may be."""

    kernels: tuple[int, ...]
    """Indices into the kernels that were given; empty: none of them."""
    by: Literal["line", "name", "suffix"] | None = None
    """How: its line table; its name; a name of which only the end agrees (the source's
    namespaces are hidden in macros)."""

    @property
    def kernel(self) -> int | None:
        """The one kernel that it is for certain; None where it is open, or none of them."""
        return self.kernels[0] if len(self.kernels) == 1 and self.by != "suffix" else None


def match_entries(kernels: Sequence[KernelKey], entries: Iterable[Entry]) -> list[EntryMatch]:
    """The match of each entry, in their order.

    Definitions are preferred to declarations of the same kernel. Where several kernels remain,
    all are given, never one of them.
    """
    index = _Index(kernels)
    return [index.match(entry) for entry in entries]


def match_launch(
    template_args_known: Sequence[str | None] | None, kernel: KernelKey, entries: Sequence[Entry]
) -> tuple[Entry, ...]:
    """The instantiations among a kernel's entries that a launch may run.

    `template_args_known` are the launch's template arguments with constants put in and aliases
    resolved (`Launch.template_args_known`); None where they, or one of them, depend on something.
    Left-out arguments are the defaults, where an entry has those, else whatever was deduced. One
    entry where the arguments pick one; all entries where they are not known; none where every
    entry is certainly another instantiation. Give the entries of one architecture at a time.
    """
    if template_args_known is None or not kernel.is_template:
        return tuple(entries)
    given = [one if one is None else normalise_argument(one) for one in template_args_known]
    scored = [(entry, _agreement(given, kernel, entry)) for entry in entries]
    equal = [entry for entry, score in scored if score is True]
    possible = equal or [entry for entry, score in scored if score is not False]
    by_default = [entry for entry in possible if _has_defaults(len(given), kernel, entry)]
    return tuple(by_default or possible)


class _Index:
    def __init__(self, kernels: Sequence[KernelKey]) -> None:
        self._kernels = kernels
        self._by_line: dict[tuple[str, int], list[int]] = {}
        self._by_name: dict[str, list[int]] = {}
        self._files: set[str] = set()
        for number, kernel in enumerate(kernels):
            if kernel.template_arguments is not None and not kernel.is_definition:
                continue  # an explicit instantiation: its entry stands at the template
            file = basename(kernel.path.replace("\\", "/"))
            self._files.add(file)
            self._by_line.setdefault((file, kernel.name_line), []).append(number)
            self._by_name.setdefault(kernel.name, []).append(number)

    def match(self, entry: Entry) -> EntryMatch:
        if entry.file is not None and entry.line is not None:
            found = self._at_line(entry.file, entry.line, entry.entry)
            if found:
                return EntryMatch(found, "line")
            if basename(entry.file.replace("\\", "/")) not in self._files:
                return EntryMatch(())
        return self._named(entry)

    def _at_line(self, file: str, line: int, entry: str) -> tuple[int, ...]:
        here = [
            number
            for number in self._by_line.get((basename(file.replace("\\", "/")), line), ())
            if self._kernels[number].from_macro or _mentions(entry, self._kernels[number].name)
        ]
        here = self._nearest(here, file)
        if len(here) > 1:
            parsed = parse_name(entry)
            named = [n for n in here if self._kernels[n].name == parsed.base] or here
            here = self._suitable(named, parsed) or named
        return tuple(self._definitions(here))

    def _named(self, entry: Entry) -> EntryMatch:
        parsed = parse_name(entry.entry)
        same_name = self._by_name.get(parsed.base, [])
        numbers = [n for n in same_name if strip_internal(self._name(n)) == parsed.qualified]
        by: Literal["name", "suffix"] = "name"
        if not numbers:
            by = "suffix"
            numbers = [n for n in same_name if _ends_agree(self._name(n), parsed.qualified)]
        numbers = self._suitable(numbers, parsed)
        if entry.file is not None:
            numbers = self._nearest(numbers, entry.file)
        elif entry.unit is not None:
            numbers = self._of_unit(numbers, entry.unit)
        numbers = self._definitions(numbers)
        return EntryMatch(tuple(numbers), by if numbers else None)

    def _name(self, number: int) -> str:
        return self._kernels[number].qualified_name

    def _nearest(self, numbers: list[int], file: str) -> list[int]:
        """Those whose path shares most with the file: the tree may have been built elsewhere."""
        common = {n: _common_end(self._kernels[n].path, file) for n in numbers}
        most = max(common.values(), default=0)
        return [n for n in numbers if common[n] == most] if most else []

    def _of_unit(self, numbers: list[int], unit: str) -> list[int]:
        """Those that the unit can have: its own and headers'."""
        name = basename(unit.replace("\\", "/"))
        own = [n for n in numbers if basename(self._kernels[n].path) == name]
        headers = [n for n in numbers if self._kernels[n].path.endswith(_HEADERS)]
        return own or headers or numbers

    def _definitions(self, numbers: list[int]) -> list[int]:
        """Without the declarations of kernels whose definition is there too."""
        defined = {self._kernels[n].name for n in numbers if self._kernels[n].is_definition}
        return [
            n
            for n in numbers
            if self._kernels[n].is_definition or self._kernels[n].name not in defined
        ]

    def _suitable(self, numbers: list[int], parsed: ParsedName) -> list[int]:
        """Those that can have this signature; the specialisation, where one is meant."""
        agreement = {n: _same_signature(self._kernels[n], parsed) for n in numbers}
        certain = [n for n in numbers if agreement[n] is True]
        possible = certain or [n for n in numbers if agreement[n] is not False]
        special = [n for n in possible if self._kernels[n].template_arguments is not None]
        return special or possible


def _mentions(entry: str, name: str) -> bool:
    """Whether a mangled (or readable) name can be that of a kernel `name`."""
    return f"{len(name)}{name}" in entry or re.search(rf"\b{re.escape(name)}\b", entry) is not None


def _ends_agree(one: str, other: str) -> bool:
    shorter, longer = sorted((strip_internal(one), strip_internal(other)), key=len)
    return longer.endswith(f"::{shorter}") or shorter == longer


def _common_end(one: str, other: str) -> int:
    """Number of components that two paths share at their ends; all of them counts more."""
    ones = _components(one)
    others = _components(other)
    count = 0
    for a, b in zip(reversed(ones), reversed(others), strict=False):
        if a != b:
            break
        count += 1
    return count


@lru_cache(maxsize=4096)
def _components(path: str) -> tuple[str, ...]:
    return tuple(normpath(path.replace("\\", "/")).split("/"))


def _same_signature(kernel: KernelKey, parsed: ParsedName) -> bool | None:
    """Whether the kernel has this template form and these parameters; None: as far as is known."""
    if kernel.template_arguments is not None:
        if parsed.arguments is None or not _all_agree(kernel.template_arguments, parsed.arguments):
            return False
    elif kernel.is_template != (parsed.arguments is not None) and not kernel.from_macro:
        return False
    if parsed.parameters is None or any("..." in parameter for parameter in kernel.parameters):
        return None
    written = [parameter for parameter in kernel.parameters if parameter.strip() != "void"]
    if len(written) != len(parsed.parameters):
        return False
    names = _substitutions(kernel, parsed.arguments or ())
    verdict: bool | None = True
    for own, compiled in zip(written, parsed.parameters, strict=True):
        same = compare(normalise_parameter(_substitute(own, names)), normalise_parameter(compiled))
        if same is False:
            return False
        verdict = verdict and same
    return verdict


def _all_agree(own: Sequence[str], compiled: Sequence[str]) -> bool:
    return len(own) == len(compiled) and all(
        compare(normalise_argument(a), normalise_argument(b)) is not False
        for a, b in zip(own, compiled, strict=True)
    )


def _substitutions(kernel: KernelKey, arguments: Sequence[str]) -> dict[str, str]:
    """What each template parameter stands for in this instantiation."""
    if any(parameter.is_pack for parameter in kernel.template_parameters):
        return {}
    return {
        parameter.name: argument
        for parameter, argument in zip(kernel.template_parameters, arguments, strict=False)
        if parameter.name is not None
    }


def _substitute(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), text)


def _agreement(given: Sequence[str | None], kernel: KernelKey, entry: Entry) -> bool | None:
    """Whether the entry's first template arguments are the given ones; None: perhaps."""
    arguments = parse_name(entry.entry).arguments
    if arguments is None:
        return False
    if len(given) > len(arguments):
        return None if any(p.is_pack for p in kernel.template_parameters) else False
    verdict: bool | None = True
    for own, compiled in zip(given, arguments, strict=False):
        same = None if own is None else compare(own, normalise_argument(compiled))
        if same is False:
            return False
        verdict = verdict and same
    return verdict


def _has_defaults(count: int, kernel: KernelKey, entry: Entry) -> bool:
    """Whether the entry's arguments from the `count`th on are the parameters' defaults."""
    arguments = parse_name(entry.entry).arguments or ()
    names = _substitutions(kernel, arguments)
    rest = kernel.template_parameters[count:]
    if not rest or len(arguments) != len(kernel.template_parameters):
        return False
    return all(
        parameter.default is not None
        and compare(
            normalise_argument(_substitute(parameter.default, names)), normalise_argument(argument)
        )
        for parameter, argument in zip(rest, arguments[count:], strict=True)
    )
