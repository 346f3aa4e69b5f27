"""What `occlsp check` looks at: the sources, settings, reports and compiles of one root."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from occlsp.analysis.advice.matching import Measured
from occlsp.analysis.architecture import Architectures, choose
from occlsp.analysis.checks import CHECKS
from occlsp.analysis.findings import findings
from occlsp.analysis.findings.dynamic_smem_opt_in import RULE as OPT_IN
from occlsp.analysis.freshness import History
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import SourceFile, Sources
from occlsp.cli.check_sources import CXX, Progress, Read, read_sources, reader, walk
from occlsp.config import Settings, Source, load, read_toml
from occlsp.reports.cache import sources_directory
from occlsp.reports.facts import Report
from occlsp.source.entries import read_file
from occlsp.source.facts import FileFacts
from occlsp.source.store import Store
from occlsp.source.workspace import Workspace

MARKERS = ("occlsp.toml", ".git")
_OPTS_IN = (b"MaxDynamicSharedMemorySize", b"MAX_DYNAMIC_SHARED_SIZE_BYTES")


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for."""

    paths: tuple[Path, ...]
    arch: tuple[str, ...] = ()
    reports: tuple[Path, ...] = ()
    report_folder: Path | None = None
    compile: bool = False
    commands: Path | None = None
    gpu: str | None = None
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Project:
    """One root, read: its snapshot, and the files that were asked about."""

    root: Path
    snapshot: Snapshot
    paths: tuple[str, ...]
    problems: tuple[str, ...] = ()
    """What could not be read or compiled, one line each."""
    is_short: bool = False
    """Something that was asked about could not be read."""
    is_interrupted: bool = False
    """It holds what was read until then."""


@dataclass(slots=True)
class _Problems:
    lines: list[str] = field(default_factory=list)


def _quietly(text: str, done: int, total: int) -> None:
    pass


def projects(request: Request, progress: Progress = _quietly) -> Iterator[Project]:
    """The roots that the paths lie in, each read as it is asked for; none after an interrupt."""
    roots: dict[Path, list[Path]] = {}
    for path in request.paths:
        roots.setdefault(root_of(path), []).append(path)
    for root, paths in roots.items():
        project = _project(request, root, paths, progress)
        yield project
        if project.is_interrupted:
            return


def root_of(path: Path) -> Path:
    """The folder upwards that holds `occlsp.toml` or `.git`; else the folder itself."""
    start = Path(os.path.abspath(path))  # noqa: PTH100  (links stay: names are shown)
    folder = start if start.is_dir() else start.parent
    for candidate in (folder, *folder.parents):
        if any((candidate / marker).exists() for marker in MARKERS):
            return candidate
    return folder


def _project(request: Request, root: Path, paths: Sequence[Path], progress: Progress) -> Project:
    settings, problems = _settings(request, root)
    store = Store(sources_directory(), str(root))
    read = Read(Workspace(str(root), known=store.find))
    gathered = _Gathered()
    is_interrupted = False
    try:
        read_sources(read, paths, request.jobs, progress, store)
        _gather(request, root, settings, read, gathered, problems, progress)
    except KeyboardInterrupt:
        is_interrupted = True
    wanted = [path for path in read.modified if path in read.facts]
    sources = Sources.of([SourceFile(read.facts[path]) for path in wanted], reader(read))
    snapshot = Snapshot.of(settings=settings, trust="trusted").with_sources(sources)
    history = History.of((read.facts[path], read.modified[path]) for path in wanted)
    snapshot = snapshot.with_history(history)
    architectures = gathered.architectures or choose(settings)
    snapshot = snapshot.with_architectures(architectures).with_reports(tuple(gathered.reports))
    if not is_interrupted:
        snapshot = snapshot.with_measured(_measured(root, settings, problems))
        snapshot = _with_opting_in(snapshot, root, read.workspace, wanted)
    told = tuple(dict.fromkeys([*problems.lines, *read.problems]))
    is_short = read.is_short or gathered.is_short
    return Project(root, snapshot, tuple(wanted), told, is_short, is_interrupted)


@dataclass(slots=True)
class _Gathered:
    """Reports and architectures, as far as they were read and compiled."""

    reports: list[Report] = field(default_factory=list)
    architectures: Architectures | None = None
    is_short: bool = False


def _gather(
    request: Request,
    root: Path,
    settings: Settings,
    read: Read,
    gathered: _Gathered,
    problems: _Problems,
    progress: Progress,
) -> None:
    wanted = [path for path in read.modified if path in read.facts]
    reports = gathered.reports
    for report in _reports(request, root, wanted, settings, progress):
        reports.append(report)
        if not report.entries:
            problems.lines += [w.message for w in report.warnings if w.entry is None]
    asked = [*request.reports, *([request.report_folder] if request.report_folder else [])]
    if asked and not any(report.entries for report in reports):
        gathered.is_short = True
        names = ", ".join(map(str, asked))
        problems.lines.append(
            f"{names}: no kernel's numbers in it; build first, with `-Xptxas -v` in a log or "
            "under `occlsp record --reports-dir`"
        )
    chosen = gathered.architectures = _architectures(request, root, settings, reports)
    problems.lines += chosen.problems
    if request.compile:
        units = [path for path in wanted if _is_unit(read.facts[path])]
        compiled(request, root, settings, chosen, units, reports, problems.lines, progress)


def _with_opting_in(
    snapshot: Snapshot, root: Path, workspace: Workspace, wanted: Sequence[str]
) -> Snapshot:
    """Before a missing opt-in is told, the rest of the root is asked for one: the call may be in
    a file that nobody asked about."""
    if not any(
        finding.code == OPT_IN.code for path in wanted for finding in findings(snapshot, path)
    ):
        return snapshot
    sources = snapshot.sources
    for file in walk(root):
        path = os.path.abspath(file)  # noqa: PTH100
        text = None if path in sources.files else read_file(path)
        if text is not None and any(word in text for word in _OPTS_IN):
            workspace.update(path, text, is_open=False)
            sources = sources.with_file(SourceFile(workspace.facts(path)))
    return snapshot.with_sources(sources)


def _settings(request: Request, root: Path) -> tuple[Settings, _Problems]:
    problems = _Problems()
    found, problem = read_toml(root / "occlsp.toml")
    if problem is not None:
        problems.lines.append(problem)
    flags = {"arch": list(request.arch) or None, "gpu": request.gpu}
    sources = [*([found] if found is not None else []), Source("command line", flags)]
    loaded = load(sources, CHECKS)
    problems.lines += loaded.problems
    return loaded.settings, problems


def _cached(wanted: Iterable[str]) -> Iterator[Report]:
    """What earlier compiles and recorded builds left in the user's cache."""
    from occlsp.reports.cache import Cache

    cache = Cache()
    for path in () if cache.is_empty() else wanted:
        for result in cache.latest(path):
            yield Report(result.unit, result.entries, result.warnings)


def _reports(
    request: Request, root: Path, wanted: Sequence[str], settings: Settings, progress: Progress
) -> Iterator[Report]:
    from occlsp.reports.discover import discover

    files = list(request.reports)
    if request.report_folder is not None:
        files += sorted(p for p in request.report_folder.rglob("*") if p.is_file())
    elif not files:
        files = list(discover(root, settings.reports).files)
        if not request.compile:
            yield from _cached(wanted)
    for done, file in enumerate(files, 1):
        from occlsp.reports.read import read_report  # it takes a while

        progress(f"reading {file}", done, len(files))
        yield read_report(file)


def _measured(root: Path, settings: Settings, problems: _Problems) -> Measured:
    """The runs in the files that the setting `measurements` names."""
    if not settings.measurements:
        return Measured()
    from occlsp.analysis.advice.measurements.read import read_files
    from occlsp.reports.discover import discover

    found, told = read_files(discover(root, settings.measurements).files)
    problems.lines += told
    return Measured.of(found)


def _architectures(
    request: Request, root: Path, settings: Settings, reports: Sequence[Report]
) -> Architectures:
    from occlsp.reports.compile_commands import find, load
    from occlsp.reports.local_gpus import local_gpus

    said_by = "the command line" if request.arch else "settings"
    if settings.arch:
        return choose(settings, said_by=said_by)
    commands = load(find(root, _commands(request, settings)))
    flags: dict[str, None] = {}
    for unit in commands.units():
        for command in commands.of(unit):
            filtered = command.filtered([root], os.environ)
            if not isinstance(filtered, str):
                flags.update(dict.fromkeys(arch for arch in filtered.arches if arch != "native"))
    named = [entry.arch for report in reports for entry in report.entries if entry.arch]
    gpus = [gpu.arch for gpu in local_gpus()] if not (flags or named) else []
    return choose(settings, tuple(flags), gpus, named)


def _commands(request: Request, settings: Settings) -> str | None:
    if request.commands is None:
        return settings.compile.commands
    path = request.commands
    return str(path / "compile_commands.json" if path.is_dir() else path)


def _is_unit(facts: FileFacts) -> bool:
    """Whether a file is compiled by itself: C++ where it has kernels or launches of its own."""
    suffix = Path(facts.path).suffix.lower()
    if suffix == ".cu":
        return True
    return suffix in CXX and (
        any(not kernel.inactive and not kernel.in_macro for kernel in facts.kernels)
        or any(
            launch.api == "<<<>>>" and not (launch.inactive or launch.in_macro or launch.hip_only)
            for launch in facts.launches
        )
    )


def compiled(
    request: Request,
    root: Path,
    settings: Settings,
    architectures: Architectures,
    units: Sequence[str],
    reports: list[Report],
    problems: list[str],
    progress: Progress,
) -> None:
    """Adds the reports of the units compiled, `jobs` at a time, to `reports`."""
    from occlsp.cli.check_compile import compile_all
    from occlsp.reports.compile_task import CompileRequest

    asked = [
        CompileRequest(
            unit,
            arch,
            str(root),
            nvcc=settings.compile.nvcc,
            commands=_commands(request, settings),
            args=settings.compile.args,
            timeout=settings.compile.timeout,
            slow=None,
        )
        for unit in units
        for arch in architectures.names
    ]
    compile_all(asked, request.jobs, reports, problems, progress)
