"""Headers of our own that stand in for libraries' host headers where those are missing."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path, PurePosixPath

_TORCH = frozenset({"torch", "ATen", "c10", "pybind11", "THC", "caffe2"})
_DEPTH = 8
"""How many `../` of a missing include stay inside the folder."""


def write_standins(missing: list[str], folder: Path) -> Path:
    """Writes a header for each include of `missing`; the folder to search for them.

    PyTorch's get what kernels need of them, all others are empty. Raises OSError.
    """
    search = folder.joinpath(*(["in"] * _DEPTH))
    search.mkdir(parents=True, exist_ok=True)
    torch = folder / "torch.h"
    for target in missing:
        path = _inside(folder, search, target)
        if path is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if PurePosixPath(target).parts[0] in _TORCH:
            if not torch.exists():
                torch.write_bytes(files(__package__).joinpath("torch.h").read_bytes())
            path.write_text(f'#include "{torch}"\n', "utf-8")
        else:
            path.touch()
    return search


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
