# ruff: noqa: E501 -- tables are as wide as they are
"""Hovers: what a person reads, as plain text."""

from __future__ import annotations

import base64
from xml.etree import ElementTree

from occlsp.analysis.hover import hover
from occlsp.analysis.whatif import WhatIf
from occlsp.reports.facts import Entry
from occlsp.reports.ptx import Bounds
from occlsp.reports.whatif import Row
from tests.analysis.golden import PATH, cursor, entry, snapshot

KERNEL = "__global__ void k(float* p) { p[0] = 1; }\n"


def shown(source: str, *entries: Entry, **options: object) -> str:
    """The hover at the `$0` of a source."""
    text, offset = cursor(source)
    made = snapshot(text, *entries, **options)  # type: ignore[arg-type]
    found = hover(made, PATH, offset)
    assert found is not None
    assert found.span.start <= offset <= found.span.end
    return found.markdown


def test_a_launch_with_its_limits_marked() -> None:
    text = shown(
        KERNEL + "void run(float* p) { k<<$0<400, 256, 40 * 1024>>>(p); }\n",
        entry("_Z1kPf", 72, barriers=1, source="build/k.o", origin="binary", toolkit="13.0.88"),
        gpu="H100 SXM",
    )
    assert text == (
        "**k** on sm_90: 37.5% occupancy, 3 blocks per SM, limited by registers\n"
        "\n"
        "| limit           | blocks/SM | one block takes                                                 |\n"
        "|-----------------|-----------|-----------------------------------------------------------------|\n"
        "| warps           | 8         | 256 threads: 8 of 64 warps                                      |\n"
        "| **registers** ◀ | 3         | 72 per thread: 18432 of 65536 allocated                         |\n"
        "| shared memory   | 5         | 0 B static + 40 KiB dynamic + 1 KiB reserved: 41 KiB of 228 KiB |\n"
        "| blocks          | 32        | at most 32 per SM                                               |\n"
        "| barriers        | 64        | 1 of 64                                                         |\n"
        "\n"
        "3 blocks × 8 warps = 24 of 64 warps  \n"
        "Headroom: ≤ 64 registers (−8) → 4 blocks, 50%; ≤ 48 registers (−24) → 5 blocks, 62.5%  \n"
        "By block size: 32: 7.8% · 64: 15.6% · 96: 23.4% · 128: 31.3% · 192: 37.5% · "
        "[256: 37.5%] · 320: 31.3% · 384: 37.5% · 512: 25% · 640: 31.3% · 768: 37.5% · "
        "896: 43.8% · 1024: 0%  \n"
        "Waves on H100 SXM (132 SMs): 1.01 (2 of 396 blocks, the last leaves 99% idle)\n"
        "\n"
        "Numbers read from the compiled file, `build/k.o`, toolkit 13.0.88 (whether the source "
        "changed since is not known); architecture from the test"
    )


def test_a_kernel_with_several_launches_and_instantiations() -> None:
    text = shown(
        "template <int N> __global__ void $0k(float* p) { p[0] = N; }\n"
        "void run(float* p) {\n    k<1><<<8, 256>>>(p);\n    k<2><<<8, 512>>>(p);\n}\n",
        entry("_Z1kILi1EEvPf", 40),
        entry("_Z1kILi2EEvPf", 72, spill_stores=4, spill_loads=8),
    )
    assert "**k** on sm_90: 25–75% occupancy, 1–6 blocks per SM, limited by registers" in text
    assert "| Line 3 | 75%       | 6         | registers |" in text
    assert "| Line 4 | 25%       | 1         | registers |" in text
    assert "Line 4, 512 threads, `k<2>`:" in text
    assert "| `k<1>`        | 40        | 0           | ?      |" in text
    assert "| `k<2>`        | 72        | 0           | 12 B   |" in text
    assert "Spills: 4 bytes stores, 8 bytes loads" in text


def test_of_many_instantiations_it_is_said_how_many_are_not_named() -> None:
    text = shown(
        "template <int N> __global__ void k(float* p) { p[0] = N; }\n"
        "template <int N> void run(float* p) { k<N><<$0<8, 256>>>(p); }\n",
        *(entry(f"_Z1kILi{number}EEvPf", 40) for number in range(1, 12)),
    )
    assert "May run 11 kernels: `k<1>`, `k<2>`," in text
    assert "`k<8>` and 3 more; the one with the least is shown" in text


def test_what_is_not_known_has_its_reason() -> None:
    text = shown(KERNEL + "void run(float* p, int n) { k<<$0<8, n>>>(p); }\n")
    assert text == "**k**: the block size is not known: n is a parameter of run()"
    text = shown(KERNEL + "void run(float* p, int n) { k<<$0<8, min(n, 512)>>>(p); }\n")
    assert text == "**k**: the block size is not known (at most 512): n is a parameter of run()"
    assert shown(KERNEL.replace("void k", "void $0k")) == (
        "**k**; no occupancy: no launch of it is in view, and it has no launch bounds\n\n"
        "No report of it for sm_90: compile the file, or keep a log of your build with -Xptxas -v"
    )


def test_a_branch_that_is_not_compiled_is_said_to_be_none() -> None:
    launch = "#ifndef FULL\n#else\nvoid run(float* p) { k<<$0<8, 64>>>(p); }\n#endif\n"
    assert shown(f"{KERNEL}{launch}") == (
        "In an `#if` branch that is not compiled: nothing is computed for it"
    )
    kernel = f"#if 0\n#elif defined(__HIP__)\n{KERNEL}#endif\n"
    assert shown(kernel + "void run(float* p) { k<<$0<8, 64>>>(p); }\n") == (
        "**k**: this kernel stands in an `#if` branch that is not compiled"
    )


def test_no_report_gives_an_upper_bound() -> None:
    text = shown(KERNEL + "void run(float* p) { k<<$0<8, 256>>>(p); }\n")
    assert text.startswith("**k** on sm_90: ≤100% occupancy")
    assert "not known: no report" in text
    assert "No report: registers are not known, the occupancy is an upper bound" in text


def test_a_stack_frame_is_no_spill() -> None:
    text = shown(
        KERNEL + "void run(float* p) { k<<$0<8, 256>>>(p); }\n",
        entry("_Z1kPf", 32, spill_stores=0, spill_loads=0, stack=128),
    )
    assert "No spills; stack frame 128 B (arrays indexed at run time)" in text


def test_registers_that_move_are_said_to() -> None:
    text = shown(
        "__global__ void k(float* p) {\n"
        '    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");\n    p[0] = 1;\n}\n'
        "void run(float* p) { k<<$0<8, 128>>>(p); }\n",
        entry("_Z1kPf", 168),
    )
    assert "`setmaxnreg` moves them between warps later" in text


def test_other_architectures_in_one_table() -> None:
    text = shown(
        KERNEL + "void run(float* p) { k<<$0<8, 256>>>(p); }\n",
        entry("_Z1kPf", 72),
        entry("_Z1kPf", 64, "sm_86"),
        arch=("sm_90", "sm_86"),
    )
    assert "| sm_90        | 37.5%     | 3         | registers |" in text
    assert "| sm_86        | 66.7%     | 4         | registers |" in text


def test_the_compilers_answers_are_a_table() -> None:
    text, offset = cursor(KERNEL + "void run(float* p) { k<<$0<8, 256>>>(p); }\n")
    rows = (
        Row(Bounds(), is_current=True, registers=72, spill_stores=0, spill_loads=0),
        Row(Bounds(256, 4), registers=64, spill_stores=0, spill_loads=0),
    )
    made = snapshot(text, entry("_Z1kPf", 72)).with_whatif((WhatIf("_Z1kPf", "sm_90", rows),))
    found = hover(made, PATH, offset)
    assert found is not None
    assert "| no bounds (now) | 72        | none   | 3         | 37.5%     |" in found.markdown
    assert "| (256, 4) ★      | 64        | none   | 4         | 50%       |" in found.markdown


def test_launch_bounds_have_the_kernels_hover() -> None:
    text = shown(
        "__global__ void __launch_$0bounds__(256) k(float* p) { p[0] = 1; }\n", entry("_Z1kPf", 72)
    )
    assert "At the maximum of its launch bounds, 256 threads:" in text


def test_the_curve_as_a_picture_where_it_is_asked_for() -> None:
    text, offset = cursor(KERNEL + "void run(float* p) { k<<$0<8, 256>>>(p); }\n")
    made = snapshot(text, entry("_Z1kPf", 72))
    found = hover(made, PATH, offset, picture=True)
    plain = hover(made, PATH, offset)
    assert found is not None and plain is not None
    assert found.markdown.startswith(plain.markdown)
    head = "\n\n![Occupancy by block size](data:image/svg+xml;base64,"
    image = found.markdown[len(plain.markdown) :]
    assert image.startswith(head)
    svg = ElementTree.fromstring(base64.b64decode(image[len(head) : -1]))
    assert svg.tag.endswith("svg") and len(image) < 40_000


def test_the_name_of_the_api_that_launches_has_the_launchs_hover() -> None:
    text = shown(
        KERNEL + "void run(void** args) { cudaLaunch$0Kernel(k, 400, 256, args, 0, 0); }\n",
        entry("_Z1kPf", 72),
    )
    assert text.startswith("**k** on sm_90: 37.5% occupancy")


def test_launches_that_one_macro_makes_are_shown_together() -> None:
    text = shown(
        KERNEL + "#define BOTH(p) k<<<4, 256>>>(p); k<<<4, 1024>>>(p)\n"
        "void run(float* p) { BO$0TH(p); }\n",
        entry("_Z1kPf", 40),
    )
    assert text.startswith("**k** on sm_90: 50–75% occupancy, 1–6 blocks per SM")


def test_nothing_elsewhere() -> None:
    made = snapshot(KERNEL)
    assert hover(made, PATH, len(KERNEL) - 5) is None
