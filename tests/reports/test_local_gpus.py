"""The GPUs of the machine, from a driver's library that we build for the test."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from occlsp.reports.local_gpus import LocalGpu, local_gpus

DRIVER = r"""
#include <string.h>
int nvmlInit_v2(void) { return INIT; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(long)(i + 1); return 0; }
int nvmlDeviceGetName(void *d, char *name, unsigned length) {
  strncpy(name, (long)d == 1 ? "NVIDIA H100 80GB HBM3" : "Other", length);
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *d, int *major, int *minor) {
  if ((long)d == 3) return 15; /* lost */
  *major = (long)d == 1 ? 9 : 12;
  *minor = 0;
  return 0;
}
"""


def driver(folder: Path, init: int) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        assert not os.environ.get("CI"), "a C compiler belongs to the test machine"
        pytest.skip("no C compiler to build a driver's library with")
    source = folder / "nvml.c"
    source.write_text(DRIVER)
    library = folder / "libnvml.so"
    command = [compiler, "-shared", "-fPIC", f"-DINIT={init}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return str(library)


def test_each_gpu_that_answers_is_told(tmp_path: Path) -> None:
    assert local_gpus(driver(tmp_path, 0)) == (
        LocalGpu("NVIDIA H100 80GB HBM3", "sm_90"),
        LocalGpu("Other", "sm_120"),
    )


def test_a_driver_without_a_gpu(tmp_path: Path) -> None:
    assert local_gpus(driver(tmp_path, 9)) == ()


@pytest.mark.parametrize("library", ["/nowhere/libnvml.so", "libc.so.6"])
def test_no_driver_is_no_fault(library: str) -> None:
    assert local_gpus(library) == ()
