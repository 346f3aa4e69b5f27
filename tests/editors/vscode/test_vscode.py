"""The extension in a real VS Code in a real browser: asserted on what is on the screen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.editors.vscode import setup

ROOT = setup.EXTENSION.parent.parent
EXAMPLE = ROOT / "tests" / "examples" / "tour" / "tour.cu"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "occlsp-tests"
BUNDLE_LIMIT = 1_000_000


def missing() -> str | None:
    for program in ["node", "npm", "chromium"]:
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


@pytest.fixture(scope="module")
def vsix() -> Path:
    reason = missing()
    if reason is not None:
        assert "CI" not in os.environ, reason
        pytest.skip(reason)
    return setup.package()


@pytest.mark.editor
@pytest.mark.slow
def test_the_bundle_is_small(vsix: Path) -> None:
    bundle = sum(path.stat().st_size for path in (setup.EXTENSION / "dist").glob("*.js"))
    assert bundle < BUNDLE_LIMIT


@pytest.mark.editor
@pytest.mark.slow
def test_what_a_user_meets(vsix: Path, tmp_path: Path) -> None:
    pictures = os.environ.get("OCCLSP_PICTURES")
    scratch = Path(pictures) if pictures else tmp_path
    scratch.mkdir(parents=True, exist_ok=True)
    modules = setup.modules(CACHE)
    # Node looks for `playwright-core` beside the script.
    here = scratch / "scripts"
    here.mkdir(exist_ok=True)
    for script in ["workbench.mjs", "scenario.mjs"]:
        shutil.copy(setup.HERE / script, here / script)
    if not (here / "node_modules").exists():
        (here / "node_modules").symlink_to(modules)
    result = subprocess.run(
        ["node", str(here / "scenario.mjs")],
        env={
            **os.environ,
            "OCCLSP_VSCODE_MODULES": str(modules),
            "OCCLSP_VSIX": str(vsix),
            "OCCLSP_SCRATCH": str(scratch),
            "OCCLSP_EXAMPLE": str(EXAMPLE),
            "XDG_CACHE_HOME": str(scratch / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    outcomes = json.loads((scratch / "outcomes.json").read_text("utf-8"))
    failed = [f"{one['step']}\n{one['error']}" for one in outcomes if not one["ok"]]
    assert not failed, "\n\n".join(failed)
    assert len(outcomes) >= 13
