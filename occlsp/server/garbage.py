"""When the interpreter looks for cyclic garbage: at moments that nobody waits in.

What the server keeps (facts of thousands of files) is large, and next to free of cycles. The
collector's own full pass looks at all of it whenever a quarter of it is new, in the midst of a
keystroke. So full passes are made here instead, each over what came since the one before: when
much has come from a child, and when the client has been silent for a moment.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable

SILENCE = 1.0
"""Seconds without a message after which nobody waits."""
YOUNG, MIDDLE, NEVER = 5_000, 5, 1_000_000
"""What the collector does by itself: passes over young objects alone."""


def begin() -> None:
    """After the start: all that is imported stays."""
    gc.set_threshold(YOUNG, MIDDLE, NEVER)
    gc.enable()
    gc.freeze()


def collect() -> None:
    """Frees what came and went since the last time; what is left is not looked at again."""
    gc.collect()
    gc.freeze()


class Silence:
    """Collects once the client has been silent for a moment after it spoke."""

    def __init__(self, later: Callable[[float, Callable[[], None]], asyncio.TimerHandle]) -> None:
        """`later` calls a function on the loop after so many seconds."""
        self._later = later
        self._spoke = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def broken(self) -> None:
        """A message has come."""
        self._spoke = time.monotonic()
        if self._timer is None:
            self._timer = self._later(SILENCE, self._look)

    def _look(self) -> None:
        left = self._spoke + SILENCE - time.monotonic()
        self._timer = self._later(left, self._look) if left > 0 else None
        if self._timer is None:
            collect()
