"""What a compiler run of the user's own build made: found by its command line, read, and kept.

Nothing is added to the command: the product is read when it is there. One small file for each
product can be left in a folder, for a later `occlsp check --reports`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from occlsp.reports.cache import Cache
from occlsp.reports.commandline import OptionsFiles, peel
from occlsp.reports.compiled import CompileResult
from occlsp.reports.dependencies import read_dependencies
from occlsp.reports.digests import digest
from occlsp.reports.facts import Entry, Report, ReportWarning
from occlsp.reports.flag_lists import ALIASES, TAKES_VALUE
from occlsp.reports.recorded import SUFFIX, encode

SOURCES = frozenset({".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".inl"})
_OBJECTS = {"cubin": ".cubin", "fatbin": ".fatbin"}
_NO_CODE = frozenset(
    {"E", "preprocess", "M", "MM", "ptx", "dryrun", "cuda", "version", "help", "S"}
)
_WITH_VALUE = TAKES_VALUE | {name for name, full in ALIASES.items() if full in TAKES_VALUE}
_WITH_VALUE |= {"MT", "MQ", "iquote", "idirafter", "Xclang", "Xcuda-ptxas", "mllvm", "target"}


@dataclass(frozen=True, slots=True)
class Built:
    """One product of a compiler run."""

    product: Path
    unit: Path
    """The source; the product itself where it is linked from objects."""
    is_debug: bool
    dependencies: Path | None = None
    """The dependency list that was asked for."""


def products(argv: Sequence[str], directory: Path) -> tuple[Built, ...]:
    """What `argv`, run in `directory`, makes that may hold machine code."""
    peeled = peel(argv)
    if peeled.compiler is None:
        return ()
    values: dict[str, str] = {}
    inputs: list[str] = []
    words = iter(OptionsFiles(directory, []).expand(peeled.arguments))
    for word in words:
        if not word.startswith("-"):
            inputs.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if name in _WITH_VALUE and not equals:
            value = next(words, "")
        values[name] = value
    if values.keys() & _NO_CODE:
        return ()
    sources = [name for name in inputs if Path(name).suffix.lower() in SOURCES]
    return tuple(_built(values, sources, directory))


def _built(values: dict[str, str], sources: list[str], directory: Path) -> Iterator[Built]:
    output = values.get("o", values.get("output-file"))
    is_debug = bool(values.keys() & {"G", "device-debug", "cuda-noopt-device-debug"})
    listed = values.get("MF", values.get("dependency-output"))
    dependencies = directory / listed if listed else None
    if output:
        unit = directory / sources[0] if len(sources) == 1 else directory / output
        yield Built(directory / output, unit, is_debug, dependencies)
        return
    folder = directory / values.get("odir", values.get("output-directory", ""))
    compiles = values.keys() & {"c", "compile", "dc", "device-c", "dw", "device-w"}
    kind = next((end for name, end in _OBJECTS.items() if name in values), None)
    for source in sources if compiles or kind else ():
        suffix = kind or (".obj" if os.name == "nt" else ".o")
        unit = directory / source
        yield Built(folder / (Path(source).stem + suffix), unit, is_debug, dependencies)


def read(built: Built, since: float) -> Report | None:
    """The report of a product; None where it is not there or older than `since` (seconds since
    the epoch), so not made by this run."""
    from occlsp.reports.read import read_report

    try:
        made = built.product.stat().st_mtime
    except OSError:
        return None
    if made < since - 2.0:
        return None
    report = read_report(built.product)
    unit = os.path.abspath(built.unit)  # noqa: PTH100
    entries = (
        replace(
            entry,
            origin="record",
            unit=unit,
            time=since,
            debug=entry.debug or built.is_debug,
            file=_absolute(entry.file, built.unit.parent),
        )
        for entry in report.entries
    )
    return replace(report, entries=tuple(entries))


def keep(built: Built, report: Report, cache: Cache, since: float) -> None:
    """Keeps the report in the cache, as the latest of the unit for each architecture."""
    unit = os.path.abspath(built.unit)  # noqa: PTH100
    listed = built.dependencies and read_dependencies(built.dependencies, built.product.parent)
    includes = tuple(os.path.realpath(path) for path in listed or () if path != unit)
    by_arch: dict[str, list[Entry]] = {}
    for entry in report.entries:
        by_arch.setdefault(entry.arch or "", []).append(entry)
    for arch, entries in by_arch.items():
        result = CompileResult(
            "ok",
            unit,
            arch,
            tuple(entries),
            _of(report.warnings, arch),
            dependencies=tuple(path for path in includes if not path.startswith("/usr/")),
            origin="record",
            toolkit=entries[0].toolkit or "",
            is_debug=built.is_debug,
            time=since,
        )
        cache.keep(result)


def leave(built: Built, report: Report, folder: Path) -> Path:
    """Leaves the report in `folder`, in a file named after unit and product. Raises OSError."""
    name = digest(os.fsencode(built.unit), os.fsencode(built.product))[:12]
    path = folder / f"{built.unit.stem}-{name}{SUFFIX}"
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{os.urandom(8).hex()}"
    temporary.write_bytes(encode(report))
    temporary.replace(path)
    return path


def _of(warnings: Iterable[ReportWarning], arch: str) -> tuple[ReportWarning, ...]:
    return tuple(warning for warning in warnings if warning.arch in (None, arch))


def _absolute(file: str | None, folder: Path) -> str | None:
    return file if file is None else os.path.join(folder, file)  # noqa: PTH118
