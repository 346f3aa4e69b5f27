"""The wheel and the sdist hold what is needed, and work from any folder."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import occlsp

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, cwd: Path) -> str:
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "occlsp/py.typed" in names
    assert {name.split("/")[0] for name in names} == {
        "occlsp",
        f"occlsp-{occlsp.__version__}.dist-info",
    }


@pytest.mark.slow
def test_the_sdist_holds_tests_and_licence(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/test_packaging.py"} <= names
    assert not any("node_modules" in name for name in names)


@pytest.mark.slow
def test_an_installed_wheel_works_from_any_folder(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    run(scripts / "pip", "install", "--quiet", wheel, cwd=tmp_path)
    configuration = ["--arch", "sm_90", "--block", "256", "--regs", "72", "--json"]
    out = run(scripts / "occlsp", "calc", *configuration, cwd=tmp_path)
    assert '"blocks_per_sm"' in out
