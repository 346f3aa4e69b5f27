"""What the real compiler makes of a source, as a report."""

from __future__ import annotations

import os
import subprocess
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from occlsp.reports.facts import Report
from occlsp.reports.read import read_report
from occlsp.reports.toolchain import Compiler, find_compiler

FLAGS = ("-std=c++17", "-lineinfo", "-cubin", "-w")


def nvcc() -> Compiler:
    """The machine's compiler. Without one a test is skipped, but fails where CI must have it."""
    found = find_compiler(None, [])
    if isinstance(found, Compiler) and found.problem is None:
        return found
    reason = f"needs nvcc and a host compiler: {found}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@lru_cache(maxsize=64)
def report(source: str, path: str, arch: str = "sm_90") -> Report:
    """The report of a source that is said to be the file at `path`; its line table says so too."""
    compiler = nvcc()
    with TemporaryDirectory() as folder:
        unit = Path(folder) / "unit.cu"
        unit.write_text(f'#line 1 "{path}"\n{source}', encoding="utf-8")
        cubin = Path(folder) / "unit.cubin"
        done = subprocess.run(
            [compiler.path, *FLAGS, f"-arch={arch}", "-o", cubin, unit],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return read_report(cubin)
