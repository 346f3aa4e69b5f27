"""The best block size, the sweep, the dynamic shared memory that is still free."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from occlsp.occupancy import (
    ARCHITECTURES,
    BlockExpression,
    InvalidInput,
    available_dynamic_smem,
    best_block,
    occupancy,
    sweep,
)


def test_best_block_of_equals_is_the_largest() -> None:
    best = best_block("sm_90", 32)
    assert best is not None
    assert (best.block, best.result.blocks_per_sm, best.min_grid(132)) == (1024, 2, 264)


def test_best_block_within_launch_bounds_tries_the_bounds_first() -> None:
    best = best_block("sm_75", 32, launch_bounds=40)
    assert best is not None
    assert (best.block, best.result.blocks_per_sm) == (40, 16)


def test_best_block_with_memory_that_grows_with_it() -> None:
    number = best_block("sm_80", 32, dynamic_smem=lambda block: 64 * block)
    text = best_block("sm_80", 32, dynamic_smem=BlockExpression("64*block"))
    assert number == text
    assert number is not None
    assert (number.block, number.dynamic_smem) == (1024, 65536)


def test_no_best_block_where_none_fits() -> None:
    assert best_block("sm_90", 256) is None
    assert best_block("sm_90", 32, 300_000) is None


def test_sweep_holds_every_multiple_of_the_warp() -> None:
    table = sweep("sm_90", 72, dynamic_smem=40960)
    assert [one.block for one in table] == list(range(32, 1025, 32))
    percents = {one.block: one.result.percent for one in table}
    assert [percents[block] for block in (64, 128, 192, 256, 384, 512, 1024)] == [
        *(15.6, 31.3, 37.5, 37.5, 37.5, 25.0, 0.0)
    ]


def test_sweep_ends_at_the_launch_bounds() -> None:
    assert [one.block for one in sweep("sm_90", 32, launch_bounds=70)] == [32, 64, 70]


@pytest.mark.parametrize(
    ("blocks", "options", "expected"),
    [
        (1, {}, 227 * 1024),
        (2, {}, 113 * 1024),
        (8, {}, 27.5 * 1024),
        (9, {}, None),
        (1, {"opt_in": False}, 48 * 1024),
        (2, {"max_dynamic_smem": 4096}, 4096),
        (2, {"carveout": 50}, 65 * 1024),
        (2, {"carveout": 0}, 3 * 1024),
    ],
)
def test_available_dynamic_smem(
    blocks: int, options: dict[str, int], expected: float | None
) -> None:
    assert available_dynamic_smem("sm_90", blocks, 256, 32, **options) == expected  # type: ignore[arg-type]


def test_available_dynamic_smem_of_no_blocks_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^blocks: 0 is too small"):
        available_dynamic_smem("sm_90", 0, 256, 32)


@given(
    arch=st.sampled_from(ARCHITECTURES),
    registers=st.integers(0, 255),
    static=st.integers(0, 100 * 1024),
    per_thread=st.integers(0, 64),
    bounds=st.none() | st.integers(1, 1100),
)
def test_best_block_is_never_beaten(
    arch: str, registers: int, static: int, per_thread: int, bounds: int | None
) -> None:
    best = best_block(arch, registers, static, lambda t: per_thread * t, launch_bounds=bounds)
    most = best.resident_threads if best else 0
    for block in range(32, min(1024, bounds or 1024) + 1, 32):
        found = occupancy(arch, block, registers, static, per_thread * block, launch_bounds=bounds)
        assert found.blocks_per_sm * block <= most


@given(
    arch=st.sampled_from(ARCHITECTURES),
    block=st.integers(1, 1024),
    registers=st.integers(0, 255),
    static=st.integers(0, 48 * 1024),
    blocks=st.integers(1, 32),
)
def test_available_dynamic_smem_fits_and_one_unit_more_does_not(
    arch: str, block: int, registers: int, static: int, blocks: int
) -> None:
    free = available_dynamic_smem(arch, blocks, block, registers, static)
    if free is None:
        assert occupancy(arch, block, registers, static).blocks_per_sm < blocks
        return
    assert occupancy(arch, block, registers, static, free).blocks_per_sm >= blocks
    assert occupancy(arch, block, registers, static, free + 256).blocks_per_sm < blocks
