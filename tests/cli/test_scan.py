"""`occlsp scan` as users and scripts see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from occlsp.cli.scan import command
from occlsp.source.workspace import Workspace

SOURCE = """\
#include "sizes.h"
#ifndef BLOCK
#define BLOCK 256
#endif
template <int N> __global__ void __launch_bounds__(N, 2) k(float* p) {
    __shared__ float tile[N];
    extern __shared__ float more[];
}
void run(float* p, int n) {
    cudaFuncSetAttribute(k<128>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
    /* é𝄞 */ k<128><<<dim3(n, 2), kBlock, 1024>>>(p);
    k<BLOCK><<<1, n > 3 ? 32 : BLOCK>>>(p);
}
"""


def scan(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "sizes.h").write_text("constexpr int kBlock = 128;\n")
    (tmp_path / "main.cu").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "host.cpp").write_text("int main() {}\n")
    return tmp_path


def document(*arguments: str | Path) -> dict[str, Any]:
    result = scan("--json", *arguments)
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_kernels(folder: Path) -> None:
    [file] = document(folder)["files"]
    [kernel] = file["kernels"]
    assert (kernel["name"], kernel["line"], kernel["character"]) == ("k", 5, 57)
    assert kernel["is_template"]
    assert kernel["is_definition"]
    assert kernel["uses_dynamic_smem"]
    assert kernel["static_smem"] is None
    assert kernel["launch_bounds"]["max_threads"]["text"] == "N"
    assert kernel["launch_bounds"]["max_threads"]["value"] is None
    assert kernel["launch_bounds"]["min_blocks"]["value"] == 2
    per_instance = {
        tuple(i["template_args"]): i["max_threads"]["value"] for i in kernel["per_instance"]
    }
    assert per_instance == {("128",): 128, ("256",): 256}


def test_launches(folder: Path) -> None:
    [file] = document(folder)["files"]
    first, second = file["launches"]
    assert (first["kernel"], first["template_args"], first["api"]) == ("k", ["128"], "<<<>>>")
    # `é` is one UTF-16 unit, the clef two.
    assert (first["line"], first["character"]) == (11, 20)
    assert first["block"]["value"] == [128, 1, 1]
    assert first["grid"]["value"] is None
    assert first["grid"]["min"] == [None, 2, 1]
    assert "parameter" in first["grid"]["why"]
    assert first["dynamic_smem"]["value"] == 1024
    assert second["block"]["values"] == [[32, 1, 1], [256, 1, 1]]
    assert (second["block"]["min"], second["block"]["max"]) == ([32, 1, 1], [256, 1, 1])


def test_attributes(folder: Path) -> None:
    [file] = document(folder)["files"]
    [attribute] = file["attributes"]
    assert (attribute["kernel"], attribute["template_args"]) == ("k", ["128"])
    assert (attribute["attribute"], attribute["value"]["value"]) == ("max_dynamic_smem", 65536)


def test_defines_and_include_folders(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "sizes.h").write_text("constexpr int kBlock = 32;\n")
    [file] = document("-D", "BLOCK=512", "-I", folder / "other", folder / "main.cu")["files"]
    assert file["launches"][0]["block"]["value"] == [32, 1, 1]
    assert file["launches"][1]["block"]["values"] == [[32, 1, 1], [512, 1, 1]]


def test_for_people(folder: Path) -> None:
    result = scan(folder)
    assert result.exit_code == 0
    assert "<128> 128; <256> 256" in result.stdout
    assert "32 or 256" in result.stdout


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(folder: Path) -> None:
    found = document(folder, folder / "absent.cu")
    assert len(found["files"]) == 1
    assert found["errors"] == [
        {"path": str(folder / "absent.cu"), "message": "no such file or folder"}
    ]


def test_each_file_tells_its_own_errors(folder: Path) -> None:
    (folder / "half.cu").write_text("__global__ void k() {\n")
    found = document(folder)
    errors = {Path(file["path"]).name: file["errors"] for file in found["files"]}
    assert errors["main.cu"] == []
    assert [error["line"] for error in errors["half.cu"]] == [1]
    assert found["errors"] == [{"path": str(folder / "half.cu"), **errors["half.cu"][0]}]


@pytest.mark.parametrize("step", ["entry", "facts"])
def test_a_fault_in_one_file_costs_that_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (folder / "other.cu").write_text("__global__ void other() {}\n")
    work = getattr(Workspace, step)

    def failing(self: Workspace, path: str, **how: Any) -> Any:
        if path.endswith("main.cu"):
            raise RecursionError("too deep")
        return work(self, path, **how)

    monkeypatch.setattr(Workspace, step, failing)
    found = document("-j", "1", folder)
    assert [Path(file["path"]).name for file in found["files"]] == ["other.cu"]
    assert found["errors"] == [
        {
            "path": str(folder / "main.cu"),
            "message": "cannot be analysed (RecursionError: too deep)",
        }
    ]


def test_unusable_input() -> None:
    for arguments in (["/nowhere.cu"], [], ["-D", "1x", "."]):
        result = scan(*arguments)
        assert result.exit_code == 2
        assert len(result.stderr.strip().splitlines()) == 1
