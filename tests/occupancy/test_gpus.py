"""GPU models and what devices report of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from occlsp.occupancy import (
    ARCHITECTURES,
    GPUS,
    InvalidInput,
    UnknownArchitecture,
    UnknownGpu,
    gpu,
    limits,
    limits_from_device,
    occupancy,
)


@pytest.mark.parametrize(
    ("name", "sms"),
    [
        *(("H100 SXM", 132), ("H100 PCIe", 114), ("H200", 132), ("A100", 108), ("V100", 80)),
        *(("T4", 40), ("A10", 72), ("A10G", 80), ("L4", 58), ("L40S", 142), ("RTX 3080", 68)),
        *(("RTX 3090", 82), ("RTX 4090", 128), ("RTX 5090", 170), ("B200", 148)),
    ],
)
def test_sm_counts(name: str, sms: int) -> None:
    assert gpu(name).sms == sms


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("h100-sxm", "H100 SXM"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("rtx4090", "RTX 4090"),
        ("Tesla V100-SXM2-16GB", "V100 SXM2"),
        ("Tesla T4", "T4"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA GB10", "DGX Spark"),
    ],
)
def test_names_as_drivers_and_people_write_them(name: str, model: str) -> None:
    assert gpu(name).name == model


def test_a_name_that_stands_for_several_is_no_guess() -> None:
    with pytest.raises(UnknownGpu) as caught:
        gpu("H100")
    assert str(caught.value) == "unknown GPU 'H100'; near are H100 SXM, H100 PCIe, H100 NVL"


@pytest.mark.parametrize("name", ["", "RTX 4090 Laptop GPU", "Radeon", "NVIDIA"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(UnknownGpu, match=r"^unknown GPU "):
        gpu(name)


def test_rows_are_complete() -> None:
    for name, row in GPUS.items():
        assert row.name == name
        assert gpu(name) is row
        assert row.arch in ARCHITECTURES
        assert row.capability == limits(row.arch).capability
        assert 1 <= row.sms <= 200
        assert row.source
        assert row.bandwidth is None or 10 < row.bandwidth < 10_000
        assert row.fp32 is None or 1 < row.fp32 < 200


def test_peaks_come_from_a_clock_that_a_gpu_can_have() -> None:
    for row in GPUS.values():
        if row.fp32 is not None:
            lanes = 64 if row.arch in {"sm_60", "sm_70", "sm_75", "sm_80"} else 128
            gigahertz = row.fp32 * 1000 / (2 * lanes * row.sms)
            assert 1.0 <= gigahertz <= 2.7, f"{row.name}: {gigahertz:.2f} GHz"


H100 = {
    "name": "NVIDIA H100 PCIe",
    "major": 9,
    "minor": 0,
    "multiProcessorCount": 114,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiProcessor": 2048,
    "sharedMemPerBlock": 49152,
    "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472,
    "reservedSharedMemPerBlock": 1024,
    "clockRate": 1755000,
}


def test_a_device_that_reports_its_row() -> None:
    device = limits_from_device(H100)
    assert (device.name, device.sms) == ("NVIDIA H100 PCIe", 114)
    assert occupancy(device.limits, 256, 72, 0, 40960) == occupancy("sm_90", 256, 72, 0, 40960)
    assert device.limits.source.startswith("device report")


def test_reported_values_above_zero_win() -> None:
    device = limits_from_device({**H100, "reservedSharedMemPerBlock": 2048, "regsPerBlock": 0})
    assert device.limits.smem_reserved == 2048
    assert device.limits.registers_per_block == 65536
    assert occupancy(device.limits, 32, 16).limits.shared_memory == 114


def test_an_sm_that_holds_fewer_threads_than_a_block_may_have() -> None:
    device = limits_from_device({"major": 9, "minor": 0, "maxThreadsPerMultiProcessor": 512})
    assert occupancy(device.limits, 1024, 16).reason == (
        "0 blocks fit: 1024 threads per block, above the 512 of an SM of sm_90"
    )


@pytest.mark.parametrize(
    ("properties", "error", "message"),
    [
        ({}, InvalidInput, "major: the device report does not say"),
        ({"major": 9}, InvalidInput, "minor: the device report does not say"),
        ({"major": 0, "minor": 0}, UnknownArchitecture, "unknown architecture '0.0'; known are"),
        ({"major": 9, "minor": 9}, UnknownArchitecture, "unknown architecture '9.9'; known are"),
        ({"major": "9", "minor": 0}, InvalidInput, "major: '9' is not an integer"),
        ({**H100, "regsPerBlock": -1}, InvalidInput, "regsPerBlock: -1 is too small"),
    ],
)
def test_a_report_that_cannot_be_used(
    properties: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        limits_from_device(properties)
    assert str(caught.value).startswith(message)
