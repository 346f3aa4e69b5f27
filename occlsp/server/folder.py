"""One workspace folder: its settings, its reports, its snapshot.

A file outside all workspace folders belongs to the folder that holds its project (`occlsp.toml`
or `.git`, upwards), or else to its own directory, which is then not scanned.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from occlsp.analysis.advice.matching import Measured
from occlsp.analysis.architecture import choose
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import SourceFile, Sources
from occlsp.reports.facts import Report
from occlsp.server.configuration import TOML, FolderSettings
from occlsp.server.sources import FolderSources
from occlsp.server.tasks import Build, is_cached

if TYPE_CHECKING:
    from occlsp.analysis.advice.measurements.facts import Measurement
    from occlsp.analysis.whatif import WhatIf
    from occlsp.reports.local_gpus import LocalGpu
    from occlsp.server.documents import Document
    from occlsp.server.scan import Shipped
    from occlsp.server.tasks import Stamp
    from occlsp.source.facts import FileFacts

log = logging.getLogger("occlsp.folder")

MARKERS = (TOML, ".git")
AT_A_STRETCH = 0.008
"""Seconds for which the loop reads in an edited file before it looks for what else there is."""
FEW = 16
"""Files whose change is worked into the index; of more it is made anew."""


class Folder:
    """The state of one folder. Every change makes a new snapshot."""

    def __init__(self, path: str, *, is_project: bool) -> None:
        """`is_project`: the whole folder is the user's project, and is scanned."""
        self.path = path
        self.is_project = is_project
        self.settings: FolderSettings | None = None
        self.sources = FolderSources(path)
        self.snapshot = Snapshot.of().with_sources(Sources.of((), self._read))
        self._since: dict[str, float] = {}
        """Since when each open text has been as it is."""
        self._in_view: dict[str, dict[str, bytes]] = {}
        """What each open file saw of itself and of its includes when it was looked at last."""
        self._due: dict[str, float] = {}
        """Open files that may say something else now, and since when: see `settle`."""
        self._settling: dict[str, Iterator[None]] = {}
        """Those of which some is taken in."""
        self.is_news = False
        """Some of those did, since this was last set to False."""
        self.reports: dict[str, Report] = {}
        """By what they were read from: a file, or a compile (`tasks.cached_name`)."""
        self.stamps: dict[str, Stamp] = {}
        """Of all files that were read, those without numbers too."""
        self.watched: dict[str, Stamp | None] = {}
        """Files and folders whose change means that reports are to be read again, as they were
        when they were read."""
        self.compiler: str | None = None
        """The compiler and where it was found, once it was looked for."""
        self.compiler_missing: str | None = None
        self.build = Build()
        self.build_architectures: tuple[str, ...] = ()
        self.local_gpus: tuple[str, ...] = ()
        self.chosen: tuple[str, ...] = ()
        """What `occlsp.setArch` said: until the server ends, above all settings."""

    def configure(self, settings: FolderSettings) -> None:
        """Takes new settings."""
        self.compiler = self.compiler_missing = None
        self.settings = settings
        self.snapshot = self.snapshot.with_settings(settings.loaded.settings)
        self.choose_architectures()

    def choose_architectures(self) -> None:
        """Decides the architectures again, from all that is known now."""
        settings = self.snapshot.settings
        if self.chosen:
            import msgspec

            settings = msgspec.structs.replace(settings, arch=self.chosen)
        said_by = "chosen in the editor"
        if not self.chosen and self.settings is not None:
            said_by = self.settings.loaded.origins.get("arch", "settings")
        found = choose(
            settings,
            self.build_architectures,
            self.local_gpus,
            [
                entry.arch
                for name, report in self.reports.items()
                if not is_cached(name)  # we compile for what is in force: that says nothing
                for entry in report.entries
                if entry.arch is not None
            ],
            said_by,
        )
        if found != self.snapshot.architectures:
            self.snapshot = self.snapshot.with_architectures(found)

    def take_build(self, build: Build) -> None:
        """Takes what the compile commands say."""
        for problem in build.problems:
            log.warning("%s", problem)
        self.build_architectures = build.architectures
        self.choose_architectures()
        self.build = build
        if self.sources.configure(build.include_dirs, build.defines):
            self._look_again()

    def take_gpus(self, found: Collection[LocalGpu]) -> None:
        """Takes what GPUs this machine has: the model of the first, where the table knows it."""
        self.local_gpus = tuple(dict.fromkeys(gpu.arch for gpu in found))
        self.choose_architectures()
        if self.snapshot.settings.gpu is None and found:
            self.snapshot = self.snapshot.with_gpu(next(iter(found)).name)

    def take_whatif(self, answers: Iterable[WhatIf]) -> None:
        """Takes the compiler's answers in; they stand until the next compile."""
        asked = {(answer.entry, answer.arch): answer for answer in self.snapshot.whatif}
        asked.update({(answer.entry, answer.arch): answer for answer in answers})
        self.snapshot = self.snapshot.with_whatif(tuple(asked.values()))

    def set_trust(self, trusted: bool) -> None:
        """The user has said."""
        self.snapshot = self.snapshot.with_trust("trusted" if trusted else "untrusted")

    def put(self, document: Document, when: float) -> None:
        """Takes the text of an open document in; `when` is since when it has been so, in seconds
        since the epoch. What it and the other open ones now say is taken in by `settle`."""
        self._since[document.path] = when
        for path in self._since:
            self._due[path] = max(when, self._due.get(path, when))
        self._settling.clear()
        self.sources.put(document.path, document.index)

    def is_due(self, path: str) -> bool:
        """Whether an open file may say something else now: see `settle`."""
        return path in self._due

    def settle(self, path: str | None = None) -> bool:
        """Takes in what an open file (any, without `path`) says in view of all that is known by
        now; False where none is due."""
        work = self._work(path)
        if work is None:
            return False
        for _ in work:
            pass
        return True

    def settle_some(self, path: str | None = None) -> bool:
        """As `settle`, for a few milliseconds: False where nothing is left of it. With that the
        loop gets its turns."""
        work = self._work(path)
        if work is None:
            return False
        end = time.perf_counter() + AT_A_STRETCH
        for _ in work:
            if time.perf_counter() >= end:
                return True
        return path is None

    def _work(self, path: str | None) -> Iterator[None] | None:
        path = next(iter(self._due), None) if path is None else path
        if path is None or path not in self._due:
            return None
        if path not in self._settling:
            self._settling[path] = self._settled(path)
        return self._settling[path]

    def _settled(self, path: str) -> Iterator[None]:
        file = None
        try:
            yield from self.sources.reading(path)
            file = self.sources.opened(path)
            yield
        except Exception:  # a fault in one file costs that one
            log.exception("%s cannot be read", path)
        self._settling.pop(path, None)
        when = self._due.pop(path)
        if file is not None:
            self._take(file, when)

    def closed(self, path: str) -> None:
        """A document is closed: what the disk holds counts again."""
        self.sources.close(path)
        self._since.pop(path, None)
        self._in_view.pop(path, None)
        self._due.pop(path, None)
        self._settling.pop(path, None)

    def take_scanned(self, files: Mapping[str, Shipped], gone: Collection[str]) -> None:
        """Takes in what the child read of the sources."""
        for path in gone:
            self.sources.forget(path)
        for path, shipped in files.items():
            self.sources.adopt(path, shipped)

    async def index_scanned(self, facts: Mapping[str, FileFacts], gone: Collection[str]) -> None:
        """Puts the facts of a whole scan in force at once; of open files the open text counts. The
        index of many is made in a thread, so that the loop gets its turns."""
        came = [SourceFile(found) for path, found in facts.items() if path not in self._since]
        left = [path for path in gone if path not in self._since]
        if len(came) + len(left) <= FEW:
            sources = self.snapshot.sources
            for path in left:
                sources = sources.without(path)
            for file in came:
                sources = sources.with_file(file)
        else:
            known = {**self.snapshot.sources.files, **{file.facts.path: file for file in came}}
            for path in left:
                known.pop(path, None)
            sources = await asyncio.to_thread(Sources.of, list(known.values()), self._read)
        self.snapshot = self.snapshot.with_sources(sources)
        self._look_again()

    def _look_again(self) -> None:
        """More is known of what open texts include. They are as old as they were: that we know
        more makes no report stale."""
        self._due = {**self._since, **self._due}
        self._settling.clear()

    def _take(self, file: SourceFile, when: float) -> None:
        path = file.facts.path
        known = self.snapshot.sources.files.get(path)
        if known is not None and known.text == file.text:
            if known.facts is file.facts or known.facts == file.facts:
                return
            self.is_news = True
        in_view = self.sources.in_view(path)
        before = None
        if known is not None and path in self._in_view:
            seen = self._in_view[path]
            before = known if len(seen) < len(in_view) and seen.items() <= in_view.items() else None
        self._in_view[path] = in_view
        self.snapshot = self.snapshot.with_file(file, when, before=before)

    def _read(self, path: str) -> SourceFile | None:
        return self.sources.read(path, self.snapshot.sources.facts(path))

    def includers(self, header: str) -> list[str]:
        """The files whose includes lead to a header."""
        return self.sources.includers(header)

    async def take_many_reports(self, came: dict[str, Report], gone: Collection[str]) -> None:
        """As `take_reports`, with the index made in a thread."""
        if came or gone:
            self._replace_reports(came, gone)
            reports = tuple(self.reports.values())
            entries = await asyncio.to_thread(self.snapshot.entries.updated, reports)
            self.snapshot = replace(self.snapshot, entries=entries, memo={})
            self._reports_changed()

    def take_reports(self, came: dict[str, Report], gone: Collection[str] = ()) -> None:
        """Takes new and changed reports in, and those that are gone out."""
        if came or gone:
            self._replace_reports(came, gone)
            self._reports_changed()

    def _replace_reports(self, came: dict[str, Report], gone: Collection[str]) -> None:
        for name in gone:
            self.stamps.pop(name, None)
        for name in (*gone, *came):
            self.reports.pop(name, None)
        self.reports.update({name: report for name, report in came.items() if _tells(report)})

    def _reports_changed(self) -> None:
        if self.snapshot.whatif:
            self.snapshot = self.snapshot.with_whatif(())  # of what was compiled before
        self.snapshot = self.snapshot.with_reports(tuple(self.reports.values()))
        self.choose_architectures()

    def take_measured(self, found: tuple[Measurement, ...]) -> None:
        """Takes the measured runs in, in place of those known."""
        if found != self.snapshot.measured.measurements:
            self.snapshot = self.snapshot.with_measured(Measured.of(found))


def _tells(report: Report) -> bool:
    return bool(report.entries or report.warnings)


def owner(path: str, folders: Iterable[str]) -> str | None:
    """The innermost of `folders` that holds `path`."""
    holding = [f for f in folders if path == f or path.startswith(f.rstrip(os.sep) + os.sep)]
    return max(holding, key=len, default=None)


def project_of(path: str) -> tuple[str, bool]:
    """The folder of a file outside all workspace folders, and whether it is a project. A home
    directory or a root of the file system is none, whatever it holds."""
    directory = Path(path).parent
    home = Path.home()
    for candidate in (directory, *directory.parents):
        if candidate == home or candidate == candidate.parent:
            break
        if any((candidate / marker).exists() for marker in MARKERS):
            return str(candidate), True
    return str(directory), False


def modified(document: Document) -> float:
    """When the file of a document was last modified, in seconds since the epoch; now, where that
    cannot be told."""
    try:
        return Path(document.path).stat().st_mtime
    except (OSError, ValueError):
        return time.time()
