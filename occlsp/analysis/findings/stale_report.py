"""The kernel changed since its report.

The numbers shown, marked with `~`, are those of an older source. Compile again: on save, by the
command `occlsp.compile`, or with your own build.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import KernelJoin


def check(scene: Scene, kernel: KernelJoin) -> Iterator[Draft]:
    ages = [
        scene.snapshot.history.age(kernel.site.path, kernel.site.kernel, entry)
        for entry in kernel.entries
    ]
    stale = [age for age in ages if age.is_stale]
    if not stale:
        return
    yield Draft(
        kernel.site.kernel.name_span,
        f"the numbers of `{kernel.site.kernel.name}` are of an older source: {stale[0].why}; "
        "compile again for new ones",
    )


RULE = Rule(
    code="stale-report",
    severity="hint",
    summary="the kernel changed since its report",
    page=__doc__ or "",
    kernels=check,
)
