"""Names of entries: from mangled to what a source says, in parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from occlsp.reports.typenames import split_arguments, strip_internal

_CACHED = 1 << 15
_CACHED_READABLE = 1 << 12
_STATIC = re.compile(r"__nv_static_(\d+)__")
_LONGEST = 20_000
"""Characters of a name that is still demangled."""


@dataclass(frozen=True, slots=True)
class ParsedName:
    """The parts of an entry's name."""

    qualified: str
    """"wx::ring", "(anonymous namespace)::anon": without template arguments of its own, and
    without the inline namespaces of libraries and of internal linkage."""
    arguments: tuple[str, ...] | None = None
    """The template arguments as the demangler spells them; None for what is no template."""
    parameters: tuple[str, ...] | None = None
    """The types of the parameters; None where the name does not say (`extern "C"`)."""

    @property
    def base(self) -> str:
        """The last component of the qualified name."""
        return self.qualified.rpartition("::")[2]


def strip_static(entry: str) -> str:
    """The mangled name inside that of a static kernel of an `-rdc` build.

    `__nv_static_<n>__<n characters>_<mangled>` → `<mangled>`; other names as they are.
    """
    match = _STATIC.match(entry)
    if match is None:
        return entry
    rest = entry[match.end() + int(match.group(1)) :]
    return rest.removeprefix("_") if rest.startswith("__Z") else rest or entry


@lru_cache(maxsize=_CACHED_READABLE)
def demangle(mangled: str) -> str:
    """The readable name as `c++filt` spells it; what is not mangled comes back as it is.

    Takes 0.1 to 1 ms the first time. Never raises.
    """
    name = strip_static(mangled)
    if not name.startswith("_Z") or len(name) > _LONGEST:
        return name
    try:
        import demangle as library
    except ImportError:  # it needs Python 3.11
        return _by_libstdcxx(name)
    return str(library.demangle(name, language="itanium", style="gnu"))


def _by_libstdcxx(name: str) -> str:
    """For Python 3.10; where that library is not to be had, the name stays as it is."""
    import cxxfilt

    try:
        return str(cxxfilt.demangle(name))
    except cxxfilt.Error:
        return name


@lru_cache(maxsize=_CACHED)
def parse_name(mangled: str) -> ParsedName:
    """The parts of a mangled name, or of one that was demangled already. Never raises."""
    name = strip_static(mangled)
    if name.startswith("_Z") and len(name) <= _LONGEST:
        try:
            import demangle as library
        except ImportError:
            return _parse_readable(demangle(name))
        try:
            parts = library.signature(name, language="itanium", style="gnu")
        except (library.DemanglingError, ValueError):
            return ParsedName(name)
        base, arguments = _split_base(parts.base_name)
        qualified = f"{parts.namespace}::{base}" if parts.namespace else base
        parameters = None if parts.parameters is None else tuple(parts.parameters)
        return ParsedName(strip_internal(qualified), arguments, parameters)
    return _parse_readable(name)


def _parse_readable(name: str) -> ParsedName:
    """`void wx::ring<512, double>(double*, int)`, from a log that went through `c++filt`."""
    text = name.removeprefix("void ").strip()
    opening = _last_opening(text) if text.endswith(")") else None
    parameters = None
    if opening is not None and not text[opening:].startswith("(anonymous"):
        listed = split_arguments(text[opening + 1 : -1])
        parameters = tuple(part for part in listed if part != "void")
        text = text[:opening].rstrip()
    scope, base = _split_scope(text)
    base, arguments = _split_base(base)
    return ParsedName(strip_internal(scope + base), arguments, parameters)


def _last_opening(text: str) -> int | None:
    """Where the parenthesis that the last character closes is opened."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == ")") - (text[index] == "(")
        if depth == 0:
            return index
    return None


def _split_scope(text: str) -> tuple[str, str]:
    """Everything up to the last `::` that is in no bracket, and what follows."""
    depth = 0
    for index in range(len(text) - 1, 0, -1):
        depth += (text[index] in ">)}") - (text[index] in "<({")
        if depth == 0 and text[index - 1 : index + 1] == "::":
            return text[: index + 1], text[index + 1 :]
    return "", text


def _split_base(base: str) -> tuple[str, tuple[str, ...] | None]:
    """`ring<512, double>` → "ring" and its arguments."""
    name, bracket, rest = base.partition("<")
    if not bracket or not base.endswith(">") or name.startswith("operator"):
        return base, None
    return name, tuple(split_arguments(rest[:-1]))
