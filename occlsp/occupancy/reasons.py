"""Why no block fits, in words: the resource, how much of it, the limit, where."""

from __future__ import annotations

from collections.abc import Sequence

from occlsp.occupancy.capabilities import CHECKED_PARTITIONS, Limits


def threads_reason(
    row: Limits, threads: int, launch_bounds: int | None, shape: Sequence[int] | None
) -> str:
    """Why a block of this many threads, or of this shape, is not admitted."""
    if threads > row.threads_per_block:
        return f"{threads} threads per block, above the {row.threads_per_block} of {row.name}"
    if threads > row.threads_per_sm:
        return f"{threads} threads per block, above the {row.threads_per_sm} of an SM of {row.name}"
    if launch_bounds is not None and threads > launch_bounds:
        return (
            f"{threads} threads per block, above the {launch_bounds} of the kernel's launch bounds"
        )
    return "; ".join(
        f"block dimension {axis} is {size}, above the {most} of {row.name}"
        for axis, size, most in zip("xyz", shape or (), row.block_dims, strict=False)
        if size > most
    )


def registers_reason(row: Limits, threads: int, registers: int) -> str:
    """Why a block with this many registers per thread does not fit."""
    if registers > row.registers_per_thread:
        return (
            f"{registers} registers per thread, above the {row.registers_per_thread} of {row.name}"
        )
    unit, parts = row.register_unit, CHECKED_PARTITIONS
    warps = -(-threads // row.warp_size)
    needed = -(-registers * row.warp_size // unit) * unit * (-(-warps // parts) * parts)
    rounded = (
        ""
        if needed == threads * registers
        else f" (warps are counted in {parts}s, their registers in units of {unit})"
    )
    return (
        f"{threads} threads × {registers} registers need {needed} of {row.registers_per_block} "
        f"registers per block on {row.name}{rounded}"
    )


def shared_memory_reason(
    row: Limits, static_smem: int, dynamic_smem: int, opt_in: bool, max_dynamic_smem: int | None
) -> str:
    """Why a block with this much shared memory does not fit."""
    if opt_in and max_dynamic_smem is not None and dynamic_smem > max_dynamic_smem:
        return (
            f"{dynamic_smem} bytes of dynamic shared memory, above the {max_dynamic_smem} that the "
            "kernel opted into"
        )
    total, optin = static_smem + dynamic_smem, row.smem_per_block_optin
    parts = f" ({static_smem} static + {dynamic_smem} dynamic)" if static_smem else ""
    if opt_in or total > optin:
        return f"shared memory needs {total} of {optin} bytes per block on {row.name}{parts}"
    return (
        f"shared memory needs {total} of {row.smem_per_block} bytes per block without opting in"
        f"{parts}; {row.name} has {optin} for kernels that do"
    )


def barriers_reason(row: Limits, barriers: int) -> str:
    """Why a block with this many barriers does not fit."""
    return f"{barriers} barriers per block, above the {row.barriers_per_sm} of an SM of {row.name}"
