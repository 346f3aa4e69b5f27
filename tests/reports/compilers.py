"""Compilers for the tests: the real one, and scripts that behave badly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from occlsp.reports.toolchain import Compiler, find_compiler

SAXPY = """\
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
VERSION = "Cuda compilation tools, release 13.0, V13.0.88"

posix_only = pytest.mark.skipif(os.name == "nt", reason="the fake compilers are shell scripts")


def real_nvcc() -> Compiler:
    """The machine's nvcc. Without one the test is skipped, but fails where CI must have it."""
    found = find_compiler(None, [])
    if isinstance(found, Compiler) and found.problem is None:
        return found
    reason = f"needs nvcc and a host compiler: {found}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def fake_nvcc(folder: Path, body: str, *, name: str = "nvcc", version: str = VERSION) -> Path:
    """An nvcc that answers `--version`, and otherwise runs `body` (a shell script).

    Every start but those is noted in `starts` beside it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(
        "#!/bin/sh\n"
        f'case "$1" in --version) echo "{version}"; exit 0;; -dryrun) exit 0;; esac\n'
        f'echo "$@" >> "{folder}/starts"\n{body}\n'
    )
    path.chmod(0o755)
    return path


def starts(folder: Path) -> list[str]:
    """The command lines that the fake compiler of `folder` was started with."""
    path = folder / "starts"
    return path.read_text().splitlines() if path.exists() else []


def fake_compiler(path: Path) -> Compiler:
    """The compiler at `path`, as it would be found in the user's setting."""
    found = find_compiler(str(path), [])
    assert isinstance(found, Compiler), found
    return found
