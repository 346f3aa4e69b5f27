"""The action for GitHub and the hook for pre-commit, tried without their servers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from occlsp.cli.check import command

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / ".github/actions/occlsp/action.yml").read_text())
BAD = """\
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) { k<<<4, 2048>>>(p); }
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the steps are for bash")


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A folder as a runner has it, with occlsp installed as the first step would."""
    programs = tmp_path / "temp" / "occlsp" / "bin"
    programs.mkdir(parents=True)
    program = programs / "occlsp"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m occlsp "$@"\n')
    program.chmod(0o755)
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / "k.cu").write_text(BAD)
    return tmp_path


def step(runner: Path, name: str, outputs: dict[str, str], **inputs: str) -> tuple[int, str]:
    """Runs a step's shell as GitHub does; gives status and output, and adds to `outputs`."""
    (found,) = [one for one in ACTION["runs"]["steps"] if one["name"] == name]
    given = {key: value.get("default", "") for key, value in ACTION["inputs"].items()}
    given |= {key.replace("_", "-"): value for key, value in inputs.items()}
    environment = {**os.environ, "RUNNER_TEMP": str(runner / "temp")}
    environment["OCCLSP_CACHE_DIR"] = str(runner / "cache")
    for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        environment[key] = str(runner / key)
    for key, value in found["env"].items():
        (kind, said) = re.fullmatch(
            r"\$\{\{ (inputs|steps\.check\.outputs)\.(\S+) \}\}", value
        ).groups()  # type: ignore[union-attr]
        environment[key] = given[said] if kind == "inputs" else outputs[said]
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
        cwd=runner / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if (runner / "GITHUB_OUTPUT").exists():
        lines = (runner / "GITHUB_OUTPUT").read_text().splitlines()
        outputs |= dict(line.split("=", 1) for line in lines)
    return done.returncode, done.stdout + done.stderr


def test_the_action_annotates_summarises_and_fails_at_its_end(runner: Path) -> None:
    outputs: dict[str, str] = {}
    status, said = step(runner, "Check", outputs, arch="sm_90 sm_80", sarif="true")
    assert status == 0
    assert said.startswith("::error file=k.cu,line=2,")
    assert "block-too-large" in (runner / "GITHUB_STEP_SUMMARY").read_text()
    assert '"ruleId": "block-too-large"' in Path(outputs["sarif-file"]).read_text()
    assert outputs["status"] == "1"
    assert step(runner, "Result", outputs)[0] == 1


def test_the_action_takes_several_paths_and_a_baseline(runner: Path) -> None:
    (runner / "work" / "fine.cu").write_text(BAD.replace("2048", "256"))
    (runner / "work" / "base.txt").write_text("# occlsp baseline 1\n")
    outputs: dict[str, str] = {}
    step(runner, "Check", outputs, paths="fine.cu\nk.cu", fail_on="never", baseline="base.txt")
    assert outputs["status"] == "0"
    assert step(runner, "Result", outputs)[0] == 0
    step(runner, "Check", outputs, paths="none.cu")
    assert outputs["status"] == "2"


def test_the_action_passes_only_options_that_there_are() -> None:
    options = {name for parameter in command.params for name in parameter.opts}
    shell = "".join(one.get("run", "") for one in ACTION["runs"]["steps"])
    used = set(re.findall(r"(?<![\w-])--[a-z-]+", shell)) - {"--quiet", "--"}
    assert used
    assert used <= options


@pytest.mark.slow
def test_pre_commit_runs_the_hook(tmp_path: Path) -> None:
    repository = tmp_path / "work"
    repository.mkdir()
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home")}
    # The hook's definition alone: installing is pip's work, and takes its time.
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    (hooks / ".pre-commit-hooks.yaml").write_text(
        text.replace("language: python", "language: system").replace(
            "entry: occlsp", f"entry: {sys.executable} -m occlsp"
        )
    )

    def git(folder: Path, *words: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)

    def tried() -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "occlsp", "--all-files"],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    git(hooks, "init", "-q")
    git(hooks, "add", ".")
    git(hooks, "commit", "-qm", "hooks")
    git(repository, "init", "-q")
    (repository / "k.cu").write_text(BAD)
    (repository / "notes.txt").write_text("no source")
    git(repository, "add", ".")
    status, said = tried()
    assert status == 1
    assert "k.cu:2:23: error: 2048 threads per block" in said
    (repository / "k.cu").write_text(BAD.replace("2048", "256"))
    git(repository, "add", ".")
    status, said = tried()
    assert status == 0, said
    assert "Passed" in said
