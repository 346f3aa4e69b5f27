"""Baselines: read back as written, merged line by line, compared without guessing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from occlsp.analysis.baseline import (
    HEADER,
    BadBaseline,
    Baseline,
    Key,
    Mark,
    compare,
    read,
    write,
)

BLUR = Key("void blur<float, 4>(float const*, float*, int)", "sm_90", "run()")
MARK = Mark(0.375, "registers", 3, 72, 0, 0, 40960, "256")


def changes(before: Baseline, after: Baseline) -> list[tuple[str, str, str]]:
    return [(c.kind, c.key.kernel.split("(")[0], c.message) for c in compare(before, after)]


def test_a_baseline_is_one_sorted_line_a_kernel() -> None:
    other = Key("add(float*)", "sm_80", "-")
    text = write({BLUR: MARK, other: Mark(None, None, None, 10, None, None, None, None)})
    assert text.splitlines() == [
        HEADER,
        "# kernel\tarch\tlaunched by\toccupancy\tlimiter\tblocks/SM\tregisters\tspill bytes\t"
        "static smem\tdynamic smem\tblock",
        "add(float*)\tsm_80\t-\t-\t-\t-\t10\t-\t-\t-\t-",
        "void blur<float, 4>(float const*, float*, int)\tsm_90\trun()\t37.5%\tregisters\t3\t72\t0"
        "\t0\t40960\t256",
    ]


@pytest.mark.parametrize("occupancy", [0.0, 1 / 64, 0.156, 0.333, 0.469, 15 / 16, 1.0])
def test_what_is_written_is_read_back(occupancy: float) -> None:
    mark = replace(MARK, occupancy=round(occupancy, 3))
    assert read(write({BLUR: mark}), "b") == {BLUR: mark}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "base.txt:1: not a baseline"),
        ("kernel,arch\n", "base.txt:1: not a baseline"),
        (f"{HEADER}\n<<<<<<< ours\n", "base.txt:2: an unresolved merge"),
        (f"{HEADER}\nblur\tsm_90\n", "base.txt:2: 2 fields where 11 belong"),
        (write({BLUR: MARK}).replace("\t72\t", "\tmany\t"), "base.txt:3: `many` is no number"),
        (write({BLUR: MARK}).replace("37.5%", "37.5"), "base.txt:3: `37.5` is no percentage"),
    ],
)
def test_a_bad_baseline_names_file_and_line(text: str, said: str) -> None:
    with pytest.raises(BadBaseline, match=said.replace("(", r"\(")):
        read(text, "base.txt")


def test_the_same_is_not_told() -> None:
    assert changes({BLUR: MARK}, {BLUR: MARK}) == []


@pytest.mark.parametrize(
    ("after", "kind", "message"),
    [
        (
            {"occupancy": 0.25, "blocks_per_sm": 1, "block": "512"},
            "regressed",
            "occupancy 37.5% → 25.0%; block 256 → 512",
        ),
        ({"limiter": "shared_memory"}, "regressed", "limiter registers → shared_memory"),
        (
            {"spill_bytes": 76, "registers": 64},
            "regressed",
            "spills 0 → 76 B; registers 72 → 64",
        ),
        (
            {"occupancy": 0.0, "blocks_per_sm": 0},
            "regressed",
            "occupancy 37.5% → 0.0%: it does not fit any more",
        ),
        (
            {"occupancy": 0.5, "limiter": "shared_memory", "registers": 64},
            "improved",
            "occupancy 37.5% → 50.0%; limiter registers → shared_memory; registers 72 → 64",
        ),
        ({"registers": 70}, "changed", "registers 72 → 70"),
    ],
)
def test_what_changed_is_judged(after: dict[str, object], kind: str, message: str) -> None:
    told = changes({BLUR: MARK}, {BLUR: replace(MARK, **after)})  # type: ignore[arg-type]
    assert told == [(kind, "void blur<float, 4>", message)]


def test_a_renamed_kernel_is_compared_with_what_it_was() -> None:
    renamed = BLUR._replace(kernel=BLUR.kernel.replace("blur", "soften"))
    assert changes({BLUR: MARK}, {renamed: MARK}) == [
        ("renamed", "void soften<float, 4>", f"was {BLUR.kernel}")
    ]
    (worse,) = compare({BLUR: MARK}, {renamed: replace(MARK, occupancy=0.25)})
    assert worse.kind == "regressed"
    assert worse.old_key == BLUR


def test_two_ways_to_pair_a_name_are_none() -> None:
    one = BLUR._replace(kernel=BLUR.kernel.replace("blur", "one"))
    two = BLUR._replace(kernel=BLUR.kernel.replace("blur", "two"))
    told = changes({BLUR: MARK}, {one: MARK, two: MARK})
    assert [kind for kind, _, _ in told] == ["new", "new", "vanished"]


def test_a_launch_that_moved_to_another_function_is_the_same() -> None:
    moved = BLUR._replace(launched_by="run_all()")
    assert changes({BLUR: MARK}, {moved: MARK}) == [
        ("renamed", "void blur<float, 4>", "was launched by run()")
    ]


def test_the_largest_change_comes_first() -> None:
    keys = [BLUR._replace(kernel=f"k{n}(int)") for n in range(3)]
    before = dict.fromkeys(keys, MARK)
    after = {
        keys[0]: replace(MARK, occupancy=0.3),
        keys[1]: replace(MARK, occupancy=0.1),
        keys[2]: replace(MARK, occupancy=0.9),
    }
    assert [(kind, name) for kind, name, _ in changes(before, after)] == [
        ("regressed", "k1"),
        ("regressed", "k0"),
        ("improved", "k2"),
    ]
