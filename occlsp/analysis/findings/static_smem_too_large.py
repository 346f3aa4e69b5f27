"""Declared static shared memory above 48 KiB.

The compiler refuses it on every architecture: "uses too much shared data". What is above 48 KiB
has to be dynamic: `extern __shared__`, its size in the launch, and the opting-in call.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import KernelJoin
from occlsp.analysis.words import size

MOST = 48 * 1024


def check(scene: Scene, kernel: KernelJoin) -> Iterator[Draft]:
    found = kernel.site.kernel
    if found.static_smem is None or found.static_smem <= MOST:
        return
    if found.is_template and not found.instantiations and found.template_arguments is None:
        return
    yield Draft(
        found.name_span,
        f"{size(found.static_smem)} of static shared memory, above the 48 KiB that the compiler "
        "accepts; make it dynamic (`extern __shared__`), with the size in the launch and an "
        "opting-in call",
    )


RULE = Rule(
    code="static-smem-too-large",
    severity="error",
    summary="declared static shared memory above 48 KiB: the compiler refuses it on every "
    "architecture",
    page=__doc__ or "",
    kernels=check,
)
