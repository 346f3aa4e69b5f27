"""What is found in real sources, against an independent matching in their text.

The sources are source distributions of the package index, pinned by version and hash in
`sources.txt`, fetched once and kept in the user's cache. None of their code runs.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import platformdirs
import pytest

HERE = Path(__file__).parent
CACHE = platformdirs.user_cache_path("occlsp-tests") / "sources"
COUNTS = {
    "lightgbm-4.7.0": (101, 182),
    "mmcv-2.2.0": (152, 182),
    "torch_scatter-2.1.2": (12, 16),
}
"""Kernels and launches that the text of each holds."""


def load_recall() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recall", HERE / "recall.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["recall"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked sources."""
    CACHE.mkdir(parents=True, exist_ok=True)
    archives = [CACHE / f"{name}.tar.gz" for name in COUNTS]
    if not all(archive.is_file() for archive in archives):
        fetch()
    root = tmp_path_factory.mktemp("sources")
    for archive in archives:
        with tarfile.open(archive) as members:
            for member in members:
                if (
                    member.isfile()
                    and not Path(member.name).is_absolute()
                    and ".." not in member.name
                ):
                    path = root / member.name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    content = members.extractfile(member)
                    assert content is not None
                    path.write_bytes(content.read())
    return root


def fetch() -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"),
        *("--no-build-isolation", "--use-pep517", "--require-hashes"),
        *("--dest", str(CACHE), "-r", str(HERE / "sources.txt")),
    ]
    environment = {**os.environ, "PYTHONPATH": str(HERE / "backend")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode != 0 and not os.environ.get("CI"):
        pytest.skip(f"the sources could not be fetched: {done.stderr.strip()[-300:]}")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_kernels_and_launches_of_real_sources_are_found(name: str, sources: Path) -> None:
    row = load_recall().measure(sources / name)
    assert (row.kernels, row.launches) == COUNTS[name]
    found = (row.kernels_found, row.launches_found, row.in_macros_found)
    assert found == (row.kernels, row.launches, row.in_macros), "\n".join(row.notes)
    assert (row.kernels_invented, row.launches_invented) == (0, 0), "\n".join(row.notes)
