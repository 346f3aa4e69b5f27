"""What `occlsp check` looks at: the sources, settings, reports and compiles of one root."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from occlsp.analysis.advice.matching import Measured
from occlsp.analysis.architecture import Architectures, choose
from occlsp.analysis.findings import findings
from occlsp.analysis.findings.dynamic_smem_opt_in import RULE as OPT_IN
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import SourceFile, Sources
from occlsp.config import Settings, Source, load, read_toml
from occlsp.reports.facts import Report
from occlsp.source.workspace import Workspace

CUDA = frozenset({".cu", ".cuh"})
OTHER = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc"})
MARKERS = ("occlsp.toml", ".git")
MAX_BYTES = 16 << 20
_OPTS_IN = re.compile(rb"MaxDynamicSharedMemorySize|MAX_DYNAMIC_SHARED_SIZE_BYTES")
_LAUNCHES = re.compile(rb"__global__|<<<|LaunchKernel|cudaLaunch|FuncSetAttribute")


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


@dataclass(slots=True)
class _Problems:
    lines: list[str] = field(default_factory=list)


def projects(
    request: Request, progress: Callable[[str], None] = lambda text: None
) -> Iterator[Project]:
    """The roots that the paths lie in, each read as it is asked for."""
    roots: dict[Path, list[Path]] = {}
    for path in request.paths:
        roots.setdefault(root_of(path), []).append(path)
    for root, paths in roots.items():
        yield _project(request, root, paths, progress)


def root_of(path: Path) -> Path:
    """The folder upwards that holds `occlsp.toml` or `.git`; else the folder itself."""
    start = Path(os.path.abspath(path))  # noqa: PTH100  (links stay: names are shown)
    folder = start if start.is_dir() else start.parent
    for candidate in (folder, *folder.parents):
        if any((candidate / marker).exists() for marker in MARKERS):
            return candidate
    return folder


def _project(
    request: Request, root: Path, paths: Sequence[Path], progress: Callable[[str], None]
) -> Project:
    settings, problems = _settings(request, root)
    workspace = Workspace(str(root), reader=_read)
    wanted: list[str] = []
    modified: dict[str, float] = {}
    for path, text, time in _sources(paths, problems):
        progress(f"reading {path}")
        workspace.update(path, text, is_open=False)
        wanted.append(path)
        modified[path] = time
    files = []
    for path in wanted:
        progress(f"analysing {path}")
        files.append(SourceFile(workspace.facts(path)))
    sources = Sources.of(files, _reader(workspace))
    reports = _reports(request, root, wanted, settings, problems, progress)
    snapshot = Snapshot.of(reports=(), settings=settings, trust="trusted").with_sources(sources)
    for file in files:
        history = snapshot.history.seen(file.facts, modified[file.facts.path])
        snapshot = snapshot.with_history(history)
    architectures = _architectures(request, root, settings, reports)
    problems.lines += architectures.problems
    if request.compile:
        reports += compiled(request, root, settings, architectures, wanted, problems, progress)
    snapshot = snapshot.with_architectures(architectures).with_reports(tuple(reports))
    snapshot = snapshot.with_measured(_measured(root, settings, problems))
    snapshot = _with_opting_in(snapshot, root, workspace, wanted)
    return Project(root, snapshot, tuple(wanted), tuple(dict.fromkeys(problems.lines)))


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
    for file in _walk(root):
        path = os.path.abspath(file)  # noqa: PTH100
        text = None if path in sources.files else _read(path)
        if text is not None and _OPTS_IN.search(text):
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
    loaded = load(sources)
    problems.lines += loaded.problems
    return loaded.settings, problems


def _sources(paths: Iterable[Path], problems: _Problems) -> Iterator[tuple[str, bytes, float]]:
    """The files to look at: (path, text, modified)."""
    seen: set[str] = set()
    for path in paths:
        is_asked_for = path.is_file()
        for file in [path] if is_asked_for else sorted(_walk(path)):
            name = os.path.abspath(file)  # noqa: PTH100
            if name in seen:
                continue
            seen.add(name)
            try:
                status = file.stat()
                text = file.read_bytes() if status.st_size <= MAX_BYTES else None
            except OSError as error:
                problems.lines.append(f"{file}: {error.strerror}; it is left out")
                continue
            if text is None:
                problems.lines.append(f"{file}: above {MAX_BYTES >> 20} MiB; it is left out")
            elif is_asked_for or file.suffix in CUDA or _LAUNCHES.search(text):
                yield name, text, status.st_mtime


def _walk(folder: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            if Path(name).suffix in CUDA | OTHER:
                yield Path(directory) / name


def _read(path: str) -> bytes | None:
    try:
        file = Path(path)
        return file.read_bytes() if file.stat().st_size <= MAX_BYTES else None
    except OSError:
        return None


def _reader(workspace: Workspace) -> Callable[[str], SourceFile | None]:
    """Files with their text, the last few kept: findings of one file ask for it often."""
    kept: dict[str, SourceFile] = {}

    def read(path: str) -> SourceFile | None:
        found = kept.get(path)
        if found is None:
            text = _read(path)
            if text is None:
                return None
            if len(kept) > 64:
                kept.clear()
            found = kept[path] = SourceFile(workspace.facts(path), text)
        return found

    return read


def _cached(wanted: Iterable[str]) -> Iterator[Report]:
    """What earlier compiles and recorded builds left in the user's cache."""
    from occlsp.reports.cache import Cache

    cache = Cache()
    for path in wanted:
        for result in cache.latest(path):
            yield Report(result.unit, result.entries, result.warnings)


def _reports(
    request: Request,
    root: Path,
    wanted: Sequence[str],
    settings: Settings,
    problems: _Problems,
    progress: Callable[[str], None],
) -> list[Report]:
    from occlsp.reports.discover import discover
    from occlsp.reports.read import read_report

    files = list(request.reports)
    if request.report_folder is not None:
        files += sorted(p for p in request.report_folder.rglob("*") if p.is_file())
    found: list[Report] = []
    if not files:
        files = list(discover(root, settings.reports).files)
        found += _cached(wanted) if not request.compile else ()
    for file in files:
        progress(f"reading {file}")
        report = read_report(file)
        found.append(report)
        if not report.entries:
            problems.lines += [w.message for w in report.warnings if w.entry is None]
    return found


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


def compiled(
    request: Request,
    root: Path,
    settings: Settings,
    architectures: Architectures,
    paths: Sequence[str],
    problems: _Problems,
    progress: Callable[[str], None],
) -> list[Report]:
    """The reports of the units compiled, `jobs` at a time."""
    from occlsp.reports.compile_task import CompileRequest, compile_one
    from occlsp.reports.worker import Control

    units = [path for path in paths if Path(path).suffix == ".cu"]
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
    found = []
    with ThreadPoolExecutor(max(1, request.jobs)) as pool:
        for one, result in zip(
            asked, pool.map(lambda one: compile_one(one, Control()), asked), strict=True
        ):
            progress(f"compiled {one.unit} for {one.arch}")
            if result.entries:
                found.append(Report(result.unit, result.entries, result.warnings))
            elif result.message is not None and result.status not in ("no-entry", "not-for-arch"):
                problems.lines.append(
                    f"{result.unit}: not compiled for {one.arch}: {result.message}"
                )
    return found
