"""Processes that share the work of `occlsp check`, and end with it.

Children are forked where that is safe, so that they have the parsed sources without a copy. An
interrupt at the terminal reaches them as well as us: they leave it to us, and are told to stop.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from occlsp.reports.run import kill_tree
from occlsp.reports.worker import Control

STOP_SECONDS = 2.0
"""How long a child may take to end what it runs before it is killed."""
T = TypeVar("T")
R = TypeVar("R")
control = Control()
"""Of this process: cancelled when it is told to stop."""


class Died(Exception):
    """The process that worked on something ended in the middle of it."""


def spread(
    work: Callable[[T], R],
    items: Sequence[T],
    jobs: int,
    start: Callable[..., None],
    given: tuple[Any, ...] = (),
) -> Iterator[tuple[T, R | Exception]]:
    """`work` on each item in `jobs` processes: each with its result, or why there is none, as
    they are done. `start(*given)` runs first in each. With one job all is done in this process.

    An interrupt, or closing the iterator, ends the processes with all that they run.
    """
    jobs = min(jobs, len(items))
    if jobs <= 1:
        start(*given)
        for item in items:
            yield item, _tried(work, item)
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(start, given))
    is_whole = False
    try:
        waiting = {pool.submit(_tried, work, item): item for item in items}
        yield from _as_done(waiting)
        is_whole = True
    finally:
        ours = [child for child in multiprocessing.active_children() if child not in others]
        pool.shutdown(wait=is_whole, cancel_futures=True)
        if not is_whole:
            _stop(ours)


def _as_done(waiting: dict[Future[R | Exception], T]) -> Iterator[tuple[T, R | Exception]]:
    while waiting:
        # In short turns: a wait without end is deaf to interrupts on some systems.
        for future in wait(waiting, 0.5, FIRST_COMPLETED).done:
            item = waiting.pop(future)
            try:
                yield item, future.result()
            except BrokenProcessPool:
                yield item, Died("the process that worked on it died")


def _tried(work: Callable[[T], R], item: T) -> R | Exception:
    try:
        return work(item)
    except Exception as error:
        return error


def _begin(start: Callable[..., None], given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: _told_to_stop())
    start(*given)


def _told_to_stop() -> None:
    """A compile sees it within a moment and ends the compiler; anything else is left as it is."""
    control.cancel()
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(1))
    signal.setitimer(signal.ITIMER_REAL, STOP_SECONDS / 2)


def _stop(children: Iterable[BaseProcess]) -> None:
    children = list(children)
    if os.name != "nt":  # where it would kill the child and leave the compiler
        for child in children:
            child.terminate()
        for child in children:
            child.join(STOP_SECONDS)
    for child in children:
        if child.is_alive() and child.pid is not None:
            kill_tree(child.pid, thorough=True)
