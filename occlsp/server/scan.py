"""What runs in the child process to read the sources of a folder; see `occlsp.server.sources`.

The answer comes in pages, as that of `occlsp.server.tasks.survey`. The workspace stays in the
child from one scan to the next, so that a changed file costs what depends on it.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from occlsp.reports.cache import sources_directory
from occlsp.reports.worker import Control
from occlsp.source.entries import Entry, read_file
from occlsp.source.facts import FileFacts
from occlsp.source.finding import includable_files, source_files
from occlsp.source.reuse import Packed
from occlsp.source.store import Store
from occlsp.source.workspace import Workspace

log = logging.getLogger("occlsp.scan")

PAGE_SECONDS = 0.2
PAGE_FILES = 12
PAGE_BYTES = 200_000
MAX_FILES = 20_000
KEPT_AT_ONCE = 200
"""Files that go to the store together."""


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """Which folder, and what of it is to be read (again)."""

    root: str
    include_dirs: tuple[str, ...] = ()
    defines: dict[str, str] = field(default_factory=dict)
    everything: bool = True
    """All sources below the root; else `files` alone."""
    files: tuple[str, ...] = ()
    """Files that changed, or are open, with what they include."""
    next_page: bool = False


@dataclass(frozen=True, slots=True)
class Scanned:
    """One file: its facts, and what another workspace takes over of it."""

    path: str
    facts: FileFacts
    shipped: bytes
    memory: bytes = b""
    """Of a file that was asked for: what an edit of it need not find again."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """What another workspace takes over of a file."""

    entry: Entry
    memory: Packed | None
    """For `Memory.unpacked`."""


def unpacked(files: Iterable[Scanned]) -> dict[str, Shipped]:
    """What was shipped of some files. Those of a large header take a while, in a thread too, but
    there others get their turns."""
    return {
        file.path: Shipped(
            pickle.loads(file.shipped), pickle.loads(file.memory) if file.memory else None
        )
        for file in files
    }


@dataclass(frozen=True, slots=True)
class ScanPage:
    """A piece of a scan's answer."""

    files: tuple[Scanned, ...] = ()
    gone: tuple[str, ...] = ()
    done: int = 0
    """Percent."""
    left_out: bool = False
    """There are more sources than are read."""
    is_last: bool = False


@dataclass
class _Folder:
    workspace: Workspace
    store: Store
    known: dict[str, tuple[bytes, bytes, FileFacts]] = field(default_factory=dict)
    """What was shipped last."""
    pages: Iterator[ScanPage] | None = None


_folders: dict[str, _Folder] = {}


def scan(request: ScanRequest, control: Control) -> ScanPage:
    """The first or next page of what the sources of a folder say."""
    folder = _folders.get(request.root)
    if folder is None or not _is_same(folder, request):
        settings = (request.root, request.include_dirs, request.defines)
        store = Store(sources_directory(), *settings)
        workspace = Workspace(*settings, read_file, store.find)
        folder = _folders[request.root] = _Folder(workspace, store)
    if not request.next_page or folder.pages is None:
        _leave(folder)
        folder.pages = _scan(folder, request)
    end = time.monotonic() + PAGE_SECONDS
    page = ScanPage()
    while time.monotonic() < end and not _is_full(page):
        if control.cancelled():
            _leave(folder)
            return ScanPage(is_last=True)
        more = next(folder.pages, ScanPage(is_last=True))
        page = ScanPage(
            page.files + more.files,
            page.gone + more.gone,
            max(page.done, more.done),
            page.left_out or more.left_out,
            more.is_last,
        )
    if page.is_last:
        folder.pages = None
    return page


def _leave(folder: _Folder) -> None:
    """A scan that is left before its end told nothing: all of it is told by the next."""
    if folder.pages is not None:
        folder.pages = None
        folder.known.clear()


def _is_full(page: ScanPage) -> bool:
    size = sum(len(file.shipped) for file in page.files)
    return page.is_last or len(page.files) >= PAGE_FILES or size > PAGE_BYTES


def _is_same(folder: _Folder, request: ScanRequest) -> bool:
    workspace = folder.workspace
    return request.next_page or (workspace.include_dirs, workspace.defines) == (
        request.include_dirs,
        request.defines,
    )


def _scan(folder: _Folder, request: ScanRequest) -> Iterator[ScanPage]:
    workspace = folder.workspace
    if request.everything:
        found = (path for path, error in source_files([request.root]) if error is None)
        names = list(islice(found, MAX_FILES + 1))
        yield ScanPage(left_out=len(names) > MAX_FILES)
        names = names[:MAX_FILES]
        workspace.add_known([*names, *islice(includable_files([request.root]), MAX_FILES)])
        gone = set(workspace.paths()) - set(names) - set(request.files)
    else:
        names, gone = [], set()
    to_read = dict.fromkeys([*request.files, *names])
    for number, path in enumerate(to_read):
        text = read_file(path)
        if text is None:
            gone.add(path)
        else:
            _update(workspace, path, text, is_open=path in request.files)
        yield ScanPage(done=70 * number // len(to_read))
    for path in gone:
        workspace.remove(path)
        folder.known.pop(path, None)
    yield ScanPage(gone=tuple(gone))
    yield from _news(folder, request.files)


def _update(workspace: Workspace, path: str, text: bytes, *, is_open: bool) -> None:
    try:
        workspace.update(path, text, is_open=is_open)
    except Exception:  # a fault in one file costs that one
        log.exception("%s cannot be read", path)


def _news(folder: _Folder, wanted: tuple[str, ...]) -> Iterator[ScanPage]:
    """The files whose facts, or declarations, are not what was shipped last. Files that are only
    included tell no facts, but are in view of those that include them."""
    workspace = folder.workspace
    given = workspace.paths()
    read: dict[str, Entry] = {}
    for number, path in enumerate([*given, *sorted(workspace.loaded().difference(given))]):
        try:
            facts = workspace.facts(path)
            memory = _memory(workspace, path) if path in wanted else b""
            entry = workspace.entry(path)
        except Exception:  # a fault in one file costs that one
            log.exception("%s cannot be read", path)
            continue
        read[path] = entry
        if len(read) >= KEPT_AT_ONCE:
            folder.store.keep(read.items())
            read.clear()
        state = (entry.exports, entry.local_key, facts)
        if folder.known.get(path) != state or path in wanted:
            folder.known[path] = state
            yield ScanPage((Scanned(path, facts, pickle.dumps(entry), memory),))
        yield ScanPage(done=70 + 30 * number // len(given or [""]))
    folder.store.keep(read.items())


def _memory(workspace: Workspace, path: str) -> bytes:
    """What is kept of a file as long as it is open, which it is no longer here."""
    memory = workspace.memory(path)
    packed = memory.packed() if memory is not None else b""
    workspace.close(path)
    return packed
