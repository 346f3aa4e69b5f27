"""Static and dynamic shared memory above 48 KiB, and nothing in view opts the kernel in.

Above 48 KiB per block a kernel must ask first:
`cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)`. Without it the
launch fails with "invalid argument" (1). Opting in counts for each instantiation of a template
by itself, and lasts. Where any call in the workspace may be for this kernel, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.cases import Case
from occlsp.analysis.findings.rule import Draft, Rule, Scene, draft, judge
from occlsp.analysis.join import LaunchJoin, Row
from occlsp.analysis.results import Related
from occlsp.analysis.words import size

WITHOUT = 48 * 1024
LONGEST = 60
"""Characters of an expression that is shown as it is."""


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    judgement = judge(scene, launch, fails)
    if judgement is None:
        return
    row, case = judgement.row, judgement.case
    opted = row.resources.opt_in
    if opted.state == "limited" and opted.site is not None:
        fact = (
            f"{size(case.dynamic_smem or 0)} of dynamic shared memory, but the last call before "
            f"opts `{row.site.kernel.name}` into {size(opted.limit or 0)} only"
        )
        related = Related(opted.site.path, opted.site.attribute.span, "the last opting-in call")
        yield draft(launch, judgement, f"{fact}; raise it there", arch=None, related=(related,))
        return
    yield draft(
        launch,
        judgement,
        f"{_need(case)} of shared memory per block, above the 48 KiB that a kernel has without "
        f"opting in{judgement.extent}; before the launch, call "
        f"{opting_in_call(_named(launch, row), _bytes(launch, case))}",
        arch=None,
    )


def opting_in_call(kernel: str, bytes_text: str) -> str:
    """The call that opts a kernel, as the source names it, into so many bytes."""
    attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
    return f"cudaFuncSetAttribute({kernel}, {attribute}, {bytes_text})"


def _named(launch: LaunchJoin, row: Row) -> str:
    """The instantiation as the launch names it; "<…>" where it leaves the arguments to the
    compiler."""
    name = row.site.kernel.name
    args = launch.site.launch.template_args
    if args:
        return f"{name}<{', '.join(args)}>"
    return f"{name}<…>" if row.site.kernel.is_template else name


def _bytes(launch: LaunchJoin, case: Case) -> str:
    text = " ".join(launch.site.launch.dynamic_smem.text.split())
    return text if 0 < len(text) <= LONGEST else str(case.dynamic_smem)


def fails(row: Row, case: Case) -> bool:
    """The architecture could hold the block, but the kernel has not asked for it."""
    static, dynamic = case.static_smem or 0, case.dynamic_smem or 0
    if static + dynamic > row.limits.smem_per_block_optin or static > WITHOUT or not dynamic:
        return False
    opted = row.resources.opt_in
    if opted.state == "limited":
        return dynamic > (opted.limit or 0) and static + dynamic > WITHOUT
    return opted.state == "none" and static + dynamic > WITHOUT


def _need(case: Case) -> str:
    static, dynamic = case.static_smem or 0, case.dynamic_smem or 0
    if static:
        return f"{size(static)} static + {size(dynamic)} dynamic = {size(static + dynamic)}"
    return size(dynamic)


RULE = Rule(
    code="dynamic-smem-opt-in",
    severity="error",
    summary="static + dynamic above 48 KiB, and nothing in view opts the kernel in",
    page=__doc__ or "",
    launches=check,
    family="smem",
)
