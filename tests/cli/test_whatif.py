"""`occlsp whatif`, as a user and a script see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from occlsp.cli.whatif import command
from occlsp.cli.whatif_rows import is_named
from occlsp.reports.facts import Entry
from tests.reports.compilers import real_nvcc
from tests.reports.test_whatif import HEAVY


def whatif(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    real_nvcc()
    monkeypatch.setenv("OCCLSP_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "work" / "heavy.cu"
    path.parent.mkdir()
    path.write_text(HEAVY)
    return path


@pytest.mark.parametrize(
    ("name", "is_meant"),
    [
        ("k", True),
        ("n::k", True),
        ("k<float, 8>", True),
        ("n::k<float,8>", True),
        ("_ZN1n1kIfLi8EEEvPT_", True),
        ("k<float>", False),
        ("m::k", False),
        ("kk", False),
    ],
)
def test_which_entry_a_name_means(name: str, is_meant: bool) -> None:
    assert is_named(Entry("_ZN1n1kIfLi8EEEvPT_", "sm_90"), name) == is_meant


def test_a_file_that_is_not_there() -> None:
    result = whatif("none.cu", "--kernel", "k")
    assert (result.exit_code, result.stderr) == (2, "occlsp: none.cu: no such file\n")


def test_an_architecture_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("")
    result = whatif(path, "--kernel", "k", "--arch", "sm_1")
    assert result.exit_code == 2
    assert "sm_1" in result.stderr


@pytest.mark.slow
def test_rows_for_a_script(heavy: Path) -> None:
    result = whatif(heavy, "--kernel", "heavy<100>", "--arch", "sm_90", "--maxnreg", 64, "--json")
    assert result.exit_code == 0, result.stderr
    (kernel,) = json.loads(result.stdout)["kernels"]
    rows = kernel["rows"]
    assert [row["min_blocks"] for row in rows] == [2, 1, 3, 4, 5, 6, 7, 8, None]
    assert [row["is_current"] for row in rows] == [True, *[False] * 8]
    by_blocks = {row["min_blocks"]: row for row in rows}
    assert by_blocks[8]["blocks_per_sm"] == 8
    assert by_blocks[8]["occupancy"] == 1.0
    assert by_blocks[8]["spill_stores"] > 0
    assert by_blocks[1]["spill_stores"] == 0
    assert rows[-1]["registers"] <= 64
    for row in rows:
        worse = [o for o in rows if o is not row and o["is_best"]]
        if not row["is_best"]:
            assert any(
                o["occupancy"] >= row["occupancy"]
                and o["spill_stores"] + o["spill_loads"] <= row["spill_stores"] + row["spill_loads"]
                for o in worse
            )


@pytest.mark.slow
def test_the_table_for_people(heavy: Path) -> None:
    result = whatif(heavy, "--kernel", "heavy<8>")
    assert result.exit_code == 0, result.stderr
    head, *_ = result.stdout.splitlines()
    assert "heavy<8>(float*, int) on sm_90, at 256 threads per block" in head
    current = next(line for line in result.stdout.splitlines() if "▸" in line)
    assert "(256, 2)" in current
    assert "ptxas, from the current PTX" in result.stdout


@pytest.mark.slow
def test_a_kernel_that_is_not_there_lists_those_that_are(heavy: Path) -> None:
    result = whatif(heavy, "--kernel", "light")
    assert result.exit_code == 2
    assert result.stderr.endswith("has no kernel light; it has heavy\n")
