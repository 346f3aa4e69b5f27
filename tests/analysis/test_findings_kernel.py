# ruff: noqa: E501 -- a finding is drawn as long as it is
"""Findings at kernels, drawn in the source."""

from __future__ import annotations

from msgspec.structs import replace

from occlsp.analysis.findings import findings
from occlsp.analysis.freshness import MOST_EDITS, History
from occlsp.analysis.sources import SourceFile
from occlsp.reports.facts import LineSpills, Report, ReportWarning
from occlsp.source.facts import FileFacts, Kernel
from occlsp.source.text import Span
from occlsp.source.workspace import Workspace
from tests.analysis.golden import PATH, check, entry, snapshot


def test_static_smem_too_large() -> None:
    check(
        """
__global__ void k(float* p) {
//              ^ error static-smem-too-large: 64 KiB of static shared memory, above the 48 KiB that the compiler accepts; make it dynamic
    __shared__ float tile[16384];
    tile[threadIdx.x] = p[0];
}
template <int N> __global__ void nobody(float* p) { __shared__ float tile[16384]; tile[N] = p[0]; }
__global__ void fits(float* p) { __shared__ float tile[12288]; tile[0] = p[0]; }
"""
    )


def test_spills_with_the_lines_where_they_happen() -> None:
    made = check(
        """
__global__ void k(float* p) {
//              ^ warning spills: 40 bytes of spill stores and 36 of spill loads per thread on sm_90; less unrolling
    p[0] = 1;
    p[1] = 2;
}
""",
        entry(
            "_Z1kPf",
            72,
            spill_stores=40,
            spill_loads=36,
            file=PATH,
            line=2,
            spill_lines=(LineSpills(PATH, 4, 40, 0), LineSpills(PATH, 5, 0, 36)),
        ),
    )
    (found,) = findings(made, PATH)
    assert [one.message for one in found.related] == [
        "40 bytes of spill stores, 0 of loads",
        "0 bytes of spill stores, 36 of loads",
    ]


def test_few_spills_are_a_hint_and_a_stack_frame_is_none() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
//              ^ hint spills: 8 bytes of spill stores and 8 of spill loads
__global__ void framed(float* p) { p[0] = 1; }
""",
        entry("_Z1kPf", 72, spill_stores=8, spill_loads=8),
        entry("_Z6framedPf", 72, spill_stores=0, spill_loads=0, stack=128),
    )


def test_instantiations_are_joined() -> None:
    check(
        """
template <int N> __global__ void k(float* p) { p[0] = N; }
//                               ^ warning spills: 60 bytes of spill stores and 0 of spill loads per thread in `k<2>` on sm_90 (2 of 3 instantiations spill)
""",
        entry("_Z1kILi1EEvPf", 72, spill_stores=40, spill_loads=0),
        entry("_Z1kILi2EEvPf", 72, spill_stores=60, spill_loads=0),
        entry("_Z1kILi3EEvPf", 72, spill_stores=0, spill_loads=0),
    )
    check(
        """
template <int N> __global__ void k(float* p) { p[0] = N; }
//                               ^ warning spills: 60 bytes of spill stores and 0 of spill loads per thread in `k<2>` on sm_90 (1 of 2 instantiations spills)
""",
        entry("_Z1kILi2EEvPf", 72, spill_stores=60, spill_loads=0),
        entry("_Z1kILi3EEvPf", 72, spill_stores=0, spill_loads=0),
    )


def test_min_blocks_above_what_an_sm_holds() -> None:
    check(
        """
__global__ void __launch_bounds__(1024, 2) fits(float* p) { p[0] = 1; }
__global__ void __launch_bounds__(1024, 3) k(float* p) { p[0] = 1; }
//                                         ^ warning min-blocks-unmet: the launch bounds ask for 3 blocks per SM, but sm_90 holds at most 2 blocks of 1024 threads: the compiler ignores the request; ask for at most 2, or leave it out
__global__ void __launch_bounds__(32, 40) many(float* p) { p[0] = 1; }
//                                        ^^^^ warning min-blocks-unmet: the launch bounds ask for 40 blocks per SM, but sm_90 holds at most 32 blocks: the compiler
"""
    )


def test_min_blocks_that_the_compiler_says_it_ignores() -> None:
    warning = ReportWarning("min-blocks-ignored", "…", entry="_Z1kI1TEvPf", arch="sm_90")
    source = (
        "template <class T> __global__ void __launch_bounds__(T::kThreads, T::kBlocks) "
        "k(float* p) { p[0] = 1; }\n"
    )
    made = snapshot(source).with_reports((Report("r", (entry("_Z1kI1TEvPf", 32),), (warning,)),))
    (found,) = findings(made, PATH)
    assert found.code == "min-blocks-unmet"
    assert found.message.startswith("the compiler ignores the minimum of blocks in the launch")


def test_min_blocks_above_what_shared_memory_allows() -> None:
    check(
        """
__global__ void __launch_bounds__(256, 8) k(float* p) {
//                                        ^ warning min-blocks-unmet: the launch bounds ask for 8 blocks per SM, but shared memory admits 4 on sm_90: registers are held down for nothing
    __shared__ float tile[12288];
    tile[0] = p[0];
}
""",
        entry("_Z1kPf", 32, static_smem=49152),
    )


def test_min_blocks_that_a_launch_keeps_from_being_met() -> None:
    check(
        """
extern __shared__ float s[];
__global__ void __launch_bounds__(256, 8) k(float* p) { p[0] = s[0]; }
//                                        ^ warning min-blocks-unmet: the launch bounds ask for 8 blocks per SM, but shared memory admits 5 on sm_90
void run(float* p) { k<<<8, 256, 40 * 1024>>>(p); }
__global__ void __launch_bounds__(256, 8) open(float* p) { p[0] = s[0]; }
void run(float* p, int n) { open<<<8, 256, 40 * 1024>>>(p); open<<<8, 256, n>>>(p); }
""",
        entry("_Z1kPf", 32),
        entry("_Z4openPf", 32),
    )


def test_min_blocks_of_a_bound_that_only_the_instantiation_knows() -> None:
    """The bound is at least the block that is launched, so the compiler ignores the request."""
    check(
        """
template <class T, int THREADS> __global__ void __launch_bounds__(THREADS, 12) k(T* p) { p[0] = 1; }
//                                                                             ^ warning min-blocks-unmet: the launch bounds ask for 12 blocks per SM, but sm_75 holds at most 8 blocks of the 128 threads that are launched: the compiler ignores the request; ask for at most 8, or leave it out
template <class T, int M> void run(T* p) { k<T, M><<<8, 128>>>(p); }
template void run<float, 128>(float*);
""",
        arch=["sm_75"],
    )


def test_min_blocks_above_the_barriers() -> None:
    check(
        """
__global__ void __launch_bounds__(64, 12) k(float* p) { p[0] = 1; }
//                                        ^ warning min-blocks-unmet: the launch bounds ask for 12 blocks per SM, but barriers admit 4 on sm_90: registers
""",
        entry("_Z1kPf", 32, barriers=16),
        settings={"diagnostics": {"severity": {"low-occupancy": "off"}}},
    )


def test_low_occupancy_names_the_lever_that_gains_most() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
//              ^ hint low-occupancy: 25% occupancy at 512 threads on sm_90: 1 block per SM, limited by registers; ≤ 64 registers (−8) → 2 blocks, 50%
void run(float* p) { k<<<8, 512>>>(p); k<<<8, 256>>>(p); }
""",
        entry("_Z1kPf", 72),
    )


def test_low_occupancy_whichever_instantiation_runs() -> None:
    source = """
template <class T> __global__ void k(T* p) { p[0] = 1; }
//                                 ^ hint low-occupancy: 12.5% occupancy at 128 threads in `k<double>` on sm_90: 2 blocks per SM, limited by registers
template <class T> void run(T* p) { k<T><<<8, 128>>>(p); }
"""
    low = entry("_Z1kIfEvPT_", 168)
    check(source, low, entry("_Z1kIdEvPT_", 255))
    some = snapshot(source, low, entry("_Z1kIdEvPT_", 32))
    assert findings(some, PATH) == ()


def test_a_carveout_that_limits_is_named() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
//              ^ hint low-occupancy: 25% occupancy at 64 threads on sm_90: 8 blocks per SM, limited by shared memory (of which the kernel prefers 0%)
void run(float* p) {
    cudaFuncSetCacheConfig(k, cudaFuncCachePreferL1);
    k<<<8, 64>>>(p);
}
""",
        entry("_Z1kPf", 64),
    )


def test_kernels_that_are_built_for_few_warps_are_left_alone() -> None:
    check(
        """
__global__ void k(float* p) {
    asm volatile("wgmma.fence.sync.aligned;");
    p[0] = 1;
}
void run(float* p) { k<<<8, 128>>>(p); }
""",
        entry("_Z1kPf", 255),
    )


def test_a_template_that_a_function_template_or_a_macro_launches_is_not_unused() -> None:
    check(
        """
template <class T> __global__ void nobody(T* p) { p[0] = 1; }
//                                 ^^^^^^ hint no-report: no report of `nobody` for sm_90; nothing in view instantiates it
template <class T> __global__ void deduced(T* p) { p[0] = 1; }
//                                 ^^^^^^^ hint no-report: no report of `deduced` for sm_90; compile the file
template <class T> void run(T* p) { deduced<<<4, 64>>>(p); }
template <class T> __global__ void sum_f32_kernel(T* p) { p[0] = 1; }
//                                 ^^^^^^^^^^^^^^ hint no-report: no report of `sum_f32_kernel` for sm_90; compile the file
#define LAUNCH(type) sum_##type##_kernel<float><<<4, 64>>>(p)
""",
        settings={"diagnostics": {"severity": {"no-report": "hint"}}},
    )


def test_no_report_is_told_where_it_is_asked_for() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
//              ^ warning no-report: no report of `k` for sm_90; compile the file
template <int N> __global__ void t(float* p) { p[0] = N; }
//                               ^ warning no-report: no report of `t` for sm_90; nothing in view instantiates it
__global__ void known(float* p) { p[0] = 1; }
""",
        entry("_Z5knownPf", 32),
        settings={"diagnostics": {"severity": {"no-report": "warning"}}},
    )


BEFORE = "__global__ void k(float* p) { p[0] = 1; }\n"


def _codes(source: str, report_time: float, edited: str | None = None) -> list[str]:
    workspace = Workspace("/ws", reader=None)
    workspace.update(PATH, source.encode())
    made = snapshot("").with_reports(
        (Report("build.log", (entry("_Z1kPf", 72, time=report_time),)),)
    )
    made = made.with_file(SourceFile(workspace.facts(PATH), source.encode()), time=1000.0)
    if edited is not None:
        workspace.update(PATH, edited.encode())
        made = made.with_file(SourceFile(workspace.facts(PATH), edited.encode()), time=3000.0)
    return [one.code for one in findings(made, PATH)]


def test_a_log_older_than_its_source_is_stale() -> None:
    assert _codes(BEFORE, report_time=2000.0) == []
    assert _codes(BEFORE, report_time=500.0) == ["stale-report"]


def test_an_edit_of_the_kernel_makes_its_report_stale_and_a_comment_does_not() -> None:
    assert _codes(BEFORE, 2000.0, BEFORE.replace("= 1", "= 2")) == ["stale-report"]
    assert _codes(BEFORE, 2000.0, "// said\n" + BEFORE) == []


def test_undoing_an_edit_makes_the_report_good_again() -> None:
    workspace = Workspace("/ws", reader=None)
    made = snapshot("").with_reports((Report("log", (entry("_Z1kPf", 72, time=2000.0),)),))
    for time, text in ((1000.0, BEFORE), (3000.0, BEFORE.replace("1", "2")), (4000.0, BEFORE)):
        workspace.update(PATH, text.encode())
        made = made.with_file(SourceFile(workspace.facts(PATH), text.encode()), time=time)
    assert findings(made, PATH) == ()


def test_a_long_session_is_remembered_in_bounds() -> None:
    kernel = Kernel("k", "k", Span(0, 1), Span(0, 1), None)
    history = History().seen(FileFacts(PATH, (replace(kernel, fingerprint="first"),)), 1.0)
    for number in range(MOST_EDITS + MOST_EDITS // 4):
        edited = replace(kernel, fingerprint=str(number))
        history = history.seen(FileFacts(PATH, (edited,)), 10.0 + number)
    assert len(history.since) <= MOST_EDITS + 1
    numbers = entry("_Z1kv", 32, time=5.0)
    assert history.age(PATH, edited, numbers).is_stale
    assert not history.age(PATH, replace(kernel, fingerprint="first"), numbers).is_stale
