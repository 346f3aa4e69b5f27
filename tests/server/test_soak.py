"""Editing for a while: `bench_server.py --soak` is the same for longer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import psutil
from client import Client

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from soak import Typist

Start = Callable[..., Client]

SOURCE = """\
#include "size.cuh"
template <int N>
__global__ void __launch_bounds__(256) k{0}(float *x) {{
  __shared__ float s[N];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[threadIdx.x ^ 1];
}}
void run{0}(float *x, int n) {{
  k{0}<64><<<(n + threads - 1) / threads, threads>>>(x);
  k{0}<128><<<n, dim3(32, 8), 4096>>>(x);
}}
"""


def test_a_while_of_editing(start: Start, workspace: Path) -> None:
    """No request fails, no fault is logged, memory stays; the texts are what was typed."""
    (workspace / "size.cuh").write_text("constexpr int threads = 256;\n")
    files = [workspace / "size.cuh"]
    for number in range(8):
        files.append(workspace / f"k{number}.cu")
        files[-1].write_text(SOURCE.format(number))
    client = start(options={"arch": ["sm_90"], "trusted": False})
    typist = Typist(client, workspace, files, seed=1)
    soaked = typist.work(400, samples=4)
    assert soaked.faults == []
    assert soaked.requests > 800
    assert soaked.growth < 1.1, soaked.memory
    for uri in list(typist.open):
        typist.save(uri)
        labels = client.hints(uri)
        client.close(uri)
        client.open(Path(uri.removeprefix("file://")))
        assert client.hints(uri) == labels, "as if it had just been opened"
    assert len(psutil.Process(client.process.pid).children()) <= 1
