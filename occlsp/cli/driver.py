"""The properties of a GPU of this machine, asked of the CUDA driver: no toolkit is needed."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_ATTRIBUTES = {
    "maxThreadsPerBlock": 1,
    "sharedMemPerBlock": 8,
    "regsPerBlock": 12,
    "multiProcessorCount": 16,
    "maxThreadsPerMultiProcessor": 39,
    "major": 75,
    "minor": 76,
    "sharedMemPerMultiprocessor": 81,
    "regsPerMultiprocessor": 82,
    "sharedMemPerBlockOptin": 97,
    "maxBlocksPerMultiProcessor": 106,
    "reservedSharedMemPerBlock": 111,
}
"""Field of `cudaDeviceProp` → number of the driver's attribute (`CUdevice_attribute`)."""


class NoDriver(OSError):
    """There is no driver, no GPU, or the driver does not answer; the message says which."""


def device_properties(index: int = 0, library: str | None = None) -> dict[str, object]:
    """The fields of `cudaDeviceProp` that limits depend on, of the GPU number `index`.

    `library` is the driver's place, if not the usual one. Raises `NoDriver`. An attribute that
    an older driver does not know is left out.
    """
    try:
        driver = ctypes.CDLL(library or _usual_place())
        status = driver.cuInit(0)
    except (OSError, AttributeError):
        raise NoDriver("there is no CUDA driver on this machine") from None
    if status != 0:
        raise NoDriver(f"the CUDA driver does not start (error {status})")
    device = ctypes.c_int()
    if driver.cuDeviceGet(ctypes.byref(device), index) != 0:
        raise NoDriver(f"the CUDA driver has no device {index}")
    found: dict[str, object] = {}
    value = ctypes.c_int()
    for field, number in _ATTRIBUTES.items():
        if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0:
            found[field] = value.value
    name = ctypes.create_string_buffer(256)
    if driver.cuDeviceGetName(name, len(name), device) == 0:
        found["name"] = name.value.decode("utf-8", "replace")
    return found


def _usual_place() -> str:
    if sys.platform == "win32":
        return str(Path(os.environ.get("SYSTEMROOT", "C:\\Windows")) / "System32" / "nvcuda.dll")
    return "libcuda.so.1"
