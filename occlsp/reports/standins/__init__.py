"""Headers of our own that stand in for libraries' host headers where those are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path, PurePosixPath

from occlsp.reports.includes import included, included_by

_TORCH = frozenset({"torch", "ATen", "c10", "pybind11", "THC", "caffe2"})
_LIBRARIES = {
    **dict.fromkeys(_TORCH, "torch.h"),
    "gtest": "gtest.h",
    "catch2": "catch2.h",
    "fmt": "fmt.h",
    "opencv2": "opencv.h",
    "cvconfig.h": "opencv.h",
    "opencv2/ts": "opencv_ts.h",
    "opencv2/ts.hpp": "opencv_ts.h",
}
"""By how an include begins: its first part, or its first two."""
_CUDA_LIBRARY = re.compile(
    r"(?:cublas|cusparse|cusolver|cufft|cudnn|cutensor|nccl|nvml|npp|nvjpeg)\w*\.h$|curand\.h$"
)
"""Their host headers, not those with device code (`curand_kernel.h`)."""
_OPENCV = ("opencv.h", "opencv_core.h", "opencv_pixels.h")
_PARTS = {"opencv.h": _OPENCV, "opencv_ts.h": (*_OPENCV, "gtest.h")}
"""What the headers of ours include of each other."""
_DEPTH = 8
"""How many `../` of a missing include stay inside the folder."""


def write_standins(missing: list[str], folder: Path) -> Path:
    """Writes a header for each include of `missing`; the folder to search for them.

    Those of libraries that we know get what kernels need of them, all others are empty. Raises
    OSError.
    """
    search = folder.joinpath(*(["in"] * _DEPTH))
    search.mkdir(parents=True, exist_ok=True)
    for target in missing:
        path = _inside(folder, search, target)
        if path is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        library = _library(target)
        if library is None:
            path.touch()
            continue
        for header in {library, *_PARTS.get(library, ())}:
            if not (folder / header).exists():
                (folder / header).write_bytes(files(__package__).joinpath(header).read_bytes())
        path.write_text(f'#include "{folder / library}"\n', "utf-8")
    return search


def replaceable(paths: Iterable[str], text: bytes | None = None) -> list[str]:
    """PyTorch's headers that the files outside PyTorch (and `text`) include: those that have
    stand-ins which are enough for kernels, and compile in a tenth of the time."""
    own = (path for path in paths if _TORCH.isdisjoint(PurePosixPath(path).parts))
    names = dict.fromkeys(included(text or b"")) | included_by(own)
    return [name for name in names if _library(name) == "torch.h"]


def are_known(missing: Iterable[str]) -> bool:
    """Whether the stand-ins for all of `missing` are those of libraries that we know."""
    return all(_library(target) is not None for target in missing)


def _library(target: str) -> str | None:
    """The header of ours for an include of a library that we know."""
    if _CUDA_LIBRARY.match(target):
        return "cudalibs.h"
    parts = PurePosixPath(target).parts
    return _LIBRARIES.get("/".join(parts[:2])) or _LIBRARIES.get(parts[0] if parts else "")


def _inside(folder: Path, search: Path, target: str) -> Path | None:
    """The path of an include below `folder`; None for one that would leave it."""
    parts = list(search.parts)
    for part in PurePosixPath(target).parts:
        if part == "..":
            if len(parts) <= 1:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    path = Path(*parts)
    return path if path.is_relative_to(folder) and path != folder else None
