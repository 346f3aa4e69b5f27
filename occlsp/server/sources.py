"""The sources of a folder: open texts here, all others read by the child process.

The child reads the disk and parses, which this process must not; it ships what it made of each
file (declarations and facts, without the text). Open texts are parsed here, on each edit, with
the shipped declarations of what they include in view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from occlsp.analysis.sources import SourceFile
from occlsp.server.scan import Shipped
from occlsp.source.affected import Declared
from occlsp.source.callers import Elsewhere
from occlsp.source.entries import Entry
from occlsp.source.facts import FileFacts
from occlsp.source.local_facts import LocalFacts
from occlsp.source.reuse import Memory, Packed
from occlsp.source.syntax import FileSyntax
from occlsp.source.text import LineIndex
from occlsp.source.view import FileIndex
from occlsp.source.workspace import Workspace

MAX_READ = 4 << 20
"""Bytes of a closed file that is read for an answer that needs its text."""
KEPT = 128
"""Texts of closed files that are kept."""


@dataclass(frozen=True, slots=True)
class _Read:
    """An open text as this process read it."""

    digest: bytes
    aliases: frozenset[str]
    syntax: FileSyntax
    index: FileIndex


class MirroredWorkspace(Workspace):
    """A workspace whose closed files another process reads.

    That process also reads what is open here, as it is on the disk, with all that it includes in
    view; what it finds need not be found here, where each keystroke would wait for it.
    """

    def __init__(
        self, root: str, include_dirs: Sequence[str] = (), defines: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(root, include_dirs, defines, reader=None)
        self._opened: dict[str, _Read] = {}
        """Open files as they were opened."""
        self._told: dict[str, tuple[_Read, Packed]] = {}
        """What the other process found in them."""
        self._unchanged: dict[str, frozenset[str]] = {}
        """Their variables that it knows nothing to change, in the units beside them too."""

    def update(self, path: str, text: bytes, *, is_open: bool = True) -> None:
        super().update(path, text, is_open=is_open)
        if is_open and path not in self._opened and (read := self._read(path)) is not None:
            self._opened[path] = read

    def close(self, path: str) -> None:
        super().close(path)
        for kept in (self._opened, self._told, self._unchanged):
            kept.pop(path, None)

    def _read(self, path: str) -> _Read | None:
        file = self._files[path]
        if file.syntax is None:
            return None
        return _Read(file.digest, file.aliases, file.syntax, file.index)

    def take(self, path: str, entry: Entry, memory: Packed | None = None) -> None:
        """Takes over a file, unless it is open here: then its text here counts. `memory` is what
        the other process keeps of it (`Memory.unpacked`)."""
        known = self._files.get(path)
        if known is None or not known.is_open:
            self.adopt(path, entry)
            return
        for read in (self._read(path), self._opened.get(path)):
            if memory and read and (read.digest, read.aliases) == (entry.digest, entry.aliases):
                self._told[path] = read, memory
                variables = memory[1]["variables"]
                unchanged = frozenset([name for name, said in variables.items() if said])
                own = known.local.memory if known.local is not None else None
                is_same = own is not None and own.beside == memory[1]["beside"]
                if not is_same or unchanged != self._unchanged.get(path, frozenset()):
                    known.local_key = b""
                self._unchanged[path] = unchanged

    def remembered(self, path: str, environment: bytes) -> Memory | None:
        """As the base class; where that is of another environment, or of other callers, what the
        other process found in this one."""
        own = super().remembered(path, environment)
        if path not in self._told:
            return own
        read, packed = self._told[path]
        if packed[0] != environment:
            return own
        if own and own.environment == environment and own.beside == packed[1]["beside"]:
            return own
        del self._told[path]
        declared = Declared(self._view(path).indexes[:-1])
        return Memory.unpacked(packed, read.syntax, read.index, declared)

    def _calling_beside(self, memory: Memory, path: str, name: str) -> list[Elsewhere] | None:
        """As the other process found them: what they call is in `memory`."""
        found = memory.beside.get((path, name))
        if found is None:
            return None
        return [Elsewhere(unit, key, lambda: None) for unit, key in found]

    def _is_shared(self, path: str, name: str) -> bool:
        return name not in self._unchanged.get(path, ())

    def exports(self, path: str) -> dict[str, bytes]:
        """Digests of what a file, and each that it includes, declares."""
        return {other: self._files[other].exports for other in self.closure(path)}

    def local(self, path: str) -> LocalFacts | None:
        """As the base class; of a file that cannot be read again here, though what it includes
        changed, what was last known."""
        found = super().local(path)
        file = self._files.get(path)
        return file.local if found is None and file is not None else found


class FolderSources:
    """The workspace of one folder in this process."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._workspace = MirroredWorkspace(root)
        self._open: dict[str, LineIndex] = {}
        self._texts: dict[str, tuple[tuple[int, int], SourceFile]] = {}

    def configure(self, include_dirs: Sequence[str], defines: Mapping[str, str]) -> bool:
        """What the build says of all files; whether that is news."""
        workspace = self._workspace
        if (workspace.include_dirs, workspace.defines) == (tuple(include_dirs), dict(defines)):
            return False
        self._workspace = MirroredWorkspace(self._root, include_dirs, defines)
        for path, lines in self._open.items():
            self._workspace.update(path, lines.text, is_open=True)
        return True

    def put(self, path: str, lines: LineIndex) -> None:
        """Takes an open text in."""
        self._open[path] = lines
        self._workspace.update(path, lines.text, is_open=True)

    def reading(self, path: str) -> Iterator[None]:
        """Finds what `opened` needs, piece by piece."""
        return self._workspace.reading(path)

    def opened(self, path: str) -> SourceFile | None:
        """An open file, as it is in view of all that is known now; None where it is not open."""
        lines = self._open.get(path)
        if lines is None:
            return None
        return SourceFile(self._workspace.facts(path), lines.text, lines)

    def close(self, path: str) -> None:
        """The file is not open any more."""
        self._open.pop(path, None)
        self._workspace.close(path)

    def adopt(self, path: str, shipped: Shipped) -> None:
        """Takes over what the child made of a file."""
        self._workspace.take(path, shipped.entry, shipped.memory)

    def forget(self, path: str) -> None:
        """The file is gone from the disk."""
        if path not in self._open:
            self._workspace.remove(path)

    def in_view(self, path: str) -> dict[str, bytes]:
        """A file and all that it includes, as far as it is known, with a digest of what each
        declares."""
        return self._workspace.exports(path)

    def includes(self, path: str) -> tuple[str, ...]:
        """The files that a file includes directly."""
        return self._workspace.includes(path)

    def includers(self, header: str) -> list[str]:
        """The files whose includes lead to a header."""
        return [
            path
            for path in self._workspace.paths()
            if path != header and header in self._workspace.closure(path)
        ]

    def read(self, path: str, facts: FileFacts | None) -> SourceFile | None:
        """A closed file with its text from the disk; None where it cannot be read."""
        try:
            status = Path(path).stat()
            stamp = (status.st_mtime_ns, status.st_size)
            known = self._texts.get(path)
            if known is not None and known[0] == stamp and known[1].facts is facts:
                return known[1]
            if status.st_size > MAX_READ:
                return None
            text = Path(path).read_bytes()
        except (OSError, ValueError):
            return None
        file = SourceFile(facts or FileFacts(path), text)
        self._texts[path] = (stamp, file)
        if len(self._texts) > KEPT:
            del self._texts[next(iter(self._texts))]
        return file
