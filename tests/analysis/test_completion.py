"""Completion of block sizes, code lenses, and the explorer's data."""

from __future__ import annotations

from occlsp.analysis.completion import completions
from occlsp.analysis.explorer import explorer
from occlsp.analysis.lenses import lenses
from occlsp.analysis.results import Completion
from occlsp.analysis.show_report import show_report
from occlsp.reports.facts import Entry
from tests.analysis.golden import PATH, cursor, entry, snapshot

KERNEL = "__global__ void k(float* p) { p[0] = 1; }\n"


def at(source: str, *entries: Entry) -> tuple[str, tuple[Completion, ...]]:
    """The text, and the completions at its `$0`."""
    text, offset = cursor(source)
    return text, completions(snapshot(text, *entries), PATH, offset)


def test_the_block_of_a_launch() -> None:
    text, found = at(KERNEL + "void run(float* p) { k<<<8, 25$06>>>(p); }\n", entry("_Z1kPf", 72))
    best = found[0]
    assert (best.label, best.detail) == ("896", "43.8% · 1 block/SM · registers")
    assert text[best.span.start : best.span.end] == "256"
    by_label = {one.label: one.detail for one in found}
    assert by_label["512"] == "25% · 1 block/SM · registers"


def test_launch_bounds() -> None:
    _, found = at(
        "__global__ void __launch_bounds__($0) k(float* p) { p[0] = 1; }\n", entry("_Z1kPf", 72)
    )
    assert found[0].label == "896"


def test_dim3_arguments_and_nothing_elsewhere() -> None:
    _, found = at(KERNEL + "void run(float* p) { k<<<8, dim3($0)>>>(p); }\n", entry("_Z1kPf", 72))
    assert found
    _, found = at(KERNEL + "void run(float* p) { k<<<$08, 64>>>(p); }\n", entry("_Z1kPf", 72))
    assert not found
    _, found = at(KERNEL + "void run(float* p) { int n = $0; }\n", entry("_Z1kPf", 72))
    assert not found


def test_lenses_say_what_hints_say() -> None:
    source = KERNEL + "void run(float* p) { k<<<8, 256>>>(p); }\n"
    found = lenses(snapshot(source, entry("_Z1kPf", 72)), PATH)
    assert [lens.title for lens in found] == ["37.5% · regs (72)", "37.5% · regs · 3 blk/SM"]
    assert found[0].command == "occlsp.whatif"
    assert found[0].arguments == ("k",)


def test_the_explorer_at_a_launch() -> None:
    text, offset = cursor(KERNEL + "void run(float* p) { k<<<8, 256, 40 * 1024>>>(p)$0; }\n")
    made = snapshot(
        text, entry("_Z1kPf", 72), entry("_Z1kPf", 64, "sm_80"), arch=("sm_90", "sm_80")
    )
    found = explorer(made, PATH, offset)
    assert found is not None and found.kernel == "k" and found.launch_line == 2
    first, second = found.architectures
    assert (first.arch, second.arch) == ("sm_90", "sm_80")
    point = first.point
    assert (point.block, point.registers, point.dynamic_smem) == (256, 72, 40960)
    assert (point.blocks_per_sm, point.occupancy, point.limiter) == (3, 0.375, "registers")
    assert dict(first.block_curve)[512] == 0.25
    assert dict(first.register_curve)[64] == 0.5
    assert dict(first.smem_curve)[40960] == 0.375
    assert first.levers[0] == "≤ 64 registers (−8) → 4 blocks, 50%"
    assert first.max_dynamic_smem == 227 * 1024
    assert not first.estimated and not first.stale


def test_the_explorers_sliders() -> None:
    text, offset = cursor(KERNEL + "void run(float* p) { k<<<8, 25$06>>>(p); }\n")
    made = snapshot(text, entry("_Z1kPf", 72))
    found = explorer(made, PATH, offset, {"registers": 64, "block": 128})
    assert found is not None
    (arch,) = found.architectures
    assert arch.estimated
    assert (arch.point.registers, arch.point.block, arch.point.occupancy) == (64, 128, 0.5)


def test_the_explorer_in_a_kernels_body_and_nowhere() -> None:
    text, offset = cursor(KERNEL.replace("p[0]", "p[$00]"))
    made = snapshot(text, entry("_Z1kPf", 72))
    found = explorer(made, PATH, offset)
    assert found is not None
    assert found.launch_line is None
    assert found.architectures[0].point.block == 256
    assert explorer(snapshot("int x;\n" + text), PATH, 2) is None


def test_the_report_of_a_file() -> None:
    source = KERNEL + "void run(float* p) { k<<<8, 2048>>>(p); }\n"
    page = show_report(snapshot(source, entry("_Z1kPf", 72)), PATH)
    assert page.startswith("# Occupancy of main.cu\n")
    assert "## Line 1: kernel `k`" in page
    assert "- Line 2: error `block-too-large`: 2048 threads per block" in page
