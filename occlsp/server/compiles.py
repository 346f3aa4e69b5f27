"""Compiling on save and on command: whether, what, and what becomes of the results."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from occlsp.analysis.entries import identifiers
from occlsp.reports import toolchain
from occlsp.reports.compile_task import FUNCTION, SLOW, CompileRequest
from occlsp.reports.compiled import CompileResult
from occlsp.reports.facts import Entry, Report
from occlsp.reports.jobs import Cause, Jobs, Outcome, Task
from occlsp.server import tasks
from occlsp.server.uris import CUDA_SUFFIXES
from occlsp.source.facts import Kernel
from occlsp.source.text import LineIndex

if TYPE_CHECKING:
    from occlsp.analysis.snapshot import Snapshot
    from occlsp.server.folder import Folder
    from occlsp.server.progress import Work
    from occlsp.server.server import Server
    from occlsp.server.session import Session

log = logging.getLogger("occlsp.compile")


class Compiles:
    """The compiles of a session: one at a time, in a child process."""

    def __init__(self, server: Server, session: Session) -> None:
        self._server = server
        self._session = session
        self._jobs: Jobs | None = None
        self._sent: dict[str, Snapshot] = {}
        """Unit → what the sources were when its compile was asked for."""
        self._works: dict[str, Work] = {}
        self.problem: str | None = None
        """What went wrong last, in a line."""

    @property
    def running(self) -> str | None:
        """What is compiled now, in words."""
        states = self._jobs.states() if self._jobs is not None else ()
        if not states:
            return None
        state = states[0]
        return state.said or f"{PurePath(state.unit).name} for {state.arch}"

    async def on_save(self, path: str) -> None:
        """A file is saved: compiles what it is part of, if the user lets us."""
        folder = self._session.folder(path)
        if folder.snapshot.settings.compile.mode == "off" or not _may_be_compiled(folder, path):
            return
        if self._session.trust.known(folder.path, folder.snapshot.settings.trusted) is False:
            return
        if await self.compiler(folder) is None or not await self._trusted(folder):
            return
        unit = await self._unit(folder, path)
        if unit is not None:
            self._submit(folder, unit, "save" if unit == path else "header")

    async def on_command(self, path: str) -> dict[str, Any]:
        """Compiles a file and says what came of it, or why it was not compiled."""
        outcome = await self.compile_now(self._session.folder(path), path)
        if isinstance(outcome, str):
            return {"ok": False, "message": outcome, "results": []}
        return _told(outcome, path)

    async def compile_now(self, folder: Folder, path: str) -> Outcome | str:
        """Compiles a file, or a unit that includes it; or why that cannot be."""
        if not await self._trusted(folder):
            return (
                f"{folder.path} is not trusted, so that nothing is run; set `trusted` in the "
                "editor's settings"
            )
        if await self.compiler(folder) is None:
            return str(folder.compiler_missing)
        unit = await self._unit(folder, path)
        if unit is None:
            return f"no file is known that includes {PurePath(path).name}"
        return await self._submit(folder, unit, "command")

    async def compiler(self, folder: Folder) -> str | None:
        """Where the compiler is, in words; None, with the reason in the folder, where there is
        none. Nothing is run for it."""
        if folder.compiler is None:
            found = await asyncio.to_thread(
                toolchain.locate, folder.snapshot.settings.compile.nvcc, self._roots()
            )
            if isinstance(found, toolchain.Missing):
                folder.compiler_missing = str(found)
                return None
            folder.compiler_missing = None
            folder.compiler = f"{found.path} ({found.found_in})"
        return folder.compiler

    def cancel(self) -> None:
        """Ends all compiles."""
        if self._jobs is not None:
            self._jobs.cancel()

    async def close(self) -> None:
        """Ends all compiles and their process."""
        if self._jobs is not None:
            await self._jobs.close()

    def _roots(self) -> list[Path]:
        return [Path(folder) for folder in self._session.folders]

    async def _trusted(self, folder: Folder) -> bool:
        trusted = await self._session.trust.ask(folder.path, folder.snapshot.settings.trusted)
        folder.set_trust(trusted)
        return trusted

    async def _unit(self, folder: Folder, path: str) -> str | None:
        """What is compiled for a file: itself, or a unit that includes it."""
        if PurePath(path).suffix.lower() != ".cuh" and _is_unit(path):
            return path
        units = await self._session.background.call(
            f"{tasks.__name__}:units_including", (path, folder.path), tuple[str, ...]
        )
        found = [*units, *folder.includers(path)]
        return next((unit for unit in found if _is_unit(unit)), None)

    def _submit(self, folder: Folder, unit: str, cause: Cause) -> asyncio.Future[Outcome]:
        if self._jobs is None:
            self._jobs = Jobs(on_result=self._take, on_change=self._session.status_changed)
        settings = folder.snapshot.settings
        folder.settle(unit)
        self._sent[unit] = folder.snapshot
        requests = [
            CompileRequest(
                unit,
                arch,
                folder.path,
                tuple(self._session.folders),
                settings.compile.nvcc,
                settings.compile.commands,
                settings.compile.args,
                settings.compile.timeout,
                slow=None if cause == "command" else SLOW,
                retry=cause == "command",
            )
            for arch in folder.snapshot.architectures.names
        ]
        compiles = [Task(request.arch, FUNCTION, request) for request in requests]
        future = self._jobs.submit(unit, compiles, cause)
        self._server.spawn(self._show(unit, future))
        return future

    async def _show(self, unit: str, future: asyncio.Future[Outcome]) -> None:
        jobs = self._jobs
        assert jobs is not None
        title = f"Compiling {PurePath(unit).name}"
        with self._server.works.work(title, lambda: jobs.cancel(unit)) as work:
            outcome = await asyncio.shield(future)
            work.end("cancelled" if outcome.end == "cancelled" else "done")
        if outcome.end == "done":
            self._sent.pop(unit, None)

    def _take(self, result: CompileResult) -> None:
        """A result has come: its numbers replace those of before, if it has any."""
        self._server.turns.label = "taking in a compile"
        folder = self._session.folder(result.unit)
        folder.settle(result.unit)
        self.problem = result.message
        for dropped in result.dropped:
            if dropped.is_refused:
                log.warning("%s: a flag is not passed on: %s", result.unit, dropped)
        if result.message is not None:
            log.warning("%s (%s): %s", result.unit, result.arch, result.message)
        if result.has_numbers:
            sent = self._sent.get(result.unit)
            entries = result.entries
            if sent is not None:
                entries = _stamped(entries, _compiled_from(sent, folder.snapshot))
            name = tasks.cached_name(result.unit, result.arch)
            entries += _kept(folder.reports.get(name), result)
            folder.take_reports({name: replace(result.report, entries=entries)})
            self._session.refresh.news()


def _may_be_compiled(folder: Folder, path: str) -> bool:
    """Saves of files with neither kernels nor CUDA's suffix compile nothing."""
    if PurePath(path).suffix.lower() in CUDA_SUFFIXES:
        return True
    facts = folder.snapshot.sources.facts(path)
    return facts is not None and bool(facts.kernels)


def _is_unit(path: str) -> bool:
    return PurePath(path).suffix.lower() in {".cu", ".cpp", ".cc", ".cxx", ".c"}


def _compiled_from(sent: Snapshot, now: Snapshot) -> Snapshot:
    """The snapshot whose sources are those that were compiled: the one of now, in which more of
    the disk is known, unless an open text (the others hold none) changed since."""
    is_same = all(
        (known := now.sources.files.get(path)) is not None and known.text == file.text
        for path, file in sent.sources.files.items()
        if file.text
    )
    return now if is_same else sent


def _stamped(entries: tuple[Entry, ...], snapshot: Snapshot) -> tuple[Entry, ...]:
    """The entries with the fingerprints of the kernels that they were compiled from, so that
    an edit that changes nothing leaves them fresh."""
    by_line: dict[tuple[str, int], list[Kernel]] = {}
    for path in {entry.file for entry in entries if entry.file is not None}:
        file = snapshot.sources.file(path)
        if file is None or not file.text:
            continue
        index = LineIndex(file.text)
        for kernel in file.facts.kernels:
            line = index.line_of(kernel.name_span.start) + 1
            by_line.setdefault((path, line), []).append(kernel)
    return tuple(
        _stamped_by(entry, by_line.get((entry.file, entry.line), []))
        if entry.file is not None and entry.line is not None
        else entry
        for entry in entries
    )


def _stamped_by(entry: Entry, kernels: list[Kernel]) -> Entry:
    """The entry with the fingerprint of its kernel among those of its line, if one alone fits."""
    if len(kernels) > 1:
        names = identifiers(entry.entry)
        kernels = [kernel for kernel in kernels if kernel.name in names]
    if len(kernels) != 1:
        return entry
    return replace(entry, fingerprint=kernels[0].fingerprint or entry.fingerprint)


def _kept(before: Report | None, result: CompileResult) -> tuple[Entry, ...]:
    """The old entries of kernels that did not compile now: their numbers stay, stale."""
    new = {entry.entry for entry in result.entries}
    return tuple(
        entry
        for entry in (before.entries if before is not None and result.lost else ())
        if entry.entry not in new and not identifiers(entry.entry).isdisjoint(result.lost)
    )


def _told(outcome: Outcome, path: str) -> dict[str, Any]:
    """A compile's outcome for `occlsp.compile`."""
    results = [
        {
            "unit": result.unit,
            "arch": result.arch,
            "status": result.status,
            "message": result.message,
            "entries": len(result.entries),
            "seconds": round(result.took, 3),
            "cached": result.is_cached,
        }
        for result in outcome.results
    ]
    name = PurePath(outcome.unit).name
    if outcome.end != "done":
        message = f"{name}: {outcome.end}"
    else:
        words = [r.message or f"{len(r.entries)} kernels for {r.arch}" for r in outcome.results]
        message = f"{name}: {'; '.join(words)}"
    if outcome.unit != path:
        message = f"{PurePath(path).name} is compiled as part of {message}"
    ok = outcome.end == "done" and all(result.has_numbers for result in outcome.results)
    return {"ok": ok, "message": message, "results": results}
