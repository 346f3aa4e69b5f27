"""The collector's full passes are made when nobody waits."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr("time.monotonic", lambda: clock.now)
    gc.disable()
    yield clock
    gc.enable()


def test_garbage_goes_in_the_silence_after_a_message(clock: Clock) -> None:
    silence = garbage.Silence(clock.later)
    ring = weakref.ref(Ring())
    silence.broken()
    clock.go_on(0.9)
    silence.broken()
    clock.go_on(0.9)
    assert ring() is not None, "the client has just spoken"
    clock.go_on(0.2)
    assert ring() is None
    assert clock.waiting == [], "one pass is enough until the client speaks again"


def test_garbage_of_a_client_that_is_never_silent_goes_too(clock: Clock) -> None:
    silence = garbage.Silence(clock.later)
    ring = weakref.ref(Ring())
    for _ in range(garbage.MOST):
        silence.broken()
        clock.go_on(0.1)
    clock.go_on(0.9)
    silence.broken()
    clock.go_on(0.1)
    assert ring() is None
