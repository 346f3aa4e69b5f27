"""The check by running programs: built against a runtime that only writes down what is launched."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = """
#include <cstdio>
#include <cstdlib>
__global__ void plain(int*) {}
template <int N> __global__ void sized(int*) {}
template <int N> void run(int* p, int count) {
  dim3 block(N, 2);
#pragma unroll
  for (int i = 0; i < 1; i++)
    sized<N>
        <<<count, block, N * 4>>>(p);
}
int main(int argc, char**) {
  int* p;
  cudaMalloc(&p, 64);
  plain<<<3, 128>>>(p);
  run<32>(p, argc);
  run<64>(p, argc);
  int sizes[] = {64, 96};
  for (int i = 0; i < sizeof(sizes) / sizeof(int); i++) {
    plain<<<i + 1, sizes[i]>>>(p);
    if (*p != 1) exit(1);
  }
  plain<<<1, min(argc * 8, 512)>>>(p);
  plain<<<1, argc>>>(p);
  void* arguments[] = {&p};
  cudaLaunchKernel((void*)plain, dim3(2), dim3(16, 16), arguments, 0, 0);
  cudaLaunchConfig_t config = {};
  config.gridDim = 4;
  config.blockDim = 160;
  cudaLaunchKernelEx(&config, plain, p);
}
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("nvcc") or not shutil.which("addr2line"), reason="needs nvcc on the path"
)
def test_what_is_launched_is_what_was_said(tmp_path: Path) -> None:
    (tmp_path / "corpus/small").mkdir(parents=True)
    (tmp_path / "corpus/small/main.cu").write_text(PROGRAM)

    def call(what: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(HERE / "observed.py"), what, str(tmp_path / "corpus")]
        command += ["--work", str(tmp_path / "work")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert "small main: 9 launches" in call("run").stdout
    compared = call("compare")
    assert compared.returncode == 0
    assert "sites: 7" in compared.stdout
    assert "block: 5 right, 1 in bounds, 1 unknown, 0 wrong" in compared.stdout

    record = tmp_path / "work/small/main.launches"
    record.write_text(record.read_text().replace("|96 1 1|", "|97 1 1|"))
    compared = call("compare")
    assert compared.returncode == 1
    assert "block: 4 right, 1 in bounds, 1 unknown, 1 wrong" in compared.stdout
