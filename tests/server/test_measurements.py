"""Measured runs through the server: the setting names the files, hovers show them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from client import Client

Start = Callable[..., Client]

SOURCE = """\
__global__ void fill(float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1;
}
void run(float *out) { fill<<<40, 256>>>(out, 10240); }
"""
LOG = """\
ptxas info    : Compiling entry function '_Z4fillPfi' for 'sm_90'
ptxas info    : Used 72 registers
"""


def run(nanoseconds: int) -> str:
    """One line of measurements."""
    return json.dumps({"kernel": "fill(float*, int)", "block": 256, "grid": 40,
                       "durations_ns": [nanoseconds], "achieved_occupancy": 0.1})  # fmt: skip


def hover(client: Client, uri: str) -> str:
    """What is shown at the launch."""
    params = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 30}}
    found: dict[str, Any] | None = client.request("textDocument/hover", params)
    return str(found["contents"]["value"]) if found else ""


def test_measured_beside_theoretical_and_again_when_the_file_changes(
    start: Start, workspace: Path
) -> None:
    (workspace / "a.cu").write_text(SOURCE)
    os.utime(workspace / "a.cu", (1_700_000_000, 1_700_000_000))
    (workspace / "occlsp.toml").write_text('gpu = "H100 SXM"\nmeasurements = ["perf/*.jsonl"]\n')
    (workspace / "build").mkdir()
    (workspace / "build" / "build.log").write_text(LOG)
    (workspace / "perf").mkdir()
    runs = workspace / "perf" / "runs.jsonl"
    runs.write_text(run(12_300))
    client = start()
    uri = client.open(workspace / "a.cu")
    client.wait_for(lambda: "median 12.3 µs" in hover(client, uri))
    client.wait_for(lambda: "10% achieved of 37.5% theoretical" in hover(client, uri))
    assert "too few blocks: 40 of the 396 that H100 SXM can hold" in hover(client, uri)
    runs.write_text(run(24_600))
    changed = {"uri": runs.as_uri(), "type": 2}
    client.notify("workspace/didChangeWatchedFiles", {"changes": [changed]})
    client.wait_for(lambda: "median 24.6 µs" in hover(client, uri))
