"""What a model says is marked as such in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from occlsp.cli.main import main
from tests.analysis.advice.test_neighbours import KERNELS, RUN


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OCCLSP_CACHE_DIR", str(tmp_path / "cache"))
    Path("k.cu").write_text(KERNELS + RUN)
    Path("occlsp.toml").write_text('[diagnostics.severity]\nfusable = "hint"\n')


def check(format_: str) -> str:
    return CliRunner().invoke(main, ["check", "k.cu", "--format", format_]).stdout


def test_json() -> None:
    (found,) = [f for f in json.loads(check("json"))["findings"] if f["code"] == "fusable"]
    assert found["estimated"] is True


def test_sarif() -> None:
    results = json.loads(check("sarif"))["runs"][0]["results"]
    (found,) = [result for result in results if result["ruleId"] == "fusable"]
    assert found["properties"]["estimated"] is True


@pytest.mark.parametrize("format_", ["text", "github", "markdown"])
def test_words(format_: str) -> None:
    (line,) = [line for line in check(format_).splitlines() if "fusable" in line]
    assert "estimated: " in line
