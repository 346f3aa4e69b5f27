"""What a benchmark says of itself: categories with problems and strategies, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Unavailable(Exception):
    """Something that a problem or a strategy needs is not on this machine; says what."""


@dataclass(frozen=True)
class Problem:
    """One input, and the work that it stands for."""

    id: str
    label: str
    make: Callable[[ExitStack, Path], Any]
    """The payload that strategies get; what has to be closed goes on the stack."""
    work: Callable[[Any], float]
    """How much of `unit` one run does."""
    unit: str


@dataclass(frozen=True)
class Strategy:
    """One way to do the work."""

    id: str
    label: str
    run: Callable[[Any], Any]
    problems: frozenset[str] | None = None
    """The problems that it is for; None: all of the category."""


@dataclass(frozen=True)
class Pair:
    """A strategy's result beside a reference's, on seeded input: checked before anything is
    timed."""

    label: str
    strategy: Callable[[ExitStack, Path], Any]
    reference: Callable[[ExitStack, Path], Any]


@dataclass(frozen=True)
class Limit:
    """What a strategy is held against: another strategy of the same problem, or a number."""

    strategy: str
    against: str | None = None
    """Strategy whose median is the physical limit (raw tree-sitter, `grep`)."""
    at_most: float | None = None
    """Ratio to `against`, or seconds a run where there is none."""
    rate: float | None = None
    """Work a second that it has to reach."""


@dataclass(frozen=True)
class Category:
    """Benchmarks that belong together; the id is stable, results are compared by it."""

    id: str
    label: str
    problems: tuple[Problem, ...]
    strategies: tuple[Strategy, ...]
    pair: Pair | None = None
    limits: tuple[Limit, ...] = ()
