"""More shared memory than a block can have on the architecture, opted in or not.

At the launch it fails with "invalid argument" (1), at the opting-in call itself with "invalid
argument" too. The most that a block can have is 227 KiB on sm_90, 163 KiB on sm_80, 99 KiB on
sm_86, sm_89 and sm_120, 64 KiB on sm_75, 48 KiB before sm_70.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.cases import Case
from occlsp.analysis.entries import entries_on
from occlsp.analysis.findings.rule import Draft, Rule, Scene, draft, judge
from occlsp.analysis.join import LaunchJoin, Row, entries_of
from occlsp.analysis.sources import AttributeSite, KernelSite
from occlsp.analysis.words import listing, size
from occlsp.occupancy import limits


def check_launch(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    judgement = judge(scene, launch, _fails)
    if judgement is None:
        return
    row, case = judgement.row, judgement.case
    others = [arch for arch in judgement.archs if arch != row.arch]
    also = f", and too much on {listing(others)}" if others else ""
    yield draft(
        launch,
        judgement,
        f"{_parts(case.static_smem or 0, case.dynamic_smem or 0)} of shared memory per block, "
        f"above the {size(row.limits.smem_per_block_optin)} that {row.arch} has{also}"
        f"{judgement.extent}; use less, or an architecture that has more",
    )


def _fails(row: Row, case: Case) -> bool:
    return (case.static_smem or 0) + (case.dynamic_smem or 0) > row.limits.smem_per_block_optin


def check_attribute(scene: Scene, site: AttributeSite) -> Iterator[Draft]:
    call = site.attribute
    if call.attribute != "max_dynamic_smem" or not call.value.values:
        return
    least = min(call.value.values)
    failing = [
        arch
        for arch in scene.snapshot.architectures.names
        if least + _least_static(scene, site, arch) > limits(arch).smem_per_block_optin
    ]
    if not failing:
        return
    names = scene.snapshot.architectures.names
    arch = scene.primary if scene.primary in failing else failing[0]
    static = _least_static(scene, site, arch)
    yield Draft(
        call.span,
        f"opts into {_parts(static, least)} of shared memory, above the "
        f"{size(limits(arch).smem_per_block_optin)} that a block can have on {listing(failing)}; "
        "the call fails",
        arch=arch,
        is_certain=scene.primary in failing or len(failing) == len(names),
    )


def _least_static(scene: Scene, site: AttributeSite, arch: str) -> int:
    """The least static shared memory of any kernel that the call may be for."""
    if site.attribute.kernel is None:
        return 0
    kernels = scene.snapshot.sources.named(site.attribute.kernel)
    return min((_static(scene, kernel, arch) for kernel in kernels), default=0)


def _static(scene: Scene, site: KernelSite, arch: str) -> int:
    entries = entries_on(entries_of(scene.snapshot, site), arch)
    known = [entry.static_smem for entry in entries if entry.static_smem is not None]
    return min(known) if known else site.kernel.static_smem or 0


def _parts(static: int, dynamic: int) -> str:
    if static and dynamic:
        return f"{size(static)} static + {size(dynamic)} dynamic = {size(static + dynamic)}"
    return size(static + dynamic)


RULE = Rule(
    code="smem-too-large",
    severity="error",
    summary="above the opt-in maximum of the architecture, at the launch or at the opting-in "
    "call itself",
    page=__doc__ or "",
    launches=check_launch,
    attributes=check_attribute,
    family="smem",
)
