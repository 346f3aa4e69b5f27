"""The main job through the server: open a CUDA file, see its occupancy, edit, fix."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from client import Client

Start = Callable[..., Client]

SOURCE = """\
#include <cuda_runtime.h>

__global__ void tile(float *out) {
  extern __shared__ float buffer[];
  out[threadIdx.x] = buffer[threadIdx.x];
}

void run(float *out, int n) {
  cudaFuncSetAttribute(tile, cudaFuncAttributeMaxDynamicSharedMemorySize, 40 * 1024);
  tile<<<(n + 255) / 256, 256, 40 * 1024>>>(out);
}
"""
KERNEL, LAUNCH = 2, 9


def log(registers: int = 72, spills: int = 0, arch: str = "sm_90") -> str:
    """What a build prints with `-Xptxas -v`."""
    return (
        f"[1/2] Building CUDA object a.cu.o\n"
        f"ptxas info    : Compiling entry function '_Z4tilePf' for '{arch}'\n"
        f"ptxas info    : Function properties for _Z4tilePf\n"
        f"    0 bytes stack frame, {spills} bytes spill stores, {spills} bytes spill loads\n"
        f"ptxas info    : Used {registers} registers, used 1 barriers\n"
    )


@pytest.fixture
def project(workspace: Path) -> Path:
    """A source and, newer than it, the log of its build."""
    (workspace / "a.cu").write_text(SOURCE)
    os.utime(workspace / "a.cu", (1_700_000_000, 1_700_000_000))
    (workspace / "build").mkdir()
    (workspace / "build" / "build.log").write_text(log())
    return workspace


def opened(client: Client, project: Path) -> str:
    """The document, once the build's log is read."""
    uri = client.open(project / "a.cu")
    client.wait_for(lambda: "72" in client.hints(uri).get(KERNEL, ""))
    return uri


def test_the_worked_values(start: Start, project: Path) -> None:
    """72 registers, 256 threads, 40 KiB dynamic on sm_90: 37.5 %, 3 blocks, registers; with 512
    threads 25 %, before any save."""
    client = start()
    uri = opened(client, project)
    assert client.hints(uri) == {
        KERNEL: "37.5% · regs (72)",
        LAUNCH: "37.5% · regs · 3 blk/SM",
    }
    hover = client.hover(uri, "tile<<<")
    assert hover is not None
    assert "37.5% occupancy, 3 blocks per SM, limited by registers" in hover

    client.replace(uri, "256, 40 * 1024>>>", "512, 40 * 1024>>>")
    assert client.hints(uri)[LAUNCH] == "25% · regs · 1 blk/SM"
    assert "256, 40 * 1024>>>" in (project / "a.cu").read_text(), "nothing was saved"


def test_an_edit_of_the_kernel_marks_its_numbers_stale(start: Start, project: Path) -> None:
    client = start()
    uri = opened(client, project)
    client.replace(uri, "buffer[threadIdx.x];", "2 * buffer[threadIdx.x];")
    assert client.hints(uri)[KERNEL].startswith("~37.5%")
    client.replace(uri, "2 * buffer[threadIdx.x];", "buffer[threadIdx.x]; // as it was")
    assert client.hints(uri)[KERNEL].startswith("37.5%"), "a comment makes nothing stale"


def test_a_new_log_is_read_and_the_client_told(start: Start, project: Path) -> None:
    client = start()
    uri = opened(client, project)
    path = project / "build" / "build.log"
    path.write_text(log(registers=40, spills=128))
    before = len(client.heard("workspace/inlayHint/refresh"))
    changes = [{"uri": path.as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    client.wait_for(lambda: len(client.heard("workspace/inlayHint/refresh")) > before)
    client.wait_for(lambda: "spills 256B" in client.hints(uri).get(KERNEL, ""))
    assert [d["code"] for d in client.pull(uri)] == ["spills"]
    path.unlink()
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    client.wait_for(lambda: "spills" not in client.hints(uri).get(KERNEL, ""))


def test_a_launch_that_cannot_run_and_its_fix(start: Start, project: Path) -> None:
    client = start()
    uri = opened(client, project)
    client.replace(uri, "256, 40 * 1024>>>", "1024, 40 * 1024>>>")
    (finding,) = client.pull(uri)
    assert finding["code"] == "zero-occupancy"
    assert finding["severity"] == 1
    assert finding["message"].startswith("0 blocks fit: 1024 threads × 72 registers")
    assert finding["source"] == "occlsp"

    actions = client.actions(uri, "1024, 40 * 1024>>>", diagnostics=[finding])
    preferred = next((a for a in actions if a.get("isPreferred")), actions[0])
    assert preferred["title"].startswith("Use ")
    (change,) = preferred["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": client.versions[uri]}
    client.apply(preferred["edit"])
    assert not any(d["severity"] == 1 for d in client.pull(uri)), "the promise of the title holds"


def test_settings_change_while_it_runs(start: Start, project: Path) -> None:
    client = start()
    uri = opened(client, project)
    client.replace(uri, "256, 40 * 1024>>>", "1024, 40 * 1024>>>")
    assert [d["code"] for d in client.pull(uri)] == ["zero-occupancy"]
    client.settings = {"diagnostics": {"severity": {"zero-occupancy": "off"}}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait_for(lambda: client.pull(uri) == [])
    (project / "occlsp.toml").write_text("[hints]\nkernels = false\n")
    changes = [{"uri": (project / "occlsp.toml").as_uri(), "type": 1}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    client.wait_for(lambda: list(client.hints(uri)) == [LAUNCH])


def test_architectures_by_command(start: Start, project: Path) -> None:
    client = start()
    uri = opened(client, project)

    def choose(*names: str) -> dict[str, object]:
        params = {"command": "occlsp.setArch", "arguments": list(names)}
        answer: dict[str, object] = client.request("workspace/executeCommand", params)
        return answer

    assert choose("sm_80", "sm_90")["architectures"] == ["sm_80", "sm_90"]
    assert "sm_90 37.5%" in client.hints(uri)[LAUNCH]
    assert choose("sm_1")["ok"] is False
    assert choose()["architectures"] == ["sm_90"], "the reports found name it"
    assert client.hints(uri)[LAUNCH] == "37.5% · regs · 3 blk/SM"


def test_what_is_known_as_a_page(start: Start, project: Path) -> None:
    client = start()
    uri = opened(client, project)
    params = {"command": "occlsp.showReport", "arguments": [uri]}
    answer = client.request("workspace/executeCommand", params)
    assert "build.log" in answer["markdown"]


def test_the_explorer(start: Start, project: Path) -> None:
    client = start()
    uri = opened(client, project)
    position = {"line": LAUNCH, "character": 10}
    ask = {"textDocument": {"uri": uri}, "position": position}
    answer = client.request("occlsp/explorer", ask)
    assert answer["kernel"] == "tile"
    (architecture,) = answer["architectures"]
    assert architecture["point"]["occupancy"] == 0.375
    moved = client.request("occlsp/explorer", {**ask, "override": {"block": 512}})
    assert moved["architectures"][0]["point"]["occupancy"] == 0.25
    assert any(fix["edit"] for fix in answer["fixes"])


def test_a_launch_in_another_file_counts(start: Start, project: Path) -> None:
    """The kernel's file alone knows no launch; the scan finds it, and sees it change."""
    kernel, launch = SOURCE.split("void run")
    (project / "kernel.cuh").write_text(kernel)
    (project / "a.cu").write_text('#include "kernel.cuh"\nvoid run' + launch)
    (project / "build" / "build.log").write_text(log())
    client = start()
    uri = client.open(project / "kernel.cuh")
    client.wait_for(lambda: client.hints(uri).get(KERNEL) == "37.5% · regs (72)")
    text = (project / "a.cu").read_text().replace("256, 40", "512, 40")
    (project / "a.cu").write_text(text)
    changes = [{"uri": (project / "a.cu").as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    client.wait_for(lambda: client.hints(uri).get(KERNEL) == "25% · regs (72)")


def test_constants_of_an_included_header(start: Start, project: Path) -> None:
    (project / "sizes.h").write_text("constexpr int kThreads = 512;\n")
    text = SOURCE.replace("256, 40", "kThreads, 40")
    (project / "a.cu").write_text('#include "sizes.h"\n' + text)
    (project / "build" / "build.log").write_text(log())
    client = start()
    uri = client.open(project / "a.cu")
    client.wait_for(lambda: client.hints(uri).get(LAUNCH + 1, "").startswith("25%"))
    header = client.open(project / "sizes.h", language="cpp")
    client.replace(header, "512", "256")
    assert "37.5%" in client.hints(uri)[LAUNCH + 1], "an unsaved header counts"


def test_a_closed_document_is_as_it_is_on_the_disk(start: Start, project: Path) -> None:
    client = start()
    uri = opened(client, project)
    client.replace(uri, "256, 40 * 1024>>>", "512, 40 * 1024>>>")
    client.close(uri)
    uri = client.open(project / "a.cu")
    assert client.hints(uri)[LAUNCH] == "37.5% · regs · 3 blk/SM"


def test_an_edit_of_an_open_header_is_seen_where_it_is_included(
    start: Start, workspace: Path
) -> None:
    """The client asks again for the hints of other files, for it is told."""
    (workspace / "size.cuh").write_text("constexpr int threads = 256;\n")
    (workspace / "a.cu").write_text(
        '#include "size.cuh"\n'
        "__global__ void k(float *x) { *x = 1; }\n"
        "void run(float *x) { k<<<1, threads>>>(x); }\n"
    )
    client = start(options={"arch": ["sm_90"]})
    header, source = client.open(workspace / "size.cuh"), client.open(workspace / "a.cu")
    client.wait_for(lambda: client.hints(source)[1].startswith("≤100%"))
    client.wait_for(lambda: client.request("occlsp/status", None)["state"] == "idle")
    before = len(client.heard("workspace/inlayHint/refresh"))
    client.replace(header, "256", "32")
    assert client.hints(source)[1].startswith("≤50%")
    client.wait_for(lambda: len(client.heard("workspace/inlayHint/refresh")) > before)
