"""Why no block fits, in words: the resource, how much of it, the limit, where."""

from __future__ import annotations

from collections.abc import Sequence

from occlsp.occupancy.capabilities import CHECKED_PARTITIONS, Limits

PREFIX = "0 blocks fit: "


def why_zero(
    row: Limits,
    threads: int,
    registers: int,
    static_smem: int,
    dynamic_smem: int,
    *,
    opt_in: bool,
    max_dynamic_smem: int | None,
    barriers: int | None,
    launch_bounds: int | None,
    shape: Sequence[int] | None,
) -> str:
    """All that keeps a block from fitting: "0 blocks fit: …; …"."""
    causes = [
        *_threads(row, threads, launch_bounds, shape),
        *_registers(row, threads, registers),
        *_shared_memory(row, static_smem, dynamic_smem, opt_in, max_dynamic_smem),
        *_barriers(row, barriers),
    ]
    return PREFIX + "; ".join(causes)


def _threads(
    row: Limits, threads: int, launch_bounds: int | None, shape: Sequence[int] | None
) -> list[str]:
    causes = []
    if threads > row.threads_per_block:
        causes.append(
            f"{threads} threads per block, above the {row.threads_per_block} of {row.name}"
        )
    if shape is not None:
        causes += [
            f"block dimension {axis} is {size}, above the {most} of {row.name}"
            for axis, size, most in zip("xyz", shape, row.block_dims, strict=True)
            if size > most and threads <= row.threads_per_block
        ]
    if launch_bounds is not None and launch_bounds < threads <= row.threads_per_block:
        causes.append(
            f"{threads} threads per block, above the {launch_bounds} of the kernel's launch bounds"
        )
    return causes


def _registers(row: Limits, threads: int, registers: int) -> list[str]:
    if registers > row.registers_per_thread:
        return [
            f"{registers} registers per thread, above the {row.registers_per_thread} of {row.name}"
        ]
    unit, parts = row.register_unit, CHECKED_PARTITIONS
    warps = -(-threads // row.warp_size)
    needed = -(-registers * row.warp_size // unit) * unit * (-(-warps // parts) * parts)
    if needed <= row.registers_per_block:
        return []
    rounded = (
        f" (warps are counted in {parts}s, their registers in units of {unit})"
        if needed != threads * registers
        else ""
    )
    return [
        f"{threads} threads × {registers} registers need {needed} of {row.registers_per_block} "
        f"registers per block on {row.name}{rounded}"
    ]


def _shared_memory(
    row: Limits, static_smem: int, dynamic_smem: int, opt_in: bool, max_dynamic_smem: int | None
) -> list[str]:
    if opt_in and max_dynamic_smem is not None and dynamic_smem > max_dynamic_smem:
        return [
            f"{dynamic_smem} bytes of dynamic shared memory, above the {max_dynamic_smem} that the "
            "kernel opted into"
        ]
    unit, optin = row.smem_unit, row.smem_per_block_optin
    total = -(-(static_smem + dynamic_smem) // unit) * unit
    most = optin if opt_in else row.smem_per_block
    if total <= most:
        return []
    parts = f" ({static_smem} static + {dynamic_smem} dynamic)" if static_smem else ""
    needed = f"shared memory needs {static_smem + dynamic_smem} of {most} bytes per block"
    if total <= optin:
        return [f"{needed} without opting in{parts}; {row.name} has {optin} for kernels that do"]
    return [f"{needed} on {row.name}{parts}"]


def _barriers(row: Limits, barriers: int | None) -> list[str]:
    if not barriers or row.barriers_per_sm is None or barriers <= row.barriers_per_sm:
        return []
    return [f"{barriers} barriers per block need {barriers} of {row.barriers_per_sm} on {row.name}"]
