"""Compiles of `occlsp check --compile`: as many at a time as asked for, each once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from occlsp.cli.check_sources import Progress
from occlsp.reports.compile_task import CompileRequest, compile_one
from occlsp.reports.compiled import CompileResult
from occlsp.reports.facts import Report
from occlsp.reports.worker import Control


def compile_all(
    asked: Sequence[CompileRequest],
    jobs: int,
    reports: list[Report],
    problems: list[str],
    progress: Progress,
) -> None:
    """Adds to `reports` what was compiled, and to `problems` what was not, however far it came.

    Threads wait for the compilers, which an interrupt ends. What the cache holds is not compiled
    again, so that an interrupted run goes on where it was.
    """
    control = Control()
    pool = ThreadPoolExecutor(jobs)
    found: dict[int, Report] = {}
    lacking: dict[int, str] = {}
    done = 0
    try:
        waiting = {pool.submit(compile_one, one, control): place for place, one in enumerate(asked)}
        while waiting:
            # In short turns: a wait without end is deaf to interrupts on some systems.
            for future in wait(waiting, 0.5, FIRST_COMPLETED).done:
                place = waiting.pop(future)
                done += 1
                unit, arch = asked[place].unit, asked[place].arch
                progress(f"compiled {unit} for {arch}", done, len(asked))
                result, why = _outcome(future)
                if result is not None:
                    found[place] = result.report
                elif why is not None:
                    lacking[place] = f"{unit}: not compiled for {arch}: {why}"
    finally:
        control.cancel()
        pool.shutdown(cancel_futures=True)
        # In the order that was asked for: who ends first is chance.
        reports += [found[place] for place in sorted(found)]
        problems += [lacking[place] for place in sorted(lacking)]


def _outcome(future: Future[CompileResult]) -> tuple[CompileResult | None, str | None]:
    """What was compiled, or why nothing was, where that is to be told."""
    error = future.exception()
    if error is not None:
        return None, f"{type(error).__name__}: {error}"
    result = future.result()
    if result.entries:
        return result, None
    is_fine = result.status in ("no-entry", "not-for-arch")
    return None, None if is_fine else result.message
