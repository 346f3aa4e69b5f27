"""What runs in the child process: looking for reports, reading them, asking for the GPUs.

Long answers come in pages, so that the event loop never takes in much at once: the child keeps
the rest of an answer until the next page of it is asked for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from occlsp.analysis.advice.measurements.facts import Measurement
from occlsp.analysis.advice.measurements.read import read_files
from occlsp.reports.cache import Cache
from occlsp.reports.compile_commands import CompileCommands, find, load
from occlsp.reports.discover import discover
from occlsp.reports.facts import Report
from occlsp.reports.flags import Filtered
from occlsp.reports.local_gpus import LocalGpu, local_gpus
from occlsp.reports.read import read_report
from occlsp.reports.worker import Control

log = logging.getLogger("occlsp.tasks")

PAGE_SECONDS = 0.2
PAGE_ENTRIES = 400
MAX_COMMANDS = 2000
"""Compile commands whose flags are looked at for architectures."""

Stamp = tuple[int, int]
"""Modification in nanoseconds, and size."""


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """Which folder, with which settings, and what is known of it."""

    root: str
    globs: tuple[str, ...] = ()
    measurements: tuple[str, ...] = ()
    commands: str | None = None
    known: dict[str, Stamp] = field(default_factory=dict)
    next_page: bool = False
    """The next page of the survey of this folder that is under way."""


@dataclass(frozen=True, slots=True)
class Build:
    """What the compile commands say."""

    path: str | None = None
    architectures: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    defines: dict[str, str] = field(default_factory=dict)
    """Those that all commands agree on."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadReport:
    """A report, or a part of it: parts of one file follow each other."""

    path: str
    stamp: Stamp
    report: Report
    is_first: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a survey's answer."""

    reports: tuple[ReadReport, ...] = ()
    build: Build | None = None
    watched: dict[str, Stamp | None] | None = None
    """Files and folders whose change means another survey, as they were when they were seen."""
    measured: tuple[Measurement, ...] | None = None
    """All measured runs."""
    gone: tuple[str, ...] = ()
    """Known files that are no more among those to read."""
    left_out: int = 0
    said: str = ""
    """What is read now."""
    is_last: bool = False


_surveys: dict[str, Iterator[Page]] = {}


def survey(request: SurveyRequest, control: Control) -> Page:
    """The first or next page of what a folder's reports say."""
    if not request.next_page or request.root not in _surveys:
        _surveys[request.root] = _survey(request, control)
    pages = _surveys[request.root]
    end = time.monotonic() + PAGE_SECONDS
    page = Page()
    entries = 0
    while time.monotonic() < end and entries < PAGE_ENTRIES and not page.is_last:
        if control.cancelled():
            del _surveys[request.root]
            return Page(is_last=True)
        more = next(pages, Page(is_last=True))
        entries += sum(len(read.report.entries) for read in more.reports)
        page = _joined(page, more)
    if page.is_last:
        _surveys.pop(request.root, None)
    return page


def _joined(page: Page, more: Page) -> Page:
    return Page(
        page.reports + more.reports,
        more.build or page.build,
        _both(page.watched, more.watched),
        more.measured if more.measured is not None else page.measured,
        page.gone + more.gone,
        page.left_out + more.left_out,
        more.said or page.said,
        more.is_last,
    )


def _both(
    one: dict[str, Stamp | None] | None, other: dict[str, Stamp | None] | None
) -> dict[str, Stamp | None] | None:
    return {**(one or {}), **(other or {})} if one is not None or other is not None else None


def _survey(request: SurveyRequest, control: Control) -> Iterator[Page]:
    root = Path(request.root)
    path = find(root, request.commands)
    commands = load(path)
    yield Page(build=_build(commands, root))
    yield from _cached(root, request.known)
    found = discover(root, request.globs, _outputs(commands))
    watched = (*found.files, *found.folders, *([path] if path else ()))
    yield Page(watched={str(file): _stamp(file) for file in watched}, left_out=found.left_out)
    current = {str(file) for file in found.files}
    yield Page(gone=tuple(p for p in request.known if p not in current and not is_cached(p)))
    for file in found.files:
        stamp = _stamp(file)
        if stamp is not None and request.known.get(str(file)) != stamp:
            yield Page(said=file.name)
            yield from _parts(str(file), stamp, _read(file))
    yield _measured(root, request.measurements)


def _measured(root: Path, globs: tuple[str, ...]) -> Page:
    if not globs:
        return Page(measured=())
    found = discover(root, globs)
    measured, problems = read_files(found.files)
    for problem in problems:
        log.warning("%s", problem)
    watched = (*found.files, *found.folders)
    return Page(measured=measured, watched={str(path): _stamp(path) for path in watched})


def _read(file: Path) -> Report:
    try:
        return read_report(file)
    except Exception:  # a fault in one file costs that one
        log.exception("%s cannot be read", file)
        return Report(str(file))


def _parts(path: str, stamp: Stamp, report: Report) -> Iterator[Page]:
    entries = report.entries
    for start in range(0, max(1, len(entries)), PAGE_ENTRIES):
        part = replace(report, entries=entries[start : start + PAGE_ENTRIES])
        yield Page(reports=(ReadReport(path, stamp, part, is_first=start == 0),))


CACHED = "cache:"


def is_cached(name: str) -> bool:
    """Whether a report's name is that of a compile, and not of a file in the workspace."""
    return name.startswith(CACHED)


def cached_name(unit: str, arch: str) -> str:
    """The name of the report of a compile."""
    return f"{CACHED}{arch}:{unit}"


def _cached(root: Path, known: dict[str, Stamp]) -> Iterator[Page]:
    """What earlier compiles gave, by this or another editor or the command line."""
    cache = Cache()
    for unit, latest in cache.known_units(root).items():
        stamps = {item.arch: (int(item.time * 1e9), 0) for item in latest}
        if all(known.get(cached_name(unit, arch)) == stamp for arch, stamp in stamps.items()):
            continue
        for result in cache.latest(unit):
            stamp = (int(result.time * 1e9), 0)
            name = cached_name(unit, result.arch)
            if result.entries and known.get(name) != stamp:
                yield from _parts(name, stamp, result.report)


def _outputs(commands: CompileCommands) -> Iterator[Path]:
    for known in commands.commands.values():
        for command in known:
            words = command.words
            for index, word in enumerate(words):
                if word in ("-o", "--output-file") and index + 1 < len(words):
                    yield command.directory / words[index + 1]
                elif word.startswith("--output-file="):
                    yield command.directory / word.partition("=")[2]


def _build(commands: CompileCommands, root: Path) -> Build:
    """What all commands together say; architectures in the order of the first that names each."""
    architectures: dict[str, None] = {}
    folders: dict[str, None] = {}
    defines: dict[str, set[str]] = {}
    for command in islice(chain.from_iterable(commands.commands.values()), MAX_COMMANDS):
        filtered = command.filtered([root], {})
        if not isinstance(filtered, Filtered):
            continue
        architectures.update(dict.fromkeys(a for a in filtered.arches if a != "native"))
        words = iter(filtered.host)
        for word in words:
            if word.startswith("-I"):
                folders[word[2:]] = None
            elif word in ("-isystem", "-iquote", "-idirafter"):
                folders[next(words, "")] = None
            elif word.startswith("-D"):
                name, _, value = word[2:].partition("=")
                defines.setdefault(name, set()).add(value if "=" in word else "1")
    return Build(
        commands.path,
        tuple(architectures),
        tuple(folders),
        {name: values.pop() for name, values in defines.items() if len(values) == 1},
        commands.problems,
    )


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def gpus(request: None, control: Control) -> tuple[LocalGpu, ...]:
    """The GPUs in this machine; in the child, since a driver may hang."""
    return local_gpus()


def clear_cache(request: None, control: Control) -> str:
    """Empties the cache of compiles; where it is."""
    cache = Cache()
    cache.clear()
    return str(cache.directory)


def units_including(request: Sequence[str], control: Control) -> tuple[str, ...]:
    """The units below a folder that included a header when they were last compiled, newest
    first; the request is the header and the folder."""
    header, root = request
    return Cache().units_including(header, root)
