"""What was read of a workspace's files, kept for the next run in a database in the user's cache.

An entry holds while the file's content does; whether its launches hold, which depend on other
files, its own keys say (`Entry.local_key`, `Entry.world`). Nothing raises here for what is on the
disk: a database that cannot be read is removed, one that cannot be written is an empty one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from io import BytesIO
from pathlib import Path

from occlsp.source.entries import Entry

log = logging.getLogger("occlsp.cache")

MOST_STORES = 16
"""Workspaces that are kept, the last ones used."""
MAX_BYTES = 256 << 20
"""Of one database: one that grew above is begun anew."""
_WAIT_SECONDS = 2.0
"""For another process that writes."""
_DIGEST = 20
_CREATE = "CREATE TABLE IF NOT EXISTS entries (path TEXT PRIMARY KEY, digest BLOB, entry BLOB)"


Row = tuple[str, Entry, bytes]
"""A file by path, and its payload."""


class Store:
    """The entries of one workspace, read with one set of include folders and definitions.

    Many processes can use it at once, forked ones too, each from one thread.
    """

    def __init__(
        self,
        folder: Path,
        root: str | None,
        include_dirs: Sequence[str] = (),
        defines: Mapping[str, str] | None = None,
    ) -> None:
        """`folder`: where the databases are, made if need be."""
        settings = (root, tuple(include_dirs), sorted((defines or {}).items()), _code())
        name = blake2b(repr(settings).encode("utf-8", "surrogateescape"), digest_size=12)
        self.file = folder / f"{name.hexdigest()}.db"
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._kept: dict[str, tuple[bytes, object]] = {}
        """Path → the content and the launches that are there: those are not written again."""

    def find(self, path: str, digest: bytes) -> Entry | None:
        """What was kept of a file with this content."""
        try:
            query = "SELECT entry FROM entries WHERE path = ? AND digest = ?"
            row = self._open().execute(query, (_text(path), digest)).fetchone()
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
            return None
        if row is None:
            return None
        try:
            entry = _unpacked(row[0])
        except Exception as error:
            log.warning("an entry of %s in %s is discarded: %s", path, self.file, error)
            return None
        self._kept[path] = (digest, entry.local)
        return entry

    def keep(self, entries: Iterable[tuple[str, Entry]]) -> None:
        """Takes entries in, but for those that are there as they are."""
        new = (
            (path, entry)
            for path, entry in entries
            if not _is_same(self._kept.get(path), (entry.digest, entry.local))
        )
        self.keep_packed((path, entry, payload(entry)) for path, entry in new)

    def keep_packed(self, entries: Iterable[Row]) -> None:
        """Takes in entries of which the payload was made before."""
        rows = []
        for path, entry, packed in entries:
            rows.append((_text(path), entry.digest, _with_checksum(packed)))
            self._kept[path] = (entry.digest, entry.local)
        if not rows:
            return
        try:
            connection = self._open()
            with connection:
                connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _open(self) -> sqlite3.Connection:
        """This process's own connection. Raises sqlite3.Error, OSError."""
        if self._connection is None or self._process != os.getpid():
            if not self.file.exists():
                self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _make_room(self.file.parent)
            elif self.file.stat().st_size > MAX_BYTES:
                self.file.unlink()
            else:
                os.utime(self.file)
            self._process = os.getpid()
            self._connection = sqlite3.connect(self.file, timeout=_WAIT_SECONDS)
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.execute(_CREATE)
        return self._connection

    def _give_up(self, error: Exception) -> None:
        """Goes on without a database; one that is none is removed for the next run."""
        log.warning("the cache of sources %s cannot be used: %s", self.file, error)
        is_broken = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if is_broken:
            with contextlib.suppress(OSError):
                self.file.unlink()
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(_CREATE)
        self._process = os.getpid()


def _is_same(kept: tuple[bytes, object] | None, content: tuple[bytes, object]) -> bool:
    return kept is not None and kept[0] == content[0] and kept[1] is content[1]


def _make_room(folder: Path) -> None:
    """Removes the databases that were not used for longest."""
    files = sorted(folder.glob("*.db"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_STORES - 1 :]:
        with contextlib.suppress(OSError):
            file.unlink()


def _text(path: str) -> str:
    """A path as the database can hold it: names of files need not be text."""
    return path.encode("utf-8", "surrogateescape").decode("latin-1")


def payload(entry: Entry) -> bytes:
    """An entry as it is kept, and sent to other processes."""
    small = replace(entry, resolved=(), resolved_at=-1, local_version=-1, facts_key=(b"", -1))
    return pickle.dumps(small, protocol=5)


def _with_checksum(packed: bytes) -> bytes:
    return blake2b(packed, digest_size=_DIGEST).digest() + packed


def _unpacked(packed: bytes) -> Entry:
    """Raises ValueError, UnpicklingError."""
    digest, payload = packed[:_DIGEST], packed[_DIGEST:]
    if blake2b(payload, digest_size=_DIGEST).digest() != digest:
        raise ValueError("it is cut off, or changed")
    entry = _Unpickler(BytesIO(payload)).load()
    if not isinstance(entry, Entry):
        raise ValueError("it is none of ours")
    return entry


class _Unpickler(pickle.Unpickler):
    """Makes what the sources are described by, and nothing else: bytes in a cache run no code."""

    def find_class(self, module: str, name: str) -> object:
        if module.startswith("occlsp.source.") and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        if (module, name) == ("builtins", "frozenset"):
            return frozenset
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an entry")


@lru_cache(maxsize=1)
def _code() -> str:
    """What stands for the program that reads the sources: another one reads anew."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    stamps = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return f"{sys.version_info[:2]} {stamps}"
