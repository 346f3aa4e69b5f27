"""Finds the files of a workspace that may hold resource numbers: logs, objects, cubins.

Configured, they are what the globs match. Else the outputs that the compile commands name, then
what lies in the usual build folders; bounded in number, size and depth, the newest first. Only
names and times are looked at here: what is in a file, `occlsp.reports.read` tells.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

BUILD_FOLDERS = ("build*", "out", "cmake-build-*")
SUFFIXES = frozenset({".log", ".o", ".obj", ".cubin", ".fatbin"})
MAX_FILES = 500
"""Files that are read, of all that were found."""
MAX_SEEN = 100_000
"""Names that are looked at."""
MAX_DEPTH = 12
MAX_BYTES = 1 << 30
"""Size of the largest file that is read without being asked for by a glob."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """The files to read, newest first, and the folders whose change means new ones."""

    files: tuple[Path, ...]
    folders: tuple[Path, ...]
    left_out: int = 0
    """Files that were found beyond `MAX_FILES`."""


def discover(root: Path, globs: Sequence[str] = (), outputs: Iterable[Path] = ()) -> Discovered:
    """The report files of the workspace at `root`. Globs are relative to it; what cannot be
    looked at is passed over."""
    folders: dict[Path, None] = {}
    if globs:
        found = _matching(root, globs)
    else:
        found = {path: stamp for path in outputs if (stamp := _stamp(path, MAX_BYTES))}
        for folder in _build_folders(root):
            for directory, names in islice(_walk(folder), MAX_SEEN):
                folders[directory] = None
                for name in names:
                    path = directory / name
                    if path.suffix.lower() in SUFFIXES and (stamp := _stamp(path, MAX_BYTES)):
                        found[path] = stamp
    newest = sorted(found, key=lambda path: (-found[path], path))
    folders.update(dict.fromkeys(path.parent for path in newest[:MAX_FILES]))
    return Discovered(tuple(newest[:MAX_FILES]), tuple(folders), max(0, len(newest) - MAX_FILES))


def _matching(root: Path, globs: Sequence[str]) -> dict[Path, float]:
    found: dict[Path, float] = {}
    for pattern in globs:
        # Not `Path.glob`, which takes no absolute pattern.
        matches = glob.iglob(pattern, root_dir=root, recursive=True)  # noqa: PTH207
        for match in islice(matches, MAX_SEEN):
            path = root / match
            if stamp := _stamp(path, None):
                found[path] = stamp
    return found


def _build_folders(root: Path) -> Iterator[Path]:
    for pattern in BUILD_FOLDERS:
        yield from sorted(path for path in root.glob(pattern) if path.is_dir())


def _walk(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Directories and the names in them, without following links; at most so deep."""
    seen = 0
    for directory, directories, names in os.walk(folder):
        path = Path(directory)
        if len(path.relative_to(folder).parts) >= MAX_DEPTH:
            directories.clear()
        directories.sort()
        seen += len(names) + 1
        yield path, names
        if seen > MAX_SEEN:
            return


def _stamp(path: Path, largest: int | None) -> float | None:
    """When a regular file that is not empty was modified; None for anything else."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    is_regular = path.is_file() and status.st_size > 0
    return status.st_mtime if is_regular and (not largest or status.st_size <= largest) else None
