"""Long work of a session that is not compiling: looking for reports and sources, watching files.

One child process does it all, one piece after the other; what is asked for while it works is
done once when it is through, however often it was asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types

from occlsp.reports.facts import Report
from occlsp.reports.local_gpus import LocalGpu
from occlsp.reports.worker import Worker, WorkerError
from occlsp.server import garbage, tasks
from occlsp.server.configuration import TOML
from occlsp.server.scan import MAX_FILES as MOST
from occlsp.server.scan import ScanPage, ScanRequest, Shipped, unpacked
from occlsp.server.watch import UNKNOWN, Watch
from occlsp.source.facts import FileFacts

if TYPE_CHECKING:
    from occlsp.server.folder import Folder
    from occlsp.server.progress import Work
    from occlsp.server.server import Server
    from occlsp.server.session import Session

log = logging.getLogger("occlsp.background")

SETTLE = 0.3
"""Seconds that news are waited for: a build writes many files."""
SHOWN_AFTER = 0.5
"""Seconds that work may take before progress is shown for it."""
MUCH = 5_000
"""Entries of reports that are not to be looked through for garbage again and again."""
AT_ONCE = 500
"""Files of a scan that are taken in in one turn."""
SCAN = "occlsp.server.scan"
T = TypeVar("T")


@dataclass(slots=True)
class _Due:
    """What is to be done for a folder."""

    reports: bool = False
    everything: bool = False
    files: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Came:
    """What the child has told of a scan."""

    shipped: dict[str, Shipped] = field(default_factory=dict)
    facts: dict[str, FileFacts] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)


class Background:
    """The work, what is due of it, and the child that does it."""

    def __init__(self, server: Server, session: Session) -> None:
        self._server = server
        self._session = session
        self._worker = Worker()
        self._due: dict[str, _Due] = {}
        self._running: asyncio.Task[None] | None = None
        self.doing: str | None = None
        """What is done now, in words."""
        self._watch = Watch(server, lambda: session.folders, self._watched, self.files_changed)

    async def call(self, function: str, request: object, kind: type[T]) -> T:
        """Calls a function in the child; raises WorkerError."""
        return await self._worker.call(function, request, kind)

    def start(self) -> None:
        """Begins to watch, and asks for the GPUs."""
        known = [folder.snapshot.settings for folder in self._session.folders.values()]
        globs = [glob for one in known for glob in (*one.reports, *one.measurements)]
        self._server.spawn(self._watch.start(globs))
        self._server.spawn(self._ask_for_gpus())

    def told(self, changes: Iterable[types.FileEvent]) -> None:
        """The client has seen files change."""
        self._watch.told(changes)

    def survey(self, folders: Iterable[str]) -> None:
        """Looks for the reports of folders again."""
        for folder in folders:
            self._ask(folder).reports = True

    def scan(self, folders: Iterable[str]) -> None:
        """Looks at all sources of folders again."""
        for folder in folders:
            self._ask(folder).everything = True

    def read(self, folder: str, path: str) -> None:
        """Reads one file of a folder again, and what it includes."""
        self._ask(folder).files.add(path)

    def files_changed(self, paths: Iterable[str]) -> None:
        """Files or folders on the disk have changed, come or gone."""
        settings = False
        for path in paths:
            folder = self._session.existing_folder(path)
            if folder is None:
                continue
            name = PurePath(path)
            if name.name == TOML:
                settings = True
            elif name.name == "compile_commands.json" or path in folder.watched:
                self.survey([folder.path])
            elif path in folder.snapshot.sources.files or name.suffix.lower() in {".cu", ".cuh"}:
                if self._session.documents.at(path) is None:
                    self.read(folder.path, path)
            elif name.suffix.lower() in {".log", ".o", ".obj", ".cubin", ".fatbin"}:
                self.survey([folder.path])
        if settings:
            self._session.reload_settings()

    async def close(self) -> None:
        """Ends the child."""
        if self._running is not None:
            self._running.cancel()
        await self._worker.close()

    # -- inside --------------------------------------------------------------------------------

    def _watched(self) -> dict[str, tasks.Stamp | None]:
        """What to look at, and as what it was read last, where that is known."""
        found: dict[str, tasks.Stamp | None] = {}
        for folder in self._session.folders.values():
            settings = folder.settings
            toml = str(PurePath(folder.path) / TOML)
            found[toml] = settings.stamp if settings is not None else UNKNOWN
            found.update(dict.fromkeys(folder.snapshot.sources.files, UNKNOWN))
            found.update(folder.watched)
        return found

    def _ask(self, folder: str) -> _Due:
        if self._running is None or self._running.done():
            self._running = self._server.spawn(self._run())
        return self._due.setdefault(folder, _Due())

    async def _run(self) -> None:
        await asyncio.sleep(SETTLE if self._session.is_settled else 0)
        while self._due:
            path = next(iter(self._due))
            due = self._due.pop(path)
            folder = self._session.folders.get(path)
            if folder is None:
                continue
            try:
                await self._do(folder, due)
            except WorkerError as error:
                log.error("%s: %s", path, error)
        self._session.is_settled = True

    async def _do(self, folder: Folder, due: _Due) -> None:
        task = asyncio.current_task()
        assert task is not None
        name = PurePath(folder.path).name
        try:
            with self._server.works.work(
                f"Occupancy: reading {name}", task.cancel, after=SHOWN_AFTER
            ) as work:
                if due.reports:
                    self._now(f"reading the reports of {name}")
                    await self._survey(folder, work)
                if due.everything or due.files:
                    self._now(f"scanning {name}")
                    await self._scan(folder, due, work)
        finally:
            self._now(None)

    def _now(self, doing: str | None) -> None:
        self.doing = doing
        self._session.status_changed()

    async def _scan(self, folder: Folder, due: _Due, work: Work) -> None:
        """Reads the sources of a project, so that launches in other files are known; of a file
        outside any project what it includes."""
        request = ScanRequest(
            folder.path,
            folder.build.include_dirs,
            folder.build.defines,
            due.everything and folder.is_project,
            tuple(due.files),
        )
        came = _Came()
        await self._pages(folder, request, came, work)
        due = self._due.get(folder.path, _Due())
        if due.files:
            # Opened meanwhile: what the child finds in them comes with what they include.
            request = replace(request, everything=False, files=tuple(due.files))
            due.files.clear()
            await self._pages(folder, request, came, work)
        # Only now: with each page an open file would see other headers, and be read again.
        shipped = list(came.shipped.items())
        for start in range(0, max(1, len(shipped)), AT_ONCE):
            gone = came.gone if start == 0 else ()
            folder.take_scanned(dict(shipped[start : start + AT_ONCE]), gone)
            await asyncio.sleep(0)
        self._server.turns.label = "indexing a scan"
        await folder.index_scanned(came.facts, came.gone)
        self._session.settle(folder)
        self._session.refresh.news()

    async def _pages(self, folder: Folder, request: ScanRequest, came: _Came, work: Work) -> None:
        is_much = request.everything
        page = ScanPage()
        while not page.is_last:
            page = await self._worker.call(f"{SCAN}:scan", request, ScanPage)
            request = replace(request, next_page=True, files=())
            came.shipped |= await asyncio.to_thread(unpacked, page.files)
            self._server.turns.label = "taking in a scan"
            came.facts.update({scanned.path: scanned.facts for scanned in page.files})
            came.gone += page.gone
            if is_much:
                await self._kept()
            work.report(f"{len(came.facts)} files", page.done)
            if page.left_out:
                log.warning("%s: more than %d sources; the rest is not read", folder.path, MOST)

    async def _survey(self, folder: Folder, work: Work) -> None:
        settings = folder.snapshot.settings
        request = tasks.SurveyRequest(
            folder.path,
            settings.reports,
            settings.measurements,
            settings.compile.commands,
            dict(folder.stamps),
        )
        came: dict[str, Report] = {}
        gone: list[str] = []
        watched: dict[str, tasks.Stamp | None] = {}
        page = tasks.Page()
        while not page.is_last:
            page = await self._worker.call(f"{tasks.__name__}:survey", request, tasks.Page)
            self._server.turns.label = "taking in reports"
            request = replace(request, next_page=True, known={})
            if page.build is not None:
                folder.take_build(page.build)
                self._session.settle(folder)
            if page.watched is not None:
                watched.update(page.watched)
                folder.watched = dict(watched)
            if page.measured is not None:
                folder.take_measured(page.measured)
            if page.left_out:
                log.warning("%s: %d more report files are not read", folder.path, page.left_out)
            if page.said:
                work.report(page.said)
            gone += page.gone
            for read in page.reports:
                folder.stamps[read.path] = read.stamp
                came[read.path] = _joined(None if read.is_first else came.get(read.path), read)
            if sum(len(report.entries) for report in came.values()) > MUCH:
                await self._kept()
        await folder.take_many_reports(came, gone)
        self._session.refresh.news()

    async def _kept(self) -> None:
        """A page of much is taken in, which stays: lets the loop do what waits, before and after
        garbage is looked for in it."""
        await asyncio.sleep(0)
        self._server.turns.label = "collecting garbage"
        garbage.keep()
        await asyncio.sleep(0)

    async def _ask_for_gpus(self) -> None:
        found = await self._worker.call(f"{tasks.__name__}:gpus", None, tuple[LocalGpu, ...])
        if found:
            log.info("GPUs: %s", ", ".join(f"{gpu.name} ({gpu.arch})" for gpu in found))
            self._session.take_gpus(found)


def _joined(before: Report | None, read: tasks.ReadReport) -> Report:
    if before is None:
        return read.report
    return replace(before, entries=before.entries + read.report.entries)
