"""The queue of compiles: one at a time a file, the newest wins, the primary architecture first.

Everything here runs on the caller's event loop and returns at once; the work is done in worker
processes. A file that is saved again is compiled again from the start: what waits is replaced,
what runs is ended. Saves that follow each other closely are waited out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from occlsp.reports.compiled import CompileResult
from occlsp.reports.worker import Worker, WorkerError

log = logging.getLogger("occlsp.jobs")

Cause = Literal["save", "header", "open", "command"]
Phase = Literal["waiting", "running", "done"]
SETTLE = 0.2
"""Seconds without another save before a compile starts."""
LONGEST_SETTLE = 2.0


@dataclass(frozen=True, slots=True)
class Task:
    """One compile: a function of ours, run in a worker, that gives a `CompileResult`."""

    arch: str
    function: str
    """"module:name"; see `Worker.call`."""
    request: object


@dataclass(frozen=True, slots=True)
class State:
    """Where the compile of one file stands, for a status display."""

    unit: str
    arch: str
    phase: Phase
    cause: Cause
    since: float
    """`time.monotonic()` when the phase began."""
    said: str = ""
    """What the compile says of its progress."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a submission ended."""

    unit: str
    results: tuple[CompileResult, ...] = ()
    end: Literal["done", "superseded", "cancelled"] = "done"


class Runner(Protocol):
    """What runs the functions: a `Worker`, or something like it in a test."""

    async def call(
        self,
        function: str,
        request: object,
        kind: type[CompileResult],
        say: Callable[[str], None] | None = None,
    ) -> CompileResult: ...

    async def close(self) -> None: ...


@dataclass
class _Job:
    unit: str
    tasks: tuple[Task, ...]
    cause: Cause
    number: int
    due: float
    settle: float
    ended: asyncio.Future[Outcome]
    results: list[CompileResult] = field(default_factory=list)
    running: asyncio.Task[None] | None = None
    since: float = 0.0
    said: str = ""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """First every file's primary architecture, then the others; commands before saves."""
        return (bool(self.results), self.cause != "command", self.number)


class Jobs:
    """The queue. Use it from one event loop."""

    def __init__(
        self,
        *,
        workers: int = 1,
        settle: float = SETTLE,
        on_result: Callable[[CompileResult], None] | None = None,
        on_change: Callable[[], None] | None = None,
        start: Callable[[], Runner] = Worker,
    ) -> None:
        """`on_result` is called with every result as it comes, `on_change` when `states()` did."""
        self._free = [start() for _ in range(workers)]
        self._all = tuple(self._free)
        self._settle = settle
        self._on_result = on_result or (lambda result: None)
        self._on_change = on_change or (lambda: None)
        self._jobs: dict[str, _Job] = {}
        self._ending: dict[asyncio.Task[None], str] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._count = 0

    def submit(
        self, unit: str, tasks: Sequence[Task], cause: Cause = "save"
    ) -> asyncio.Future[Outcome]:
        """Queues the compile of a file, in place of what was queued or runs for it.

        The future never raises: it ends as done, superseded or cancelled.
        """
        loop = asyncio.get_running_loop()
        settle = self._settle
        old = self._jobs.pop(unit, None)
        if old is not None:
            # A start that was in vain: leave more time before the next.
            settle = min(LONGEST_SETTLE, old.settle * 2) if old.running else old.settle
            self._end(old, "superseded")
        self._count += 1
        now = time.monotonic()
        due = now if cause == "command" else now + settle
        job = _Job(unit, tuple(tasks), cause, self._count, due, settle, loop.create_future())
        job.since = now
        self._jobs[unit] = job
        self._on_change()
        self._pump()
        return job.ended

    def cancel(self, unit: str | None = None) -> None:
        """Ends the compile of a file (None: of all)."""
        for name in [unit] if unit is not None else list(self._jobs):
            job = self._jobs.pop(name, None)
            if job is not None:
                self._end(job, "cancelled")
        self._on_change()
        self._pump()

    def states(self) -> tuple[State, ...]:
        """What waits and runs now, running first."""
        states = [
            State(
                job.unit,
                job.tasks[len(job.results)].arch,
                "running" if job.running is not None else "waiting",
                job.cause,
                job.since,
                job.said,
            )
            for job in sorted(self._jobs.values(), key=lambda job: (job.running is None, job.rank))
            if len(job.results) < len(job.tasks)
        ]
        return tuple(states)

    async def close(self) -> None:
        """Cancels everything and ends the workers."""
        self.cancel()
        if self._ending:
            await asyncio.wait(self._ending)
        for worker in self._all:
            await worker.close()

    def _end(self, job: _Job, how: Literal["superseded", "cancelled"]) -> None:
        if job.running is not None:
            job.running.cancel()
            self._ending[job.running] = job.unit
        if not job.ended.done():
            job.ended.set_result(Outcome(job.unit, tuple(job.results), how))

    def _pump(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        waiting = sorted(
            (j for j in self._jobs.values() if j.running is None), key=lambda j: j.rank
        )
        for job in waiting:
            if len(job.results) == len(job.tasks):
                self._finish(job)
            elif job.due <= now and self._free:
                worker = self._free.pop()
                job.since = now
                job.running = asyncio.get_running_loop().create_task(self._run(job, worker))
                job.running.add_done_callback(self._ended)
        later = [job.due for job in self._jobs.values() if job.running is None and job.due > now]
        if later:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(min(later) - now, self._pump)

    async def _run(self, job: _Job, worker: Runner) -> None:
        task = job.tasks[len(job.results)]
        self._on_change()

        def say(text: str) -> None:
            job.said = text
            self._on_change()

        try:
            result = await worker.call(task.function, task.request, CompileResult, say)
        except WorkerError as error:
            log.error("the compile of %s: %s", job.unit, error)
            result = CompileResult("failed", job.unit, task.arch, message=str(error))
        finally:
            self._free.append(worker)
            job.running = None
        job.results.append(result)
        job.since, job.said = time.monotonic(), ""
        self._on_result(result)
        self._on_change()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A worker is free again, after a cancel too."""
        self._ending.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a callback of the compile queue failed", exc_info=error)
        self._pump()

    def _finish(self, job: _Job) -> None:
        if self._jobs.get(job.unit) is job:
            del self._jobs[job.unit]
        if not job.ended.done():
            job.ended.set_result(Outcome(job.unit, tuple(job.results)))
        self._on_change()
