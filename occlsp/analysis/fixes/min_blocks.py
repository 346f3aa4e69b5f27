"""Drop a `minBlocks` that cannot be met.

__global__ void __launch_bounds__(1024, 4) k(float* p)
__global__ void __launch_bounds__(1024) k(float* p)
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings import min_blocks_unmet
from occlsp.analysis.fixes.titles import answer_for, compiled, share, under
from occlsp.analysis.join import KernelJoin
from occlsp.analysis.results import Edit, Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.source.text import Span

CODES = ("min-blocks-unmet",)


def fixes(snapshot: Snapshot, kernel: KernelJoin) -> Iterator[Fix]:
    """Without the argument; where a third one follows, the number that can be met."""
    bounds = kernel.site.kernel.launch_bounds
    primary = snapshot.architectures.primary
    met = min_blocks_unmet.attainable(kernel, primary)
    if bounds is None or bounds.min_blocks is None or met is None:
        return
    first, second = bounds.max_threads.span, bounds.min_blocks.span
    title = f"Drop the minimum of {bounds.min_blocks.value} blocks, which cannot be met"
    if first is None or second is None or kernel.site.kernel.in_macro:
        yield Fix(title, (), CODES, disabled="a macro makes the launch bounds")
        return
    if bounds.max_blocks_per_cluster is not None:
        title = f"Ask for the {met} blocks per SM that can be met"
        edit = Edit(kernel.site.path, second, str(met))
    else:
        edit = Edit(kernel.site.path, Span(first.end, second.end), "")
    yield Fix(f"{title}{_answer(snapshot, kernel)}", (edit,), CODES, is_preferred=True)


def _answer(snapshot: Snapshot, kernel: KernelJoin) -> str:
    """What the compiler makes of the bounds without it, where it was asked."""
    bounds = kernel.site.kernel.launch_bounds
    for row in kernel.on(snapshot.architectures.primary):
        threads = bounds.max_threads.value if bounds is not None else None
        answer = answer_for(snapshot, row, threads, None)
        case = row.worst
        if answer is None or case is None:
            continue
        after = under(row, answer, case.block, case.dynamic_smem)
        if after is not None:
            now = share(case.result)
            return f": {compiled(answer)}, {share(after.result)} on {row.arch} (now {now})"
    return ""
