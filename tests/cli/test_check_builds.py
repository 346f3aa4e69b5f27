"""`occlsp check --reports`: what builds under `occlsp record` left, merged in any order."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from occlsp.cli.main import main
from tests.reports.compilers import real_nvcc

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="the launcher is a shell script"),
]
SOURCE = """\
__global__ void NAME(float* p) { p[threadIdx.x] *= 2; }
void run_NAME(float* p) { NAME<<<100, 256>>>(p); }
"""
MAKEFILE = """\
NVCC = occlsp record --reports-dir reports -- nvcc
all: a.o b.o
%.o: %.cu
\t$(NVCC) -arch=sm_90 -c $< -o $@
"""
NINJA = """\
rule cuda
  command = occlsp record --reports-dir reports -- nvcc -arch=sm_90 -c $in -o $out
build a.o: cuda a.cu
build b.o: cuda b.cu
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(p LANGUAGES CXX CUDA)
add_library(p STATIC a.cu b.cu)
"""
BUILDS: Mapping[str, tuple[str, str, list[list[str]]]] = {
    "make": ("Makefile", MAKEFILE, [["make", "-j2"]]),
    "ninja": ("build.ninja", NINJA, [["ninja"]]),
    "cmake": (
        "CMakeLists.txt",
        CMAKE,
        [
            [
                "cmake",
                *("-S", ".", "-B", "build", "-DCMAKE_CUDA_ARCHITECTURES=90"),
                "-DCMAKE_CUDA_COMPILER_LAUNCHER=occlsp;record;--reports-dir;REPORTS;--",
            ],
            ["cmake", "--build", "build"],
        ],
    ),
}


@pytest.mark.parametrize("system", list(BUILDS))
def test_a_build_leaves_reports_that_are_merged(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_nvcc()
    name, text, commands = BUILDS[system]
    if shutil.which(system) is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"needs {system}")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "occlsp").write_text(f'#!/bin/sh\nexec {sys.executable} -m occlsp "$@"\n')
    (programs / "occlsp").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("OCCLSP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(project)
    for unit in ("a", "b"):
        (project / f"{unit}.cu").write_text(SOURCE.replace("NAME", unit))
    (project / name).write_text(text)
    for words in commands:
        given = [word.replace("REPORTS", str(project / "reports")) for word in words]
        subprocess.run(given, check=True, capture_output=True)
    shutil.rmtree(tmp_path / "cache")  # another machine than the one that built
    first = kernels()
    assert {(kernel["name"], kernel["blocks_per_sm"]) for kernel in first} == {("a", 8), ("b", 8)}
    assert all(kernel["registers"] > 0 and not kernel["stale"] for kernel in first)
    for number, file in enumerate(sorted((project / "reports").iterdir(), reverse=True)):
        file.rename(file.with_name(f"{number}-{file.name}"))
    assert without_source(kernels()) == without_source(first)


def kernels() -> list[dict[str, Any]]:
    words = ["check", ".", "--reports", "reports", "--format", "json", "--arch", "sm_90"]
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    found: list[dict[str, Any]] = json.loads(result.stdout)["kernels"]
    return found


def without_source(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**kernel, "source": None} for kernel in found]
