"""Compiling on save: only when the user lets us, and what becomes of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from client import ALL, Client

Start = Callable[..., Client]

SOURCE = """\
__global__ void scale(float *x, float factor) {
  x[threadIdx.x] *= factor;
}
void run(float *x) {
  scale<<<1, 256>>>(x, 2.0f);
}
"""
ALWAYS = {"title": "Always for this folder"}


@pytest.fixture
def source(workspace: Path) -> Path:
    path = workspace / "scale.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def fake_nvcc(tmp_path: Path) -> dict[str, str]:
    """A PATH on which `nvcc` leaves a mark when it is run, and compiles nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "nvcc"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\nexit 1\n")
    script.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}


def compile_now(client: Client, uri: str) -> dict[str, Any]:
    params = {"command": "occlsp.compile", "arguments": [uri]}
    answer: dict[str, Any] = client.request("workspace/executeCommand", params, timeout=120)
    return answer


def needs_nvcc() -> None:
    if shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists():
        assert not os.environ.get("CI"), "nvcc belongs to the test machine"
        pytest.skip("no nvcc on this machine")


@pytest.mark.parametrize("trusted", [False, None])
def test_nothing_runs_without_the_users_word(
    start: Start, source: Path, fake_nvcc: dict[str, str], tmp_path: Path, trusted: bool | None
) -> None:
    """Not on opening, not on saving, not by a workspace that says it is trusted."""
    (source.parent / "occlsp.toml").write_text("trusted = true\n[compile]\nnvcc = './nvcc'\n")
    shutil.copy(Path(fake_nvcc["PATH"].split(os.pathsep)[0]) / "nvcc", source.parent / "nvcc")
    options = None if trusted is None else {"trusted": trusted}
    client = start(options=options, env=fake_nvcc)
    uri = client.open(source)
    client.save(uri)
    if trusted is None:
        client.wait_for(lambda: client.heard("window/showMessageRequest"))
    answer = compile_now(client, uri)
    assert not answer["ok"]
    assert "not trusted" in answer["message"]
    assert not (tmp_path / "was-run").exists()
    problems = client.published((source.parent / "occlsp.toml").as_uri())
    assert problems is not None
    assert {p["message"].split("`")[1] for p in problems} == {"trusted", "compile.nvcc"}


def test_the_user_is_asked_once(
    start: Start, source: Path, fake_nvcc: dict[str, str], tmp_path: Path
) -> None:
    client = start(env=fake_nvcc)
    client.answers["window/showMessageRequest"] = lambda params: ALWAYS
    uri = client.open(source)
    client.request("occlsp/status", None)
    assert not client.heard("window/showMessageRequest"), "not before it would compile"
    client.save(uri)
    client.wait_for((tmp_path / "was-run").exists)
    client.save(uri)
    compile_now(client, uri)
    (question,) = client.heard("window/showMessageRequest")
    assert [a["title"] for a in question["actions"]] == [
        "This time",
        "Always for this folder",
        "Never",
    ]
    client.stop()

    again = start(env=fake_nvcc)
    uri = again.open(source)
    answer = compile_now(again, uri)
    assert not answer["ok"]
    assert "not trusted" not in answer["message"]
    assert again.request("occlsp/status", None)["trusted"] is True
    assert not again.heard("window/showMessageRequest"), "the answer is remembered"


def test_without_a_compiler_the_way_out_is_said(start: Start, source: Path, tmp_path: Path) -> None:
    nvcc = str(tmp_path / "nowhere" / "nvcc")
    client = start(options={"trusted": True, "compile": {"nvcc": nvcc}})
    uri = client.open(source)
    answer = compile_now(client, uri)
    assert not answer["ok"]
    assert nvcc in answer["message"]
    assert "compile.nvcc" in client.request("occlsp/status", None)["compiler_missing"]
    client.save(uri)
    client.request("occlsp/status", None)
    assert not client.heard("window/showMessageRequest")


@pytest.mark.slow
def test_a_save_compiles_and_the_numbers_arrive(start: Start, source: Path) -> None:
    needs_nvcc()
    client = start(options={"trusted": True, "arch": ["sm_90"]})
    uri = client.open(source)
    assert "unknown" in client.hints(uri)[4]
    client.save(uri)
    client.wait_for(lambda: client.hints(uri)[4] == "100% · warps · 8 blk/SM", 60)
    states = [told["state"] for told in client.heard("occlsp/status")]
    assert "compiling" in states
    client.wait_for(lambda: client.request("occlsp/status", None)["state"] == "idle")
    begun = [p["value"].get("title") for p in client.heard("$/progress")]
    assert "Compiling scale.cu" in begun

    client.replace(uri, "factor;", "factor; // a comment")
    assert client.hints(uri)[4].startswith("100%")
    client.replace(uri, "*= factor;", "+= factor;")
    assert client.hints(uri)[4].startswith("~100%"), "the kernel is another one than was compiled"
    client.save(uri)
    client.wait_for(lambda: client.hints(uri)[4].startswith("100%"), 60)
    assert not list(source.parent.glob("*.o")), "nothing is written into the workspace"
    assert sorted(p.name for p in source.parent.iterdir()) == ["scale.cu"]


@pytest.mark.slow
def test_what_was_compiled_is_known_at_the_next_start(start: Start, source: Path) -> None:
    needs_nvcc()
    client = start(options={"trusted": True, "arch": ["sm_90"]})
    assert compile_now(client, client.open(source))["ok"]
    client.stop()
    again = start(options={"trusted": False, "arch": ["sm_90"]})
    uri = again.open(source)
    again.wait_for(lambda: again.hints(uri)[4] == "100% · warps · 8 blk/SM")
    answer = again.request("workspace/executeCommand", {"command": "occlsp.clearCache"})
    assert answer["ok"]
    assert "unknown" in again.hints(uri)[4]


@pytest.mark.slow
def test_a_source_that_does_not_compile_says_why(start: Start, source: Path) -> None:
    needs_nvcc()
    source.write_text(SOURCE.replace("factor;", "no_such_name;"))
    client = start(options={"trusted": True, "arch": ["sm_90"]})
    uri = client.open(source)
    answer = compile_now(client, uri)
    assert not answer["ok"]
    assert "no_such_name" in answer["message"]
    assert client.request("occlsp/status", None)["state"] == "error"
    client.replace(uri, "no_such_name;", "factor;")
    client.save(uri)
    client.wait_for(lambda: client.request("occlsp/status", None)["state"] == "idle", 60)


@pytest.mark.slow
def test_a_header_is_compiled_as_part_of_what_includes_it(start: Start, source: Path) -> None:
    needs_nvcc()
    kernel, launch = SOURCE.split("void run")
    header = source.with_name("scale.cuh")
    header.write_text(kernel)
    source.write_text('#include "scale.cuh"\nvoid run' + launch)
    client = start(options={"trusted": True, "arch": ["sm_90"]})
    uri = client.open(header)
    client.wait_for(lambda: client.request("occlsp/status", None)["state"] == "idle")
    answer = compile_now(client, uri)
    assert answer["ok"], answer
    assert answer["message"].startswith("scale.cuh is compiled as part of scale.cu")
    client.wait_for(lambda: client.hints(uri).get(0, "").startswith("100%"))


@pytest.mark.slow
def test_a_kernel_that_does_not_compile_keeps_its_old_numbers(start: Start, source: Path) -> None:
    """Also where the rest of the file still compiles."""
    needs_nvcc()
    source.write_text("__global__ void other(float *x) { *x = 1; }\n" + SOURCE)
    client = start(options={"trusted": True, "arch": ["sm_90"]})
    uri = client.open(source)
    assert compile_now(client, uri)["ok"]
    known = client.hints(uri)[1]
    client.replace(uri, "*= factor", "*= misspelt")
    client.save(uri)
    answer = compile_now(client, uri)
    assert "kernels that do not compile: scale" in answer["message"]
    assert '"misspelt" is undefined' in answer["message"]
    assert client.hints(uri)[1] == f"~{known}"
    assert client.hints(uri)[0] == "8 regs"


@pytest.mark.slow
def test_kernels_on_one_line_are_told_apart(start: Start, source: Path) -> None:
    needs_nvcc()
    overloads = "__global__ void c(float *x) { *x = 2; } __global__ void c(int *x) { *x = 2; }\n"
    source.write_text(
        "__global__ void a(float *x) { *x = 1; } __global__ void b(float *x) { *x = 2; }\n"
        + overloads
    )
    client = start(options={"trusted": True, "arch": ["sm_90"]})
    uri = client.open(source)
    assert compile_now(client, uri)["ok"]
    found = client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, **ALL})
    assert [hint["label"] for hint in found] == ["8 regs"] * 4


@pytest.mark.slow
def test_what_if(start: Start, source: Path) -> None:
    needs_nvcc()
    client = start(options={"trusted": True, "arch": ["sm_90"]})
    uri = client.open(source)
    params = {"command": "occlsp.whatif", "arguments": [uri, "scale"]}
    answer = client.request("workspace/executeCommand", params, timeout=120)
    assert answer["ok"], answer
    assert "| launch bounds" in answer["markdown"]
    hover = client.hover(uri, "scale<<<")
    assert hover is not None
    assert "| launch bounds" in hover


@pytest.mark.slow
def test_a_cancelled_compile_is_over_at_once(start: Start, source: Path) -> None:
    needs_nvcc()
    source.write_text("#include <cub/cub.cuh>\n" + SOURCE)
    client = start(options={"trusted": True, "arch": ["sm_90"]})
    uri = client.open(source)
    asked = client.start_request(
        "workspace/executeCommand", {"command": "occlsp.compile", "arguments": [uri]}
    )
    begun = client.wait_for(
        lambda: [
            p for p in client.heard("$/progress") if "Compiling" in p["value"].get("title", "")
        ]
    )
    client.notify("window/workDoneProgress/cancel", {"token": begun[0]["token"]})
    answer = client.reply(asked, timeout=20)
    assert not answer["ok"]
    assert "cancelled" in answer["message"]
