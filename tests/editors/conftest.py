"""Editors for the tests; a missing one is a failure in CI."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.neovim import LOG, SOURCE, Neovim


@pytest.fixture
def neovim(tmp_path: Path) -> Iterator[Neovim]:
    beside = Path(sys.executable).with_name("nvim")
    command = str(beside) if beside.exists() else shutil.which("nvim")
    if command is None:
        assert not os.environ.get("CI"), "Neovim belongs to the tests"
        pytest.skip("no Neovim on this machine")
    editor = Neovim(command, tmp_path / "home")
    yield editor
    editor.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "build").mkdir(parents=True)
    (folder / "occlsp.toml").write_text('arch = ["sm_90"]\n')
    (folder / "a.cu").write_text(SOURCE)
    os.utime(folder / "a.cu", (1_700_000_000, 1_700_000_000))
    (folder / "build" / "build.log").write_text(LOG)
    return folder
