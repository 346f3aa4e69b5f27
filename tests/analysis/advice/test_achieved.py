"""Achieved beside theoretical occupancy, and why they differ."""

from __future__ import annotations

import pytest

from occlsp.analysis.advice.achieved import reasons, theoretical
from occlsp.analysis.advice.measurements.facts import Measurement
from occlsp.occupancy import gpu

H100 = gpu("H100 SXM")


def test_the_exact_core_is_preferred_to_what_the_profiler_says() -> None:
    known = Measurement(
        "k", "x", block=(256, 1, 1), arch="sm_90", registers=72, static_smem=0,
        dynamic_smem=40960, theoretical_occupancy=0.5,
    )  # fmt: skip
    assert theoretical(known) == (0.375, 3)
    assert theoretical(Measurement("k", "x", theoretical_occupancy=0.5)) == (0.5, None)
    assert theoretical(Measurement("k", "x")) is None


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        (40, ["too few blocks: 40 of the 396 that H100 SXM can hold"]),
        (400, ["a tail: the last of 2 waves leaves 99% idle"]),
        (792, ["imbalance: blocks or warps of unequal work, or that end early"]),
        (100_000, ["imbalance: blocks or warps of unequal work, or that end early"]),
    ],
)
def test_why(grid: int, told: list[str]) -> None:
    assert list(reasons(0.2, 0.375, (grid, 1, 1), 3, H100)) == told


def test_near_the_theoretical_one_there_is_nothing_to_explain() -> None:
    assert list(reasons(0.36, 0.375, (40, 1, 1), 3, H100)) == []


def test_without_a_gpu_all_of_them_are_named() -> None:
    assert list(reasons(0.2, 0.375, (40, 1, 1), 3, None)) == [
        "too few blocks, a tail, or blocks and warps of unequal work"
    ]
