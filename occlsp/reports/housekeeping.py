"""Keeps the cache folder bounded and clean: least recently used first, strays at once."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger("occlsp.cache")

ROOM = 0.8
"""The share of the bound that is left after making room, so that it is not made each time."""
STRAY_SECONDS = 3600.0
"""A temporary file of this age belongs to no writer any more."""
_OURS = {
    "manifests": re.compile(r"[0-9a-f]{40}"),
    "results": re.compile(r"[0-9a-f]{40}\.(report|ptx|cubin)"),
    "notes": re.compile(r"[0-9a-f]{40}"),
    "index": re.compile(r"folder|[0-9a-f]{16}\.[\w-]+"),
}


def sweep(root: Path, max_bytes: int) -> None:
    """Removes strays and foreign files below `root`, then the least recently used beyond
    `max_bytes`. Others may be writing and sweeping at the same time."""
    _remove_strays(root / "tmp")
    _remove_strays(root / "scratch")
    files: list[tuple[float, int, Path]] = []
    total = 0
    for kind, ours in _OURS.items():
        for path, status in _files(root / kind):
            if not ours.fullmatch(path.name):
                log.warning("the foreign file %s in the cache is discarded", path)
                _unlink(path)
                continue
            files.append((status.st_mtime, status.st_size, path))
            total += status.st_size
    if total <= max_bytes:
        return
    for _, size, path in sorted(files, key=lambda file: file[0]):
        if total <= max_bytes * ROOM:
            break
        if path.name != "folder":
            _unlink(path)
            total -= size


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.glob("*/*"):
        with contextlib.suppress(OSError):
            yield path, path.lstat()


def _remove_strays(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if _is_stray(path):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    _unlink(path)


def _is_stray(path: Path) -> bool:
    """Names start with the writer's process id; one that runs may still be at it."""
    import psutil  # strays are rare

    owner = path.name.split("-")[0]
    if not owner.isdigit():
        return True
    with contextlib.suppress(OSError):
        is_old = time.time() - path.lstat().st_mtime > STRAY_SECONDS
        return is_old or not psutil.pid_exists(int(owner))
    return False


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
