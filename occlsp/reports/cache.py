"""The cache of compiles: in the user's cache folder, shared by editors and command line.

    v1/manifests/ab/<key>       which results there are for a key, each with the content of its
                                includes; a key stands for source, flags, architecture, toolkit
    v1/results/ab/<id>.report   a `CompileResult`, a failure too; beside it <id>.ptx, <id>.cubin
    v1/index/<folder>/…         the latest result of each unit of a source folder
    v1/notes/ab/<name>          what helps the next compile (which recipe last worked in a folder)
    v1/sources/<id>.db          what was read of a workspace's sources (`occlsp.source.store`)
    v1/tmp, v1/scratch          files being written, folders being compiled in

Every file is written beside and renamed, so that a reader sees the old or the new one, whole, and
a killed writer leaves a stray temporary file at worst. Every file that is read back starts with a
mark and a checksum; one that does not fit is removed and logged. Nothing here raises for what is
on the disk: a cache that cannot be written is an empty one.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from occlsp.reports.compiled import CompileResult
from occlsp.reports.dependencies import Reads
from occlsp.reports.digests import Digests, digest

log = logging.getLogger("occlsp.cache")

VERSION = 1
MARK = b"occlsp-cache-%d\n" % VERSION
MAX_BYTES = 1 << 30
VARIANTS = 4
"""Contents of the includes that are kept a key: going to a branch and back compiles nothing."""
STORES_A_SWEEP = 64
TOUCH_SECONDS = 3600.0
"""A hit renews a file's time for the housekeeping, but not with every hit."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Variant:
    result: str
    includes: dict[str, str]
    """Path → digest of the content; empty for a file that was looked for and is not there."""
    until: float | None = None
    """When it holds no longer, in seconds since the epoch; None: while the files stay."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest compile of a unit for one architecture, of one kind: ours, of a debug build, or
    recorded from the user's build."""

    unit: str
    arch: str
    result: str
    """The id of the `CompileResult`; empty where no compile has given any yet."""
    time: float
    took: float = 0.0
    dependencies: tuple[str, ...] = ()
    is_debug: bool = False
    is_recorded: bool = False

    @property
    def slot(self) -> str:
        """The end of the index file's name."""
        kind = ("-record" if self.is_recorded else "") + ("-debug" if self.is_debug else "")
        return self.arch + kind


class Cache:
    """One cache folder. Safe to use from many processes at once; not from many threads."""

    def __init__(self, directory: Path | None = None, *, max_bytes: int = MAX_BYTES) -> None:
        """`directory`: None for the user's cache folder (`OCCLSP_CACHE_DIR` overrides it)."""
        if directory is None:
            directory = default_directory()
        self.directory = directory
        self.root = directory / f"v{VERSION}"
        self.max_bytes = max_bytes
        self.digests = Digests()
        # By chance, so that many short processes (a recorded build) sweep now and then, too.
        self._until_sweep = os.urandom(1)[0] % STORES_A_SWEEP
        self._index: dict[Path, tuple[int, Latest | None]] = {}
        self._is_writable = True

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder to compile in, removed at the end (and by the housekeeping after a crash).

        Raises OSError where the cache folder cannot be written.
        """
        folder = self.root / "scratch" / f"{os.getpid()}-{os.urandom(8).hex()}"
        folder.mkdir(parents=True, mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def lookup(self, key: str, reads: Reads | None = None) -> CompileResult | None:
        """The result for `key` whose includes are as they are now; with numbers it is then the
        unit's latest. What it was made from is added to `reads`."""
        for variant in self._variants(key):
            if self._holds(variant) and (result := self._result(variant.result)) is not None:
                if result.has_numbers:
                    self._make_latest(result, variant.result)
                if reads is not None:
                    reads.files.update(variant.includes)
                return replace(result, is_cached=True)
        return None

    def _holds(self, variant: _Variant) -> bool:
        if variant.until is not None and time.time() > variant.until:
            return False
        known = variant.includes.items()
        return all((self.digests.of(path) or "") == made for path, made in known)

    def contents(self, paths: Iterable[str], since: int) -> dict[str, str]:
        """Path → digest, for `store`. Of a file that changed after `since` (nanoseconds of the
        epoch), or is gone, one that no content has: what was read may not be what is there."""
        made: dict[str, str] = {}
        for path in paths:
            known = self.digests.of(path)
            if known is None or os.stat(path).st_mtime_ns >= since:  # noqa: PTH116
                log.info("%s changed while it was compiled", path)
                known = f"changed at {since}"
            made[path] = known
        return made

    def store(
        self,
        key: str,
        result: CompileResult,
        includes: Mapping[str, str],
        *,
        ptx: Path | None = None,
        cubin: Path | None = None,
        until: float | None = None,
    ) -> CompileResult:
        """Keeps a result, with its PTX and cubin moved in; returns it with their new places.

        `includes`: path → digest of every file whose content the result depends on, empty for
        one that must not be there; `until`, in seconds since the epoch: for how long at most. A
        result without numbers never is a unit's latest: what was known before stays.
        """
        facts = [f"{path}\0{made}" for path, made in sorted(includes.items())]
        name = digest(key.encode(), *(os.fsencode(fact) for fact in facts))
        path = self._path("results", name)
        kept: dict[str, str | None] = {}
        for kind, product in (("ptx", ptx), ("cubin", cubin)):
            if product is not None:
                kept[kind] = self._move(product, path.with_suffix(f".{kind}"))
        result = replace(result, **kept)  # type: ignore[arg-type]
        if self._write(path.with_suffix(".report"), result):
            others = [known for known in self._variants(key) if known.result != name]
            variants = [_Variant(name, dict(includes), until), *others][:VARIANTS]
            self._write(self._path("manifests", key), variants)
            if result.has_numbers:
                self._write_latest(result, name)
        self._sweep_at_times()
        return result

    def keep(self, result: CompileResult) -> None:
        """Keeps a result that no lookup asks for (of a recorded build) as the unit's latest."""
        self.store(
            digest(b"kept", os.fsencode(result.unit), _latest_of(result, "").slot.encode()),
            result,
            {},
        )

    def latest(self, unit: str) -> tuple[CompileResult, ...]:
        """What is known of a unit, whatever its source is now: the newest result for each
        architecture, of a debug build only where there is no other."""
        found = [self._result(latest.result) for latest in _best(self._latest(unit))]
        return tuple(result for result in found if result is not None)

    def is_empty(self) -> bool:
        """Whether nothing is known of any unit."""
        return not (self.root / "index").exists()

    def known_units(self, root: str | Path) -> dict[str, tuple[Latest, ...]]:
        """The units below a folder of which anything is known."""
        units: dict[str, list[Latest]] = {}
        for latest in self._all_latest(str(root)):
            units.setdefault(latest.unit, []).append(latest)
        return {unit: best for unit in sorted(units) if (best := _best(units[unit]))}

    def units_including(self, header: str, root: str | Path | None = None) -> tuple[str, ...]:
        """The units (below `root`) that included `header` when last compiled, newest first."""
        wanted = os.path.realpath(header)
        found: dict[str, float] = {}
        for latest in self._all_latest(None if root is None else str(root)):
            if wanted in latest.dependencies or header in latest.dependencies:
                found[latest.unit] = max(latest.time, found.get(latest.unit, 0.0))
        return tuple(sorted(found, key=lambda unit: -found[unit]))

    def took(self, unit: str) -> float:
        """Seconds of the unit's slowest latest compile; 0 where none is known."""
        return max((latest.took for latest in self._latest(unit)), default=0.0)

    def note_took(self, result: CompileResult) -> None:
        """Remembers the time of a compile that gave nothing, so that it is not tried at once."""
        new = _latest_of(result, "")
        known = [latest for latest in self._latest(result.unit) if latest.slot == new.slot]
        latest = replace(known[0], took=result.took) if known else new
        self._write(self._index_path(latest.unit, latest.slot), latest)

    def note(self, name: str, content: object) -> None:
        """Keeps something small that only saves work: it may be gone any time."""
        self._write(self._path("notes", digest(name.encode("utf-8", "surrogateescape"))), content)

    def noted(self, name: str, kind: type[T]) -> T | None:
        """What was last kept under `name`."""
        name_digest = digest(name.encode("utf-8", "surrogateescape"))
        return self._read(self._path("notes", name_digest), kind)

    def clear(self) -> None:
        """Removes all that is in the cache."""
        self._index.clear()
        shutil.rmtree(self.root, ignore_errors=True)

    def sweep(self) -> None:
        """Brings the cache below its size, oldest use first, and removes what is not ours."""
        from occlsp.reports.housekeeping import sweep  # rarely, and it takes a while to load

        sweep(self.root, self.max_bytes)

    # What is on the disk.

    def _path(self, kind: str, name: str) -> Path:
        return self.root / kind / name[:2] / name

    def _variants(self, key: str) -> list[_Variant]:
        return self._read(self._path("manifests", key), list[_Variant]) or []

    def _result(self, name: str) -> CompileResult | None:
        if not name:
            return None
        path = self._path("results", name).with_suffix(".report")
        result = self._read(path, CompileResult)
        if result is None:
            return None
        ptx = _present(path.with_suffix(".ptx"), result.ptx)
        cubin = _present(path.with_suffix(".cubin"), result.cubin)
        for file in (ptx, cubin, path):
            with contextlib.suppress(OSError):
                if file is not None and time.time() - os.stat(file).st_mtime > TOUCH_SECONDS:  # noqa: PTH116
                    os.utime(file)
        return replace(result, ptx=ptx, cubin=cubin)

    def _index_path(self, unit: str, slot: str) -> Path:
        folder, name = os.path.split(unit)
        file = digest(os.fsencode(name))[:16] + "." + slot
        return self.root / "index" / digest(os.fsencode(folder))[:24] / file

    def _write_latest(self, result: CompileResult, name: str) -> None:
        latest = _latest_of(result, name)
        path = self._index_path(latest.unit, latest.slot)
        if not (path.parent / "folder").exists():
            self._write(path.parent / "folder", os.path.dirname(result.unit))  # noqa: PTH120
        self._write(path, latest)

    def _make_latest(self, result: CompileResult, name: str) -> None:
        """An undone edit brings an older result back."""
        if all(latest.result != name for latest in self._latest(result.unit)):
            self._write_latest(result, name)

    def _latest(self, unit: str) -> list[Latest]:
        path = self._index_path(unit, "")
        return [latest for latest in self._folder_latest(path.parent) if latest.unit == unit]

    def _all_latest(self, root: str | None) -> Iterator[Latest]:
        prefix = None if root is None else root.rstrip(os.sep) + os.sep
        for folder in _listed(self.root / "index"):
            if prefix is not None:
                source = self._read(folder / "folder", str)
                if source is None or not (source + os.sep).startswith(prefix):
                    continue
            yield from self._folder_latest(folder)

    def _folder_latest(self, folder: Path) -> Iterator[Latest]:
        for path in _listed(folder):
            if path.name == "folder":
                continue
            try:
                stamp = path.stat().st_mtime_ns
            except OSError:
                continue
            known = self._index.get(path)
            if known is None or known[0] != stamp:
                known = (stamp, self._read(path, Latest))
                self._index[path] = known
            if known[1] is not None:
                yield known[1]

    def _read(self, path: Path, kind: type[T]) -> T | None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            log.info("%s cannot be read: %s", path, error)
            return None
        head, payload = data[: len(MARK) + 20], data[len(MARK) + 20 :]
        try:
            if head != MARK + _checksum(payload):
                raise ValueError("it is cut off, changed, or not ours")
            return msgspec.msgpack.decode(payload, type=kind)
        except (ValueError, msgspec.MsgspecError) as error:
            log.warning("the cache file %s is discarded: %s", path, error)
            with contextlib.suppress(OSError):
                path.unlink()
            return None

    def _write(self, path: Path, content: object) -> bool:
        temporary = self.root / "tmp" / f"{os.getpid()}-{os.urandom(8).hex()}"
        try:
            payload = msgspec.msgpack.encode(content)
            temporary.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_bytes(MARK + _checksum(payload) + payload)
            temporary.replace(path)
        except (OSError, UnicodeError) as error:
            self._tell_unwritable(error)
            with contextlib.suppress(OSError):
                temporary.unlink()
            return False
        return True

    def _move(self, product: Path, to: Path) -> str | None:
        """Products lie in `scratch` on the same file system, so that a rename is whole."""
        try:
            to.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            product.replace(to)
        except OSError as error:
            self._tell_unwritable(error)
            return None
        return str(to)

    def _tell_unwritable(self, error: Exception) -> None:
        if self._is_writable:
            log.warning("the cache %s cannot be written: %s", self.root, error)
        self._is_writable = False

    def _sweep_at_times(self) -> None:
        """Looking at the size of everything takes a while, so now and then only."""
        self._until_sweep -= 1
        if self._until_sweep < 0:
            self._until_sweep = STORES_A_SWEEP
            self.sweep()


def default_directory() -> Path:
    """The user's cache folder for us."""
    if given := os.environ.get("OCCLSP_CACHE_DIR"):
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir("occlsp", appauthor=False))


def sources_directory() -> Path:
    """Where the sources' stores are: emptied with the rest of the cache."""
    return default_directory() / f"v{VERSION}" / "sources"


def _latest_of(result: CompileResult, name: str) -> Latest:
    return Latest(
        result.unit,
        result.arch,
        name,
        result.time,
        result.took,
        result.dependencies,
        result.is_debug,
        result.origin == "record",
    )


def _best(found: Iterable[Latest]) -> tuple[Latest, ...]:
    best: dict[str, Latest] = {}
    for latest in found:
        other = best.get(latest.arch)
        rank = (not latest.is_debug, latest.time)
        if latest.result and (other is None or rank > (not other.is_debug, other.time)):
            best[latest.arch] = latest
    return tuple(best.values())


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=20).digest()


def _present(own: Path, named: str | None) -> str | None:
    """The product beside a result, else the one of another result that it names."""
    if own.exists():
        return str(own)
    return named if named is not None and os.path.exists(named) else None  # noqa: PTH110


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
