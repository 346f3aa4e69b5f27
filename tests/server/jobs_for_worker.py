"""What the tests let a worker do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator


def count(to: int) -> Iterator[int]:
    yield from range(to)


def fail() -> Iterator[int]:
    yield 1
    raise ValueError("on purpose")


def die() -> Iterator[int]:
    os._exit(3)


def hang(seconds: float) -> Iterator[int]:
    yield os.getpid()
    time.sleep(seconds)


def noise() -> Iterator[str]:
    print("this must not get between the answers")
    yield "heard"
