"""The collector's full passes are made when nobody waits."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from occlsp.server import garbage


class Ring:
    """Cyclic garbage, once nobody holds it."""

    def __init__(self) -> None:
        self.itself = self


class Clock:
    """A loop that calls later when it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def later(self, delay: float, act: Callable[[], None]) -> Any:
        self.waiting.append((self.now + delay, act))
        return object()

    def go_on(self, seconds: float) -> None:
        self.now += seconds
        due = [act for when, act in self.waiting if when <= self.now]
        self.waiting = [(when, act) for when, act in self.waiting if when > self.now]
        for act in due:
            act()


def test_garbage_goes_in_the_silence_after_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("time.monotonic", lambda: clock.now)
    silence = garbage.Silence(clock.later)
    gc.disable()
    ring = weakref.ref(Ring())
    try:
        silence.broken()
        clock.go_on(0.9)
        silence.broken()
        clock.go_on(0.9)
        assert ring() is not None, "the client has just spoken"
        clock.go_on(0.2)
        assert ring() is None
        assert clock.waiting == [], "one pass is enough until the client speaks again"
    finally:
        gc.unfreeze()
        gc.enable()
