"""Waves and their tail, cooperative launches, clusters."""

from __future__ import annotations

import pytest

from occlsp.occupancy import (
    InvalidInput,
    cluster_problems,
    grid_blocks,
    limits,
    max_cooperative_blocks,
    waves,
)


def test_a_second_wave_of_one_percent() -> None:
    found = waves(400, 3, 132)
    assert found is not None
    assert (found.wave_blocks, found.full_waves, found.count, found.tail_blocks) == (396, 1, 2, 4)
    assert found.waves == pytest.approx(400 / 396)
    assert found.tail == pytest.approx(0.99, abs=0.001)


def test_full_waves_have_no_tail() -> None:
    found = waves((99, 8), 3, 132)
    assert found is not None
    assert (found.waves, found.full_waves, found.count, found.tail) == (2.0, 2, 2, 0.0)


def test_less_than_a_wave_is_a_tail() -> None:
    found = waves(99, 3, 132)
    assert found is not None
    assert (found.full_waves, found.count, found.tail) == (0, 1, 0.75)


def test_no_waves_where_no_block_fits() -> None:
    assert waves(400, 0, 132) is None


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (0, "grid: 0 is too small"),
        ((1, -1), "grid.y: -1 is too small"),
        (2**31, "grid: 2147483648 is absurd"),
        ((1, 65536), "grid.y: 65536 blocks, at most 65535 can be launched"),
        ((1, 1, 70000), "grid.z: 70000 blocks, at most 65535 can be launched"),
        ("400", "grid: '400' is neither an integer nor dimensions"),
    ],
)
def test_a_grid_that_cannot_be_launched(grid: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        grid_blocks(grid)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


def test_the_largest_grid() -> None:
    assert grid_blocks((2**31 - 1, 65535, 65535)) == (2**31 - 1) * 65535 * 65535


def test_sms_must_be_some() -> None:
    with pytest.raises(InvalidInput, match=r"^sms: 0 is too small"):
        waves(1, 1, 0)
    with pytest.raises(InvalidInput, match=r"^sms: -1 is too small"):
        max_cooperative_blocks(1, -1)


def test_a_cooperative_grid_is_resident_at_once() -> None:
    assert max_cooperative_blocks(3, 132) == 396


@pytest.mark.parametrize(
    ("arch", "cluster", "grid", "problems"),
    [
        ("sm_90", (2, 1, 1), (128, 1, 1), ()),
        ("sm_90", (8, 1, 1), None, ()),
        ("sm_90", (2, 2, 1), (127, 3, 1), (
            "grid x is 127, not a multiple of the cluster's 2",
            "grid y is 3, not a multiple of the cluster's 2",
        )),
        ("sm_90", (16, 1, 1), None, (
            "16 blocks per cluster, above the portable 8; up to 16 need "
            "cudaFuncAttributeNonPortableClusterSizeAllowed",
        )),
        ("sm_90", (32, 1, 1), None, ("32 blocks per cluster, above the 16 of sm_90",)),
        ("sm_80", (2, 1, 1), None, ("sm_80 has no clusters, they exist from sm_90 on",)),
        ("sm_80", (1, 1, 1), (7, 1, 1), ()),
    ],
)  # fmt: skip
def test_clusters(
    arch: str, cluster: list[int], grid: list[int] | None, problems: tuple[str, ...]
) -> None:
    assert cluster_problems(limits(arch), cluster, grid) == problems


def test_a_large_cluster_with_the_attribute() -> None:
    assert cluster_problems(limits("sm_90"), [16], None, non_portable=True) == ()
