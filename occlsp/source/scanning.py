"""Scans folders for CUDA sources, over the cores that there are.

First every file is parsed, once, whoever includes it; then each source is evaluated with all of
them in view. What processes send to another is small (no texts) and goes into one `Workspace`.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from occlsp.source.crew import Crew, cores
from occlsp.source.entries import FOR_GOOD, MAX_FILE, Entry, drop_text, parsed_entry
from occlsp.source.facts import SourceError
from occlsp.source.files import nothing_known
from occlsp.source.local_facts import LocalFacts
from occlsp.source.parse import parse
from occlsp.source.store import Store
from occlsp.source.workspace import Workspace

CUDA_SUFFIXES = frozenset({".cu", ".cuh"})
HEADER_SUFFIXES = frozenset({".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".ipp", ".tpp"})
OTHER_SUFFIXES = HEADER_SUFFIXES - CUDA_SUFFIXES | {".cpp", ".cc", ".cxx", ".c"}
_CUDA_WORDS = (b"__global__", b"<<<", b"LaunchKernel", b"LaunchCooperativeKernel", b"FuncSetA")
_SKIPPED = frozenset({"node_modules", "__pycache__", "CMakeFiles"})
_STANDARD = frozenset(
    f"{name}.h"
    for name in (
        *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
        *("locale", "math", "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool"),
        *("stddef", "stdint", "stdio", "stdlib", "string", "tgmath", "threads", "time", "uchar"),
        *("unistd", "wchar", "wctype"),
    )
)
MAX_FILES = 50_000
MAX_KEPT = 4 << 20
"""Bytes of the texts that are kept from parsing to evaluation; others are read again."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """One file that was read, or why it could not be."""

    path: str
    entry: Entry | None
    error: str | None = None
    is_source: bool = True
    """False for a header that was only entered because a source includes it."""


def source_files(paths: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """The CUDA sources below folders, and named files as they are: (path, why not readable)."""
    seen: set[str] = set()
    for name in paths:
        path = os.path.abspath(name)  # noqa: PTH100 -- links stay as the user wrote them
        if not Path(path).exists():
            yield path, "no such file or folder"
            continue
        found = _below(path) if Path(path).is_dir() else iter([path])
        for file in found:
            if file not in seen and len(seen) < MAX_FILES:
                seen.add(file)
                yield file, None


def _below(folder: str) -> Iterator[str]:
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        for name in sorted(files):
            suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122
            path = os.path.join(base, name)  # noqa: PTH118
            if suffix in CUDA_SUFFIXES or (suffix in OTHER_SUFFIXES and _has_cuda(path)):
                yield path


def includable_files(paths: Sequence[str]) -> Iterator[str]:
    """All headers below folders, which sources may include from anywhere: with CUDA or without.

    Not those that are called as the standard library's are: `<math.h>` means that one.
    """
    for name in paths:
        for base, folders, files in os.walk(os.path.abspath(name)):  # noqa: PTH100
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
            for file in sorted(files):
                suffix = os.path.splitext(file)[1].lower()  # noqa: PTH122
                if suffix in HEADER_SUFFIXES and file not in _STANDARD:
                    yield os.path.join(base, file)  # noqa: PTH118


def _has_cuda(path: str) -> bool:
    """Whether a C++ file holds kernels or launches."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > MAX_FILE:
            return False
        text = file.read_bytes()
    except OSError:
        return False
    return any(word in text for word in _CUDA_WORDS)


def scan_folder(
    paths: Sequence[str],
    *,
    root: str | None = None,
    include_dirs: Sequence[str] = (),
    defines: Mapping[str, str] | None = None,
    jobs: int | None = None,
    store: Store | None = None,
) -> Iterator[Scanned]:
    """Reads every CUDA source below `paths`; yields each as it is done, headers entered too.

    `jobs` processes (default: the cores there are), this one among them. First each file is
    parsed, once, then each source is evaluated with all of them in view: so how many processes
    work on it makes no difference to what is found. `store`: what an earlier run read is taken
    from there, and what this one reads is left there.
    """
    files: list[str] = []
    for path, error in source_files(paths):
        if error is None:
            files.append(path)
        else:
            yield Scanned(path, None, error)
    known = store.find if store is not None else nothing_known
    workspace = Workspace(root, include_dirs, defines, known=known)
    workspace.add_known([*files, *islice(includable_files(paths), MAX_FILES)])
    processes = jobs or cores()
    errors = dict(enter_all(workspace, files, processes))
    for path, error in errors.items():
        yield Scanned(path, None, error)
    done: list[tuple[str, Entry]] = []
    for path, found in _evaluated_all(workspace, [p for p in files if p not in errors], processes):
        scanned = _scanned(workspace, path, found)
        if scanned.entry is not None:
            done.append((path, scanned.entry))
        yield scanned
    for path in sorted(workspace.loaded() - set(files)):
        entry = _as_resolved(workspace.entry(path, evaluate=False))
        done.append((path, entry))
        yield Scanned(path, entry, is_source=False)
    if store is not None:
        store.keep(done)


def _evaluated_all(
    workspace: Workspace, sources: Sequence[str], processes: int
) -> Iterator[tuple[str, Evaluated | str]]:
    """The facts of sources in their order; those that are known still are not looked at."""
    stale = [path for path in sources if not workspace.is_current(path)]
    left = set(stale)
    evaluated: dict[str, Evaluated | str] = {}
    gc.freeze()  # what the children share stays as it is
    try:
        results = Crew(partial(_evaluated, workspace), processes).run(stale)
        for path in sources:
            while path in left and path not in evaluated:
                index, found = next(results)
                evaluated[stale[index]] = found
            yield path, evaluated.pop(path) if path in left else _evaluated(workspace, path)
    finally:
        gc.unfreeze()


def enter_all(
    workspace: Workspace, files: Sequence[str], processes: int
) -> Iterator[tuple[str, str]]:
    """Enters sources with all that they include; yields those that cannot be read, and why."""
    sources = set(files)
    tasks = [Task(path) for path in files if not workspace.recall(path, is_source=True)]
    is_repeated = False
    kept = 0
    while True:
        found: dict[int, Entry | str | None] = {}
        for index, read in Crew(_parsed, processes, _without_text).run(tasks):
            if isinstance(read, Entry) and read.syntax is not None:
                kept += len(read.syntax.text)
                if kept > MAX_KEPT or tasks[index].path not in sources:
                    drop_text(read)
            found[index] = read
        for index, task in enumerate(tasks):
            read = found[index]
            if isinstance(read, Entry):
                workspace.enter(task.path, read, is_source=task.path in sources)
            elif task.path in sources and isinstance(read, str):
                yield task.path, read
            elif not task.aliases:
                workspace.miss(task.path)
        more = workspace.not_entered()
        tasks = [Task(path) for path in more if not workspace.recall(path, is_source=False)]
        if not more and is_repeated:
            return
        if not more:
            is_repeated = True
            tasks = [Task(path, names) for path, names in workspace.aliased().items()]


class Task(NamedTuple):
    """A file to be parsed, and the macros that it sees for `__global__`."""

    path: str
    aliases: frozenset[str] = frozenset()


def _parsed(task: Task) -> Entry | str | None:
    """A file as it is parsed; why it cannot be read, or None where there is nothing to read."""
    try:
        text = Path(task.path).read_bytes()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if len(text) > MAX_FILE:
        return f"is larger than {MAX_FILE >> 20} MiB: not read"
    if task.aliases and not any(name.encode() in text for name in task.aliases):
        return None
    try:
        syntax = parse(text, aliases=task.aliases)
        digest = blake2b(text, digest_size=16).digest()
        entry = parsed_entry(task.path, syntax, digest, task.aliases)
    except Exception as error:  # a fault in one file costs that one
        return _why(error)
    return entry


def _without_text(read: Entry | str | None) -> Entry | str | None:
    if isinstance(read, Entry):
        drop_text(read)
    return read


def _why(error: Exception) -> str:
    return f"cannot be analysed ({type(error).__name__}: {error})"


Evaluated = tuple[LocalFacts | None, bytes, tuple[SourceError, ...]]
"""A file's facts, the state of what they follow from, and its errors."""


def _evaluated(workspace: Workspace, path: str) -> Evaluated | str:
    try:
        local = workspace.local(path)
        entry = workspace.entry(path, evaluate=False)
    except Exception as error:  # a fault in one file costs that one
        return _why(error)
    return local, entry.local_key, entry.errors


def _scanned(workspace: Workspace, path: str, found: Evaluated | str) -> Scanned:
    if isinstance(found, str):
        return Scanned(path, None, found)
    entry = _as_resolved(workspace.entry(path, evaluate=False))
    entry.local, entry.local_key, entry.errors = found
    return Scanned(path, entry)


def _as_resolved(entry: Entry) -> Entry:
    """A file whose includes mean what they mean among all the files of the scan."""
    entry.resolved_at = FOR_GOOD
    return entry


def scanned_workspace(
    found: Iterator[Scanned],
    *,
    root: str | None = None,
    include_dirs: Sequence[str] = (),
    defines: Mapping[str, str] | None = None,
) -> tuple[Workspace, dict[str, str]]:
    """A workspace of all that a scan found, and the files that could not be read."""
    workspace = Workspace(root, include_dirs, defines)
    errors: dict[str, str] = {}
    for item in found:
        if item.entry is not None:
            workspace.adopt(item.path, item.entry, is_source=item.is_source)
        elif item.error is not None:
            errors[item.path] = item.error
    workspace.settle()
    return workspace, errors
