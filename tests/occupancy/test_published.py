"""Occupancy figures that were published: profiler output, calculators, statements in reviews.

`published_rows.json` and `more_rows.json` hold the inputs and the figures. "limit smem" in
profiler output uses the carveout that the driver picked (`smem_config`); bytes that were not
printed make a shared-memory limit that cannot be checked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from occlsp.occupancy import Occupancy, available_dynamic_smem, limits, occupancy, waves

HERE = Path(__file__).parent
ROWS: list[dict[str, Any]] = [
    row
    for name in ("published_rows.json", "more_rows.json")
    for row in json.loads((HERE / name).read_text("utf-8"))
]
UNPRINTED_REGISTERS = 16
"""Few enough not to bind, where a page does not print them."""
RUNTIME_BARRIERS = 1
"""What the runtime assumes of every kernel."""


def result_of(row: dict[str, Any], smem_per_sm: int | None = None) -> Occupancy:
    known = limits(row["cc"])
    if smem_per_sm is not None:
        known = structs.replace(known, smem_per_sm=smem_per_sm)
    return occupancy(
        known,
        row["block_size"],
        row.get("regs_per_thread") or UNPRINTED_REGISTERS,
        row.get("smem_static") or 0,
        row.get("smem_dynamic") or 0,
        barriers=RUNTIME_BARRIERS,
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_published(row: dict[str, Any]) -> None:
    result = result_of(row)
    found = {
        "block_limit_sm": result.limits.blocks,
        "block_limit_regs": result.limits.registers,
        "block_limit_warps": result.limits.warps,
        "theoretical_active_warps": result.active_warps,
        "blocks_per_sm": result.blocks_per_sm,
    }
    published = {key: value for key, value in row["published"].items() if value is not None}
    for key, value in found.items():
        assert published.get(key, value) == value, key
    percent = published.get("theoretical_occupancy_pct")
    if percent is not None:
        digits = len(str(percent).partition(".")[2])
        assert round(result.occupancy * 100, digits) == pytest.approx(percent, abs=10**-digits)
    if "block_limit_smem" in published and row.get("smem_config"):
        picked = result_of(row, row["smem_config"])
        assert picked.limits.shared_memory == published["block_limit_smem"]
    if "waves_per_sm" in published:
        filled = waves(row["grid_size"], result.blocks_per_sm, row["num_sms"])
        assert filled is not None
        assert filled.waves == pytest.approx(published["waves_per_sm"], abs=0.01)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "header_full_carveout" in row], ids=lambda row: row["id"]
)
def test_as_the_header_says(row: dict[str, Any]) -> None:
    result, expected = result_of(row), row["header_full_carveout"]
    assert result.blocks_per_sm == expected["blocks_per_sm"]
    assert result.limits.registers == expected["limit_regs"]
    assert (result.limits.shared_memory or -1) == expected["limit_smem"]
    assert result.limits.warps == expected["limit_warps"]
    assert result.limits.blocks == expected["limit_blocks"]
    assert (result.limits.barriers or -1) == expected["limit_barriers"]
    assert set(result.limiters) == set(expected["limiters"])
    assert result.active_warps == expected["active_warps"]
    assert round(result.occupancy * 100, 2) == expected["occupancy_pct"]


def test_available_dynamic_memory_that_the_runtime_printed() -> None:
    # RTX 5050, one block of 256 threads, 256 static bytes.
    assert available_dynamic_smem("sm_120", 1, 256, 16, 256, opt_in=False) == 48896
