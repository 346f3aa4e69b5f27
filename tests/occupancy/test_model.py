"""One configuration: worked values, ties, zeros with their reasons, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from occlsp.occupancy import ARCHITECTURES, InvalidInput, LimitSet, limits, occupancy


def test_registers_limit() -> None:
    result = occupancy("sm_90", 256, 72, dynamic_smem=40960)
    assert result.limits == LimitSet(
        warps=8, blocks=32, registers=3, shared_memory=5, barriers=None
    )
    assert (result.blocks_per_sm, result.active_warps, result.max_warps) == (3, 24, 64)
    assert (result.limiter, result.limiters) == ("registers", ("registers",))
    assert result.allocated.registers_per_block == 18432
    assert result.allocated.shared_memory_per_block == 41984
    assert result.percent == 37.5
    assert result.reason is None


@pytest.mark.parametrize(
    ("registers", "blocks", "limiter"),
    [
        (72, 3, "registers"),
        (64, 4, "registers"),
        (40, 5, "shared_memory"),
        (32, 5, "shared_memory"),
    ],
)
def test_fewer_registers(registers: int, blocks: int, limiter: str) -> None:
    result = occupancy("sm_90", 256, registers, dynamic_smem=40960)
    assert (result.blocks_per_sm, result.limiter) == (blocks, limiter)


@pytest.mark.parametrize(
    ("block", "percent"),
    [(64, 15.6), (128, 31.3), (192, 37.5), (256, 37.5), (384, 37.5), (512, 25.0), (1024, 0.0)],
)
def test_block_sizes_of_one_kernel(block: int, percent: float) -> None:
    assert occupancy("sm_90", block, 72, dynamic_smem=40960).percent == percent


def test_registers_are_rounded_per_warp_not_per_block() -> None:
    assert occupancy("8.0", 96, 33).limits.registers == 16


@pytest.mark.parametrize(
    ("arch", "block", "registers", "limiters"),
    [
        ("8.0", 256, 32, ("warps", "registers")),
        ("7.5", 64, 64, ("warps", "registers", "blocks")),
        ("12.0", 64, 40, ("warps", "registers", "blocks")),
        ("8.6", 32, 32, ("blocks",)),
    ],
)
def test_ties_are_all_named_in_order(
    arch: str, block: int, registers: int, limiters: tuple[str, ...]
) -> None:
    result = occupancy(arch, block, registers)
    assert result.limiters == limiters
    assert result.limiter == limiters[0]


@pytest.mark.parametrize(
    ("carveout", "smem", "blocks"),
    [
        (None, 9216, 22),
        (100, 9216, 22),
        (50, 9216, 13),  # 114 KiB is rounded up to 132
        (0, 9216, 1),  # raised to 16 KiB, which hold one block
        (0, 0, 8),  # 8 KiB, for the reserve of 1 KiB each
    ],
)
def test_carveout(carveout: int | None, smem: int, blocks: int) -> None:
    result = occupancy("sm_90", 32, 16, smem, carveout=carveout)
    assert result.limits.shared_memory == blocks


def test_carveout_does_nothing_before_volta() -> None:
    assert occupancy("6.1", 64, 16, 9000, carveout=0) == occupancy("6.1", 64, 16, 9000)


@pytest.mark.parametrize(
    ("arch", "barriers", "limit"),
    [
        *(("9.0", 3, 21), ("10.0", 16, 4), ("10.3", 16, 2), ("11.0", 5, 4), ("12.0", 1, 24)),
        *(("9.0", 0, None), ("9.0", None, None), ("8.6", 16, None)),
    ],
)
def test_barriers(arch: str, barriers: int | None, limit: int | None) -> None:
    assert occupancy(arch, 64, 16, barriers=barriers).limits.barriers == limit


def test_six_zero_admits_only_what_six_one_does() -> None:
    # Nine warps of 6656 registers fill two sub-partitions, and would not fit in groups of four.
    assert occupancy("6.0", 288, 208).limits.registers == 0
    assert (
        occupancy("6.0", 256, 200).limits.registers == occupancy("6.1", 256, 200).limits.registers
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            {"block": 1024, "registers": 72},
            "1024 threads × 72 registers need 73728 of 65536 registers per block on sm_90",
        ),
        (
            {"block": 480, "registers": 134},
            "480 threads × 134 registers need 69632 of 65536 registers per block on sm_90 (warps "
            "are counted in 4s, their registers in units of 256)",
        ),
        (
            {"block": 128, "registers": 300},
            "300 registers per thread, above the 255 of sm_90",
        ),
        ({"block": 1025}, "1025 threads per block, above the 1024 of sm_90"),
        ({"block": [32, 33]}, "1056 threads per block, above the 1024 of sm_90"),
        ({"block": (1, 1, 65)}, "block dimension z is 65, above the 64 of sm_90"),
        (
            {"block": 256, "launch_bounds": 128},
            "256 threads per block, above the 128 of the kernel's launch bounds",
        ),
        (
            {"dynamic_smem": 232449},
            "shared memory needs 232449 of 232448 bytes per block on sm_90",
        ),
        (
            {"static_smem": 200000, "dynamic_smem": 40000},
            "shared memory needs 240000 of 232448 bytes per block on sm_90 (200000 static + 40000 "
            "dynamic)",
        ),
        (
            {"dynamic_smem": 49153, "opt_in": False},
            "shared memory needs 49153 of 49152 bytes per block without opting in; sm_90 has "
            "232448 for kernels that do",
        ),
        (
            {"dynamic_smem": 65537, "max_dynamic_smem": 65536},
            "65537 bytes of dynamic shared memory, above the 65536 that the kernel opted into",
        ),
        ({"barriers": 65}, "65 barriers per block, above the 64 of an SM of sm_90"),
        (
            {"block": 1024, "registers": 72, "dynamic_smem": 240000},
            "1024 threads × 72 registers need 73728 of 65536 registers per block on sm_90; shared "
            "memory needs 240000 of 232448 bytes per block on sm_90",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_zero_is_a_result_with_its_reason(arguments: dict[str, Any], reason: str) -> None:
    result = occupancy("sm_90", **{"block": 64, "registers": 32, **arguments})
    assert (result.blocks_per_sm, result.active_warps, result.occupancy) == (0, 0, 0.0)
    assert result.reason == f"0 blocks fit: {reason}"


def test_limiters_of_a_block_that_is_not_admitted() -> None:
    assert occupancy("sm_90", 1025, 32).limiters == ("threads_per_block",)
    assert occupancy("sm_90", 1025, 72).limiters == ("threads_per_block", "registers")
    assert occupancy("sm_90", 256, 32, launch_bounds=255).limits.warps == 8


BIG = 2**31


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"block": 0}, "block: 0 is too small, at least 1 is needed"),
        ({"block": -32}, "block: -32 is too small, at least 1 is needed"),
        ({"block": (16, 0)}, "block.y: 0 is too small, at least 1 is needed"),
        ({"block": []}, "block: 0 dimensions, there are one to three"),
        ({"block": [1, 1, 1, 1]}, "block: 4 dimensions, there are one to three"),
        ({"block": 2**32}, "block: 4294967296 is absurd, at most 4294967295 can be meant"),
        (
            {"block": (65536, 65536, 1)},
            "block: 65536 × 65536 × 1 threads do not fit into 32 bits",
        ),
        ({"block": 256.0}, "block: 256.0 is neither an integer nor dimensions [x, y, z]"),
        ({"block": "256"}, "block: '256' is neither an integer nor dimensions [x, y, z]"),
        ({"registers": -1}, "registers: -1 is too small, at least 0 is needed"),
        ({"registers": 10**9}, "registers: 1000000000 is absurd, at most 65535 can be meant"),
        ({"registers": 32.5}, "registers: 32.5 is not an integer"),
        ({"registers": None}, "registers: None is not an integer"),
        ({"static_smem": -1}, "static_smem: -1 is too small, at least 0 is needed"),
        ({"static_smem": BIG}, f"static_smem: {BIG} is absurd, at most {BIG - 1} can be meant"),
        ({"dynamic_smem": -1}, "dynamic_smem: -1 is too small, at least 0 is needed"),
        (
            {"dynamic_smem": 2**70},
            f"dynamic_smem: {2**70} is absurd, at most {BIG - 1} can be meant",
        ),
        ({"max_dynamic_smem": -1}, "max_dynamic_smem: -1 is too small, at least 0 is needed"),
        ({"carveout": 101}, "carveout: 101 is absurd, at most 100 can be meant"),
        ({"carveout": -1}, "carveout: -1 is too small, at least 0 is needed"),
        ({"barriers": -1}, "barriers: -1 is too small, at least 0 is needed"),
        ({"launch_bounds": 0}, "launch_bounds: 0 is too small, at least 1 is needed"),
        ({"launch_bounds": -5}, "launch_bounds: -5 is too small, at least 1 is needed"),
    ],
    ids=str,
)
def test_what_no_launch_can_have_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        occupancy("sm_90", **{"block": 64, "registers": 32, **arguments})
    assert str(caught.value) == message


ANY = {
    "arch": st.sampled_from(ARCHITECTURES),
    "block": st.integers(1, 1100),
    "registers": st.integers(0, 260),
    "smem": st.integers(0, 240 * 1024),
    "carveout": st.none() | st.integers(0, 100),
}


@given(**ANY)
def test_more_registers_never_gain_a_block(
    arch: str, block: int, registers: int, smem: int, carveout: int | None
) -> None:
    less = occupancy(arch, block, registers, smem, carveout=carveout)
    more = occupancy(arch, block, registers + 1, smem, carveout=carveout)
    assert more.blocks_per_sm <= less.blocks_per_sm


@given(**ANY, extra=st.integers(1, 4096), opt_in=st.booleans())
def test_more_shared_memory_never_gains_a_block(
    arch: str,
    block: int,
    registers: int,
    smem: int,
    carveout: int | None,
    extra: int,
    opt_in: bool,
) -> None:
    options: Any = {"carveout": carveout, "opt_in": opt_in}
    less = occupancy(arch, block, registers, 0, smem, **options)
    more = occupancy(arch, block, registers, 0, smem + extra, **options)
    assert more.blocks_per_sm <= less.blocks_per_sm


@given(**ANY)
def test_an_answer_agrees_with_itself(
    arch: str, block: int, registers: int, smem: int, carveout: int | None
) -> None:
    result = occupancy(arch, block, registers, smem, carveout=carveout)
    values = {
        name: getattr(result.limits, name)
        for name in ("warps", "registers", "shared_memory", "blocks", "barriers")
    }
    if result.limiter != "threads_per_block":
        assert result.blocks_per_sm == min(v for v in values.values() if v is not None)
        assert set(result.limiters) == {k for k, v in values.items() if v == result.blocks_per_sm}
    assert (result.reason is not None) == (result.blocks_per_sm == 0)
    assert result.active_warps == result.blocks_per_sm * -(-block // 32) <= result.max_warps
    row = limits(arch)
    fitting = result.blocks_per_sm * result.allocated.registers_per_block
    assert fitting <= row.registers_per_sm
    assert result.blocks_per_sm * result.allocated.shared_memory_per_block <= row.smem_per_sm
