"""Whether a ranking may be called a recommendation: Spearman's correlation with measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

LEAST_PAIRS = 3
LEAST_CORRELATION = 0.6
"""At this correlation of cost and time on, a ranking is a recommendation."""


class Gate(Struct, frozen=True):
    """What measurements say of a model's ranking of one kernel."""

    pairs: int
    """Candidates that were measured."""
    correlation: float | None
    """-1 to 1; None: too few pairs, or a column that is constant."""

    @property
    def is_trusted(self) -> bool:
        """The ranking may be called a recommendation."""
        return self.correlation is not None and self.correlation >= LEAST_CORRELATION

    @property
    def disagrees(self) -> bool:
        """Measurements say that the model is not to be followed here."""
        return self.correlation is not None and not self.is_trusted

    @property
    def verdict(self) -> str:
        """One line for people."""
        if self.pairs == 0:
            return "estimated, and not measured: no recommendation"
        measured = f"{self.pairs} measured configuration{'s' * (self.pairs != 1)}"
        if self.correlation is None:
            few = f"at least {LEAST_PAIRS} are needed"
            why = few if self.pairs < LEAST_PAIRS else "the costs or the times are all the same"
            return f"estimated, no recommendation: {measured}, {why}"
        told = f"rank correlation {self.correlation:.2f} on {measured}"
        if self.is_trusted:
            return f"recommended: {told} (at least {LEAST_CORRELATION} is asked for)"
        return (
            f"the model is not trusted for this kernel: {told}, "
            f"at least {LEAST_CORRELATION} is asked for"
        )


def gate(pairs: Sequence[tuple[float, float]]) -> Gate:
    """The gate for (cost, time) pairs."""
    return Gate(len(pairs), spearman([one for one, _ in pairs], [other for _, other in pairs]))


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Spearman's rank correlation with average ranks for ties; infinities are the largest.

    None for fewer than three pairs, a constant column, or a value that is no number.
    """
    if len(left) != len(right):
        raise ValueError(f"{len(left)} values beside {len(right)}")
    if len(left) < LEAST_PAIRS or any(map(math.isnan, (*left, *right))):
        return None
    return _pearson(average_ranks(left), average_ranks(right))


def average_ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for index in order[start : end + 1]:
            ranks[index] = (start + end) / 2 + 1
        start = end + 1
    return ranks


def _pearson(left: Sequence[float], right: Sequence[float]) -> float | None:
    middle = (len(left) + 1) / 2
    ones = [one - middle for one in left]
    others = [other - middle for other in right]
    spread = math.sqrt(sum(one * one for one in ones) * sum(other * other for other in others))
    if spread == 0:
        return None
    product = sum(one * other for one, other in zip(ones, others, strict=True))
    return max(-1.0, min(1.0, product / spread))
