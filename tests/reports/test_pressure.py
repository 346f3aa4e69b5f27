"""Live registers by source line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from occlsp.reports.cubin import read_cubin
from occlsp.reports.pressure import Pressure, find_nvdisasm, pressure
from tests.reports.compilers import posix_only, real_nvcc

SOURCE = """\
__global__ void k(float *p) {
    float a[24];
#pragma unroll
    for (int i = 0; i < 24; ++i) a[i] = p[i * 32];
    float s = 0;
#pragma unroll
    for (int i = 0; i < 24; ++i) s += a[i] * a[23 - i];
    p[0] = s;
}
"""
ENTRY = "_Z1kPf"


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compiled(tmp_path_factory.mktemp("k"), "-lineinfo")


def compiled(folder: Path, *flags: str) -> bytes:
    (folder / "k.cu").write_text(SOURCE)
    command = [str(real_nvcc().path), "-cubin", "-arch=sm_90", *flags, "-o", "k.cubin", "k.cu"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "k.cubin").read_bytes()


def nvdisasm() -> Path:
    found = find_nvdisasm(None)
    if found is None:
        reason = "needs nvdisasm: pip install nvidia-cuda-nvdisasm"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def test_the_line_that_holds_most(cubin: bytes) -> None:
    found = pressure(cubin, ENTRY, nvdisasm=nvdisasm())
    assert found.problem is None
    lines = {line.line: line for line in found.lines if line.file.endswith("k.cu")}
    assert {4, 7, 8} <= lines.keys()
    assert lines[8].live < lines[4].live
    (entry,) = read_cubin(cubin, "k.cubin").entries
    assert entry.registers is not None
    assert found.peak is not None
    assert 24 <= found.peak <= entry.registers


def test_without_the_tool_the_way_to_get_it(cubin: bytes) -> None:
    found = pressure(cubin, ENTRY, nvdisasm=None)
    assert "pip install nvidia-cuda-nvdisasm" in (found.problem or "")


def test_without_lines_the_flag_that_makes_them(tmp_path: Path) -> None:
    found = pressure(compiled(tmp_path), ENTRY, nvdisasm=tmp_path)
    assert "-lineinfo" in (found.problem or "")


def test_a_kernel_that_is_not_there(cubin: bytes) -> None:
    found = pressure(cubin, "_Z5otherv", nvdisasm=Path("never-run"))
    assert found == Pressure("_Z5otherv", problem="the cubin has no kernel _Z5otherv")


def test_broken_bytes_are_told(tmp_path: Path) -> None:
    assert "cannot be read" in (pressure(b"junk", ENTRY, nvdisasm=tmp_path).problem or "")


@posix_only
def test_a_tool_that_fails_is_told_with_its_words(cubin: bytes, tmp_path: Path) -> None:
    tool = tmp_path / "nvdisasm"
    tool.write_text("#!/bin/sh\necho 'nvdisasm fatal: too new' >&2\nexit 1\n")
    tool.chmod(0o755)
    assert "too new" in (pressure(cubin, ENTRY, nvdisasm=tool).problem or "")


@posix_only
def test_none_is_taken_from_the_workspace(tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "nvdisasm"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    env = {"PATH": str(tool.parent)}
    assert find_nvdisasm(None, (), env) == tool
    assert find_nvdisasm(None, (tmp_path,), env) != tool
