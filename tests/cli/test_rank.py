"""`occlsp rank`, as a user and a script see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from occlsp.cli.rank import command

SPACE = """
kernel = "scale"
arch = "sm_90"
gpu = "H100 SXM"
[space]
block_x = [32, 64, 128, 1024]
[model]
registers = [{ block_x = 128, value = 32 }, { block_x = 64, value = 40 }, { value = 80 }]
[bench]
grid_x = "ceil_div(16777216, block_x)"
"""


@pytest.fixture
def space(tmp_path: Path) -> Path:
    path = tmp_path / "scale.toml"
    path.write_text(SPACE, "utf-8")
    return path


def rank(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def document(*arguments: object) -> dict[str, Any]:
    result = rank(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def times(folder: Path, text: str, name: str = "times.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_json(space: Path) -> None:
    found = document(space)
    assert (found["kernel"], found["arch"], found["gpu"]) == ("scale", "sm_90", "H100 SXM")
    assert found["estimated"] is True
    assert found["recommended"] is False
    assert [one["values"]["block_x"] for one in found["candidates"]] == [128, 64, 32, 1024]
    best, worst = found["candidates"][0], found["candidates"][-1]
    assert (best["rank"], best["blocks_per_sm"], best["occupancy"]) == (1, 16, 1.0)
    assert best["cost"] == best["waves"] / best["occupancy"]
    assert best["estimated"] is True
    assert (worst["cost"], worst["launches"], worst["occupancy"]) == (None, False, 0)
    assert "81920 of 65536 registers" in worst["reason"]


def test_text_says_that_it_is_estimated(space: Path) -> None:
    result = rank(space)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "scale on sm_90, H100 SXM"
    assert "est. cost" in lines[1]
    assert "∞" in lines[5]
    assert "estimated, and not measured: no recommendation" in lines


def test_measurements_that_agree_make_it_a_recommendation(space: Path, tmp_path: Path) -> None:
    file = times(tmp_path, "block_x,time_us\n128,10.5\n64,11\n32,24\n")
    found = document(space, "--measured", file)
    assert (found["recommended"], found["correlation"], found["pairs"]) == (True, 1.0, 3)
    assert found["time"] == "time_us"
    assert [one["measured"] for one in found["candidates"]] == [10.5, 11, 24, None]


def test_measurements_that_disagree_say_that_the_model_is_not_trusted(
    space: Path, tmp_path: Path
) -> None:
    lines = [{"block_x": b, "time_ns": t} for b, t in ((128, 30), (64, 20), (32, 10))]
    file = times(tmp_path, "\n".join(map(json.dumps, lines)), "times.jsonl")
    found = document(space, "--measured", file)
    assert (found["recommended"], found["correlation"]) == (False, -1.0)
    assert found["verdict"] == (
        "the model is not trusted for this kernel: rank correlation -1.00 on 3 measured "
        "configurations, at least 0.6 is asked for"
    )
    assert found["verdict"] in rank(space, "--measured", file).stdout


def test_rows_that_do_not_count_are_told(space: Path, tmp_path: Path) -> None:
    text = 'block_x;"Time (ms)"\n128;1,5\n128;1,7\n128;9,25\n64;nan\n32;0\n96;4,5\n'
    found = document(space, "--measured", times(tmp_path, text))
    assert found["candidates"][0]["measured"] == 1.7
    assert found["pairs"] == 1
    assert [note.split("times.csv: ")[1] for note in found["notes"]] == [
        "2 rows have no time and do not count",
        "1 rows are of no candidate",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no rows; expected block_x and a time"),
        ("block,time\n128,1\n", "no column 'block_x'; there are block, time"),
        ("block_x,colour,size\n1,2,3\n", "no column is called time, time_us, duration_ns or the"),
    ],
)
def test_times_that_cannot_be_used(space: Path, tmp_path: Path, text: str, problem: str) -> None:
    result = rank(space, "--measured", times(tmp_path, text))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"occlsp: {tmp_path}/times.csv: {problem}")
    assert result.stderr.count("\n") == 1


def test_unusable_input_is_one_line(space: Path, tmp_path: Path) -> None:
    result = rank(tmp_path / "none.toml")
    assert (result.exit_code, result.stderr) == (
        2,
        f"occlsp: {tmp_path}/none.toml: No such file or directory\n",
    )
    space.write_text(SPACE.replace("16777216, ", "16777216 "), "utf-8")
    result = rank(space)
    assert result.exit_code == 2
    assert result.stderr == (
        f"occlsp: {space}: bench.grid_x: `ceil_div(16777216 block_x)`, character 19: "
        "')' is expected\n"
    )
    space.write_bytes(b'kernel = "\xff"')
    assert "not UTF-8 at byte 10" in rank(space).stderr


def test_the_command_line_wins_over_the_file(space: Path) -> None:
    assert document(space, "--gpu", "H100 PCIe")["gpu"] == "H100 PCIe"
    result = rank(space, "--arch", "sm_80")
    assert "gpu: H100 SXM is sm_90, not the sm_80 of arch" in result.stderr


def test_top(space: Path) -> None:
    assert len(document(space, "--top", "2")["candidates"]) == 2
    assert "… and 2 more" in rank(space, "--top", "2").stdout
