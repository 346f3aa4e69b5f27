"""Spearman's correlation and the gate that rests on it."""

from __future__ import annotations

import math

import pytest

from occlsp.analysis.advice.correlation import average_ranks, gate, spearman


def test_ties_share_the_mean_of_their_ranks() -> None:
    assert average_ranks([10, 20, 20, 30]) == [1, 2.5, 2.5, 4]
    assert average_ranks([5, 5, 5]) == [2, 2, 2]
    assert average_ranks([math.inf, 1, math.inf]) == [2.5, 1, 2.5]


@pytest.mark.parametrize(
    ("left", "right", "correlation"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [30, 20, 10], -1.0),
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),
        ([1, 2, 2, 3], [1, 2, 3, 4], 4.5 / math.sqrt(4.5 * 5)),
        ([1, 2, math.inf], [1, 2, 3], 1.0),
    ],
)
def test_spearman(left: list[float], right: list[float], correlation: float) -> None:
    assert spearman(left, right) == pytest.approx(correlation)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *(([], []), ([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [7, 7, 7])),
        *(([math.inf] * 3, [1, 2, 3]), ([1, 2, math.nan], [1, 2, 3])),
    ],
)
def test_no_correlation_under_three_pairs_or_of_a_constant(
    left: list[float], right: list[float]
) -> None:
    assert spearman(left, right) is None


def test_the_gate_opens_at_six_tenths() -> None:
    pairs = list(zip([1, 2, 3, 4, 5], [3, 1, 2, 4, 5], strict=True))
    assert spearman(*zip(*pairs, strict=True)) == pytest.approx(0.7)
    assert gate(pairs).is_trusted
    assert gate(pairs).verdict.startswith("recommended: rank correlation 0.70 on 5 measured")
    worse = list(zip([1, 2, 3, 4, 5], [2, 3, 4, 1, 5], strict=True))
    assert gate(worse).correlation == pytest.approx(0.4)
    assert gate(worse).disagrees
    assert gate(worse).verdict == (
        "the model is not trusted for this kernel: rank correlation 0.40 on 5 measured "
        "configurations, at least 0.6 is asked for"
    )


def test_exactly_six_tenths_is_enough() -> None:
    pairs = list(zip([1, 2, 3, 4], [2, 1, 4, 3], strict=True))
    assert gate(pairs).correlation == 0.6
    assert gate(pairs).is_trusted


def test_what_is_not_measured_enough_is_no_recommendation_and_no_disagreement() -> None:
    for pairs, said in (
        ([], "estimated, and not measured: no recommendation"),
        ([(1, 2)], "1 measured configuration, at least 3 are needed"),
        ([(1, 1), (1, 2), (1, 3)], "the costs or the times are all the same"),
    ):
        found = gate(pairs)
        assert not found.is_trusted
        assert not found.disagrees
        assert said in found.verdict
