"""Every fix of the tour is applied and compiled by the real compiler: its title holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from occlsp.analysis import join
from occlsp.analysis.findings import findings
from occlsp.analysis.fixes import fixes
from occlsp.analysis.fixes.launch_bounds import bounds_edit
from occlsp.analysis.results import Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite
from tests.analysis.compiled import report
from tests.analysis.golden import PATH, applied, snapshot, titled, whole

TOUR = (Path(__file__).parent.parent / "examples" / "tour" / "tour.cu").read_text("utf-8")
pytestmark = pytest.mark.slow


@lru_cache(maxsize=32)
def compiled(source: str) -> Snapshot:
    """The source with what the compiler makes of it."""
    return snapshot(source).with_reports((report(source, PATH),))


def of_launch(source: str, kernel: str) -> tuple[Snapshot, LaunchSite]:
    """The last launch of a kernel."""
    made = compiled(source)
    facts = made.sources.facts(PATH)
    assert facts is not None
    return made, LaunchSite(PATH, [one for one in facts.launches if one.kernel == kernel][-1])


def share(source: str, kernel: str) -> str:
    """The occupancy of the last launch of a kernel, as a title says it."""
    made, site = of_launch(source, kernel)
    (row,) = join.of_launch(made, site).on("sm_90")
    assert row.worst is not None and not row.is_bound
    return f"{row.worst.result.occupancy * 100 + 1e-9:.1f}".removesuffix(".0")


def promised(kernel: str) -> Iterator[Fix]:
    """The fixes at a launch that promise an occupancy."""
    made, site = of_launch(TOUR, kernel)
    for fix in fixes(made, PATH, site.launch.config_span):
        if " % on sm_90" in fix.title and fix.edits and "est." not in fix.title:
            yield fix


@pytest.mark.parametrize("kernel", ["scale", "accumulate", "smooth"])
def test_the_title_holds(kernel: str) -> None:
    found = list(promised(kernel))
    assert found
    for fix in found[:2]:
        after = applied(TOUR, fix.edits)
        said = re.search(r"([\d.]+) % on sm_90 \(now ([\d.]+) %\)", fix.title)
        assert said is not None, fix.title
        assert share(TOUR, kernel) == said[2]
        assert share(after, kernel) == said[1], fix.title
        at = of_launch(after, kernel)[1].launch.config_span
        left = {one.code for one in findings(compiled(after), PATH) if one.span == at}
        assert not left & set(fix.codes)


def test_launch_bounds_make_the_launch_fit() -> None:
    made, site = of_launch(TOUR, "accumulate")
    fix = titled(fixes(made, PATH, site.launch.config_span), "Add __launch_bounds__(1024)")
    after = applied(TOUR, fix.edits)
    assert share(after, "accumulate") == "50"
    entries = compiled(after).entries.by_name["accumulate"]
    assert [entry.registers for entry in entries] == [64]


def test_a_minimum_of_blocks_that_is_dropped_compiles() -> None:
    before = (
        "__global__ void __launch_bounds__(1024, 3) k(float* p) { p[threadIdx.x] = 1; }\n"
        "void run(float* p) { k<<<8, 1024>>>(p); }\n"
    )
    made = compiled(before)
    fix = titled(fixes(made, PATH, whole(before, "k(")), "Drop the minimum of 3 blocks")
    after = applied(before, fix.edits)
    assert not findings(compiled(after), PATH)


def test_launch_bounds_can_be_inserted_and_replaced() -> None:
    for head in ("__global__ void k", "__global__ __launch_bounds__(64) void k"):
        source = (
            f"template <int N> {head}(float* p) {{ p[0] = N; }}\n"
            "template __global__ void k<1>(float*);\n"
        )
        made = snapshot(source)
        (site,) = (s for s in made.sources.kernels_of(PATH) if s.kernel.is_definition)
        edit = bounds_edit(site, "128, 2")
        assert not isinstance(edit, str)
        (entry,) = report(applied(source, [edit]), PATH).entries
        assert entry.max_threads == 128
