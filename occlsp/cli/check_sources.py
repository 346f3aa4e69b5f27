"""The sources that `occlsp check` was asked about: found, parsed and evaluated in parallel."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from occlsp.analysis.sources import SourceFile
from occlsp.cli.check_pool import spread
from occlsp.source.facts import FileFacts
from occlsp.source.scanning import MAX_FILES, enter_all, includable_files
from occlsp.source.store import Store
from occlsp.source.workspace import Workspace

CUDA = frozenset({".cu", ".cuh"})
CXX = frozenset({".c", ".cc", ".cpp", ".cxx"})
OTHER = CXX | {".h", ".hh", ".hpp", ".hxx", ".inl", ".inc"}
MAX_BYTES = 16 << 20
CHUNK = 8
"""Files that one process evaluates at a time: neighbours, which share what they look at."""
_LAUNCHES = re.compile(rb"__global__|<<<|LaunchKernel|cudaLaunch|FuncSetAttribute")
Progress = Callable[[str, int, int], None]
"""What is done, how many of how many."""


@dataclass(slots=True)
class Read:
    """What was read; short where it was interrupted."""

    workspace: Workspace
    facts: dict[str, FileFacts] = field(default_factory=dict)
    modified: dict[str, float] = field(default_factory=dict)
    """Seconds since the epoch, by path."""
    problems: list[str] = field(default_factory=list)
    is_short: bool = False
    """Something that was asked about could not be read."""

    def leave_out(self, path: object, why: str) -> None:
        """Says that a file is missing from what was read."""
        self.problems.append(f"{path}: {why}; it is left out")
        self.is_short = True


def read_sources(
    read: Read, paths: Iterable[Path], jobs: int, progress: Progress, store: Store
) -> None:
    """Reads the sources at `paths` into `read`, which is of use however far this came.

    What `store` has of them from an earlier run is not read again."""
    workspace = read.workspace
    places = list(paths)
    times = dict(_found(places, read))
    # All names are known before an include is looked up.
    workspace.add_known(times)
    workspace.add_known(islice(includable_files(list(map(str, places))), MAX_FILES))
    progress(f"reading {len(times)} files", 0, 0)
    errors = dict(enter_all(workspace, list(times), jobs))
    for path, why in errors.items():
        read.leave_out(path, why)
    wanted = [path for path in times if path not in errors]
    read.modified.update((path, times[path]) for path in wanted)
    headers = workspace.loaded().difference(wanted)
    store.keep((path, workspace.entry(path, evaluate=False)) for path in headers)
    left = [path for path in wanted if not workspace.is_current(path)]
    chunks = [left[at : at + CHUNK] for at in range(0, len(left), CHUNK)]
    for chunk, result in spread(_evaluate, chunks, jobs, _start, (workspace, store)):
        found = dict.fromkeys(chunk, str(result)) if isinstance(result, Exception) else result
        for path in chunk:
            facts = found[path]
            if isinstance(facts, str):
                read.leave_out(path, facts)
            else:
                read.facts[path] = facts
        progress(f"analysing {chunk[-1]}", len(read.facts), len(wanted))
    _start(workspace, store)
    for path in set(wanted).difference(left):
        facts = _facts(path)
        if isinstance(facts, str):
            read.leave_out(path, facts)
        else:
            read.facts[path] = facts


_workspace = Workspace(reader=None)
_store: Store | None = None


def _start(workspace: Workspace, store: Store) -> None:
    global _workspace, _store
    _workspace, _store = workspace, store


def _evaluate(paths: Sequence[str]) -> dict[str, FileFacts | str]:
    assert _store is not None
    found = {path: _facts(path) for path in paths}
    read = [path for path, facts in found.items() if isinstance(facts, FileFacts)]
    _store.keep((path, _workspace.entry(path)) for path in read)
    return found


def _facts(path: str) -> FileFacts | str:
    try:
        return _workspace.facts(path)
    except Exception as error:
        return _why(error)


def _why(error: Exception) -> str:
    return f"cannot be analysed ({type(error).__name__}: {error})"


def _found(paths: Iterable[Path], read: Read) -> Iterator[tuple[str, float]]:
    """The files to look at: (path, modified)."""
    seen: set[str] = set()
    for path in paths:
        is_asked_for = not path.is_dir()
        for file in [path] if is_asked_for else sorted(walk(path, read)):
            name = os.path.abspath(file)  # noqa: PTH100
            if name in seen:
                continue
            seen.add(name)
            try:
                status = file.stat()
                if not stat.S_ISREG(status.st_mode):  # a pipe would block
                    read.leave_out(file, "not a file")
                    continue
                text = file.read_bytes() if status.st_size <= MAX_BYTES else None
            except OSError as error:
                # A link to nothing is told where it is for CUDA: editors leave hidden ones, too.
                is_missed = file.suffix in CUDA and not file.name.startswith(".")
                if is_asked_for or is_missed or not isinstance(error, FileNotFoundError):
                    read.leave_out(file, error.strerror or str(error))
                continue
            if text is None:
                read.leave_out(file, f"above {MAX_BYTES >> 20} MiB")
            elif is_asked_for or file.suffix in CUDA or _LAUNCHES.search(text):
                yield name, status.st_mtime


def walk(folder: Path, read: Read | None = None) -> Iterator[Path]:
    """Sources below a folder, those without CUDA included; `read` hears of unreadable folders."""

    def tell(error: OSError) -> None:
        if read is not None:
            read.leave_out(error.filename, error.strerror or str(error))

    for directory, folders, names in os.walk(folder, onerror=tell):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            if Path(name).suffix in CUDA | OTHER:
                yield Path(directory) / name


def text_of(path: str) -> bytes | None:
    """A file's bytes; None where it cannot be read or is too large."""
    try:
        file = Path(path)
        return file.read_bytes() if file.stat().st_size <= MAX_BYTES else None
    except OSError:
        return None


def reader(read: Read) -> Callable[[str], SourceFile | None]:
    """Files with their text, the last few kept: findings of one file ask for it often."""
    kept: dict[str, SourceFile] = {}

    def file(path: str) -> SourceFile | None:
        found = kept.get(path)
        if found is None:
            text = text_of(path)
            if text is None:
                return None
            if len(kept) > 64:
                kept.clear()
            facts = read.facts.get(path) or read.workspace.facts(path)
            found = kept[path] = SourceFile(facts, text)
        return found

    return file
