"""What regressed is told once a kernel, however many launches, instantiations and GPUs it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from occlsp.cli.main import main

SOURCE = """\
__global__ void k(float* p) { p[0] = 1; }
void a(float* p) { k<<<400, 256>>>(p); }
void b(float* p) { k<<<400, 512>>>(p); }
"""
LOG = """\
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers
"""


def test_two_launches_of_one_kernel_are_one_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("k.cu").write_text(SOURCE)
    Path("build.log").write_text(LOG)
    check = ["check", "k.cu", "--report", "build.log"]
    assert CliRunner().invoke(main, [*check, "--write-baseline", "base"]).exit_code == 0

    Path("build.log").write_text(LOG.replace("Used 32", "Used 80"))
    result = CliRunner().invoke(main, [*check, "--baseline", "base", "--fail-on", "warning"])
    assert result.exit_code == 1
    told = [line for line in result.stdout.splitlines() if "[regressed]" in line]
    assert len(told) == 1
    assert "occupancy 100.0% → 25.0%" in told[0], "the larger of the two changes"
