"""The sources that `occlsp check` was asked about: found, and read in parallel."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from occlsp.analysis.sources import SourceFile
from occlsp.source.entries import MAX_FILE, read_file
from occlsp.source.facts import FileFacts
from occlsp.source.finding import MAX_FILES, includable_files
from occlsp.source.scanning import not_analysed, read_all
from occlsp.source.store import Store
from occlsp.source.workspace import Workspace

CUDA = frozenset({".cu", ".cuh"})
CXX = frozenset({".c", ".cc", ".cpp", ".cxx"})
OTHER = CXX | {".h", ".hh", ".hpp", ".hxx", ".inl", ".inc"}
_LAUNCHES = (b"__global__", b"<<<", b"LaunchKernel", b"cudaLaunch", b"FuncSetAttribute")
_SUFFIXES = tuple(CUDA | OTHER)
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
    left = dict(times)
    is_whole = False
    try:
        for done, (path, why) in enumerate(read_all(workspace, list(times), jobs, store), 1):
            if why is not None:
                read.leave_out(path, why)
                del left[path]
            progress(f"analysing {path}", done, len(times))
        is_whole = True
    finally:
        for path in left:
            if is_whole or workspace.is_current(path):
                _tell(read, path, times[path])


def _tell(read: Read, path: str, modified: float) -> None:
    try:
        read.facts[path] = read.workspace.facts(path)
        read.modified[path] = modified
    except Exception as error:  # a fault in one file costs that one
        read.leave_out(path, not_analysed(error))


def _found(paths: Iterable[Path], read: Read) -> Iterator[tuple[str, float]]:
    """The files to look at: (path, modified)."""
    seen: set[str] = set()
    for path in paths:
        is_asked_for = not path.is_dir()
        found = [str(path)] if is_asked_for else walk(path, read)
        for file in sorted(found, key=lambda name: name.split(os.sep)):  # noqa: PTH206
            name = os.path.abspath(file)  # noqa: PTH100
            if name in seen:
                continue
            seen.add(name)
            is_cuda = file.endswith(tuple(CUDA))
            try:
                status = os.stat(file)  # noqa: PTH116 -- of thousands
                if not stat.S_ISREG(status.st_mode):  # a pipe would block
                    read.leave_out(Path(file), "not a file")
                    continue
                is_read = is_asked_for or is_cuda or status.st_size > MAX_FILE
                text = b"" if is_read else _content(file)
            except OSError as error:
                # A link to nothing is told where it is for CUDA: editors leave hidden ones, too.
                is_missed = is_cuda and not os.path.basename(file).startswith(".")  # noqa: PTH119
                if is_asked_for or is_missed or not isinstance(error, FileNotFoundError):
                    read.leave_out(Path(file), error.strerror or str(error))
                continue
            if status.st_size > MAX_FILE:
                read.leave_out(Path(file), f"above {MAX_FILE >> 20} MiB")
            elif is_read or any(word in text for word in _LAUNCHES):
                yield name, status.st_mtime


def _content(file: str) -> bytes:
    with open(file, "rb", buffering=0) as source:  # noqa: PTH123 -- of thousands
        return source.readall()


def walk(folder: Path, read: Read | None = None) -> Iterator[str]:
    """Sources below a folder, those without CUDA included; `read` hears of unreadable folders."""

    def tell(error: OSError) -> None:
        if read is not None:
            read.leave_out(error.filename, error.strerror or str(error))

    for directory, folders, names in os.walk(folder, onerror=tell):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            if name.endswith(_SUFFIXES) and os.path.splitext(name)[1]:  # noqa: PTH122
                yield os.path.join(directory, name)  # noqa: PTH118


def reader(read: Read) -> Callable[[str], SourceFile | None]:
    """Files with their text, the last few kept: findings of one file ask for it often."""
    kept: dict[str, SourceFile] = {}

    def file(path: str) -> SourceFile | None:
        found = kept.get(path)
        if found is None:
            text = read_file(path)
            if text is None:
                return None
            if len(kept) > 64:
                kept.clear()
            facts = read.facts.get(path) or read.workspace.facts(path)
            found = kept[path] = SourceFile(facts, text)
        return found

    return file
