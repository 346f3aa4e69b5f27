"""What binds a run: the worked values of the documentation, and what stays unscored."""

from __future__ import annotations

import math

import pytest

from occlsp.analysis.advice.measurements.facts import Measurement
from occlsp.analysis.advice.scoring import Peaks, PeaksError, read_peaks, score, suspects
from occlsp.occupancy import gpu

DISK = Peaks(write_bytes_per_s=20e9, launch_ns=8000)


def run(nanoseconds: float, **declared: float) -> Measurement:
    return Measurement("k", "x.jsonl", durations_ns=(nanoseconds,), timing="system", **declared)  # type: ignore[arg-type]


def test_a_short_run_is_bound_by_its_launch() -> None:
    found = score(run(10_000, bytes_written=16384), DISK)
    write, launch = found.shares
    assert write.time_ns == pytest.approx(819.2)
    assert write.fraction == pytest.approx(0.08192)
    assert found.binding == launch
    assert launch.fraction == pytest.approx(0.8)


def test_a_long_run_is_bound_by_its_write() -> None:
    found = score(run(1e8, bytes_written=2e9), DISK)
    assert found.binding is not None
    assert found.binding.resource == "write"
    assert found.binding.fraction == pytest.approx(1.0)
    assert suspects(run(1e8, bytes_written=2e9), found) == []


def test_a_launch_overhead_is_scored_under_system_timing_only() -> None:
    device = Measurement("k", "x", durations_ns=(10_000,), bytes_written=16384)
    found = score(device, DISK)
    assert [share.resource for share in found.shares] == ["write"]
    assert found.binding is not None
    assert found.binding.fraction == pytest.approx(0.08192)


def test_a_launch_alone_does_not_stand_for_work() -> None:
    for declared in ({}, {"bytes_written": 0}):
        found = score(run(10_000, **declared), DISK)
        assert found.binding is None
        assert found.why == "no work is declared"
    unknown = score(run(10_000, flops=1e6), DISK)
    assert unknown.binding is None
    assert unknown.why == "no usable peak for the declared work"


@pytest.mark.parametrize("peak", [None, 0, -1, math.nan, math.inf])
def test_an_unusable_peak_stays_unscored(peak: float | None) -> None:
    found = score(
        run(10_000, flops=1e6, bytes_written=16384),
        Peaks(flops_per_s=peak, write_bytes_per_s=20e9),
    )
    assert found.unscored == ("compute", "launch")
    assert found.binding is not None
    assert found.binding.resource == "write"


def test_no_time_no_score() -> None:
    failed = Measurement("k", "x", bytes_written=5, failures=("launch failure",))
    assert score(failed, DISK).binding is None
    assert score(failed, DISK).why == "launch failure"
    zero = Measurement("k", "x", bytes_written=5, durations_ns=(0, 0, 9))
    assert (score(zero, DISK).median_ns, score(zero, DISK).why) == (None, "no run has a time")


def test_a_fraction_above_one_is_told_and_not_capped() -> None:
    measured = run(1000, bytes_written=40_000)
    found = score(measured, DISK)
    assert found.binding is not None
    assert found.binding.fraction == pytest.approx(8.0)
    assert suspects(measured, score(run(1000, bytes_written=40_000), DISK)) == [
        "suspect measurement: 200 % of the write peak is above what can be reached",
        "suspect measurement: 800 % of the launch peak is above what can be reached",
    ]


def test_an_achieved_occupancy_above_all_is_told() -> None:
    measured = Measurement("k", "x", achieved_occupancy=1.012)
    assert suspects(measured, score(measured, Peaks())) == [
        "suspect measurement: an achieved occupancy of 101.2 % is above 100 %"
    ]


def test_peaks_of_the_table_carry_their_source() -> None:
    found = Peaks.of(gpu("H100 SXM"))
    assert (found.flops_per_s, found.read_bytes_per_s) == (67e12, 3350e9)
    assert found.launch_ns is None
    assert "H100" in found.source
    assert Peaks.of(gpu("H200")).flops_per_s is None


def test_peaks_from_a_file() -> None:
    text = "write_bytes_per_s = 20e9\nlaunch_ns = 8000\nsource = 'our bench'"
    found = read_peaks(text, "p.toml")
    assert (found.write_bytes_per_s, found.launch_ns, found.source) == (20e9, 8000, "our bench")
    over = read_peaks('{"read_bytes_per_s": 3e12}', "p.json", Peaks.of(gpu("H100 SXM")))
    assert (over.read_bytes_per_s, over.flops_per_s) == (3e12, 67e12)
    assert over.source.startswith("measured: p.json; else H100 SXM")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("flops = 1", "p: flops: not known; known are flops_per_s, read_bytes_per_s"),
        ("launch_ns = 'x'", "p: launch_ns: 'x' is not a number"),
        ("launch_ns", "p: "),
        ("{", "p: "),
    ],
)
def test_peaks_that_cannot_be_used(text: str, problem: str) -> None:
    with pytest.raises(PeaksError) as caught:
        read_peaks(text, "p")
    assert str(caught.value).startswith(problem)
