"""The other units of a folder that holds a program: who calls its functions is there, or nowhere.

// kernels.cu                                 // main.cpp, beside it
void run(dim3 block) { k<<<1, block>>>(); }   int main() { run(dim3(16, 16)); }

Such a folder has a few units, and a `main` in one of them. They are read only where it is asked
for the callers of one of its functions, and parsed only where they name it. They are kept apart
from the workspace's files: most are plain C++, of which no fact is told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from occlsp.source.callers import Elsewhere
from occlsp.source.includes import UNITS

if TYPE_CHECKING:
    from occlsp.source.entries import Entry
    from occlsp.source.workspace import Workspace

MAX_UNITS = 32
"""Units of one folder: with more, it is a library's."""
MAX_UNIT = 1 << 20
"""Bytes of a unit that is parsed for the calls in it."""
MAX_KEPT = 4_096
"""What is kept of contents that were looked at."""
_MAIN = re.compile(rb"\bint\s+main\s*\(")
_EXTERN = re.compile(rb"\bextern\b[^;{}()\"]*?(\w+)\s*(?:\[[^\];]*\]\s*)?;")
"""A variable that another unit defines."""

Seen = tuple[tuple[str, str, object], ...]
"""What was seen: of which file or folder, what (a name, where it was looked whether the file names
it), and how that was."""
_TEXT, _MAIN_IN, _EXTERNS = "the text", "a main", "its externs"


class Beside:
    """The units beside those of a workspace, as they are in the editor, or on the disk."""

    def __init__(
        self,
        find: Callable[[str], Entry | None],
        reader: Callable[[str], bytes | None],
        make: Callable[[Beside], Workspace],
        forget: Callable[[], None],
    ) -> None:
        """`find` gives the workspace's files; `make` a workspace that reads with this; `forget` is
        called where what was found in these units holds no more."""
        self._find = find
        self._reader = reader
        self._make = make
        self._forget = forget
        self._workspace: Workspace | None = None
        self._digests: dict[str, tuple[tuple[int, int], bytes]] = {}
        """What was there when it was last looked, with the time and the size."""
        self._externs: dict[str, frozenset[str]] = {}
        """The variables that the units of a folder share, as far as they were asked."""
        self._declared: dict[bytes, frozenset[str]] = {}
        """Those that a file with this content declares, which are another's."""
        self._programs: dict[str, Sequence[str]] = {}
        self._naming: dict[tuple[bytes, str], bool] = {}
        """Whether a file with this content names something."""
        self._looked_at: dict[tuple[str, str], object] = {}

    def begin(self) -> None:
        """Begins to take down what is looked at, all of which may have changed."""
        self._looked_at, self._programs = {}, {}
        for kept in (self._naming, self._declared):
            if len(kept) > MAX_KEPT:
                kept.clear()  # each edit of an open file makes another content

    def looked_at(self) -> Seen:
        """All that was looked at since `begin`."""
        return tuple([(*key, how) for key, how in self._looked_at.items()])

    def is_same(self, seen: Seen) -> bool:
        """Whether all that was looked at is as it was."""
        return all(self._now(path, what) == how for path, what, how in seen)

    def _look_at(self, path: str, what: str) -> Any:
        key = path, what
        if key not in self._looked_at:  # what is there counts as of when it was first looked at
            self._looked_at[key] = self._now(path, what)
        return self._looked_at[key]

    def _now(self, path: str, what: str) -> object:
        digest = self.digest(path)
        if what == _TEXT:
            return digest
        if what == _EXTERNS:
            if digest not in self._declared:
                text = self.read(path) or b""
                found = _EXTERN.findall(text) if b"extern" in text else ()
                self._declared[digest] = frozenset(one.decode() for one in found)
            return self._declared[digest]
        if (digest, what) not in self._naming:
            self._naming[digest, what] = _says(self.read(path) or b"", what)
        return self._naming[digest, what]

    def calling(self, path: str, name: str) -> list[Elsewhere] | None:
        """The units beside a file that may call a function; None where they are no program."""
        folder = os.path.dirname(path)  # noqa: PTH120
        units = self._program(folder)
        found = [unit for unit in units if unit != path and self._look_at(unit, name)]
        if not units or any(len(self.read(unit) or b"") > MAX_UNIT for unit in found):
            return None
        workspace = self._workspace = self._workspace or self._make(self)
        reached = {one for unit in found for one in workspace.reach(unit)}
        for one in reached:
            self._look_at(one, _TEXT)
        shared = self._shared(reached.union(units))
        if self._externs.setdefault(folder, shared) != shared:
            workspace = self._workspace = self._make(self)
            self._externs = {folder: shared}
            self._forget()
            for unit in found:
                workspace.reach(unit)
        workspace.shared |= shared
        state = blake2b(" ".join(sorted(shared)).encode(), digest_size=16).digest()
        return [one._replace(key=one.key + state) for one in map(workspace.caller, found)]

    def externs(self, path: str, included: Sequence[str]) -> frozenset[str]:
        """The variables that a unit may share with others in its folder, as far as they say it, or
        the headers there that it includes."""
        folder = os.path.dirname(path)  # noqa: PTH120
        headers = {one for one in included if os.path.dirname(one) == folder}  # noqa: PTH120
        return self._shared(headers.union(self._listed(folder)) - {path})

    def _shared(self, files: Iterable[str]) -> frozenset[str]:
        """The variables of others that files declare."""
        return frozenset().union(*(self._look_at(path, _EXTERNS) for path in files))

    def _program(self, folder: str) -> Sequence[str]:
        """The units of a folder that holds a program; none of another."""
        if folder not in self._programs:
            units = self._listed(folder)
            is_program = any(self._look_at(unit, _MAIN_IN) for unit in units)
            self._programs[folder] = units if is_program else ()
            if is_program and self._workspace and self._workspace.refresh(self.digest):
                self._forget()
        return self._programs[folder]

    def _listed(self, folder: str) -> list[str]:
        """The units of a folder; none where they are many."""
        self._look_at(folder, _TEXT)
        units = [os.path.join(folder, name) for name in _units(folder)]  # noqa: PTH118
        return units if len(units) <= MAX_UNITS else []

    def read(self, path: str) -> bytes | None:
        """A file's text."""
        file = self._open(path)
        return file.syntax.text if file is not None and file.syntax else self._reader(path)

    def known(self, path: str, digest: bytes) -> Entry | None:
        """A file with this content as the workspace has read it."""
        file = self._find(path)
        if file is None or file.digest != digest:
            return None
        return file.handed_on(local=None, facts=None, is_open=False)

    def digest(self, path: str) -> bytes:
        """A digest of a file's text, or of the names of a folder's units."""
        file = self._open(path)
        if file is not None:
            return file.digest
        try:
            status = os.stat(path)  # noqa: PTH116
        except OSError:
            return b""
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._digests.get(path)
        if known is None or known[0] != stamp:
            known = self._digests[path] = (
                stamp,
                blake2b(self._content(path), digest_size=16).digest(),
            )
        return known[1]

    def _content(self, path: str) -> bytes:
        if os.path.isdir(path):  # noqa: PTH112
            return "\0".join(_units(path)).encode("utf-8", "surrogateescape")
        return self._reader(path) or b""

    def _open(self, path: str) -> Entry | None:
        file = self._find(path)
        return file if file is not None and file.is_open else None


def _says(text: bytes, what: str) -> bool:
    """Whether a text has a `main`, or a name."""
    if what == _MAIN_IN:
        return b"main" in text and _MAIN.search(text) is not None
    name = what.encode()
    return name in text and re.search(rb"\b%b\b" % name, text) is not None


def _units(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(UNITS))  # noqa: PTH208
    except OSError:
        return []
