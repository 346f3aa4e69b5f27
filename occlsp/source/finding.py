"""The CUDA sources and headers below folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from occlsp.source.entries import read_file
from occlsp.source.includes import HEADER_SUFFIXES, UNITS

CUDA_SUFFIXES = frozenset({".cu", ".cuh"})
OTHER_SUFFIXES = HEADER_SUFFIXES.union(UNITS) - CUDA_SUFFIXES
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
    text = read_file(path)
    return text is not None and any(word in text for word in _CUDA_WORDS)
