"""Inlay hints, drawn at the ends of their lines."""

from __future__ import annotations

from occlsp.analysis.hints import hints
from occlsp.reports.facts import LineSpills
from occlsp.source.text import Span
from tests.analysis.golden import PATH, check_hints, entry, snapshot


def test_the_worked_values() -> None:
    check_hints(
        """
__global__ void k(float* p) { p[0] = 1; }  //: 15.6–37.5% · smem
void run(float* p) {
    k<<<8, 256, 40 * 1024>>>(p);  //: 37.5% · regs · 3 blk/SM
    k<<<8, 512, 40 * 1024>>>(p);  //: 25% · regs · 1 blk/SM
    k<<<8, 64, 40 * 1024>>>(p);  //: 15.6% · smem · 5 blk/SM
}
""",
        entry("_Z1kPf", 72),
    )


def test_a_kernel_that_nothing_launches_is_shown_at_its_launch_bounds() -> None:
    check_hints(
        """
__global__ void __launch_bounds__(256) k(float* p) { p[0] = 1; }  //: 37.5% at 256 · regs (72)
__global__ void free(float* p) { p[0] = 1; }  //: 40 regs
__global__ void unknown(float* p) { p[0] = 1; }
""",
        entry("_Z1kPf", 72),
        entry("_Z4freePf", 40),
    )


def test_spills_at_the_kernel_and_at_the_lines() -> None:
    check_hints(
        """
__global__ void k(float* p) {  //: 37.5% · regs (72) · spills 76B
    p[0] = 1;  //: spills 76 B
}
void run(float* p) { k<<<8, 256>>>(p); }  //: 37.5% · regs · 3 blk/SM
""",
        entry(
            "_Z1kPf",
            72,
            spill_stores=40,
            spill_loads=36,
            spill_lines=(LineSpills(PATH, 3, 40, 36),),
        ),
    )


def test_ranges_over_instantiations_and_the_exact_one_where_it_is_known() -> None:
    check_hints(
        """
template <int N> __global__ void k(float* p) { p[0] = N; }  //: 37.5–75% · regs (40–72)
template <int N> void run(float* p) {
    k<N><<<8, 256>>>(p);  //: 37.5–75% · regs · 3–6 blk/SM
    k<1><<<8, 256>>>(p);  //: 75% · regs · 6 blk/SM
}
void both(float* p) { run<1>(p); run<2>(p); }
""",
        entry("_Z1kILi1EEvPf", 40),
        entry("_Z1kILi2EEvPf", 72),
    )


def test_architectures_side_by_side() -> None:
    source = """
__global__ void k(float* p) { p[0] = 1; }  //: %s
void run(float* p) { k<<<8, 256>>>(p); }  //: %s
"""
    both = [entry("_Z1kPf", 64, "sm_80"), entry("_Z1kPf", 72)]
    label = "sm_80 50% · sm_90 37.5%"
    check_hints(source % (label, label), *both, arch=("sm_80", "sm_90"))
    label = "sm_80 50% · sm_90 37.5% · +1"
    more = entry("_Z1kPf", 32, "sm_86")
    check_hints(source % (label, label), *both, more, arch=("sm_80", "sm_90", "sm_86"))


def test_upper_bounds_are_marked_and_say_what_is_not_known() -> None:
    check_hints(
        """
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }  //: ≤62.5% · regs unknown
__global__ void sized(float* p) { p[0] = s[0]; }  //: ≤37.5% · smem unknown
void run(float* p, int n) {
    k<<<8, 256, 40 * 1024>>>(p);  //: ≤62.5% · regs unknown
    sized<<<8, 256, n>>>(p);  //: ≤37.5% · smem unknown
    sized<<<8, n>>>(p);
}
""",
        entry("_Z5sizedPf", 72),
    )


def test_what_cannot_run_is_zero_and_no_bound() -> None:
    check_hints(
        """
__global__ void k(float* p) { p[0] = 1; }  //: 0% · threads
void run(float* p) { k<<<8, 2048>>>(p); }  //: 0% · threads · 0 blk/SM
"""
    )


def test_stale_numbers_are_marked() -> None:
    made = snapshot(
        "__global__ void k(float* p) { p[0] = 1; }\nvoid run(float* p) { k<<<8, 256>>>(p); }\n",
        entry("_Z1kPf", 72, fingerprint="of an older text"),
    )
    assert [hint.label for hint in hints(made, PATH)] == [
        "~37.5% · regs (72)",
        "~37.5% · regs · 3 blk/SM",
    ]


def test_an_edit_of_the_launch_updates_the_numbers() -> None:
    source = "__global__ void k(float* p) { p[0] = 1; }\nvoid run(float* p) { k<<<8, %d>>>(p); }\n"
    numbers = entry("_Z1kPf", 72)
    before = hints(snapshot(source % 256, numbers), PATH)
    after = hints(snapshot(source % 512, numbers), PATH)
    assert before[-1].label == "37.5% · regs · 3 blk/SM"
    assert after[-1].label == "25% · regs · 1 blk/SM"


def test_a_suggested_block_is_the_one_that_the_runtime_computes() -> None:
    check_hints(
        """
__global__ void k(float* p) { p[0] = 1; }  //: 43.8% · regs (72)
void run(float* p) {
    int grid, block;
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, k, 0, 0);
    k<<<grid, block>>>(p);  //: 43.8% · regs · 1 blk/SM
}
""",
        entry("_Z1kPf", 72),
    )


def test_hints_of_a_range_are_those_of_its_lines() -> None:
    source = "__global__ void k(float* p) { p[0] = 1; }\nvoid run(float* p) { k<<<8, 256>>>(p); }\n"
    made = snapshot(source, entry("_Z1kPf", 72))
    first = hints(made, PATH, span=Span(0, 3))
    assert [hint.kind for hint in first] == ["kernel"]


def test_kinds_can_be_switched_off() -> None:
    source = "__global__ void k(float* p) { p[0] = 1; }\nvoid run(float* p) { k<<<8, 256>>>(p); }\n"
    made = snapshot(source, entry("_Z1kPf", 72), settings={"hints": {"kernels": False}})
    assert [hint.kind for hint in hints(made, PATH)] == ["launch"]


def test_kernels_of_a_macro_are_shown_where_it_is_used() -> None:
    check_hints(
        """
#define MAKE(name) __global__ void __launch_bounds__(256) name##_k(float* p) { p[0] = 1; }
MAKE(one)  //: 37.5% at 256 · regs (72)
""",
        entry("_Z5one_kPf", 72),
    )
