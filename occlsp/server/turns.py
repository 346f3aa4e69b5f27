"""How long the event loop is busy at a stretch: a turn above 50 ms is logged with its cause."""

from __future__ import annotations

import asyncio
import logging
import selectors
import time

LIMIT = 0.050
"""Seconds."""

log = logging.getLogger("occlsp.turns")


class Turns(selectors.DefaultSelector):
    """The loop's selector. What passes between two waits of the loop is one turn of it."""

    label = "start"
    """What the turn did last: set by whoever begins some work."""
    longest = 0.0
    """Seconds of the longest turn so far, but those that were allowed to be long."""

    def __init__(self) -> None:
        super().__init__()
        self._began: tuple[float, float] | None = None
        self._allowed = False

    def allow(self) -> None:
        """This turn may be long: the opening of a very large file, the start."""
        self._allowed = True

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Ends a turn, waits, begins the next."""
        if self._began is not None:
            began, began_processor = self._began
            self._end(time.perf_counter() - began, time.thread_time() - began_processor)
        found: list[tuple[selectors.SelectorKey, int]] = super().select(timeout)
        self._allowed = False
        self.label = "idle"
        self._began = time.perf_counter(), time.thread_time()
        return found

    def _end(self, took: float, processor: float) -> None:
        if self._allowed:
            return
        self.longest = max(self.longest, took)
        if took > LIMIT:
            log.warning(
                "the event loop was busy for %.0f ms (%.0f of the processor): %s",
                took * 1000,
                processor * 1000,
                self.label,
            )


def new_loop(turns: Turns) -> asyncio.AbstractEventLoop:
    """An event loop that reports to `turns`."""
    return asyncio.SelectorEventLoop(turns)
