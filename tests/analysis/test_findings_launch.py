# ruff: noqa: E501 -- a finding is drawn as long as it is
"""Findings at launches, drawn in the source."""

from __future__ import annotations

from occlsp.analysis.findings import findings
from occlsp.source.text import LineIndex
from tests.analysis.golden import PATH, Entry, check, entry, snapshot

NO_HINTS: dict[str, object] = {"diagnostics": {"severity": {"low-occupancy": "off"}}}


def lines(source: str, *entries: Entry, gpu: str | None = None) -> list[tuple[int, str]]:
    """Line and code of every finding."""
    index = LineIndex(source.encode())
    made = snapshot(source, *entries, gpu=gpu)
    return [(index.line_of(one.span.start) + 1, one.code) for one in findings(made, PATH)]


def test_zero_occupancy_says_what_is_needed_and_the_way_out() -> None:
    check(
        """
__global__ void k(float* p);
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) {
    k<<<4, 1024>>>(p);
//   ^^^^^^^^^^^^^ error zero-occupancy: 0 blocks fit: 1024 threads × 72 registers need 73728 of 65536 registers per block on sm_90; up to 896 threads fit, or `__launch_bounds__(1024)` keeps the compiler to 64 registers
    k<<<4, 896>>>(p);
}
""",
        entry("_Z1kPf", 72),
    )


def test_zero_occupancy_of_some_instantiations_is_information() -> None:
    check(
        """
template <int N> __global__ void k(float* p) { p[N] = 1; }
template <int N> void run(float* p) {
    k<N><<<4, 1024>>>(p);
//      ^^^^^^^^^^^^^ information zero-occupancy: 0 blocks fit: 1024 threads × 72 registers need 73728 of 65536 registers per block on sm_90 (`k<2>`) (1 of the 2 kernels that may run here)
}
void both(float* p) { run<1>(p); run<2>(p); }
""",
        entry("_Z1kILi1EEvPf", 32),
        entry("_Z1kILi2EEvPf", 72),
    )


def test_the_worst_instantiation_is_told_and_the_others_are_related() -> None:
    source = """
template <int N> __global__ void k(float* p) { p[N] = 1; }
template <int N> void run(float* p) {
    k<N><<<4, 1024>>>(p);
//      ^^^^^^^^^^^^^ error zero-occupancy: 0 blocks fit: 1024 threads × 96 registers
}
void both(float* p) { run<1>(p); run<2>(p); }
"""
    made = check(source, entry("_Z1kILi1EEvPf", 72), entry("_Z1kILi2EEvPf", 96))
    (found,) = findings(made, PATH)
    assert [one.message for one in found.related] == [
        "the kernel `k`",
        "`k<1>`: 1024 threads × 72 registers need 73728 of 65536 registers per block on sm_90",
    ]


def test_template_arguments_pick_the_entry() -> None:
    check(
        """
constexpr int kTwo = 2;
template <int N> __global__ void k(float* p) { p[N] = 1; }
void run(float* p) {
    k<1><<<4, 1024>>>(p);
    k<kTwo><<<4, 1024>>>(p);
//         ^^^^^^^^^^^^^ error zero-occupancy: 0 blocks fit: 1024 threads × 72
}
""",
        entry("_Z1kILi1EEvPf", 32),
        entry("_Z1kILi2EEvPf", 72),
    )


SEVERAL = """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) {
    k<<<4, 1024>>>(p);
//   ^^^^^^^^^^^^^ %s
}
"""


def test_an_error_where_the_primary_architecture_fails() -> None:
    check(
        SEVERAL % "error zero-occupancy: 0 blocks fit: 1024 threads × 72",
        entry("_Z1kPf", 72),
        entry("_Z1kPf", 64, "sm_80"),
        arch=("sm_90", "sm_80"),
    )


def test_information_where_only_another_architecture_fails() -> None:
    check(
        SEVERAL % "information zero-occupancy: 0 blocks fit: 1024 threads × 72 registers need "
        "73728 of 65536 registers per block on sm_80",
        entry("_Z1kPf", 64),
        entry("_Z1kPf", 72, "sm_80"),
        arch=("sm_90", "sm_80"),
    )


def test_no_report_is_no_fault() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) { k<<<4, 1024>>>(p); }
"""
    )


def test_block_too_large() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p, int n) {
    k<<<4, 2048>>>(p);
//   ^^^^^^^^^^^^^ error block-too-large: 2048 threads per block, above the 1024 that any GPU launches
    k<<<4, dim3(64, 32)>>>(p);
//   ^^^^^^^^^^^^^^^^^^^^^ error block-too-large: 2048 threads per block (64 × 32)
    k<<<4, dim3(1, 1, 128)>>>(p);
//   ^^^^^^^^^^^^^^^^^^^^^^^^ error block-too-large: block dimension z is 128, above the 64
    k<<<4, 0>>>(p);
//   ^^^^^^^^^^ error block-too-large: block dimension x is 0
    k<<<4, n>>>(p);
    const int some = n > 8 ? 2048 : 256;
    k<<<4, some>>>(p);
//   ^^^^^^^^^^^^^ information block-too-large: for 1 of the 2 values that it can have: 2048 threads
}
"""
    )


def test_sizes_that_may_never_occur_together_are_no_fault() -> None:
    """Callers give (128, 4) and (16, 16): (128, 16) is what no call gives."""
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
template <int X>
static void run(float* p, int y) {
    k<<<4, dim3(X, y)>>>(p);
}
template <int X>
static void deep(float* p, int z) {
    k<<<4, dim3(X, 1, z)>>>(p);
//   ^^^^^^^^^^^^^^^^^^^^^^ information block-too-large: for 1 of the 2 values that it can have: block dimension z is 128, above the 64 that any GPU launches
}
void all(float* p) {
    run<128>(p, 4);
    run<16>(p, 16);
    deep<4>(p, 128);
    deep<2>(p, 2);
}
"""
    )


def test_grid_shape() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p, int n) {
    k<<<0, 32>>>(p);
//   ^^^^^^^^^^^ error grid-shape: grid dimension x is 0
    k<<<dim3(1, 70000), 32>>>(p);
//   ^^^^^^^^^^^^^^^^^^^^^^^^ error grid-shape: grid dimension y is 70000, the hardware takes 1 to 65535
    k<<<dim3(70000, 1), 32>>>(p);
    k<<<n / 32, 32>>>(p);
}
"""
    )


def test_exceeds_launch_bounds() -> None:
    check(
        """
constexpr int kMost = 128;
__global__ void __launch_bounds__(kMost) k(float* p) { p[0] = 1; }
template <int N> __global__ void __launch_bounds__(N) t(float* p) { p[0] = N; }
void run(float* p) {
    k<<<4, 128>>>(p);
    k<<<4, 160>>>(p);
//   ^^^^^^^^^^^^ error exceeds-launch-bounds: 160 threads per block, above the 128 that the launch bounds of `k` admit
    t<64><<<4, 96>>>(p);
//       ^^^^^^^^^^^ error exceeds-launch-bounds: 96 threads per block, above the 64 that the launch bounds of `t<64>` admit
    t<96><<<4, 96>>>(p);
}
"""
    )


def test_bounds_that_only_the_compiled_code_tells() -> None:
    check(
        """
template <class T> __global__ void __launch_bounds__(T::kThreads) k(float* p) { p[0] = 1; }
void run(float* p) {
    k<Traits><<<4, 512>>>(p);
//           ^^^^^^^^^^^^ error exceeds-launch-bounds: 512 threads per block, above the 256
}
""",
        entry("_Z1kI6TraitsEvPf", 32, max_threads=256),
    )


def test_block_shape() -> None:
    check(
        """
__global__ void __block_size__((64, 2, 1)) k(float* p) { p[0] = 1; }
void run(float* p) {
    k<<<4, dim3(64, 2)>>>(p);
    k<<<4, 128>>>(p);
//   ^^^^^^^^^^^^ error block-shape: a block of 128 threads, but `k` requires 64 × 2; launch that
    k<<<4>>>(p);
}
"""
    )


def test_opting_in() -> None:
    check(
        """
extern __shared__ float s[];
__global__ void bare(float* p) { p[0] = s[0]; }
__global__ void asked(float* p) { p[0] = s[0]; }
template <int N> __global__ void t(float* p) { p[N] = s[0]; }
void opt() {
    cudaFuncSetAttribute(asked, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
    cudaFuncSetAttribute(t<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
}
void run(float* p) {
    bare<<<4, 32, 49152>>>(p);
    bare<<<4, 32, 49153>>>(p);
//      ^^^^^^^^^^^^^^^^^^ error dynamic-smem-opt-in: 49153 B of shared memory per block, above the 48 KiB that a kernel has without opting in
    asked<<<4, 32, 100000>>>(p);
    t<1><<<4, 32, 100000>>>(p);
    t<2><<<4, 32, 100000>>>(p);
//      ^^^^^^^^^^^^^^^^^^^ error dynamic-smem-opt-in: 100000 B of shared memory
}
""",
        settings=NO_HINTS,
    )


def test_the_opting_in_call_is_written_out() -> None:
    check(
        """
extern __shared__ float s[];
template <int N> __global__ void stage(float* p) { p[0] = s[N]; }
template <class T> __global__ void deduced(T* p) { p[0] = s[0]; }
void run(float* p) {
    stage<64><<<8, 256, 16384 * sizeof(float)>>>(p);
//           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error dynamic-smem-opt-in: 64 KiB of shared memory per block, above the 48 KiB that a kernel has without opting in; before the launch, call cudaFuncSetAttribute(stage<64>, cudaFuncAttributeMaxDynamicSharedMemorySize, 16384 * sizeof(float))
    deduced<<<8, 256, 65536>>>(p);
//         ^^^^^^^^^^^^^^^^^^^ error dynamic-smem-opt-in: 64 KiB of shared memory per block, above the 48 KiB that a kernel has without opting in; before the launch, call cudaFuncSetAttribute(deduced<…>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536)
}
"""
    )


def test_opting_in_counts_the_static_part() -> None:
    check(
        """
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }
void run(float* p) {
    k<<<4, 32, 44 * 1024>>>(p);
//   ^^^^^^^^^^^^^^^^^^^^^^ error dynamic-smem-opt-in: 8 KiB static + 44 KiB dynamic = 52 KiB of shared memory
}
""",
        entry("_Z1kPf", 32, static_smem=8192),
    )


def test_opting_in_by_a_helper_or_a_value_that_is_not_known_is_silence() -> None:
    check(
        """
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }
template <class K> void big(K kernel, int n) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, n);
}
void run(float* p) { k<<<4, 32, 100000>>>(p); }
""",
        settings=NO_HINTS,
    )


def test_the_last_call_before_the_launch_counts_where_every_path_makes_it() -> None:
    check(
        """
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }
void lowered(float* p) {
    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    k<<<4, 32, 100000>>>(p);
//   ^^^^^^^^^^^^^^^^^^^ error dynamic-smem-opt-in: 100000 B of dynamic shared memory, but the last call before opts `k` into 1 KiB only; raise it there
}
void perhaps(float* p, bool small) {
    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
    if (small) cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    k<<<4, 32, 100000>>>(p);
    if (small) {
        cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    }
    k<<<4, 32, 100000>>>(p);
}
""",
        settings=NO_HINTS,
    )


def test_smem_too_large_at_the_launch_and_at_the_call() -> None:
    check(
        """
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }
void run(float* p) {
    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 * 1024);
//  ^^^^^^^^^^^^^^^^^^^^ error smem-too-large: opts into 120 KiB of shared memory, above the 99 KiB that a block can have on sm_86; the call fails
    k<<<4, 32, 120 * 1024>>>(p);
//   ^^^^^^^^^^^^^^^^^^^^^^^ error smem-too-large: 120 KiB of shared memory per block, above the 99 KiB that sm_86 has
}
""",
        arch=("sm_86", "sm_90"),
    )


def test_some_of_the_sizes_are_information_that_says_so() -> None:
    check(
        """
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }
void run(float* p, bool wide) {
    int bytes = wide ? 300 * 1024 : 100 * 1024;
    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    k<<<8, 256, bytes>>>(p);
//   ^^^^^^^^^^^^^^^^^^^ information smem-too-large: 300 KiB of shared memory per block, above the 227 KiB that sm_90 has (1 of the 2 sizes that it can have); use less
}
""",
        settings=NO_HINTS,
    )


def test_what_is_certain_is_told_before_what_holds_elsewhere() -> None:
    check(
        """
extern __shared__ float s[];
__global__ void k(float* p) { p[0] = s[0]; }
void run(float* p) {
    k<<<4, 512, 65536>>>(p);
//   ^^^^^^^^^^^^^^^^^^^ error smem-too-large: 64 KiB of shared memory per block, above the 48 KiB that sm_61 has
}
""",
        arch=("sm_61", "sm_90"),
    )


def test_cooperative_too_large() -> None:
    source = """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p, void** args) {
    cudaLaunchCooperativeKernel((void*)k, 400, 256, args, 0, 0);
    cudaLaunchCooperativeKernel((void*)k, 396, 256, args, 0, 0);
}
"""
    check(source, entry("_Z1kPf", 72))
    assert lines(source, entry("_Z1kPf", 72), gpu="H100 SXM") == [(4, "cooperative-too-large")]


def test_cluster_shape() -> None:
    check(
        """
__global__ void __cluster_dims__(2, 1, 1) k(float* p) { p[0] = 1; }
__global__ void __cluster_dims__(32, 1, 1) wide(float* p) { p[0] = 1; }
void run(float* p) {
    k<<<4, 32>>>(p);
    k<<<5, 32>>>(p);
//   ^^^^^^^^^^^ error cluster-shape: grid x is 5, not a multiple of the cluster's 2
    wide<<<32, 32>>>(p);
//      ^^^^^^^^^^^^ error cluster-shape: 32 blocks per cluster, above the 16
}
"""
    )


def test_partial_warp() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) {
    k<<<4, 100>>>(p);
//   ^^^^^^^^^^^^ hint partial-warp: 100 threads per block fill 3 warps and 4 lanes of another: 28 lanes idle; 128 would fill them
    k<<<4, 20>>>(p);
    k<<<4, dim3(10, 10)>>>(p);
//   ^^^^^^^^^^^^^^^^^^^^^ hint partial-warp: 100 threads per block (10 × 10) fill 3 warps
    k<<<4, 63>>>(p);
//   ^^^^^^^^^^^ hint partial-warp: 63 threads per block fill 1 warp and 31 lanes of another: 1 lane idle; 64 would fill them
}
"""
    )


def test_a_size_that_stands_for_an_error_is_none() -> None:
    """Callers of a function that returns -1 where there is no size look for it."""
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
static int power(unsigned n) { if (n <= 32) return 32; else if (n <= 64) return 64; return -1; }
void run(float* p, unsigned n) {
    int threads = power(n);
    dim3 block(threads, 1, 1);
    if (threads == 32) k<<<4, block>>>(p);
    k<<<4, -1>>>(p);
//   ^^^^^^^^^^^ error block-too-large: 4294967295 threads per block
}
"""
    )


def test_launches_that_one_macro_makes_are_one_finding() -> None:
    made = check(
        """
__global__ void k(float* p) { p[0] = 1; }
#define TEST(name) void name##_test(float* p)
#define BOTH(size) TEST(k##size) { k<<<4, size>>>(p); k<<<4, (size) + 1>>>(p); }
BOTH(2048)
//^^^^ error block-too-large: 2048 threads
void after() {}
"""
    )
    (found,) = findings(made, PATH)
    assert [one.message.split(",")[0] for one in found.related] == ["2049 threads per block"]


def test_tail_effect() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) {
    k<<<400, 256>>>(p);
//   ^^^^^^^^^^^^^^ hint tail-effect: 2 waves on H100 SXM (396 blocks each), the last of which leaves 99% of the machine idle: 4 blocks, 1% full; a grid of 396 blocks has no tail
    k<<<396, 256>>>(p);
    k<<<700, 256>>>(p);
}
""",
        entry("_Z1kPf", 72),
        gpu="H100 SXM",
    )


def test_nothing_is_said_of_code_that_is_not_meant() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
#if 0
void dead(float* p) { k<<<4, 2048>>>(p); }
#endif
template <int N> void nobody(float* p) { k<<<4, 2048>>>(p); }
template <class T> struct Unused {
    void run(float* p) { k<<<4, 2048>>>(p); }
};
void guarded(float* p) {
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, 0);
    if (prop.major >= 12) { k<<<4, 2048>>>(p); }
    if (false) { k<<<4, 2048>>>(p); }
}
#define LAUNCH(p) k<<<4, 2048>>>(p)
template <int N> void sets() {
    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 300 * 1024);
}
"""
    )


def test_a_template_that_something_names_may_be_instantiated() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
template <int N> void used(float* p) { k<<<4, 2048>>>(p); }
//                                      ^^^^^^^^^^^^^ error block-too-large: 2048
template void used<3>(float*);
"""
    )


def test_ignored_by_a_comment_and_by_configuration() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) {
    k<<<4, 2048>>>(p);  // occlsp: ignore[block-too-large]
    k<<<4, 2048>>>(p);  // occlsp: ignore[spills]
//   ^^^^^^^^^^^^^ error block-too-large: 2048
    k<<<4, 100>>>(p);
}
""",
        settings={"diagnostics": {"severity": {"partial-warp": "off"}}},
    )


def test_configuration_gives_another_severity() -> None:
    check(
        """
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) {
    k<<<4, 100>>>(p);
//   ^^^^^^^^^^^^ error partial-warp: 100
}
""",
        settings={"diagnostics": {"severity": {"partial-warp": "error"}}},
    )


def test_files_of_a_workspace_are_seen_together() -> None:
    kernels = """#pragma once
extern __shared__ float s[];
constexpr int kThreads = 2048;
__global__ void k(float* p) { p[0] = s[0]; }
__global__ void asked(float* p) { p[0] = s[0]; }
"""
    launches = """#include "kernels.cuh"
void run(float* p) {
    k<<<4, kThreads>>>(p);
    k<<<4, 32, 65536>>>(p);
    asked<<<4, 32, 65536>>>(p);
}
"""
    setup = """#include "kernels.cuh"
void init() {
    cudaFuncSetAttribute(asked, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
}
"""
    files = {"/ws/kernels.cuh": kernels, "/ws/run.cu": launches, "/ws/setup.cu": setup}
    made = snapshot(files, settings=NO_HINTS)
    index = LineIndex(launches.encode())
    found = [(index.line_of(f.span.start) + 1, f.code) for f in findings(made, "/ws/run.cu")]
    assert found == [(3, "block-too-large"), (4, "dynamic-smem-opt-in")]
    without = made.without_file("/ws/setup.cu")
    assert [f.code for f in findings(without, "/ws/run.cu")].count("dynamic-smem-opt-in") == 2


def test_overloads_are_told_apart_by_their_template_arguments() -> None:
    check(
        """
template <int N, int M> __global__ void __launch_bounds__(N) k(float* p) { p[M] = 1; }
template <int R, int N, int M> __global__ void __launch_bounds__(N) k(float* p) { p[M] = R; }
void run(float* p) {
    k<8, 256, 32><<<4, 256>>>(p);
    k<256, 32><<<4, 256>>>(p);
    k<128, 32><<<4, 256>>>(p);
//            ^^^^^^^^^^^^ error exceeds-launch-bounds: 256 threads per block, above the 128
}
"""
    )


def test_a_size_that_a_condition_keeps_from_its_launch_is_no_finding() -> None:
    check(
        """
__global__ void __launch_bounds__(256) grouped(float* p) { p[0] = 1; }
__global__ void single(float* p) { p[0] = 1; }
void run(float* p, int groups, bool wide) {
    int block = groups > 1 ? 256 : 384;
    if (groups > 1) {
        grouped<<<4, block>>>(p);
    } else {
        single<<<4, block>>>(p);
    }
    if (wide) {
        grouped<<<4, block>>>(p);
//             ^^^^^^^^^^^^^^ information exceeds-launch-bounds: for 1 of 2 possibilities: 384 threads per block, above the 256 that the launch bounds of `grouped` admit
    }
}
""",
        entry("_Z7groupedPf", 32),
        entry("_Z6singlePf", 32),
    )
