"""Scans folders for CUDA sources, over the cores that there are.

Workers parse and evaluate; what they hand back is small (no texts) and goes into one
`Workspace`, which joins what only the whole knows: instantiations, callers, launches elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from occlsp.source.entries import MAX_FILE, Entry
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
CHUNK = 12


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
) -> Iterator[Scanned]:
    """Reads every CUDA source below `paths`; yields each as it is done, headers entered too.

    `jobs` processes (default: the cores there are); 1 works in this process.
    """
    files: list[str] = []
    for path, error in source_files(paths):
        if error is None:
            files.append(path)
        else:
            yield Scanned(path, None, error)
    known = [*files, *islice(includable_files(paths), MAX_FILES)]
    settings = (root, tuple(include_dirs), dict(defines or {}), known)
    workers = min(jobs or _cores(), max(1, len(files) // CHUNK))
    chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
    if workers <= 1:
        _start(*settings)
        for chunk in chunks:
            yield from _read(chunk)
        return
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_start, initargs=settings
    ) as pool:
        seen: set[str] = set()
        for found in pool.map(_read, chunks):
            for item in found:
                if item.is_source or item.path not in seen:
                    seen.add(item.path)
                    yield item


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


_worker: Workspace | None = None
_sent: set[str] = set()


def _start(
    root: str | None, include_dirs: Sequence[str], defines: dict[str, str], known: list[str]
) -> None:
    """A worker's own workspace: it knows where the others' files are, and reads what it needs."""
    global _worker
    _worker = Workspace(root, include_dirs, defines)
    _worker.add_known(known)
    _sent.clear()


def _read(paths: list[str]) -> list[Scanned]:
    assert _worker is not None
    found: list[Scanned] = []
    for path in paths:
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            found.append(Scanned(path, None, f"cannot be read: {error.strerror}"))
            continue
        if len(text) > MAX_FILE:
            found.append(Scanned(path, None, f"is larger than {MAX_FILE >> 20} MiB: not read"))
            continue
        try:
            _worker.update(path, text, is_open=False)
            found.append(Scanned(path, _worker.entry(path)))
        except Exception as error:  # a fault in one file costs that one
            why = f"cannot be analysed ({type(error).__name__}: {error})"
            found.append(Scanned(path, None, why))
    sources = {item.path for item in found}
    for path in _worker.loaded() - _sent - sources:
        found.append(Scanned(path, _worker.entry(path, evaluate=False), is_source=False))
        _sent.add(path)
    return found


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
    return workspace, errors
