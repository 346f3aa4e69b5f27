"""More threads per block than the kernel's launch bounds admit.

`__launch_bounds__(256)` is a promise: the compiler may use as many registers as 256 threads
leave, and the driver refuses a larger block. Launch fewer threads, or raise the bound (which
may cost registers).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from occlsp.analysis.findings import block_too_large
from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import LaunchJoin, admitted_threads, block_of
from occlsp.analysis.results import Related
from occlsp.analysis.sources import KernelSite
from occlsp.source.facts import Launch, Triple, Value3


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    site = launch.site.launch
    problems: list[str | None] = []
    where: Related | None = None
    for kernel in launch.kernels:
        bounds = _bounds(launch, kernel)
        for block in _blocks(block_of(kernel.kernel, site)):
            bad = block is not None and all(
                bound is not None and math.prod(block) > bound for bound in bounds
            )
            known = [bound for bound in bounds if bound is not None]
            if bad and block is not None and known:
                problems.append(_message(site, kernel, block, max(known)))
                where = where or _place(kernel)
            else:
                problems.append(None)
    bad_ones = [message for message in problems if message is not None]
    if not bad_ones or where is None:
        return
    is_certain = len(bad_ones) == len(problems)
    part = "" if is_certain else f"for {len(bad_ones)} of {len(problems)} possibilities: "
    yield Draft(site.config_span, part + bad_ones[0], is_certain=is_certain, related=(where,))


def _bounds(launch: LaunchJoin, kernel: KernelSite) -> list[int | None]:
    """What each entry that may run admits; the source's bound where there is none."""
    bounds = [row.resources.max_threads for row in launch.rows if row.site == kernel]
    return bounds or [admitted_threads(kernel.kernel, None, launch.site.launch)]


def _blocks(block: Value3) -> list[Triple | None]:
    if block.values:
        return [None if block_too_large.problem(value) else value for value in block.values]
    if block.min is not None and any(least is not None for least in block.min):
        x, y, z = (1 if least is None else max(1, least) for least in block.min)
        return [(x, y, z)]
    return [None]


def _message(launch: Launch, kernel: KernelSite, block: Triple, bound: int) -> str:
    threads = math.prod(block)
    args = f"<{', '.join(launch.template_args)}>" if launch.template_args else ""
    return (
        f"{threads} threads per block, above the {bound} that the launch bounds of "
        f"`{kernel.kernel.name}{args}` admit; launch at most {bound}, or raise the bound"
    )


def _place(kernel: KernelSite) -> Related:
    bounds = kernel.kernel.launch_bounds
    span = bounds.span if bounds is not None and bounds.span is not None else None
    return Related(kernel.path, span or kernel.kernel.name_span, "the launch bounds")


RULE = Rule(
    code="exceeds-launch-bounds",
    severity="error",
    summary="more threads than the kernel's launch bounds admit",
    page=__doc__ or "",
    launches=check,
    family="block",
)
