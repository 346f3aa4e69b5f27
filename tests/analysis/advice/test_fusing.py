"""The verdict on a fusion: limits, factors, threshold."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from occlsp.analysis.advice.fusing import (
    Bounds,
    Fused,
    Part,
    base_factor,
    ilp_factor,
    judge,
    register_factor,
    smem_factor,
)
from occlsp.occupancy import limits

ROW = limits("sm_90")
BOUNDS = Bounds.of(ROW)
PARTS = (Part("scale", 32), Part("add", 40))
FUSED = Fused(40, 0, 256, bytes_with=20, bytes_without=12, operations=3)


def test_the_limits_of_the_architecture() -> None:
    assert Bounds(255, 232448, 1.05) == BOUNDS
    assert Bounds.of(ROW, 128, 1024, 1.5) == Bounds(128, 1024, 1.5)


def test_fewer_than_two_kernels() -> None:
    assert judge(PARTS[:1], FUSED, ROW, BOUNDS).verdict == "nothing to fuse"
    assert judge((), FUSED, ROW, BOUNDS).verdict == "nothing to fuse"


def test_a_candidate_at_the_register_limit_is_allowed_and_above_it_is_refused() -> None:
    assert judge(PARTS, replace(FUSED, registers=255), ROW, BOUNDS).verdict != "register spill"
    refused = judge(PARTS, replace(FUSED, registers=256), ROW, BOUNDS)
    assert (refused.verdict, refused.why) == ("register spill", "256 registers, above 255")
    assert judge(PARTS, FUSED, ROW, Bounds.of(ROW, registers=39)).verdict == "register spill"
    assert judge(PARTS, FUSED, ROW, Bounds.of(ROW, registers=40)).verdict == "beneficial"


def test_the_compilers_spills_count() -> None:
    spilled = judge(PARTS, replace(FUSED, spill_bytes=8), ROW, BOUNDS)
    assert (spilled.verdict, spilled.why) == ("register spill", "the compiler spills 8 bytes")
    assert judge(PARTS, replace(FUSED, spill_bytes=0), ROW, BOUNDS).verdict == "beneficial"


def test_a_candidate_at_the_shared_memory_limit_is_allowed_and_above_it_is_refused() -> None:
    at = judge(PARTS, replace(FUSED, static_smem=232448), ROW, BOUNDS)
    assert at.verdict != "shared-memory overflow"
    assert at.smem_factor == 0.5
    above = judge(PARTS, replace(FUSED, static_smem=232449), ROW, BOUNDS)
    assert above.verdict == "shared-memory overflow"


@pytest.mark.parametrize(
    ("size", "factor"),
    [(0, 1.0), (500, 1.0), (501, 0.999), (750, 0.75), (1000, 0.5)],
)
def test_at_and_past_half_of_the_shared_memory_budget(size: int, factor: float) -> None:
    assert smem_factor(size, 1000) == pytest.approx(factor)


def test_the_base_is_traffic_with_over_traffic_without() -> None:
    assert base_factor(20, 12) == pytest.approx(20 / 12)
    assert base_factor(10, 12) == 1
    assert base_factor(10, 0) == 1


def test_the_register_factor_is_that_of_the_exact_core() -> None:
    assert register_factor(0.5, 0.75) == pytest.approx(2 / 3)
    assert register_factor(1.0, 0.5) == 1
    assert register_factor(0.1, 1.0) == 0.5
    assert register_factor(0.1, 0.0) == 0.5
    found = judge((Part("a", 32), Part("b", 64)), replace(FUSED, registers=72), ROW, BOUNDS)
    assert found.occupancies == (1.0, 0.5)
    assert found.fused_occupancy == 0.375
    assert found.register_factor == 0.75


@pytest.mark.parametrize(
    ("operations", "registers", "factor"),
    [(0, 32, 1.0), (32, 32, 1.0), (64, 32, 1.05), (192, 32, 1.25), (640, 32, 1.25), (5, 0, 1.0)],
)
def test_the_ilp_factor(operations: float, registers: int, factor: float) -> None:
    assert ilp_factor(operations, registers) == pytest.approx(factor)


def test_the_score_is_their_product_and_the_threshold_is_allowed() -> None:
    found = judge(PARTS, replace(FUSED, operations=80), ROW, BOUNDS)
    assert found.score == pytest.approx(20 / 12 * 1.0 * 1.0 * 1.05)
    at = replace(FUSED, bytes_with=21, bytes_without=20, operations=0)
    assert judge(PARTS, at, ROW, BOUNDS).score == 1.05
    assert judge(PARTS, at, ROW, BOUNDS).verdict == "beneficial"
    below = judge(PARTS, replace(at, bytes_with=20.9), ROW, BOUNDS)
    assert (below.verdict, below.why) == ("not worthwhile", "score 1.045, below 1.05")
    assert judge(PARTS, at, ROW, Bounds.of(ROW, threshold=1.1)).verdict == "not worthwhile"
