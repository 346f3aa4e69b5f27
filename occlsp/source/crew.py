"""Work on many items by this process and children that are forked from it: they share all that
is in its memory without a copy, and only results are sent. Where it is not safe to fork (or where
other threads run, as in a server, who must ask for one process), this process does it all."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

CHUNK = 8
"""Items that a child is given at a time: neighbours, which share what they look at."""
AHEAD = 2
"""Chunks that a child is given before the first is done."""


def cores() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Crew(Generic[T, R]):
    """`work` on items in `jobs` processes, of which this one is the first."""

    def __init__(
        self, work: Callable[[T], R], jobs: int, pack: Callable[[R], R] = lambda result: result
    ) -> None:
        self.work = work
        self.pack = pack
        """Takes away what is not to be sent from a child."""
        # Elsewhere, where there is a fork at all, the system's own libraries do not outlive it.
        self.jobs = jobs if sys.platform == "linux" else 1

    def run(self, items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """The results with the positions of their items, as they are done.

        An item whose child dies is worked on again here. Exceptions of `work` are raised here.
        """
        children = min(self.jobs - 1, len(items) // CHUNK)
        if children < 1:
            yield from ((index, self.work(item)) for index, item in enumerate(items))
            return
        starts = list(range(0, len(items), CHUNK))[::-1]
        members: list[_Member[T, R]] = []
        try:
            for _ in range(children):
                members.append(_Member(self, items, [m.connection for m in members]))
            for _ in range(AHEAD):
                for member in members:
                    if starts:
                        member.give(starts.pop())
            mine: list[int] = []
            while mine or starts or any(member.waiting for member in members):
                if not mine and starts:
                    # From the other end: so no child's chunk is torn away from its neighbours.
                    start = starts.pop(0)
                    mine = list(range(start, min(start + CHUNK, len(items))))
                if mine:
                    index = mine.pop(0)
                    yield index, self.work(items[index])
                for member in _ready(members, block=not mine and not starts):
                    found = member.take()
                    if found is None:
                        mine += member.left_over(len(items))
                    elif starts:
                        member.give(starts.pop())
                    yield from found or ()
        finally:
            for member in members:
                member.end()


class _Member(Generic[T, R]):
    """One child."""

    def __init__(self, crew: Crew[T, R], items: Sequence[T], others: Sequence[Connection]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self.waiting: list[int] = []
        ours = [*others, self.connection]
        self.process = context.Process(target=_serve, args=(theirs, ours, crew, items), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, start: int) -> None:
        self.waiting.append(start)
        self.connection.send(start)

    def take(self) -> list[tuple[int, R]] | None:
        """The results of a chunk; None where the child died."""
        try:
            found = pickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None
        self.waiting.pop(0)
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    def left_over(self, count: int) -> list[int]:
        """The items that a child that died was given."""
        left = [i for start in self.waiting for i in range(start, min(start + CHUNK, count))]
        self.waiting.clear()
        return left

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


def _ready(members: Sequence[_Member[T, R]], *, block: bool) -> list[_Member[T, R]]:
    busy = {member.connection: member for member in members if member.waiting}
    if not busy:
        return []
    return [busy[one] for one in wait(list(busy), None if block else 0)]  # type: ignore[index]


def _serve(
    connection: Connection, ours: list[Connection], crew: Crew[T, R], items: Sequence[T]
) -> None:
    for one in ours:
        one.close()  # else a parent that dies would not be heard of
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it, and ends its children
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        try:
            start = connection.recv()
        except EOFError:
            return
        result: object
        try:
            indexes = range(start, min(start + CHUNK, len(items)))
            result = [(index, crew.pack(crew.work(items[index]))) for index in indexes]
        except Exception as error:
            result = error
        connection.send_bytes(pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
