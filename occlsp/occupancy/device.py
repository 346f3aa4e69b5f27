"""Limits as a device reports them: its capability's row, with what it says over it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from occlsp.occupancy.capabilities import Limits, limits
from occlsp.occupancy.checks import LARGEST, InvalidInput, check_integer

_FIELDS = {
    "maxThreadsPerBlock": "threads_per_block",
    "maxThreadsPerMultiProcessor": "threads_per_sm",
    "maxBlocksPerMultiProcessor": "blocks_per_sm",
    "regsPerBlock": "registers_per_block",
    "regsPerMultiprocessor": "registers_per_sm",
    "sharedMemPerBlock": "smem_per_block",
    "sharedMemPerBlockOptin": "smem_per_block_optin",
    "sharedMemPerMultiprocessor": "smem_per_sm",
    "reservedSharedMemPerBlock": "smem_reserved",
}
"""Field of `cudaDeviceProp` → field of `Limits`."""


class Device(Struct, frozen=True):
    """A GPU that described itself."""

    name: str | None
    limits: Limits
    sms: int | None
    """Number of SMs; None where the report does not say."""


def limits_from_device(properties: Mapping[str, object]) -> Device:
    """The limits of a device, from the fields of its `cudaDeviceProp`.

    `major` and `minor` choose the row; reported values above zero replace its numbers, an SM
    count is taken from `multiProcessorCount`. Other fields are ignored. Raises `InvalidInput`
    for a value that is no number, and `UnknownArchitecture` for a capability that the table
    lacks, 0.0 (a device that could not be asked) included.
    """
    major, minor = _number(properties, "major"), _number(properties, "minor")
    row = limits(f"{major}.{minor}")
    reported = {
        field: value for key, field in _FIELDS.items() if (value := _number(properties, key))
    }
    name = properties.get("name")
    return Device(
        name if isinstance(name, str) and name else None,
        replace(row, **reported, source=f"device report over {row.source}"),
        _number(properties, "multiProcessorCount") or None,
    )


def _number(properties: Mapping[str, object], key: str) -> int:
    value = properties.get(key)
    if value is None:
        if key in ("major", "minor"):
            raise InvalidInput(key, "the device report does not say its compute capability")
        return 0
    check_integer(key, value, 0, LARGEST)
    assert isinstance(value, int)
    return value
