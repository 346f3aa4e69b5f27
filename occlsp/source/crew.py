"""Work on many items by this process and children of it, of which a result is sent back.

Where that is safe children are forked: they share all that is in memory without a copy. (A server,
where other threads run, must ask for one process.) Elsewhere they are given a copy of the work.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")
R = TypeVar("R")

CHUNK = 8
"""Items that a child is given at a time, if nothing else is said: neighbours, which share what they
look at."""
AHEAD = 2
"""Chunks that a child is given before the first is done."""
STARTED_FOR = {"fork": CHUNK, "spawn": 64}
"""Items for which it pays to start one child more."""
STOP_SECONDS = 2.0
MADE = 50_000
"""Objects that are made before it is looked for garbage: facts are kept, and hardly any hold a
cycle."""


def cores() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Died(Exception):
    """The process that worked on something ended in the middle of it."""


def _as_it_is(result: R) -> R:
    return result


class Crew(Generic[T, R]):
    """`work` on items in `jobs` processes, of which this one is the first."""

    def __init__(
        self,
        work: Callable[[T], R],
        jobs: int,
        pack: Callable[[R], Any] = _as_it_is,
        method: str = "fork" if sys.platform == "linux" else "spawn",
        *,
        most: int = CHUNK,
    ) -> None:
        """`pack` makes what a child sends of a result; it is given `most` items at a time."""
        self.work = work
        self.jobs = jobs
        self.pack = pack
        self.method = method
        self.most = most

    def run(self, items: Sequence[T]) -> Iterator[tuple[int, Any]]:
        """The results with the positions of their items, as they are done: of this process as they
        are, of children as they were packed. Exceptions of `work` are raised here.

        What a child had that died is given to another, item by item: the one that ends that, too,
        has `Died` for a result.
        """
        children = min(self.jobs - 1, len(items) // STARTED_FOR[self.method])
        left = deque(range(len(items)))
        suspects: list[int] = []
        members: list[_Member] = []
        gc.freeze()  # what the children share stays as it is
        before = gc.get_threshold()
        gc.set_threshold(max(MADE, before[0]), *before[1:])
        try:
            for _ in range(children):
                members.append(_Member(self, items, members))
            while left or suspects or any(member.waiting for member in members):
                for member in members:
                    share = max(1, len(left) // (4 * (children + 1)))
                    member.feed(left, suspects, min(self.most, share))
                if left:
                    # From the other end: so the children's are neighbours.
                    index = left.pop()
                    yield index, self.work(items[index])
                for member in _ready(members, block=not left):
                    found = member.take()
                    if found is None:
                        members.remove(member)
                        members.append(_Member(self, items, members))
                        culprit = member.culprit()
                        suspects += member.end()
                        found = [(i, Died("the process that worked on it died")) for i in culprit]
                    yield from found
        finally:
            gc.unfreeze()
            gc.set_threshold(*before)
            for member in members:
                member.end()


class _Member:
    """One child."""

    def __init__(self, crew: Crew[T, R], items: Sequence[T], others: Sequence[_Member]) -> None:
        import multiprocessing  # one process alone has no need of it

        context: Any = multiprocessing.get_context(crew.method)
        self.connection, theirs = context.Pipe()
        self.waiting: deque[list[int]] = deque()
        ours = [other.connection for other in (*others, self)] if crew.method == "fork" else []
        self.process = context.Process(
            target=_serve, args=(theirs, ours, crew.work, crew.pack, items), daemon=True
        )
        self.process.start()
        theirs.close()

    def feed(self, left: deque[int], suspects: list[int], size: int) -> None:
        """Gives it something to do, so many items at a time: fewer as less is left, so that all
        processes end at the same time."""
        while len(self.waiting) < AHEAD and (left or suspects):
            if suspects:
                chunk = [suspects.pop()]
            else:
                chunk = [left.popleft() for _ in range(min(size, len(left)))]
            self.waiting.append(chunk)
            try:
                self.connection.send(chunk)
            except OSError:
                return  # it died, which is heard of when its answer is looked for

    def take(self) -> list[tuple[int, Any]] | None:
        """The results of a chunk; None where the child died."""
        try:
            found = pickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None
        if isinstance(found, Exception):
            raise found
        self.waiting.popleft()
        return found  # type: ignore[no-any-return]

    def culprit(self) -> list[int]:
        """The item that it died of, where it is known."""
        return self.waiting.popleft() if len(self.waiting[0]) == 1 else []

    def end(self) -> list[int]:
        """The items that it was given and did not do."""
        self.connection.close()
        self.process.terminate()
        self.process.join(STOP_SECONDS)
        if self.process.is_alive():
            self.process.kill()
        return [index for chunk in self.waiting for index in chunk]


def _ready(members: Sequence[_Member], *, block: bool) -> list[_Member]:
    busy = [member for member in members if member.waiting]
    if not busy:
        return []
    from multiprocessing.connection import wait

    # In short turns: a wait without end is deaf to interrupts on some systems.
    ready = wait([member.connection for member in busy], 0.5 if block else 0)
    return [member for member in busy if member.connection in ready]


def _serve(
    connection: Connection,
    ours: Sequence[Connection],
    work: Callable[[T], R],
    pack: Callable[[R], object],
    items: Sequence[T],
) -> None:
    for one in ours:
        one.close()  # else a parent that dies would not be heard of
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it, and ends its children
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        try:
            chunk = connection.recv()
        except EOFError:
            return
        result: object
        try:
            result = [(index, pack(work(items[index]))) for index in chunk]
        except Exception as error:
            result = error
        connection.send_bytes(pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
