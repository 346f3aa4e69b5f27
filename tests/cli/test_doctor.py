"""`occlsp doctor`: what was found, from where, and what to do about the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from occlsp.cli.doctor import command

LOG = """\
ptxas info    : Compiling entry function '_Z4tilePf' for 'sm_80'
ptxas info    : Function properties for _Z4tilePf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with nothing on it."""
    home = tmp_path / "home"
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "OCCLSP_CACHE_DIR"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setattr("occlsp.reports.local_gpus.local_gpus", lambda: ())


def examined(folder: Path, *arguments: str) -> dict[str, dict[str, str]]:
    done = CliRunner().invoke(command, [str(folder), "--json", "--no-run", *arguments])
    assert done.exit_code == 0, done.output
    return {item["name"]: item for item in json.loads(done.output)["items"]}


def test_an_empty_folder_has_advice_for_all_that_is_missing(tmp_path: Path) -> None:
    items = examined(tmp_path)
    for name in ("architecture", "GPU", "compile commands", "reports"):
        assert items[name]["state"] == "missing", name
        assert items[name]["advice"], name
    assert "sm_90 (from the default" in items["architecture"]["found"]


def test_what_is_there_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "occlsp.toml").write_text('gpu = "H100 SXM"\n')
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "b.log").write_text(LOG)
    entry = {"file": "a.cu", "directory": str(tmp_path), "command": "nvcc -arch=sm_86 -c a.cu"}
    (tmp_path / "build" / "compile_commands.json").write_text(json.dumps([entry]))
    items = examined(tmp_path)
    assert items["settings"]["found"] == f"{tmp_path}/occlsp.toml: gpu"
    assert items["architecture"]["found"] == "sm_86 (from build flags)"
    assert items["GPU"]["found"].startswith("H100 SXM")
    assert items["compile commands"]["found"].endswith("1 files, 1 of them CUDA")
    assert items["reports"]["found"] == f"1 kernel entries in {tmp_path}/build/b.log"


@pytest.mark.parametrize(
    ("toml", "said"), [("arch = }", "line 1"), ("arhc = 'sm_80'", "unknown setting `arhc`")]
)
def test_bad_settings_are_told(tmp_path: Path, toml: str, said: str) -> None:
    (tmp_path / "occlsp.toml").write_text(toml)
    item = examined(tmp_path)["settings"]
    assert item["state"] == "wrong"
    assert said in item["found"]


def test_for_people_every_line_has_its_way_out(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(tmp_path), "--no-run"])
    assert done.exit_code == 0
    assert "→ set `arch" in done.output
    assert "\x1b" not in done.output


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(tmp_path / "nowhere")])
    assert done.exit_code == 2
