"""`occlsp check`, as scripts and people see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from occlsp.cli.main import main

SOURCE = """\
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }
void run(float* p) {
    k<<<400, 256, 40 * 1024>>>(p);
    k<<<4, 1024>>>(p);
}
"""
LOG = """\
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / ".git").mkdir()
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / "build.log").write_text(LOG)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments], catch_exceptions=False)


def document(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(check(*arguments, "--format", "json").stdout)
    return answer


def test_findings_and_kernels_as_json(project: Path) -> None:
    found = document("k.cu", "--report", "build.log", "--arch", "sm_90")
    (error,) = found["findings"]
    assert {**error, "message": ""} == {
        "code": "zero-occupancy",
        "severity": "error",
        "path": "k.cu",
        "line": 5,
        "character": 5,
        "end_line": 5,
        "end_character": 18,
        "message": "",
        "arch": "sm_90",
        "estimated": False,
    }
    assert error["message"].startswith("0 blocks fit: 1024 threads × 72 registers need 73728")
    first, second = found["kernels"]
    assert first["entry"] == "_Z1kPf"
    assert (first["path"], first["line"], first["launch_line"]) == ("k.cu", 2, 4)
    assert (first["block"], first["grid"]) == ([256, 1, 1], [400, 1, 1])
    assert (first["registers"], first["dynamic_smem"]) == (72, 40960)
    assert (first["blocks_per_sm"], first["occupancy"]) == (3, 0.375)
    assert (first["limiter"], first["reason"]) == ("registers", None)
    assert (first["stale"], first["bound"], first["estimated"]) == (False, False, False)
    assert first["source"] == "build.log"
    assert (second["launch_line"], second["blocks_per_sm"]) == (5, 0)


def test_text_shows_the_line_and_the_exit_status_says_it_failed(project: Path) -> None:
    result = check("k.cu", "--report", "build.log")
    assert result.exit_code == 1
    assert "k.cu:5:6: error: 0 blocks fit" in result.stdout
    assert "      k<<<4, 1024>>>(p);\n       ^^^^^^^^^^^^^\n" in result.stdout
    assert result.stdout.endswith("1 error in 1 files with 1 kernels\n")
    assert check("k.cu", "--report", "build.log", "--fail-on", "never").exit_code == 0
    assert check("k.cu", "--report", "build.log", "--arch", "sm_80").exit_code == 0


def test_reports_are_found_in_the_build_folder(project: Path) -> None:
    (project / "build").mkdir()
    (project / "build.log").rename(project / "build" / "all.log")
    assert check("k.cu").exit_code == 1


def test_settings_of_the_root_hold_and_flags_win(project: Path) -> None:
    (project / "occlsp.toml").write_text('arch = ["sm_80"]\nreports = ["*.log"]\nbad = 1\n')
    result = check("k.cu")
    assert result.exit_code == 0
    assert "occlsp.toml: unknown setting `bad`" in result.stderr
    assert check("k.cu", "--arch", "sm_90").exit_code == 1


def test_waves_need_a_gpu(project: Path) -> None:
    found = document("k.cu", "--report", "build.log", "--gpu", "H100 SXM")
    assert [one["code"] for one in found["findings"]] == ["tail-effect", "zero-occupancy"]


def test_an_opt_in_elsewhere_in_the_root_is_seen(project: Path) -> None:
    folder = project / "src"
    folder.mkdir()
    (folder / "big.cu").write_text(SOURCE.replace("40 * 1024", "64 * 1024"))
    assert [f["code"] for f in document("src/big.cu")["findings"]] == ["dynamic-smem-opt-in"]
    (project / "init.cu").write_text(
        "__global__ void k(float*);\nvoid init() {\n"
        "    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);\n}\n"
    )
    assert document("src/big.cu")["findings"] == []


def test_unusable_input_is_one_line_and_two(project: Path) -> None:
    for arguments in (("none.cu",), ("k.cu", "--arch", "sm_1"), ("k.cu", "--gpu", "no such")):
        result = check(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert len(result.stderr.strip().splitlines()) == 1


def test_a_broken_file_costs_itself_alone(project: Path) -> None:
    (project / "odd.cu").write_bytes(b"\xff\xfe__global__ void z(float* p) { p[0] = 1; }\n<<<>>>(")
    (project / "gone.cu").symlink_to(project / "nowhere")
    result = check(".", "--report", "build.log")
    assert result.exit_code == 1
    assert "gone.cu: No such file or directory; it is left out" in result.stderr


def test_a_second_run_reads_no_source_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = document(".", "--arch", "sm_90", "--report", "build.log")
    monkeypatch.setattr("occlsp.source.workspace.local_facts", None)
    monkeypatch.setattr("occlsp.source.entries.index_file", None)
    assert document(".", "--arch", "sm_90", "--report", "build.log") == first


@pytest.mark.slow
def test_c_plus_plus_that_holds_kernels_is_compiled(project: Path) -> None:
    """And what only launches through the driver's API is the host compiler's."""
    (project / "k.cu").unlink()
    (project / "a.cxx").write_text("__global__ void in_cxx(float* p) { p[0] = 1; }\n")
    (project / "b.cpp").write_text(
        "#include <cuda.h>\n"
        "void run(CUfunction f) { cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, 0, 0); }\n"
    )
    done = check(".", "--compile", "--arch", "sm_90", "--format", "json")
    (kernel,) = [row for row in json.loads(done.stdout)["kernels"] if row["name"] == "in_cxx"]
    assert kernel["registers"] > 0
    assert "b.cpp" not in done.stderr


@pytest.mark.slow
def test_compiling_the_tour(project: Path) -> None:
    tour = Path(__file__).parent.parent / "examples" / "tour" / "tour.cu"
    (project / "tour.cu").write_text(tour.read_text())
    found = document("tour.cu", "--compile", "--arch", "sm_90")
    assert [(one["line"], one["code"]) for one in found["findings"]] == [
        (31, "spills"),
        (93, "zero-occupancy"),
        (95, "dynamic-smem-opt-in"),
    ]
    again = document("tour.cu", "--arch", "sm_90")
    assert again["findings"] == found["findings"], "the cache has what was compiled"
