"""Round a partial warp up.

k<<<(n + 99) / 100, 100>>>(p, n);
k<<<(n + 127) / 128, 128>>>(p, n);
"""

from __future__ import annotations

import math

from occlsp.analysis.findings.partial_warp import WARP, is_partial
from occlsp.analysis.fixes.block_size import Offer, current, shapes
from occlsp.analysis.fixes.plan import target
from occlsp.analysis.fixes.titles import compiled, outcome
from occlsp.analysis.results import Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite
from occlsp.analysis.words import block_text

CODES = ("partial-warp",)


def fixes(snapshot: Snapshot, site: LaunchSite) -> tuple[Fix, ...]:
    """The smallest block above the present one that has only whole warps."""
    row = current(snapshot, site)
    block = site.launch.block.value
    if row is None or block is None or not is_partial(block):
        return ()
    goal = target(snapshot, site, row.site)
    threads = math.prod(block)
    title = f"Round {threads} threads per block up"
    if isinstance(goal, str):
        return (Fix(title, (), CODES, disabled=goal),)
    larger = [
        shape
        for shape in shapes(goal)
        if math.prod(shape) > threads and all(a >= b for a, b in zip(shape, block, strict=True))
    ]
    for shape in sorted(larger, key=math.prod):
        offer = Offer.of(snapshot, row, goal, shape)
        if offer is None:
            continue
        full = offer.after.threads
        text = f" ({block_text(shape)})" if shape[1:] != (1, 1) else ""
        said = [compiled(offer.answer)] if offer.answer is not None else []
        outcome_ = outcome(row, row.worst, offer.after, is_estimate=offer.is_estimate)
        title = "; ".join(
            [
                f"{title} to {full}{text}, {full // WARP} whole warps: {outcome_}",
                *said,
                *offer.plan.notes,
            ]
        )
        edits = () if offer.plan.disabled is not None else offer.plan.edits
        return (
            Fix(
                title,
                edits,
                CODES,
                is_preferred=offer.is_safe,
                disabled=offer.plan.disabled,
            ),
        )
    return ()
