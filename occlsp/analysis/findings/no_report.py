"""A kernel without a report.

Registers are known from the compiler alone: without a report an occupancy is an upper bound,
marked `≤`. Save the file (with a compiler at hand, in a trusted workspace), or build with
`-Xptxas -v` and keep the log. Off by default.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import KernelJoin
from occlsp.analysis.templates import is_unused
from occlsp.analysis.words import listing


def check(scene: Scene, kernel: KernelJoin) -> Iterator[Draft]:
    found = kernel.site.kernel
    missing = [arch for arch in scene.snapshot.architectures.names if not kernel.entries_on(arch)]
    if not missing or not found.is_definition:
        return
    if is_unused(scene.snapshot.sources, kernel.site):
        why = "nothing in view instantiates it"
    else:
        why = "compile the file, or keep a log of your build with `-Xptxas -v`"
    yield Draft(found.name_span, f"no report of `{found.name}` for {listing(missing)}; {why}")


RULE = Rule(
    code="no-report",
    severity="hint",
    summary="a kernel without a report",
    page=__doc__ or "",
    kernels=check,
    is_on=False,
)
