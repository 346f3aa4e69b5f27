"""Add launch bounds, or adjust them.

__global__ void k(float* p)
__global__ void __launch_bounds__(1024) k(float* p)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from occlsp.analysis.cases import Case
from occlsp.analysis.findings import exceeds_launch_bounds, zero_occupancy
from occlsp.analysis.fixes.block_size import MOST_THREADS, current
from occlsp.analysis.fixes.titles import answer_for, compiled, outcome, share, under
from occlsp.analysis.join import KernelJoin, Row
from occlsp.analysis.levers import registers_that_fit
from occlsp.analysis.results import Edit, Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import KernelSite, LaunchSite
from occlsp.analysis.whatif import answers
from occlsp.source.text import Span


def launch_fixes(snapshot: Snapshot, site: LaunchSite) -> Iterator[Fix]:
    """For a launch that has too many threads for its kernel as it is compiled."""
    row = current(snapshot, site)
    case = row.worst if row is not None else None
    if row is None or case is None or case.threads > MOST_THREADS:
        return
    if zero_occupancy.fails(row, case) and row.site.kernel.launch_bounds is None:
        yield _added(snapshot, row, case)
    elif row.resources.max_threads is not None and case.threads > row.resources.max_threads:
        yield from _raised(snapshot, row, case)


def kernel_fixes(snapshot: Snapshot, kernel: KernelJoin) -> Iterator[Fix]:
    """For each of the compiler's answers that gains occupancy: the bounds that it was for."""
    rows = [row for row in kernel.on(snapshot.architectures.primary) if row.is_shown]
    row = min(rows, key=lambda r: r.worst.result.active_warps if r.worst else 0, default=None)
    case = row.worst if row is not None else None
    if row is None or case is None:
        return
    for answer in answers(snapshot, row, case):
        bounds = answer.row.bounds
        if (
            answer.row.is_current
            or not answer.is_best
            or bounds.max_threads is None
            or answer.result.active_warps <= case.result.active_warps
            or bounds.max_threads < case.threads
        ):
            continue
        wanted = f"{bounds.max_threads}"
        if bounds.min_blocks is not None:
            wanted += f", {bounds.min_blocks}"
        edit = bounds_edit(row.site, wanted)
        title = (
            f"Use __launch_bounds__({wanted}): {share(answer.result)} on {row.arch} "
            f"(now {share(case.result)}); {compiled(answer.row)}"
        )
        if isinstance(edit, str):
            yield Fix(title, (), ("low-occupancy",), disabled=edit, kind="refactor.rewrite")
        else:
            yield Fix(title, (edit,), ("low-occupancy",), kind="refactor.rewrite")


def bounds_edit(site: KernelSite, arguments: str) -> Edit | str:
    """The edit that gives a kernel these launch bounds, or why it cannot be made."""
    kernel = site.kernel
    if kernel.in_macro or kernel.from_macro is not None:
        return "a macro makes the kernel"
    if not kernel.is_definition:
        return "the definition of the kernel is not in view"
    text = f"__launch_bounds__({arguments})"
    bounds = kernel.launch_bounds
    if bounds is None:
        return Edit(site.path, Span(kernel.name_span.start, kernel.name_span.start), f"{text} ")
    if bounds.span is None:
        return "a macro makes the launch bounds"
    return Edit(site.path, bounds.span, text)


def _added(snapshot: Snapshot, row: Row, case: Case) -> Fix:
    """`__launch_bounds__` for the largest launch in view."""
    threads = case.threads
    codes = ("zero-occupancy",)
    for site in snapshot.sources.launches_of(row.site):
        values = site.launch.block.values
        if values is None:
            name = row.site.kernel.name
            return Fix(
                f"Add __launch_bounds__({threads}) to `{name}`",
                (),
                codes,
                disabled="another launch has a block that is not known: the bounds may refuse it",
            )
        threads = max(threads, *(math.prod(value) for value in values))
    answer = answer_for(snapshot, row, threads, None)
    title = f"Add __launch_bounds__({threads}) to `{row.site.kernel.name}`"
    if answer is not None:
        after = under(row, answer, case.block, case.dynamic_smem)
        if after is not None:
            said = f"{outcome(row, case, after, is_estimate=False)}; {compiled(answer)}"
            title = f"{title}: {said}"
    else:
        fits = registers_that_fit(row, case)
        title = f"{title}: the compiler keeps to {fits} registers, and may spill"
    edit = bounds_edit(row.site, str(threads))
    if isinstance(edit, str):
        return Fix(title, (), codes, disabled=edit)
    return Fix(title, (edit,), codes)


def _raised(snapshot: Snapshot, row: Row, case: Case) -> Iterator[Fix]:
    """The bound of the source raised to what is launched."""
    bounds = row.site.kernel.launch_bounds
    codes = ("exceeds-launch-bounds",)
    if bounds is None or bounds.max_threads.span is None or row.site.kernel.in_macro:
        return
    if bounds.max_threads.value is None:
        yield Fix(
            f"Raise the launch bounds to {case.threads}",
            (),
            codes,
            disabled="the bounds depend on the template's arguments",
        )
        return
    least = bounds.min_blocks.value if bounds.min_blocks is not None else None
    answer = answer_for(snapshot, row, case.threads, least)
    after = under(row, answer, case.block, case.dynamic_smem)
    title = f"Raise the launch bounds of `{row.site.kernel.name}` to {case.threads}"
    if after is not None:
        title = f"{title}: {outcome(row, case, after, is_estimate=answer is None)}"
    if answer is not None:
        title = f"{title}; {compiled(answer)}"
    yield Fix(
        title,
        (Edit(row.site.path, bounds.max_threads.span, str(case.threads)),),
        codes,
    )


__all__ = ["bounds_edit", "exceeds_launch_bounds", "kernel_fixes", "launch_fixes"]
