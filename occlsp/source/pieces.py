"""Work that is done piece by piece: who does it may do something else between two of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Pieces = Generator[None, None, T]


def finished(work: Pieces[T]) -> T:
    """What some work gives, done at a stretch."""
    try:
        while True:
            next(work)
    except StopIteration as end:
        found: T = end.value
        return found
