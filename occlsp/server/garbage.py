"""When the interpreter looks for cyclic garbage: at moments that nobody waits in.

What the server keeps (facts of thousands of files) is large. The collector's own full pass looks
at all of it whenever a quarter of it is new, in the midst of a keystroke. So full passes are made
here instead: when the client has been silent for a moment, and with each page of much that comes
from a child and stays. That is then not looked at again: what of it becomes garbage in a cycle is
lost, so that nothing that is soon replaced may be kept in this way.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable

SILENCE = 1.0
"""Seconds without a message after which nobody waits."""
MOST = 500
"""Messages after which silence is not waited for."""
YOUNG, MIDDLE, NEVER = 5_000, 5, 1_000_000
"""What the collector does by itself: passes over young objects alone."""


def begin() -> None:
    """After the start: all that is imported stays."""
    gc.set_threshold(YOUNG, MIDDLE, NEVER)
    gc.enable()
    gc.freeze()


def keep() -> None:
    """Frees what came and went; what is left stays for good, and is not looked at again."""
    gc.collect()
    gc.freeze()


class Silence:
    """Collects once the client has been silent for a moment after it spoke."""

    def __init__(
        self,
        later: Callable[[float, Callable[[], None]], asyncio.TimerHandle],
        collect: Callable[[], object] = gc.collect,
    ) -> None:
        """`later` calls a function on the loop after so many seconds."""
        self._later = later
        self._collect = collect
        self._spoke = 0.0
        self._heard = 0
        self._timer: asyncio.TimerHandle | None = None

    def broken(self) -> None:
        """A message has come."""
        self._spoke = time.monotonic()
        self._heard += 1
        if self._timer is None:
            self._timer = self._later(SILENCE, self._look)

    def _look(self) -> None:
        left = self._spoke + SILENCE - time.monotonic()
        if left > 0 and self._heard < MOST:
            self._timer = self._later(left, self._look)
        else:
            self._timer, self._heard = None, 0
            self._collect()
