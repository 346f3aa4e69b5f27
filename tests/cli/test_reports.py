"""`occlsp reports`: the JSON that interfaces promise, and a table for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from occlsp.cli.main import main

REPORTS = Path(__file__).parent.parent / "reports"
PROMISED = {
    "entry",
    "name",
    "arch",
    "registers",
    "static_smem",
    "spill_stores",
    "spill_loads",
    "stack",
    "cumulative_stack",
    "barriers",
    "cmem",
    "linked",
    "debug",
    "file",
    "line",
    "source",
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["reports", *map(str, arguments)])


def entries(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.stdout)["entries"]
    return found


def test_json_of_a_log() -> None:
    path = REPORTS / "cases" / "ansi_colour.txt"
    result = run(path, "--json")
    assert result.exit_code == 0
    (entry,) = entries(result)
    assert entry.keys() >= PROMISED
    assert entry["name"] == "blendRows(float const*, float*, int, int)"
    assert (entry["registers"], entry["static_smem"], entry["barriers"]) == (34, 4224, 1)
    assert entry["cmem"] == {"0": 380}
    assert entry["cumulative_stack"] is None
    assert entry["source"] == str(path)


def test_json_of_compiled_code_says_where_its_kernels_are() -> None:
    result = run(REPORTS / "binaries" / "lines_sm90a.cubin", "--json")
    places = {entry["entry"]: (entry["file"], entry["line"]) for entry in entries(result)}
    assert places["tight"] == ("/tmp/occlsp-forms/source.cu", 17)


def test_a_text_that_does_not_say_its_architecture_has_none() -> None:
    result = run(REPORTS / "cases" / "nvlink_verbose.txt", "--json")
    assert {entry["arch"] for entry in entries(result)} == {None}


def test_what_was_cut_off_is_a_warning() -> None:
    result = run(REPORTS / "cases" / "truncated.txt", "--json")
    document = json.loads(result.stdout)
    assert [entry["entry"] for entry in document["entries"]] == ["_Z9blendRowsPKfPfii"]
    assert [(w["kind"], w["entry"]) for w in document["warnings"]] == [
        ("truncated", "_Z9blendColsPKfPfii")
    ]
    assert result.exit_code == 0


def test_several_files_of_several_forms() -> None:
    result = run(
        REPORTS / "binaries" / "zstd.fatbin", REPORTS / "cases" / "cuda13_sm90.txt", "--json"
    )
    assert len({entry["source"] for entry in entries(result)}) == 2


def test_a_table_for_people() -> None:
    result = run(REPORTS / "binaries" / "separate.o")
    assert result.exit_code == 0
    lines = [line for line in result.stdout.splitlines() if "ring<256, float>" in line]
    assert any("sm_90" in line and "1024" in line and "before linking" in line for line in lines)


def test_a_missing_file_is_unusable_input_and_the_rest_is_read(tmp_path: Path) -> None:
    missing = tmp_path / "none.o"
    result = run(missing, REPORTS / "cases" / "cuda13_sm90.txt", "--json")
    assert result.exit_code == 2
    assert str(missing) in result.stderr
    assert len(entries(result)) == 6


def test_no_kernels_is_said(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("all is well\n")
    result = run(log)
    assert (result.exit_code, result.stdout.strip()) == (0, f"{log}: no kernels")


def test_an_empty_list_of_entries_is_json_too(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("")
    assert json.loads(run(log, "--json").stdout) == {"entries": [], "warnings": []}
