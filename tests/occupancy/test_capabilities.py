"""The table of limits, and how architectures may be spelled."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from occlsp.occupancy import ARCHITECTURES, UnknownArchitecture, arch_name, limits
from tests.occupancy.conftest import needed
from tests.occupancy.oracle import HERE, compiler, headers

KIB = 1024


@pytest.mark.parametrize(
    "spelling",
    ["sm_90", "sm_90a", "9.0", "90", "90a", "compute_90", "compute_90a", "SM_90", " sm_90 "],
)
def test_spellings_of_one_architecture(spelling: str) -> None:
    assert arch_name(spelling) == "sm_90"
    assert limits(spelling) is limits("sm_90")


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("10.0", "sm_100"),
        ("sm_100f", "sm_100"),
        ("sm_120a", "sm_120"),
        ("12.1", "sm_121"),
        ("10.1", "sm_110"),
        ("sm_101a", "sm_110"),
    ],
)
def test_two_digit_capabilities_and_older_names(spelling: str, name: str) -> None:
    assert arch_name(spelling) == name


@pytest.mark.parametrize(
    "spelling",
    [
        *("", "9", "sm", "sm_", "sm_91", "9.1", "sm_900", "compute_30", "gfx90a", "sm_90 sm_80"),
        *("sm_80a", "sm_90f", "sm_90b", "sm_٩٠", "-9.0", "9.0.0", "nan", "sm_130", "0.0"),
    ],
)
def test_anything_else_is_an_error_that_lists_what_is_known(spelling: str) -> None:
    with pytest.raises(UnknownArchitecture) as caught:
        limits(spelling)
    assert str(caught.value) == (
        f"unknown architecture {spelling!r}; known are {', '.join(ARCHITECTURES)}"
    )


def test_provisional_limits_are_marked() -> None:
    marked = [name for name in ARCHITECTURES if limits(name).provisional is not None]
    assert marked == ["sm_107"]
    assert "provisional limits" in (limits("sm_107").provisional or "")
    assert limits("sm_107").smem_per_sm == 228 * KIB


def test_rows_are_consistent() -> None:
    for row in map(limits, ARCHITECTURES):
        assert row.smem_per_block_optin + row.smem_reserved <= row.smem_per_sm
        assert list(row.carveouts) == sorted(set(row.carveouts))
        assert not row.carveouts or row.carveouts[-1] == row.smem_per_sm
        assert bool(row.carveouts) == (row.major >= 7)
        assert (row.barriers_per_sm is not None) == row.has_clusters == (row.major >= 9)
        assert row.warps_per_sm * 32 == row.threads_per_sm
        assert row.source
        assert limits(row.capability) is row


def test_table_equals_the_toolkits_traits(tmp_path: Path) -> None:
    needed(compiler(), "a C++ compiler")
    name = "cuda/__device/arch_traits.h"
    found = headers(name)
    needed(found, name)
    text = (found[0] / name).read_text("utf-8")
    theirs = re.findall(r"arch_traits<arch_id::sm_(\d+)>\(\) noexcept\n\{", text)
    known = [arch for arch in theirs if f"sm_{arch}" in ARCHITECTURES]
    rows = " ".join(f"ROW({arch})" for arch in known)
    program = tmp_path / "traits"
    subprocess.run(
        [
            *(str(compiler()), "-std=c++17", f"-DROWS={rows}", f"-I{found[0]}"),
            *(str(HERE / "traits.cpp"), "-o", str(program)),
        ],
        check=True,
    )
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    for line in printed.splitlines():
        arch, *numbers = line.split()
        row = limits(arch)
        assert [int(number) for number in numbers] == [
            row.threads_per_sm,
            row.blocks_per_sm,
            row.threads_per_block,
            *row.block_dims,
            row.registers_per_block,
            row.registers_per_sm,
            row.registers_per_thread,
            row.smem_per_block,
            row.smem_per_sm,
            row.smem_per_block_optin,
            row.smem_reserved,
            row.warp_size,
            row.has_clusters,
        ], arch
    assert len(printed.splitlines()) == len(known)
    # 7.2 is a Jetson that this header leaves out; the reference header has it.
    assert set(ARCHITECTURES) - {f"sm_{arch}" for arch in known} == {"sm_72"}
