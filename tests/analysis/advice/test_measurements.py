"""Files of measurements, one of each format and of each way in which they are broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from occlsp.analysis.advice.measurements.facts import Measurement, median_ns, triple
from occlsp.analysis.advice.measurements.numbers import Style, nanoseconds, scaled, style_of
from occlsp.analysis.advice.measurements.read import (
    NoMeasurements,
    decoded,
    read_file,
    read_text,
)

DATA = Path(__file__).parent / "measured"
SCALE = "void app::scale<float>(T1 *, T1, int)"


def read(name: str) -> tuple[Measurement, ...]:
    return read_file(DATA / name).measurements


def test_the_details_page() -> None:
    scale, in_two, in_one, broken = read("ncu_details.csv")
    assert scale.kernel == SCALE
    assert scale.durations_ns == (1_205_000, 1_190_000, 1_230_000)
    assert median_ns(scale.durations_ns) == 1_205_000
    assert (scale.block, scale.grid, scale.arch) == ((256, 1, 1), (400, 1, 1), "sm_90")
    assert (scale.achieved_occupancy, scale.theoretical_occupancy) == (0.3125, 0.375)
    assert (scale.registers, scale.static_smem, scale.dynamic_smem) == (72, 0, 40960)
    assert (in_two.context, in_one.context) == (
        "process 4711, context 2",
        "process 4711, context 1",
    )
    assert in_two.achieved_occupancy == 1.012
    assert (broken.durations_ns, broken.achieved_occupancy) == ((), None)
    assert broken.failures == ("Duration is n/a",)


def test_a_localised_details_page_in_utf_16() -> None:
    (scale,) = read("ncu_details_comma.csv")
    assert scale.durations_ns == (1_205_500,)
    assert scale.achieved_occupancy == 0.3125


def test_an_older_details_page_that_is_cut_off() -> None:
    found = read_file(DATA / "ncu_details_2020.csv")
    (blend,) = found.measurements
    assert blend.kernel == "_Z5blendPfS_i"
    assert (blend.block, blend.grid) == ((256, 1, 1), (4096, 1, 1))
    assert blend.durations_ns == (14_720,)
    assert found.problems == (f"{DATA}/ncu_details_2020.csv:7: the row is cut off",)


def test_the_raw_page() -> None:
    found = read_file(DATA / "ncu_raw.csv")
    add, fma, failed = found.measurements
    assert add.durations_ns == (345_600,)
    assert (add.bytes_read, add.bytes_written) == (134_220_000, 67_108_860)
    assert (add.flops, fma.flops) == (16_777_216, 120_000_000)
    assert (fma.registers, fma.static_smem) == (40, 2048)
    assert failed.context == "process 9, context 1"
    assert (failed.durations_ns, failed.flops) == ((), None)
    assert failed.failures == ("gpu__time_duration.sum is nan",)
    assert found.problems == (
        f"{DATA}/ncu_raw.csv: the profiler says: The application returned an error code (1).",
    )


def test_a_summary_with_averages() -> None:
    text = (
        '"Process ID","Kernel Name","Invocations","Section Name","Metric Name","Metric Unit",'
        '"Minimum","Maximum","Average"\n'
        '"1","fill(int *)","2","GPU Speed Of Light Throughput","Duration","us","1","3","2"\n'
    )
    (fill,) = read_text(text, "summary.csv").measurements
    assert fill.durations_ns == (2000,)


def test_nvbench() -> None:
    small, middle, skipped, failed = read("nvbench.json")
    assert (small.kernel, small.block, small.values) == ("scale", (128, 1, 1), "Items = 1")
    assert small.durations_ns == pytest.approx((50_124,))
    assert (middle.bytes_read, middle.bytes_written) == (67108864, 67108864)
    assert (middle.arch, middle.device) == ("sm_90", "NVIDIA H100 80GB HBM3")
    assert skipped.failures == ("skipped: too many resources requested for launch",)
    assert failed.failures == ("no time was measured",)
    assert skipped.durations_ns == failed.durations_ns == ()


def test_json_lines() -> None:
    found = read_file(DATA / "runs.jsonl")
    scale, fill, failed, *_ = found.measurements
    assert median_ns(scale.durations_ns) == 10_000
    assert (scale.timing, fill.timing) == ("system", "device")
    assert (fill.block, fill.grid) == ((16, 16, 1), (64, 64, 1))
    assert failed.durations_ns == ()
    assert failed.failures == ("an illegal memory access was encountered",)
    assert [problem.split("runs.jsonl")[1][:12] for problem in found.problems] == [
        ":7: not JSON",
        ':8: no "kern',
    ]


@pytest.mark.parametrize(
    "failure", [{"error": "launch failure"}, {"failed": True}, {"status": "timeout"}]
)
def test_a_failed_launch_has_no_time_however_long_it_took(failure: dict[str, object]) -> None:
    line = json.dumps({"kernel": "k", "durations_ns": [5e9], **failure})
    (found,) = read_text(line, "x.jsonl").measurements
    assert found.durations_ns == ()
    assert found.failures


@pytest.mark.parametrize("fine", [{"error": None}, {"error": "cudaSuccess"}, {"status": "ok"}])
def test_a_run_that_says_it_went_well(fine: dict[str, object]) -> None:
    (found,) = read_text(json.dumps({"kernel": "k", "durations_ns": 7, **fine}), "x").measurements
    assert found.durations_ns == (7,)


def test_values_that_are_no_values_are_told() -> None:
    line = (
        '{"kernel": "k", "durations_ns": [NaN, -1, 4], "flops": "many", "block": [0], "timing": 1}'
    )
    found = read_text(line, "x.jsonl")
    assert found.measurements[0].durations_ns == (4,)
    assert found.problems == (
        "x.jsonl:1: 2 of 3 durations are no times",
        'x.jsonl:1: timing is 1; "device" or "system" is meant',
        "x.jsonl:1: block is [0]; a number or [x, y, z] is meant",
        "x.jsonl:1: flops is 'many', which is no amount",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no measurements; expected Nsight Compute CSV"),
        ("a,b\n1,2\n", "no measurements"),
        ('{"benchmarks": [', "not JSON"),
        ('{"other": 1}', "no measurements"),
        ("\x00\x01\x02", "no measurements"),
    ],
)
def test_what_is_no_measurement(text: str, problem: str) -> None:
    with pytest.raises(NoMeasurements, match=f"^x.csv: {problem}"):
        read_text(text, "x.csv")


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("[nr]*.*")))
def test_a_file_cut_anywhere_is_read_as_far_as_it_goes(name: str) -> None:
    data = (DATA / name).read_bytes()
    whole = len(read_file(DATA / name).measurements)
    for end in range(0, len(data), max(1, len(data) // 60)):
        try:
            found = read_text(decoded(data[:end]), name)
        except NoMeasurements:
            continue
        assert len(found.measurements) <= whole + 1


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("1,205.00", 1205.0, None), ("1.205,00", None, 1205.0), ("72", 72, 72),
        ("1,205", 1205, 1.205), ("1.205", 1.205, 1205), ("1 205,5", None, 1205.5),
        ("1\u202f205.5", 1205.5, 12055), ("1'205.25", 1205.25, 120525), ("-3", -3, -3),
        ("2.5e-05", 2.5e-05, None), ("n/a", None, None), ("nan", None, None), ("", None, None),
        ("(!) nan", None, None), ("inf", None, None), ("12abc", None, None),
    ],
)  # fmt: skip
def test_numbers(text: str, point: float | None, comma: float | None) -> None:
    assert Style().number(text) == point
    if comma is not None:
        assert Style(is_comma_decimal=True).number(text) == comma


def test_the_style_of_a_file_follows_from_what_leaves_no_doubt() -> None:
    assert not style_of(["1,205", "72", "n/a"]).is_comma_decimal
    assert not style_of(["1,205", "37.50"]).is_comma_decimal
    assert style_of(["1,205", "37,50"]).is_comma_decimal
    assert style_of(["1.205.000", "72"]).is_comma_decimal


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("ns", 1), ("nsecond", 1), ("us", 1e3), ("usecond", 1e3), ("µs", 1e3), ("msecond", 1e6),
     ("ms", 1e6), ("s", 1e9), ("second", 1e9)],
)  # fmt: skip
def test_units_of_time(unit: str, factor: float) -> None:
    assert nanoseconds(2, unit) == 2 * factor
    assert nanoseconds(2, "byte") is None


def test_units_of_amounts() -> None:
    assert scaled(2, "Mbyte") == 2e6
    assert scaled(2, "KiB") == 2048
    assert scaled(2, "byte/block") == 2
    assert scaled(2, "inst") == 2
    assert scaled(2, "") == 2
    assert scaled(2, "%") is None


def test_the_median_is_element_n_div_2() -> None:
    assert median_ns([4, 1, 3, 2]) == 3
    assert median_ns([1, 2, 3]) == 2
    assert median_ns([]) is None
    assert median_ns([0, 0, 5]) is None


def test_dimensions() -> None:
    assert triple("(256, 1, 1)") == (256, 1, 1)
    assert triple("16x16") == (16, 16, 1)
    assert triple([8, 4]) == (8, 4, 1)
    assert triple(0) is triple("?") is triple([1, 2, 3, 4]) is None
