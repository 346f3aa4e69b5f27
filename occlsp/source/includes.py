"""Which file an `#include` means: what is near first, then the workspace, never the toolkit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

USUAL_FOLDERS = ("", "include", "inc", "src", "source", "csrc", "common", "Common", "common/inc")
"""Folders below a workspace's root where headers are kept, tried after the `-I` ones."""

UNITS = (".cu", ".cpp", ".cc", ".cxx", ".c")
"""Translation units: nobody includes them, so that what is internal to one is called there."""
HEADER_SUFFIXES = frozenset({".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".ipp", ".tpp"})
NOT_ENTERED = ("/usr/include/", "/usr/local/cuda", "/opt/cuda", "/usr/lib/")
"""System and toolkit headers: what they define is known to the model, not read."""

_WRITTEN = re.compile(rb'#[ \t]*include\s*(?:"([^"\r\n]+)"|<([^>\r\n]+)>)')


def written_includes(text: bytes) -> list[str]:
    """The targets of all that reads as an `#include`, in comments too: the real ones, and more."""
    found = (quoted or angled for quoted, angled in _WRITTEN.findall(text))
    return list(dict.fromkeys(target.decode("utf-8", "replace") for target in found))


class IncludeResolver:
    """Resolves includes against the including file's folder, `-I` folders and the workspace."""

    def __init__(
        self,
        root: str | None,
        include_dirs: Sequence[str],
        exists: Callable[[str], bool],
    ) -> None:
        self._dirs = [os.path.abspath(path) for path in include_dirs]  # noqa: PTH100 -- no links
        if root is not None:
            self._dirs += [os.path.normpath(os.path.join(root, d)) for d in USUAL_FOLDERS]  # noqa: PTH118
        self._exists = exists
        self._paths: set[str] = set()
        self._named: dict[str, set[str]] = {}
        """The same by the last part of each."""
        self._cache: dict[str, dict[str, str | None]] = {}
        """Folder → what targets mean there."""
        self._shared: dict[str, str | None] = {}
        self.generation = 0
        """Counts the changes of what is known: resolutions hold within one generation."""

    def add(self, path: str) -> None:
        """Makes a file of the workspace findable by the end of its path."""
        if path not in self._paths:
            self._paths.add(path)
            self._named.setdefault(os.path.basename(path), set()).add(path)  # noqa: PTH119
            self._changed()

    def known(self) -> list[str]:
        """The files of the workspace."""
        return list(self._paths)

    def remove(self, path: str) -> None:
        """Forgets a file."""
        self._paths.discard(path)
        self._named.get(os.path.basename(path), set()).discard(path)  # noqa: PTH119
        self._changed()

    def _changed(self) -> None:
        self._cache.clear()
        self._shared.clear()
        self.generation += 1

    def resolve(self, target: str, source: str) -> str | None:
        """The file that `#include "target"` in `source` means; None where it is not in view."""
        return self.resolve_all((target,), source)[0]

    def resolve_all(self, targets: Sequence[str], source: str) -> list[str | None]:
        """As `resolve`, for each of a file's targets."""
        folder = os.path.dirname(source)  # noqa: PTH120
        known = self._cache.setdefault(folder, {})
        for target in targets:
            if target not in known:
                known[target] = self._resolve(target, folder)
        return [known[target] for target in targets]

    def _resolve(self, target: str, folder: str) -> str | None:
        if not target or "\0" in target:
            return None
        path = self._below(folder, target) or self._in_folders(target)
        if path is not None:
            return None if path.startswith(NOT_ENTERED) else path
        return self._by_end(target, folder)

    def _below(self, folder: str, target: str) -> str | None:
        path = os.path.normpath(os.path.join(folder, target))  # noqa: PTH118
        return path if path in self._paths or self._exists(path) else None

    def _in_folders(self, target: str) -> str | None:
        """The file in one of the folders that are the same for every source."""
        if target not in self._shared:
            found = (self._below(folder, target) for folder in self._dirs)
            self._shared[target] = next((path for path in found if path is not None), None)
        return self._shared[target]

    def _by_end(self, target: str, folder: str) -> str | None:
        """The one workspace file whose path ends like this; the nearest of several, if one is."""
        wanted = [part for part in target.split("/") if part not in ("", ".", "..")]
        if not wanted or os.path.isabs(target):  # noqa: PTH117
            return None
        end = "/".join(("", *wanted)).replace("/", os.sep)
        found = [path for path in self._named.get(wanted[-1], ()) if path.endswith(end)]
        if len(found) <= 1:
            return found[0] if found else None
        shared = {path: _shared_folders(path, folder) for path in found}
        best = max(shared.values())
        nearest = [path for path, count in shared.items() if count == best]
        return nearest[0] if len(nearest) == 1 else None


def _shared_folders(path: str, folder: str) -> int:
    """How many folders lead to both."""
    above = folder.split(os.sep)  # noqa: PTH206
    pairs = zip(path.split(os.sep), above, strict=False)  # noqa: PTH206
    return next((count for count, (one, other) in enumerate(pairs) if one != other), len(above))
