"""Headroom: each lever gains exactly what it says, and one unit less of it gains nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from occlsp.occupancy import ARCHITECTURES, Lever, Occupancy, levers, occupancy


def said(found: tuple[Lever, ...]) -> list[tuple[object, ...]]:
    return [
        (lever.resource, lever.value, lever.change, lever.result.blocks_per_sm, lever.held_by)
        for lever in found
    ]


def test_registers_and_the_step_after() -> None:
    assert said(levers("sm_90", 256, 72, dynamic_smem=40960)) == [
        ("registers", 64, -8, 4, ()),
        ("registers", 48, -24, 5, ()),
    ]


def test_shared_memory() -> None:
    assert said(levers("sm_90", 256, 32, dynamic_smem=40960)) == [
        ("shared_memory", 37888, -3072, 6, ()),
        ("shared_memory", 32256, -8704, 7, ()),
    ]


def test_a_lever_that_gains_nothing_alone_says_what_holds_it() -> None:
    assert said(levers("sm_80", 256, 48, dynamic_smem=31744)) == [
        ("registers", None, 0, 5, ("shared_memory",)),
        ("shared_memory", None, 0, 5, ("registers",)),
    ]


def test_what_lets_a_block_fit_at_all() -> None:
    assert said(levers("sm_90", 1024, 72)) == [
        ("registers", 64, -8, 1, ()),
        ("registers", 32, -40, 2, ()),
    ]
    assert said(levers("sm_90", 64, 32, 0, 50_000, opt_in=False))[0] == (
        *("shared_memory", 49152, -848, 4, ()),
    )
    assert said(levers("sm_90", 2048, 32)) == [("threads_per_block", 1024, -1024, 2, ())]


def test_a_block_size_that_does_not_divide_the_sm() -> None:
    assert said(levers("sm_86", 1024, 32)) == [("threads_per_block", 768, -256, 2, ())]


def test_barriers() -> None:
    assert said(levers("sm_90", 64, 16, barriers=8))[0] == ("barriers", 7, -1, 9, ())


def test_a_full_sm_has_nothing_to_gain() -> None:
    assert levers("sm_80", 256, 16) == ()
    assert said(levers("sm_80", 256, 32)) == [("registers", None, 0, 8, ("warps",))]


@given(
    arch=st.sampled_from(ARCHITECTURES),
    block=st.integers(1, 1100),
    registers=st.integers(0, 260),
    static=st.integers(0, 60 * 1024),
    dynamic=st.integers(0, 120 * 1024),
    carveout=st.none() | st.integers(0, 100),
    barriers=st.integers(0, 16),
)
def test_a_lever_gains_what_it_says_and_one_unit_less_gains_nothing(
    arch: str,
    block: int,
    registers: int,
    static: int,
    dynamic: int,
    carveout: int | None,
    barriers: int,
) -> None:
    def at(lever: Lever, value: int) -> Occupancy:
        smem = value if lever.resource == "shared_memory" else static + dynamic
        return occupancy(
            arch,
            value if lever.resource == "threads_per_block" else block,
            value if lever.resource == "registers" else registers,
            0,
            smem,
            carveout=carveout,
            barriers=value if lever.resource == "barriers" else barriers,
        )

    found = levers(arch, block, registers, static, dynamic, carveout=carveout, barriers=barriers)
    now = occupancy(arch, block, registers, static, dynamic, carveout=carveout, barriers=barriers)
    before = {lever.resource: now for lever in found}
    for lever in found:
        if lever.value is None:
            assert lever.held_by or now.occupancy < 1
            assert set(lever.held_by) <= set(now.limiters)
            continue
        last = before[lever.resource]
        gained, not_yet = at(lever, lever.value), lever.value + 1
        assert gained == lever.result
        if lever.resource == "threads_per_block":
            assert gained.active_warps > last.active_warps
            assert at(lever, lever.value + 32).active_warps <= last.active_warps
        else:
            assert gained.blocks_per_sm > last.blocks_per_sm
            assert at(lever, not_yet).blocks_per_sm == last.blocks_per_sm
        before[lever.resource] = gained
