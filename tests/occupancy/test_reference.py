"""The core against NVIDIA's reference header; `python -m tests.occupancy.oracle --full` is all."""

from __future__ import annotations

from array import array
from dataclasses import replace
from pathlib import Path

import pytest

from occlsp.occupancy import ARCHITECTURES, limits
from tests.occupancy.oracle import (
    NO_LIMIT,
    UNCAPPED,
    Configuration,
    DifferenceError,
    Reference,
    batches,
    columns,
    compare_available,
    compare_best,
    compare_resident,
    grid,
    ours,
    random_configurations,
)


def theirs(reference: Reference, c: Configuration) -> dict[str, int]:
    """The header's answer for one configuration."""
    names = ("status", "blocks", "factors", "warps", "block_limit", "registers", "smem", "barriers")
    values = reference.resident(array("q", columns(c, c.dynamic_smem)))
    return dict(zip(names, values, strict=False))


def test_random_configurations(reference: Reference) -> None:
    for batch in batches(random_configurations(seed=1, count=8_000)):
        compare_resident(reference, batch)
        compare_best(reference, batch)
        compare_available(reference, batch)


def test_grid_of_blocks_and_registers(reference: Reference) -> None:
    for batch in grid((1, 32, 96, 224, 250, 480, 512, 1024), range(256)):
        compare_resident(reference, batch)


@pytest.mark.slow
def test_larger_sample(reference: Reference) -> None:
    for batch in batches(random_configurations(seed=2, count=60_000)):
        compare_resident(reference, batch)
        compare_best(reference, batch)
        compare_available(reference, batch)
    for batch in grid(range(17, 1025, 53), range(256)):
        compare_resident(reference, batch)


def test_a_wrong_answer_is_noticed(reference: Reference) -> None:
    row = limits("sm_80")
    wrong = Configuration(replace_row(row.name, registers_per_block=32768), 1024, 64)
    with pytest.raises(DifferenceError, match="resident blocks"):
        compare_resident(reference, [wrong])


def replace_row(name: str, **changed: int) -> object:
    from msgspec import structs

    return structs.replace(limits(name), **changed)


# The known differences, each by name.


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_256_registers_are_admitted_by_the_header_alone(reference: Reference, arch: str) -> None:
    c = Configuration(limits(arch), 32, 256)
    assert ours(c).blocks_per_sm == 0
    assert ours(c).reason == (
        f"0 blocks fit: 256 registers per thread, above the 255 of {limits(arch).name}"
    )
    assert (theirs(reference, c)["blocks"] > 0) == (c.row.major >= 7)


def test_launch_bounds_are_ignored_by_the_header_alone(reference: Reference) -> None:
    c = Configuration(limits("sm_90"), 256, 32, launch_bounds=128)
    assert theirs(reference, c)["blocks"] == 8
    assert ours(c).blocks_per_sm == 0
    assert ours(c).limiters == ("threads_per_block",)


def test_where_barriers_bind_the_header_also_names_what_bound_before(reference: Reference) -> None:
    c = Configuration(limits("sm_90"), 64, 16, barriers=10)
    assert theirs(reference, c)["factors"] == 0x01 | 0x08 | 0x10  # warps, blocks, barriers
    assert theirs(reference, c)["blocks"] == ours(c).blocks_per_sm == 6
    assert ours(c).limiters == ("barriers",)


def test_above_1024_threads_the_header_says_warps(reference: Reference) -> None:
    c = Configuration(limits("sm_90"), 1025, 32)
    assert theirs(reference, c)["factors"] == 0x01
    assert ours(c).limits.warps == theirs(reference, c)["warps"] == 0
    assert ours(c).limiters == ("threads_per_block",)


def test_no_limit_is_the_headers_largest_integer(reference: Reference) -> None:
    c = Configuration(limits("sm_75"), 256, 0)
    found = theirs(reference, c)
    assert found["registers"] == found["smem"] == found["barriers"] == NO_LIMIT
    assert (
        ours(c).limits.registers is ours(c).limits.shared_memory is ours(c).limits.barriers is None
    )


def test_older_headers_leave_the_reserve_in_the_available_memory(
    all_references: dict[Path, Reference],
) -> None:
    c = Configuration(limits("sm_90"), 256, 32, resident=4)
    exact = 228 * 1024 // 4 - 1024
    found = [
        reference.available(array("q", columns(c, UNCAPPED)))[0]
        for reference in all_references.values()
    ]
    assert found[0] == exact, "the newest header"
    assert set(found) <= {exact, exact + 1024}, "older ones"
    compare_available(next(iter(all_references.values())), [c, replace(c, resident=1)])
