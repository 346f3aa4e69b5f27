"""`occlsp measured`, as a user and a script see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from occlsp.cli.measured import command

DATA = Path(__file__).parents[1] / "analysis" / "advice" / "measured"
SOURCE = """
namespace app {
template <class T> __global__ void scale(T *x, T a, int n) {}
}
__global__ void add(const float *a, const float *b, float *c, int n) {}
__global__ void fill(char *p) {}
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "app.cu"
    path.write_text(SOURCE, "utf-8")
    return path


def measured(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def document(*arguments: object) -> dict[str, Any]:
    result = measured(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_kernels_match_by_their_demangled_names(source: Path) -> None:
    found = document(DATA / "ncu_details.csv", DATA / "ncu_details_2020.csv")
    matched = {one["kernel"]: one["path"] for one in found["measurements"]}
    assert matched["void app::scale<float>(T1 *, T1, int)"] == str(source)
    assert matched["add(const float *, const float *, float *, int)"] == str(source)
    assert found["unmatched"] == ["broken(int *)", "blend(float*, float*, int)"]


def test_achieved_beside_theoretical_and_why(source: Path) -> None:
    found = document(DATA / "ncu_details.csv", "--gpu", "H100 SXM")
    scale, over, few, broken = found["measurements"]
    assert (scale["achieved_occupancy"], scale["theoretical_occupancy"]) == (0.3125, 0.375)
    assert scale["why_they_differ"] == ["a tail: the last of 2 waves leaves 99% idle"]
    assert few["why_they_differ"] == ["too few blocks: 40 of the 2112 that H100 SXM can hold"]
    assert over["suspect"] == [
        "suspect measurement: an achieved occupancy of 101.2 % is above 100 %"
    ]
    assert (over["context"], few["context"]) == (
        "process 4711, context 2",
        "process 4711, context 1",
    )
    assert (broken["median_ns"], broken["failures"]) == (None, ["Duration is n/a"])


def test_the_binding_resource_with_peaks_of_the_machine(source: Path) -> None:
    peaks = source.with_name("peaks.toml")
    peaks.write_text("write_bytes_per_s = 20e9\nlaunch_ns = 8000\n", "utf-8")
    found = document(DATA / "runs.jsonl", "--peaks", peaks)
    scale, fill, failed, *_, idle = found["measurements"]
    assert (scale["binding"], scale["fraction"]) == ("launch", pytest.approx(0.8))
    assert (fill["binding"], fill["fraction"]) == ("write", pytest.approx(1.0))
    assert failed["median_ns"] is None
    assert (idle["binding"], idle["no_score"]) == (None, "no work is declared")
    assert scale["peaks"] == f"measured: {peaks}"


def test_the_gpu_of_the_file_gives_the_peaks(source: Path) -> None:
    found = document(DATA / "nvbench.json")["measurements"][0]
    assert found["binding"] == "read"
    assert found["fraction"] == pytest.approx(67108864 / 3350e9 / 5.0124e-05)
    assert found["peaks"].startswith("H100 SXM: ")


def test_a_gpu_that_it_was_not_measured_on_is_told(source: Path) -> None:
    found = document(DATA / "ncu_raw.csv", "--gpu", "H100 SXM")["measurements"]
    assert "it was measured on sm_86, and H100 SXM is sm_90" in found[0]["suspect"]


def test_text(source: Path) -> None:
    lines = measured(DATA / "runs.jsonl", "--gpu", "A10G").stdout.splitlines()
    assert lines[0].split() == [
        *("kernel", "block", "grid", "runs", "median", "achieved", "theoretical", "binds")
    ]
    assert "no score: an illegal memory access was encountered" in lines[3]
    assert any(line == "no kernel in the sources: idle" for line in lines)
    assert any(line.startswith("peaks: A10G: ") for line in lines)


def test_what_cannot_be_read_costs_itself_alone(source: Path) -> None:
    other = source.with_name("other.txt")
    other.write_text("nothing", "utf-8")
    result = measured(other, DATA / "nvbench.json", "--json")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"occlsp: {other}: no measurements; expected Nsight")
    assert len(json.loads(result.stdout)["measurements"]) == 4


def test_without_a_project_nothing_is_matched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = document(DATA / "ncu_details.csv")
    assert found["unmatched"] == []
    assert {one["matches"] for one in found["measurements"]} == {None}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--gpu", "H1000"), "--gpu: unknown GPU 'H1000'"),
        (("--peaks", "none.toml"), "none.toml: No such file"),
        (("--sources", "none"), "none: no such file or folder"),
    ],
)
def test_unusable_input(source: Path, arguments: tuple[str, str], problem: str) -> None:
    result = measured(DATA / "runs.jsonl", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"occlsp: {problem}")
    assert result.stderr.count("\n") == 1
