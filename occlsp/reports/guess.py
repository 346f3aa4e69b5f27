"""Where the headers of a unit without compile commands may be, and who includes a fragment."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

FOLDER_NAMES = frozenset({"include", "inc", "common", "src", "csrc"})
"""In any case; of every folder from the unit's up to the workspace's root."""
MAX_FILES = 200_000
LISTING_SECONDS = 1.0
MAX_INCLUDERS_READ = 300
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})
_SUFFIXES = frozenset(
    {".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ".cu", ".cpp", ".cc", ""}
)
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def guessed_folders(unit: Path, root: Path) -> list[Path]:
    """Folders that headers of `unit` are likely in, nearest first; only such as exist."""
    found = [unit.parent]
    for parent in _parents(unit, root):
        found.extend(_named_like_includes(parent))
    return list(dict.fromkeys([*found, root]))


def _parents(unit: Path, root: Path) -> Iterator[Path]:
    for parent in unit.parents:
        yield parent
        if parent == root or not parent.is_relative_to(root):
            return


def _named_like_includes(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if e.name.lower() in FOLDER_NAMES and e.is_dir()]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


class WorkspaceFiles:
    """The workspace's sources and headers, to be found by how an include ends.

    `known_files`: where they have been listed already; else the folder is walked at the first
    question (links are not followed; at most `MAX_FILES`).
    """

    def __init__(self, root: Path, known_files: Iterable[Path] | None = None) -> None:
        self._root = root
        self._given = known_files
        self._by_name: dict[str, list[Path]] | None = None

    def _files(self) -> dict[str, list[Path]]:
        if self._by_name is None:
            given = self._given
            self._by_name = _listing(self._root) if given is None else _by_name(given)
        return self._by_name

    def folder_for(self, target: str, unit: Path) -> Path | None:
        """The folder that makes `#include "target"` resolve: the nearest to `unit`."""
        parts = [part for part in PurePosixPath(target).parts if part not in ("..", ".")]
        if not parts:
            return None
        tail = tuple(parts)
        matching = [p for p in self._files().get(tail[-1], ()) if p.parts[-len(tail) :] == tail]
        if not matching:
            return None
        best = min(matching, key=lambda path: (_distance(path, unit), len(path.parts), str(path)))
        up = len(tail) if parts == list(PurePosixPath(target).parts) else 1
        return best.parents[up - 1]

    def includers(self, unit: Path) -> Iterator[Path]:
        """The `.cu` files that include `unit`, nearest first, by resolved path."""
        sources = [p for paths in self._files().values() for p in paths if p.suffix == ".cu"]
        sources.sort(key=lambda path: (_distance(path, unit), str(path)))
        name = unit.name.encode("utf-8", "surrogateescape")
        for source in sources[:MAX_INCLUDERS_READ]:
            if source != unit and name in (content := _read(source)):
                targets = (t.decode("utf-8", "surrogateescape") for t in _INCLUDE.findall(content))
                if any(_is_same(source.parent / target, unit) for target in targets):
                    yield source


_last: list[tuple[float, Path, dict[str, list[Path]]]] = []


def _listing(root: Path) -> dict[str, list[Path]]:
    """The files of `root` by name, walked again after a second: a whole workspace is asked about
    one unit after the other."""
    for when, folder, known in _last:
        if folder == root and time.monotonic() - when < LISTING_SECONDS:
            return known
    made = _by_name(_walk(root))
    _last[:] = [(time.monotonic(), root, made)]
    return made


def _by_name(paths: Iterable[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in paths:
        found.setdefault(path.name, []).append(path)
    return found


def _walk(root: Path) -> Iterator[Path]:
    count = 0
    waiting = deque([root])
    while waiting:
        folder = waiting.popleft()
        try:
            with os.scandir(folder) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in children:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _SKIPPED:
                    waiting.append(Path(entry.path))
            elif Path(entry.name).suffix.lower() in _SUFFIXES:
                yield Path(entry.path)
                count += 1
                if count >= MAX_FILES:
                    return


def _distance(path: Path, unit: Path) -> int:
    """Steps from one file's folder to the other's, through the folder that holds both."""
    common = 0
    for one, other in zip(path.parent.parts, unit.parent.parts, strict=False):
        if one != other:
            break
        common += 1
    return len(path.parent.parts) + len(unit.parent.parts) - 2 * common


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 20)
    except OSError:
        return b""


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
