"""The limits of each compute capability: one row each, with where its numbers come from."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

KIB = 1024
CHECKED_PARTITIONS = 4
"""A launch is checked as if its warps came in groups of four: on 6.0 too, whose SM has two
sub-partitions, so that what runs there also runs on 6.1."""


GRID_DIMS = (2**31 - 1, 65535, 65535)
"""The largest grid, the same for every capability."""


class UnknownArchitecture(ValueError):
    """An architecture that the table does not hold. The message lists those that it does."""

    def __init__(self, name: object) -> None:
        self.name = name
        super().__init__(f"unknown architecture {name!r}; known are {', '.join(ARCHITECTURES)}")


class Limits(Struct, frozen=True, kw_only=True):
    """What one SM of a compute capability holds. Sizes are bytes, registers are 32 bits wide.

    The tests compare each row with its `source`.
    """

    name: str
    """The canonical name, `sm_90`."""
    major: int
    minor: int
    threads_per_sm: int
    blocks_per_sm: int
    smem_per_sm: int
    """Shared memory of an SM, with the largest carveout."""
    smem_per_block_optin: int
    """The most that one block may use once its kernel has opted in, the reserve not counted."""
    carveouts: tuple[int, ...]
    """The sizes that an SM's shared memory can have, ascending; empty where it is fixed."""
    smem_unit: int
    """Shared memory is allocated in multiples of this."""
    smem_reserved: int
    """What the driver keeps for itself in each block."""
    barriers_per_sm: int | None
    """Block barriers of an SM; None where they are not counted (before 9.0)."""
    sub_partitions: int = 4
    """Schedulers that the registers of an SM are divided between."""
    registers_per_block: int = 65536
    registers_per_sm: int = 65536
    registers_per_thread: int = 255
    register_unit: int = 256
    """Registers are allocated to a warp in multiples of this."""
    smem_per_block: int = 48 * KIB
    """The most that one block may use without opting in, the reserve not counted."""
    threads_per_block: int = 1024
    block_dims: tuple[int, int, int] = (1024, 1024, 64)
    grid_dims: tuple[int, int, int] = GRID_DIMS
    warp_size: int = 32
    source: str
    provisional: str | None = None
    """Why the row may change, in words that are shown with its numbers; None: it is settled."""

    @property
    def capability(self) -> str:
        """The compute capability, `9.0`."""
        return f"{self.major}.{self.minor}"

    @property
    def warps_per_sm(self) -> int:
        """Warps that can be resident on one SM."""
        return self.threads_per_sm // self.warp_size

    @property
    def has_clusters(self) -> bool:
        """Whether blocks can be launched in clusters (9.0 on)."""
        return self.major >= 9


_CARVEOUTS: dict[str, tuple[int, ...]] = {
    "fixed": (),
    "volta": (0, 8, 16, 32, 64, 96),
    "turing": (32, 64),
    "100": (0, 8, 16, 32, 64, 100),
    "164": (0, 8, 16, 32, 64, 100, 132, 164),
    "228": (0, 8, 16, 32, 64, 100, 132, 164, 196, 228),
}
"""KiB of shared memory per SM that a preference in percent is rounded up to."""

# capability: threads/SM, blocks/SM, smem/SM KiB, opt-in smem/block KiB, carveouts, barriers/SM
_ROWS: dict[str, tuple[int, int, int, int, str, int | None]] = {
    "5.0": (2048, 32, 64, 48, "fixed", None),
    "5.2": (2048, 32, 96, 48, "fixed", None),
    "5.3": (2048, 32, 64, 48, "fixed", None),
    "6.0": (2048, 32, 64, 48, "fixed", None),
    "6.1": (2048, 32, 96, 48, "fixed", None),
    "6.2": (2048, 32, 64, 48, "fixed", None),
    "7.0": (2048, 32, 96, 96, "volta", None),
    "7.2": (2048, 32, 96, 96, "volta", None),
    "7.5": (1024, 16, 64, 64, "turing", None),
    "8.0": (2048, 32, 164, 163, "164", None),
    "8.6": (1536, 16, 100, 99, "100", None),
    "8.7": (1536, 16, 164, 163, "164", None),
    "8.8": (1536, 16, 100, 99, "100", None),
    "8.9": (1536, 24, 100, 99, "100", None),
    "9.0": (2048, 32, 228, 227, "228", 64),
    "10.0": (2048, 32, 228, 227, "228", 64),
    "10.3": (2048, 32, 228, 227, "228", 32),
    "10.7": (1024, 16, 228, 227, "228", 16),
    "11.0": (1536, 24, 228, 227, "228", 24),
    "12.0": (1536, 24, 100, 99, "100", 24),
    "12.1": (1536, 24, 100, 99, "100", 24),
}
_HALF_REGISTERS_PER_BLOCK = ("5.3", "6.2")
_TWO_SUB_PARTITIONS = ("6.0",)
_PROVISIONAL = {
    "10.7": "provisional limits: the toolkit's sources disagree on the shared memory of sm_107 "
    "(228 or 328 KiB per SM; 228 is used)"
}
_SOURCE = "cuda_occupancy.h (CUDA 13.5), cuda/__device/arch_traits.h (CCCL 13.3)"
_OTHER_SOURCES = {
    "7.2": "cuda_occupancy.h (CUDA 13.5), CUDA programming guide (CCCL leaves sm_72 out)",
    "8.8": "cuda_occupancy.h (CUDA 13.5), cuda/__device/arch_traits.h (CCCL 13.3: as sm_86)",
    "10.7": "cuda_occupancy.h (CUDA 13.5; 328 KiB step), cuda/__device/arch_traits.h (CCCL 13.3; "
    "228 KiB)",
}
_OLDER_NAMES = {"10.1": "11.0"}
"""Names of older toolkits for a capability."""


def _row(capability: str) -> Limits:
    major, minor = map(int, capability.split("."))
    threads, blocks, smem, optin, carveouts, barriers = _ROWS[capability]
    return Limits(
        name=f"sm_{major}{minor}",
        major=major,
        minor=minor,
        threads_per_sm=threads,
        blocks_per_sm=blocks,
        smem_per_sm=smem * KIB,
        smem_per_block_optin=optin * KIB,
        carveouts=tuple(size * KIB for size in _CARVEOUTS[carveouts]),
        smem_unit=128 if major >= 8 else 256,
        smem_reserved=1024 if major >= 8 else 0,
        barriers_per_sm=barriers,
        sub_partitions=2 if capability in _TWO_SUB_PARTITIONS else 4,
        registers_per_block=32768 if capability in _HALF_REGISTERS_PER_BLOCK else 65536,
        source=_OTHER_SOURCES.get(capability, _SOURCE),
        provisional=_PROVISIONAL.get(capability),
    )


_TABLE = {capability: _row(capability) for capability in _ROWS}
ARCHITECTURES: tuple[str, ...] = tuple(row.name for row in _TABLE.values())
"""The canonical names of all known architectures, oldest first."""

_NAME = re.compile(r"(?:sm_|compute_|lto_)?(?:(\d{1,2})\.(\d)|(\d{1,2})(\d))([af]?)", re.ASCII)
_BY_NAME: dict[str, Limits] = {row.name: row for row in _TABLE.values()} | _TABLE


def limits(arch: str) -> Limits:
    """The row of `arch`, spelled like `sm_90`, `sm_90a`, `sm_100f`, `compute_90`, `90` or `9.0`.

    A suffix means the same limits. Raises `UnknownArchitecture` for everything else: a number for
    a capability that the table lacks would be a guess.
    """
    row = _BY_NAME.get(arch)
    return row if row is not None else _parse(arch)


def arch_name(arch: str) -> str:
    """The canonical name, `sm_90`, of any spelling that `limits` accepts.

    Raises `UnknownArchitecture`.
    """
    return limits(arch).name


@lru_cache(256)
def _parse(arch: str) -> Limits:
    match = _NAME.fullmatch(arch.strip().lower()) if isinstance(arch, str) else None
    if match is None:
        raise UnknownArchitecture(arch)
    capability = f"{match[1] or match[3]}.{match[2] or match[4]}"
    row = _TABLE.get(_OLDER_NAMES.get(capability, capability))
    if row is None or not _has_suffix(row, match[5]):
        raise UnknownArchitecture(arch)
    return row


def _has_suffix(row: Limits, suffix: str) -> bool:
    """Whether the toolkit has an architecture with this suffix: `a` from 9.0, `f` from 10.0."""
    return not suffix or row.major >= (9 if suffix == "a" else 10)
