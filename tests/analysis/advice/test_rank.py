"""Ranking a space: the exact core, waves, cost, and what cannot launch."""

from __future__ import annotations

import math
import time

import pytest

from occlsp.analysis.advice.rank import Ranking, rank
from occlsp.analysis.advice.space import SpaceError, read_space

REDUCE = """
kernel = "reduce"
arch = "sm_86"
gpu = "A10G"
[space]
block_x = [64, 128, 256, 512, 1024]
items = [1, 2, 4]
[model]
registers = "24 + 4*items"
smem_bytes = "4*block_x"
[bench]
elements = 16777216
grid_x = "ceil_div(elements, block_x*items)"
constraints = ["block_x*items <= 2048"]
"""


def ranking(text: str) -> Ranking:
    return rank(read_space(text, "reduce.toml"))


def small(model: str, bench: str = "", space: str = "block_x = [128, 256]") -> str:
    return f'kernel = "k"\narch = "sm_90"\n[space]\n{space}\n[model]\n{model}\n[bench]\n{bench}\n'


def test_the_example_of_the_documentation() -> None:
    found = ranking(REDUCE)
    best = found.ranked[0]
    assert best.configuration.values == {"block_x": 128, "items": 4}
    assert (best.configuration.registers, best.configuration.smem) == (40, 512)
    assert best.configuration.grid == 32768
    assert (best.blocks_per_sm, best.occupancy) == (12, 1.0)
    assert best.waves == 32768 / (12 * 80)
    assert best.cost == best.waves / best.occupancy
    assert len(found.ranked) == 14
    assert "1 candidates are ruled out by constraints" in found.notes


def test_what_cannot_launch_has_infinite_cost_and_ranks_last() -> None:
    found = ranking(small("registers = 128", space="block_x = [1024, 256, 2048, 128]"))
    costs = {one.configuration.values["block_x"]: one for one in found.ranked}
    assert [one.configuration.values["block_x"] for one in found.ranked][-2:] == [1024, 2048]
    assert costs[1024].cost == costs[2048].cost == math.inf
    assert "registers" in (costs[1024].reason or "")
    assert costs[256].can_launch


def test_a_grid_below_one_wave_counts_as_one() -> None:
    found = ranking(
        small("registers = 32", "grid_x = 7").replace("[space]", 'gpu = "H100 SXM"\n[space]')
    )
    assert {one.waves for one in found.ranked} == {1.0}


def test_without_a_gpu_or_a_grid_waves_are_one_and_that_is_said() -> None:
    no_gpu = ranking(small("registers = 32", "grid_x = 100000"))
    assert {one.waves for one in no_gpu.ranked} == {1.0}
    assert "no GPU model: waves are taken as 1; give the file a gpu" in no_gpu.notes
    assert (
        "no grid: waves are taken as 1; give [bench] a grid_x"
        in ranking(small("registers = 32")).notes
    )


def test_registers_as_rows() -> None:
    rows = (
        "registers = [{ block_x = 128, value = 40 }, { block_x = 256, items = 2, value = 64 }, "
        '{ block_x = 256, value = "30 + items" }]'
    )
    found = ranking(small(rows, space="block_x = [128, 256, 512]\nitems = [1, 2]"))
    registers = {
        tuple(one.configuration.values.values()): one.configuration.registers
        for one in found.ranked
    }
    assert registers[128, 1] == registers[128, 2] == 40
    assert (registers[256, 1], registers[256, 2]) == (31, 64)
    assert registers[512, 1] is None
    assert found.ranked[-1].reason == "no row of model.registers is for it"


def test_two_dimensions_and_names_that_read_each_other() -> None:
    bench = 'grid_x = "tiles*2"\ngrid_y = 3\ntiles = "ceil_div(n, block_y)"\nn = 100'
    found = ranking(small("registers = 32", bench, "block_x = [32]\nblock_y = [4, 8]"))
    shapes = {one.configuration.block: one.configuration.grid for one in found.ranked}
    assert shapes == {(32, 4, 1): 150, (32, 8, 1): 78}


def test_a_dimension_out_of_range_cannot_launch() -> None:
    found = ranking(small("registers = 32", space="block_x = [1]\nblock_z = [64, 128]"))
    assert found.ranked[-1].reason == "block z is 128, at most 64 can be launched"


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("[64, 128, 256, 512, 1024]", '[64, "x"]', "space.block_x: [64, 'x'] is not a list"),
        ("[1, 2, 4]", "[]", "space.items: [] is not a list of whole numbers"),
        ('"24 + 4*items"', '"24 + 4*item"', "model.registers: `24 + 4*item`, character 8: 'item'"),
        ('"4*block_x"', '"4*block_x/(items-1)"',
         "model.smem_bytes: `4*block_x/(items-1)` divides by zero at block_x = 64, items = 1"),
        ('"4*block_x"', '"items - 2"', "model.smem_bytes: is -1 at block_x = 64, items = 1"),
        ('"4*block_x"', "1.5", "model.smem_bytes: 1.5 is neither a whole number nor"),
        ("elements = 16777216", 'elements = "1 +"', "bench.elements: `1 +`, character 4: a number"),
        ("elements = 16777216", 'elements = "grid_x"', "depends on itself"),
        ("ceil_div(elements", "ceil_dv(elements", "character 1: 'ceil_dv' is not known"),
        ("block_x*items <= 2048", "block_x*items", "bench.constraints: `block_x*items`, character"),
        ("block_x*items <= 2048", "1/(items-1) > 0",
         "bench.constraints: `1/(items-1) > 0` divides by zero at block_x = 64, items = 1"),
        ('"sm_86"', '"sm_99"', "arch: unknown architecture 'sm_99'"),
        ('"sm_86"', '"sm_90"', "gpu: A10G is sm_86, not the sm_90 of arch"),
        ('"A10G"', '"A1OG"', "gpu: unknown GPU 'A1OG'"),
        ("[bench]", "[benchh]", "benchh: not known here; known are arch, bench, constraints"),
        ("smem_bytes", "smem", "model.smem: not known here; known are block, registers, smem_b"),
        ("block_x =", "threads_x =", "'block_x' is not known"),
        ("registers =", "registers", "Expected '=' after a key"),
        ("elements = 16777216", "items = 1", "bench.items: the space has this name already"),
    ],
)  # fmt: skip
def test_a_mistake_names_file_key_and_expression(before: str, after: str, problem: str) -> None:
    assert before in REDUCE
    with pytest.raises(SpaceError) as caught:
        ranking(REDUCE.replace(before, after))
    assert str(caught.value).startswith("reduce.toml: ")
    assert problem in str(caught.value)


def test_too_many_candidates_are_refused() -> None:
    wide = "\n".join(f"a{n} = {list(range(100))}" for n in range(4))
    with pytest.raises(SpaceError, match="100000000 candidates; at most 200000 are ranked"):
        ranking(small("registers = 32", space=wide))


def test_ten_thousand_candidates_take_less_than_two_seconds() -> None:
    space = f"block_x = {list(range(32, 801, 32))}\nitems = {list(range(1, 21))}\n"
    space += f"stages = {list(range(1, 21))}"
    text = small('registers = "24 + 4*items + 2*stages"', 'grid_x = "ceil_div(1MiB, items)"', space)
    started = time.process_time()
    found = ranking(text)
    assert len(found.ranked) == 10_000
    assert time.process_time() - started < 2
