"""Whether launches in a row are worth being one kernel: a model, and so always `estimated`.

Score = base · register factor · shared-memory factor · ILP factor. The rules and constants are
those of the documentation of `occlsp fuse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from occlsp.occupancy import InvalidInput, Limits, occupancy

Verdict = Literal[
    "nothing to fuse", "register spill", "shared-memory overflow", "not worthwhile", "beneficial"
]
MOST_REGISTERS = 255
THRESHOLD = 1.05
LEAST_FACTOR = 0.5
ILP_STEP = 0.05
MOST_ILP = 1.25


class Part(Struct, frozen=True):
    """One of the kernels."""

    name: str
    registers: int
    static_smem: int = 0
    """Bytes per block."""


class Fused(Struct, frozen=True):
    """What they would be together."""

    registers: int
    """Estimated, or the compiler's."""
    static_smem: int
    """The sum, in bytes per block."""
    threads: int
    """Of the common block."""
    bytes_with: float
    """Traffic of the kernels apart, the intermediate written and read (any unit, as
    `bytes_without`)."""
    bytes_without: float
    """Traffic without the intermediate."""
    operations: float
    """Arithmetic operations of one thread, or of one element."""
    spill_bytes: int | None = None
    """The compiler's; None: not compiled."""


class Bounds(Struct, frozen=True):
    """The three limits. A candidate at one is allowed; above it is refused."""

    registers: int
    smem: int
    """Bytes per block."""
    threshold: float

    @staticmethod
    def of(
        row: Limits,
        registers: int | None = None,
        smem: int | None = None,
        threshold: float | None = None,
    ) -> Bounds:
        """Those of an architecture, where they are not overridden."""
        return Bounds(
            MOST_REGISTERS if registers is None else registers,
            row.smem_per_block_optin if smem is None else smem,
            THRESHOLD if threshold is None else threshold,
        )


class Judgement(Struct, frozen=True):
    """The verdict, with every factor that it rests on; factors are None where none was needed."""

    verdict: Verdict
    base: float | None = None
    register_factor: float | None = None
    smem_factor: float | None = None
    ilp_factor: float | None = None
    score: float | None = None
    occupancies: tuple[float, ...] = ()
    """Of the kernels apart."""
    fused_occupancy: float | None = None
    why: str = ""
    """In words."""


def judge(parts: Sequence[Part], fused: Fused, row: Limits, bounds: Bounds) -> Judgement:
    """The verdict on kernels that could be one, on an architecture."""
    if len(parts) < 2:
        return Judgement("nothing to fuse", why="fewer than two kernels")
    if fused.registers > bounds.registers or fused.spill_bytes:
        why = (
            f"{fused.registers} registers, above {bounds.registers}"
            if fused.registers > bounds.registers
            else f"the compiler spills {fused.spill_bytes} bytes"
        )
        return Judgement("register spill", why=why)
    if fused.static_smem > bounds.smem:
        why = f"{fused.static_smem} bytes of static shared memory, above {bounds.smem}"
        return Judgement("shared-memory overflow", why=why)
    apart = tuple(_share(row, fused.threads, p.registers, p.static_smem) for p in parts)
    together = _share(row, fused.threads, fused.registers, fused.static_smem)
    base = base_factor(fused.bytes_with, fused.bytes_without)
    by_registers = register_factor(together, min(apart))
    by_smem = smem_factor(fused.static_smem, bounds.smem)
    by_ilp = ilp_factor(fused.operations, fused.registers)
    score = base * by_registers * by_smem * by_ilp
    is_good = score >= bounds.threshold
    return Judgement(
        "beneficial" if is_good else "not worthwhile",
        *(base, by_registers, by_smem, by_ilp, score),
        occupancies=apart,
        fused_occupancy=together,
        why=f"score {score:.3f}, {'at least' if is_good else 'below'} {bounds.threshold:g}",
    )


def base_factor(bytes_with: float, bytes_without: float) -> float:
    """Traffic with the intermediate over traffic without it; at least 1."""
    if bytes_without <= 0:
        return 1.0
    return max(1.0, bytes_with / bytes_without)


def register_factor(together: float, lower: float) -> float:
    """The fused kernel's occupancy over the lower of the others'; from 0.5 to 1."""
    if lower <= 0:
        return LEAST_FACTOR
    return max(LEAST_FACTOR, min(1.0, together / lower))


def smem_factor(size: int, budget: int) -> float:
    """1 up to half of the budget, then falling linearly to 0.5 at the budget."""
    half = budget / 2
    if size <= half or half <= 0:
        return 1.0
    return max(LEAST_FACTOR, 1 - LEAST_FACTOR * (size - half) / half)


def ilp_factor(operations: float, registers: int) -> float:
    """1 + 0.05 · (arithmetic operations per register − 1), from 1 to 1.25."""
    if registers <= 0:
        return 1.0
    return max(1.0, min(MOST_ILP, 1 + ILP_STEP * (operations / registers - 1)))


def _share(row: Limits, threads: int, registers: int, static_smem: int) -> float:
    """Occupancy; static memory above 48 KiB would be dynamic, which is the same to the model."""
    try:
        return occupancy(row, threads, registers, 0, static_smem).occupancy
    except InvalidInput:
        return 0.0
