# ruff: noqa: E501 -- sources are written as people write them
"""Quick fixes: before and after, what the title says, and when they are not safe."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from occlsp.analysis.findings import findings
from occlsp.analysis.fixes import fixes
from occlsp.analysis.hints import hints
from occlsp.analysis.results import Fix
from occlsp.analysis.whatif import WhatIf
from occlsp.reports.facts import Entry
from occlsp.reports.ptx import Bounds
from occlsp.reports.whatif import Row
from tests.analysis.golden import PATH, applied, entry, snapshot, titled, whole

K72 = entry("_Z1kPfi", 72)


def offered(
    source: str, *entries: Entry, at: str = "<<<", whatif: Sequence[WhatIf] = ()
) -> tuple[Fix, ...]:
    """The fixes where `at` first stands in the source."""
    made = snapshot(source, *entries).with_whatif(tuple(whatif))
    return fixes(made, PATH, whole(source, at))


def promise_holds(before: str, fix: Fix, *entries: Entry) -> str:
    """Applies the fix, asks again, and compares with what the title said; gives the text."""
    after = applied(before, fix.edits)
    said = re.search(r"([\d.]+) % on", fix.title)
    assert said is not None, fix.title
    made = snapshot(after, *entries)
    shares = [hint.label.split("%")[0] for hint in hints(made, PATH) if hint.kind == "launch"]
    assert said[1] in shares, (fix.title, shares)
    assert not [one for one in findings(made, PATH) if one.code in fix.codes]
    return after


KERNEL = "__global__ void k(float* p, int n) { if (threadIdx.x < n) p[threadIdx.x] = 1; }\n"


def test_literals_of_block_and_grid_follow() -> None:
    before = KERNEL + "void run(float* p, int n) { k<<<(n + 1023) / 1024, 1024>>>(p, n); }\n"
    fix = titled(offered(before, K72), "Use 896 threads per block: 43.8 % on sm_90 (now 0 %)")
    assert fix.codes == ("zero-occupancy",)
    after = promise_holds(before, fix, K72)
    assert "k<<<(n + 895) / 896, 896>>>(p, n)" in after
    assert fix.is_preferred


def test_the_other_forms_of_rounding_up() -> None:
    for form in (
        "(n + 1024 - 1) / 1024",
        "(n - 1) / 1024 + 1",
        "ceil_div(n, 1024)",
        "n / 1024 + (n % 1024 != 0)",
    ):
        before = KERNEL + f"void run(float* p, int n) {{ k<<<{form}, 1024>>>(p, n); }}\n"
        fix = titled(offered(before, K72), "Use 896 threads")
        assert fix.is_preferred, form
        after = applied(before, fix.edits)
        assert f"k<<<{form.replace('1024', '896')}, 896>>>" in after


def test_a_grid_that_is_rounded_down_stays_right_for_divisors_only() -> None:
    before = KERNEL + "void run(float* p, int n) { k<<<n / 1024, 1024>>>(p, n); }\n"
    found = offered(before, K72)
    (safe,) = (fix for fix in found if fix.is_preferred)
    assert safe.title == "Use 128 threads per block: 43.8 % on sm_90 (now 0 %)"
    assert "k<<<n / 128, 128>>>" in promise_holds(before, safe, K72)
    odd = KERNEL + "void run(float* p, int n) { k<<<n / 992, 992>>>(p, n); }\n"
    fix = titled(offered(odd, K72), "Use 896 threads")
    assert "the grid is rounded down: work may be left out" in fix.title
    assert not fix.is_preferred


def test_a_constant_is_edited_where_it_is_defined() -> None:
    for definition in ("constexpr int kThreads = 1024;", "#define kThreads 1024"):
        before = (
            f"{definition}\n{KERNEL}"
            "void run(float* p, int n) {\n"
            "    k<<<(n + kThreads - 1) / kThreads, kThreads>>>(p, n);\n}\n"
        )
        fix = titled(offered(before, K72), "Use 896 threads")
        assert fix.is_preferred
        after = promise_holds(before, fix, K72)
        assert after == before.replace("1024", "896")


def test_a_local_variable_and_the_grid_made_from_it() -> None:
    before = (
        KERNEL + "void run(float* p, int n) {\n"
        "    const int threads = 1024;\n"
        "    const int blocks = (n + threads - 1) / threads;\n"
        "    k<<<blocks, threads>>>(p, n);\n}\n"
    )
    fix = titled(offered(before, K72), "Use 896 threads")
    assert fix.is_preferred
    assert promise_holds(before, fix, K72) == before.replace("1024", "896")


def test_other_readers_of_a_constant_are_named() -> None:
    before = (
        "constexpr int kThreads = 1024;\n" + KERNEL + "void run(float* p, int n) {\n"
        "    k<<<(n + kThreads - 1) / kThreads, kThreads>>>(p, n);\n"
        "    k<<<1, kThreads>>>(p, n);\n}\n"
    )
    fix = titled(offered(before, K72), "Use 896 threads")
    assert "`kThreads` is also read at line 5" in fix.title
    assert not fix.is_preferred


def test_a_parameter_is_where_a_value_begins_and_lines_are_listed() -> None:
    before = (
        KERNEL + "\nvoid run(float* p, int n, int threads) {\n"
        "    threads = 1024;\n    int half = threads / 2;\n    int twice = threads * 2;\n"
        "    k<<<n, threads>>>(p, n);\n}\n"
    )
    fix = titled(offered(before, K72), "Use 896 threads")
    assert fix.title.endswith("`threads` is also read at lines 5 and 6")


def test_a_kernel_that_reads_the_constant_is_compiled_anew() -> None:
    before = (
        "constexpr int kThreads = 1024;\n"
        "__global__ void k(float* p, int n) { __shared__ float s[kThreads]; s[n] = 1; p[0] = s[1]; }\n"
        "void run(float* p, int n) {\n"
        "    k<<<(n + kThreads - 1) / kThreads, kThreads>>>(p, n);\n}\n"
    )
    fix = titled(offered(before, K72), "Use 896 threads per block: est. 43.8 %")
    assert "the kernel's body uses `kThreads`" in fix.title
    assert not fix.is_preferred


def test_a_literal_in_the_kernels_body_is_told() -> None:
    before = (
        "__global__ void k(float* p, int n) { __shared__ float s[1024]; s[n] = 1; p[0] = s[1]; }\n"
        "void run(float* p, int n) { k<<<(n + 1023) / 1024, 1024>>>(p, n); }\n"
    )
    fix = titled(offered(before, K72), "Use 896 threads")
    assert "the kernel's body holds the number 1024" in fix.title
    assert not fix.is_preferred


def test_a_grid_that_does_not_follow_changes_what_is_computed() -> None:
    before = KERNEL + "void run(float* p, int n) { k<<<1, 1024>>>(p, n); }\n"
    found = offered(before, K72)
    fix = titled(found, "Use 896 threads per block: 43.8 % on sm_90 (now 0 %)")
    assert "changes total threads 1024 → 896" in fix.title
    assert not any(fix.is_preferred for fix in found)
    assert "k<<<1, 896>>>" in applied(before, fix.edits)


def test_dim3_in_two_dimensions_keeps_its_rows() -> None:
    before = (
        KERNEL + "void run(float* p, int w, int h) {\n"
        "    dim3 block(32, 32);\n"
        "    dim3 grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);\n"
        "    k<<<grid, block>>>(p, w);\n}\n"
    )
    fix = titled(offered(before, K72), "Use 896 threads per block (32 × 28): 43.8 %")
    assert fix.is_preferred
    assert "dim3 block(32, 28);" in promise_holds(before, fix, K72)


def test_dim3_literals_in_the_grid_follow_by_dimension() -> None:
    before = (
        KERNEL + "void run(float* p, int w, int h) {\n"
        "    k<<<dim3((w + 31) / 32, (h + 31) / 32), dim3(32, 32)>>>(p, w);\n}\n"
    )
    fix = titled(offered(before, K72), "Use 896 threads per block (32 × 28)")
    assert fix.is_preferred
    after = promise_holds(before, fix, K72)
    assert "k<<<dim3((w + 31) / 32, (h + 27) / 28), dim3(32, 28)>>>" in after


def test_one_constant_that_makes_two_dimensions_changes_both() -> None:
    before = (
        "constexpr int kTile = 32;\n" + KERNEL + "void run(float* p, int w, int h) {\n"
        "    dim3 block(kTile, kTile);\n"
        "    k<<<dim3((w + kTile - 1) / kTile, (h + kTile - 1) / kTile), block>>>(p, w);\n}\n"
    )
    found = offered(before, K72)
    fix = titled(found, "Use 256 threads per block (16 × 16): 37.5 %")
    assert promise_holds(before, fix, K72) == before.replace("= 32", "= 16")
    assert all(math.isqrt(int(f.title.split()[1])) ** 2 for f in found if f.title[:3] == "Use")


def test_launch_bounds_of_the_old_size_follow_and_say_what_the_compiler_answers() -> None:
    kernel = KERNEL.replace("void k", "void __launch_bounds__(256) k")
    before = kernel + "void run(float* p, int n) { k<<<(n + 255) / 256, 256>>>(p, n); }\n"
    numbers = entry("_Z1kPfi", 90, max_threads=256)
    assert all("est." in fix.title for fix in offered(before, numbers))
    rows = (
        Row(Bounds(256), is_current=True, registers=90, spill_stores=0, spill_loads=0),
        Row(Bounds(640), registers=80, spill_stores=0, spill_loads=0),
    )
    found = offered(before, numbers, whatif=[WhatIf("_Z1kPfi", "sm_90", rows)])
    fix = titled(found, "Use 640 threads per block: 31.3 % on sm_90 (now 25 %); 80 registers, 0")
    after = applied(before, fix.edits)
    assert "__launch_bounds__(640)" in after and "k<<<(n + 639) / 640, 640>>>" in after


def test_the_kernels_template_argument_is_no_number_to_change() -> None:
    before = (
        "template <int N> __global__ void k(float* p) { __shared__ float s[N]; s[0] = 1; p[0] = s[0]; }\n"
        "void run(float* p, int n) { k<1024><<<(n + 1023) / 1024, 1024>>>(p); }\n"
    )
    found = offered(before, entry("_Z1kILi1024EEvPf", 72))
    blocks = [fix for fix in found if fix.title.startswith("Use ")]
    assert blocks and all(fix.disabled for fix in blocks)
    assert not any(fix.edits for fix in blocks)


def test_the_value_of_a_host_template_is_edited_at_its_use() -> None:
    before = (
        KERNEL + "template <int B> void launch(float* p, int n) {\n"
        "    k<<<(n + B - 1) / B, B>>>(p, n);\n}\n"
        "void run(float* p, int n) { launch<1024>(p, n); }\n"
    )
    fix = titled(offered(before, K72), "Use 896 threads")
    assert "launch<896>(p, n)" in promise_holds(before, fix, K72)


def test_opt_in_is_inserted_before_the_launch() -> None:
    before = (
        "extern __shared__ float s[];\n"
        "__global__ void k(float* p, int n) { p[0] = s[n]; }\n"
        "void run(float* p, int n) {\n"
        "    k<<<8, 256, 64 * 1024>>>(p, n);\n}\n"
    )
    numbers = entry("_Z1kPfi", 16)
    fix = titled(offered(before, numbers), "Opt `k` into 64 * 1024 bytes")
    assert fix.is_preferred and fix.codes == ("dynamic-smem-opt-in",)
    after = promise_holds(before, fix, numbers)
    assert (
        "    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);\n"
        "    k<<<8, 256, 64 * 1024>>>(p, n);\n" in after
    )


def test_opt_in_of_a_launch_that_is_the_body_of_an_if() -> None:
    before = (
        "extern __shared__ float s[];\n"
        "template <int N> __global__ void k(float* p) { p[0] = s[N]; }\n"
        "void run(float* p, int n) {\n"
        "    if (n)\n        k<3><<<8, 256, 65536>>>(p);\n}\n"
    )
    numbers = entry("_Z1kILi3EEvPf", 16)
    after = promise_holds(before, titled(offered(before, numbers), "Opt `k`"), numbers)
    assert (
        "    cudaFuncSetAttribute(k<3>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);\n"
        "    if (n)\n        k<3><<<8, 256, 65536>>>(p);\n" in after
    )


def test_a_call_that_asks_for_too_little_is_raised() -> None:
    before = (
        "extern __shared__ float s[];\n"
        "__global__ void k(float* p, int n) { p[0] = s[n]; }\n"
        "void run(float* p, int n) {\n"
        "    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000);\n"
        "    k<<<8, 256, 65536>>>(p, n);\n}\n"
    )
    numbers = entry("_Z1kPfi", 16)
    after = promise_holds(before, titled(offered(before, numbers), "Raise the opting-in"), numbers)
    assert "DynamicSharedMemorySize, 65536);" in after


def test_a_partial_warp_is_rounded_up() -> None:
    before = KERNEL + "void run(float* p, int n) { k<<<(n + 99) / 100, 100>>>(p, n); }\n"
    fix = titled(offered(before, K72), "Round 100 threads per block up to 128, 4 whole warps")
    assert fix.codes == ("partial-warp",)
    assert "k<<<(n + 127) / 128, 128>>>" in promise_holds(before, fix, K72)


def test_launch_bounds_are_added_for_the_largest_launch() -> None:
    before = (
        KERNEL + "void run(float* p, int n) { k<<<n, 1024>>>(p, n); }\n"
        "void other(float* p, int n) { k<<<n, 960>>>(p, n); }\n"
    )
    fix = titled(
        offered(before, K72), "Add __launch_bounds__(1024) to `k`: the compiler keeps to 64"
    )
    assert "void __launch_bounds__(1024) k(float* p" in applied(before, fix.edits)
    unknown = before + "void third(float* p, int n) { k<<<1, n>>>(p, n); }\n"
    fix = titled(offered(unknown, K72), "Add __launch_bounds__(1024) to `k`")
    assert fix.disabled is not None and not fix.edits


def test_launch_bounds_are_raised_in_place() -> None:
    before = (
        "#define TPB 256\n"
        "__global__ void __launch_bounds__(TPB, 2) k(float* p, int n) { p[n] = 1; }\n"
        "void run(float* p, int n) { k<<<n, 512>>>(p, n); }\n"
    )
    found = offered(before, entry("_Z1kPfi", 40))
    fix = titled(found, "Raise the launch bounds of `k` to 512: est. 75 % on sm_90 (now 0 %)")
    assert "__launch_bounds__(512, 2)" in applied(before, fix.edits)
    assert any(fix.title.startswith("Use 256 threads") for fix in found)


def test_min_blocks_that_cannot_be_met_are_dropped() -> None:
    before = "__global__ void __launch_bounds__(1024, 4) k(float* p, int n) { p[n] = 1; }\n"
    fix = titled(offered(before, entry("_Z1kPfi", 40), at="k("), "Drop the minimum of 4 blocks")
    assert "__launch_bounds__(1024) k(" in applied(before, fix.edits)
    assert fix.is_preferred
    clusters = before.replace("1024, 4", "1024, 4, 8")
    fix = titled(offered(clusters, entry("_Z1kPfi", 40), at="k("), "Ask for the 2 blocks")
    assert "__launch_bounds__(1024, 2, 8)" in applied(clusters, fix.edits)


def test_the_compilers_answers_become_fixes_at_the_kernel() -> None:
    before = KERNEL + "void run(float* p, int n) { k<<<n, 256>>>(p, n); }\n"
    rows = (
        Row(Bounds(), is_current=True, registers=72, spill_stores=0, spill_loads=0),
        Row(Bounds(256, 4), registers=64, spill_stores=0, spill_loads=0),
        Row(Bounds(256, 5), registers=48, spill_stores=80, spill_loads=80),
        Row(Bounds(256, 6), registers=48, spill_stores=99, spill_loads=99),
    )
    found = offered(before, K72, at="k(", whatif=[WhatIf("_Z1kPfi", "sm_90", rows)])
    assert [fix.title for fix in found][:2] == [
        "Use __launch_bounds__(256, 4): 50 % on sm_90 (now 37.5 %); 64 registers, 0 spills",
        "Use __launch_bounds__(256, 5): 62.5 % on sm_90 (now 37.5 %); 48 registers, "
        "160 bytes of spills",
    ]


def test_nothing_is_offered_where_the_block_is_not_known() -> None:
    before = KERNEL + "void run(float* p, int n) { k<<<n, n>>>(p, n); }\n"
    assert offered(before, K72) == ()


def test_a_launch_in_a_macro_is_left_alone() -> None:
    before = KERNEL + "#define RUN(p, n) k<<<1, 1024>>>(p, n)\nvoid run(float* p) { RUN(p, 3); }\n"
    for fix in offered(before, K72, at="RUN(p, 3)"):
        assert not any("896" in edit.text for edit in fix.edits), fix
