"""The GPUs in this machine, asked of the driver's own library: no process is run.

NVML is part of the driver, at a fixed place outside any workspace. Machines without an NVIDIA
driver have none of it, which is the common case and no fault.
"""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

MAX_GPUS = 64


@dataclass(frozen=True, slots=True)
class LocalGpu:
    """One GPU of this machine."""

    name: str
    """As the driver calls it: "NVIDIA H100 80GB HBM3"."""
    arch: str
    """"sm_90"."""


def local_gpus(library: str | None = None) -> tuple[LocalGpu, ...]:
    """The GPUs in the driver's order; none where there is no driver, or it does not answer.

    A hung driver hangs the call: not to be called where nobody may wait. `library` is NVML's
    place, if not the usual one.
    """
    try:
        nvml = ctypes.CDLL(library or _usual_place())
        if nvml.nvmlInit_v2() != 0:
            return ()
    except (OSError, AttributeError):
        return ()
    try:
        return tuple(_gpus(nvml))
    except AttributeError:  # a driver older than the functions asked for
        return ()
    finally:
        nvml.nvmlShutdown()


def _usual_place() -> str:
    if sys.platform == "win32":  # by its whole path: a bare name is looked up in the workspace
        return str(Path(os.environ.get("SYSTEMROOT", "C:\\Windows")) / "System32" / "nvml.dll")
    return "libnvidia-ml.so.1"


def _gpus(nvml: ctypes.CDLL) -> list[LocalGpu]:
    count = ctypes.c_uint()
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return []
    found = []
    for index in range(min(count.value, MAX_GPUS)):
        device = ctypes.c_void_p()
        name = ctypes.create_string_buffer(96)
        major, minor = ctypes.c_int(), ctypes.c_int()
        if (
            nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0
            and nvml.nvmlDeviceGetCudaComputeCapability(
                device, ctypes.byref(major), ctypes.byref(minor)
            )
            == 0
        ):
            nvml.nvmlDeviceGetName(device, name, ctypes.c_uint(len(name)))
            text = name.value.decode("utf-8", "replace")
            found.append(LocalGpu(text, f"sm_{major.value}{minor.value}"))
    return found
