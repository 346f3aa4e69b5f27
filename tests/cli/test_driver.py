"""A GPU's properties from the CUDA driver, here a small library that answers like one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from occlsp.cli import calc, driver
from occlsp.cli.driver import NoDriver, device_properties
from occlsp.occupancy import limits, limits_from_device
from tests.occupancy.conftest import needed
from tests.occupancy.oracle import compiler

DRIVER = """
#include <string.h>
int cuInit(unsigned flags) { return INIT; }
int cuDeviceGet(int *device, int index) { *device = index; return index != 0; }
int cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, "NVIDIA H100 80GB HBM3", length);
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 1: *value = 1024; return 0;
    case 8: *value = 49152; return 0;
    case 12: *value = 65536; return 0;
    case 16: *value = 132; return 0;
    case 39: *value = 2048; return 0;
    case 75: *value = 9; return 0;
    case 76: *value = 0; return 0;
    case 81: *value = 233472; return 0;
    case 82: *value = 65536; return 0;
    case 97: *value = 232448; return 0;
    case 106: *value = 32; return 0;
    default: return 1; /* the driver is older than the attribute */
    }
}
"""


def library(folder: Path, init: int = 0) -> str:
    needed(compiler(), "a C++ compiler")
    source, target = folder / "driver.c", folder / f"libdriver{init}.so"
    source.write_text(DRIVER, "utf-8")
    subprocess.run(
        [
            *(str(compiler()), "-x", "c", f"-DINIT={init}", "-shared", "-fPIC"),
            *(str(source), "-o", str(target)),
        ],
        check=True,
    )
    return str(target)


def test_the_driver_answers_as_the_table_does(tmp_path: Path) -> None:
    properties = device_properties(library=library(tmp_path))
    assert "reservedSharedMemPerBlock" not in properties
    device = limits_from_device(properties)
    assert (device.name, device.sms) == ("NVIDIA H100 80GB HBM3", 132)
    row = limits("sm_90")
    assert device.limits.smem_per_block_optin == row.smem_per_block_optin
    assert device.limits.smem_reserved == row.smem_reserved


def test_no_driver() -> None:
    with pytest.raises(NoDriver, match=r"^there is no CUDA driver on this machine$"):
        device_properties(library="/nowhere/libcuda.so")
    with pytest.raises(NoDriver, match=r"^there is no CUDA driver on this machine$"):
        device_properties(library="libc.so.6")


def test_a_driver_without_gpus(tmp_path: Path) -> None:
    with pytest.raises(NoDriver, match=r"^the CUDA driver does not start \(error 100\)$"):
        device_properties(library=library(tmp_path, init=100))
    with pytest.raises(NoDriver, match=r"^the CUDA driver has no device 3$"):
        device_properties(3, library(tmp_path))


def test_calc_asks_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = library(tmp_path)
    monkeypatch.setattr(driver, "_usual_place", lambda: place)
    kernel = ["--device", "driver", "--block", "256", "--regs", "72", "--grid", "400"]
    result = CliRunner().invoke(calc.command, kernel)
    assert "NVIDIA H100 80GB HBM3 (132 SMs)" in result.stdout


def test_calc_says_that_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_usual_place", lambda: "/nowhere/libcuda.so")
    result = CliRunner().invoke(
        calc.command, ["--device", "driver", "--block", "256", "--regs", "72"]
    )
    assert result.exit_code == 2
    assert result.stderr == ("occlsp: --device: driver: there is no CUDA driver on this machine\n")
