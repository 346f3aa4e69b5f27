"""`occlsp fuse`, as a user and a script see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from occlsp.cli.fuse import command
from tests.analysis.compiled import nvcc

SOURCE = """#include <cuda_runtime.h>
__global__ void scale(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void add(const float *y, const float *z, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = y[i] + z[i];
}
void run(const float *x, const float *z, float *out, int n) {
    float *tmp;
    cudaMalloc(&tmp, n * sizeof(float));
    scale<<<(n + 255) / 256, 256>>>(x, tmp, 2.0f, n);
    add<<<(n + 255) / 256, 256>>>(tmp, z, out, n);
    cudaFree(tmp);
}
"""
LOG = """ptxas info    : Compiling entry function '_Z5scalePKfPffi' for 'sm_90'
ptxas info    : Used 10 registers, 380 bytes cmem[0]
ptxas info    : Compiling entry function '_Z3addPKfS0_Pfi' for 'sm_90'
ptxas info    : Used 12 registers, 380 bytes cmem[0]
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.cu"
    path.write_text(SOURCE, "utf-8")
    return path


def fuse(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def pair(*arguments: object) -> dict[str, Any]:
    result = fuse(*arguments, "--arch", "sm_90", "--json")
    assert result.exit_code == 0, result.stderr
    (found,) = json.loads(result.stdout)["pairs"]
    return dict(found)


def test_json_has_every_factor_and_says_estimated(source: Path) -> None:
    found = pair(source)
    assert (found["path"], found["line"], found["first_line"]) == ("a.cu", 14, 13)
    assert found["kernels"] == ["scale", "add"]
    assert (found["verdict"], found["estimated"]) == ("beneficial", True)
    assert found["factors"] == {
        "base": pytest.approx(20 / 12),
        "registers": 1.0,
        "shared_memory": 1.0,
        "ilp": 1.0,
    }
    assert found["score"] == pytest.approx(20 / 12)
    assert found["intermediates"] == found["dropped_writes"] == ["tmp"]
    assert found["registers_estimated"] is found["kernel_registers_estimated"] is True
    assert found["verified"] is None


def test_a_report_gives_the_kernels_registers(source: Path) -> None:
    log = source.with_name("build.log")
    log.write_text(LOG, "utf-8")
    found = pair(source, "--report", log)
    assert (found["kernel_registers"], found["kernel_registers_estimated"]) == ([10, 12], False)
    assert (found["registers"], found["registers_estimated"]) == (13, True)


def test_the_limits_can_be_overridden(source: Path) -> None:
    assert pair(source, "--max-registers", 8)["verdict"] == "register spill"
    assert pair(source, "--threshold", 2)["verdict"] == "not worthwhile"
    assert pair(source, "--smem-budget", "1KiB")["verdict"] == "beneficial"


def test_text(source: Path) -> None:
    lines = fuse(source, "--arch", "sm_90").stdout.splitlines()
    assert lines[0] == "a.cu:14: scale (line 13) and add"
    assert lines[1] == "  est. beneficial: score 1.667, at least 1.05"
    assert [line.split("  ")[0] for line in lines[2:7]] == [
        *("base", "registers", "shared memory", "ILP", "score (estimated)")
    ]
    assert lines[7] == "  intermediate `tmp`: its write goes too"


def test_nothing_to_fuse(source: Path) -> None:
    source.write_text(SOURCE.replace("y[i] + z", "y[i + 1] + z"), "utf-8")
    result = fuse(source, "--arch", "sm_90")
    assert (result.exit_code, result.stdout) == (0, "nothing to fuse\n")


@pytest.mark.slow
def test_the_compiler_replaces_the_estimates(source: Path) -> None:
    nvcc()
    found = pair(source, "--verify")
    assert found["problem"] is None
    assert (found["verified"], found["registers_estimated"]) == (True, False)
    assert found["kernel_registers_estimated"] is False
    assert (found["spill_stores"], found["spill_loads"]) == (0, 0)
    assert 4 <= found["registers"] <= 40
    assert "scale_add_fused(" in found["source"]
    assert found["arguments"] == ["x", "2.0f", "n", "z", "out"]
    text = fuse(source, "--arch", "sm_90", "--verify").stdout
    assert f"compiled: {found['registers']} registers, 0 bytes of spills" in text


@pytest.mark.slow
def test_what_does_not_compile_is_told(source: Path) -> None:
    nvcc()
    source.write_text(SOURCE.replace("#include", "#error broken\n#include"), "utf-8")
    found = pair(source, "--verify")
    assert found["verified"] is False
    assert found["verdict"] == "beneficial"
    assert found["problem"]


def test_a_pair_that_is_not_simple_is_not_compiled(source: Path) -> None:
    source.write_text(SOURCE.replace("if (i < n) out", "if (i < n - 1) out"), "utf-8")
    found = pair(source, "--verify")
    assert (found["verified"], found["problem"]) == (
        False,
        "their guards or loops are not the same",
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("none.cu",), "none.cu: no such file or folder"),
        (("a.cu", "--arch", "sm_1"), "unknown architecture 'sm_1'"),
        (("a.cu", "--smem-budget", "x"), "--smem-budget: 'x' is not a size"),
    ],
)
def test_unusable_input(source: Path, arguments: tuple[str, ...], problem: str) -> None:
    result = fuse(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"occlsp: {problem}")
