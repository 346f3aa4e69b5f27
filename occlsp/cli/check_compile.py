"""Compiles of `occlsp check --compile`: as many at a time as asked for, each once."""

from __future__ import annotations

from collections.abc import Sequence

from occlsp.cli.check_pool import control, spread
from occlsp.cli.check_sources import Progress
from occlsp.reports.compile_task import CompileRequest, compile_one
from occlsp.reports.compiled import CompileResult
from occlsp.reports.facts import Report


def compile_all(
    asked: Sequence[CompileRequest],
    jobs: int,
    reports: list[Report],
    problems: list[str],
    progress: Progress,
) -> None:
    """Adds to `reports` what was compiled, and to `problems` what was not, however far it came.

    What the cache holds is not compiled again, so that an interrupted run goes on where it was.
    """
    found: dict[int, Report] = {}
    place = {request: number for number, request in enumerate(asked)}
    try:
        for done, (request, result) in enumerate(spread(_compile, asked, jobs, _start), 1):
            progress(f"compiled {request.unit} for {request.arch}", done, len(asked))
            where = f"{request.unit}: not compiled for {request.arch}"
            if isinstance(result, Exception):
                problems.append(f"{where}: {type(result).__name__}: {result}")
            elif result.entries:
                found[place[request]] = result.report
            elif result.message is not None and result.status not in ("no-entry", "not-for-arch"):
                problems.append(f"{where}: {result.message}")
    finally:
        reports += [found[number] for number in sorted(found)]


def _start() -> None:
    """Nothing is needed before the first."""


def _compile(request: CompileRequest) -> CompileResult:
    return compile_one(request, control)
