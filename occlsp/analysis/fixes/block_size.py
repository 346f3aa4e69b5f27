"""Use another block size.

The best few sizes, with what each gives: "Use 192 threads per block: 75 % on sm_86 (now 50 %)".
The edit goes to where the value is defined, and takes the grid and the launch bounds with it.

    k<<<(n + 255) / 256, 256>>>(p, n);
    k<<<(n + 191) / 192, 192>>>(p, n);
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from occlsp.analysis.advice.measured_kernel import gated
from occlsp.analysis.cases import Case, of_block
from occlsp.analysis.findings.partial_warp import WARP
from occlsp.analysis.fixes.plan import Plan, Target, plan, target
from occlsp.analysis.fixes.titles import answer_for, compiled, outcome, under
from occlsp.analysis.join import Row, of_launch
from occlsp.analysis.results import Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite
from occlsp.analysis.words import block_text
from occlsp.reports import whatif as compiler
from occlsp.source.facts import Triple

MOST_OFFERED = 3
MOST_THREADS = 1024
CODES = ("zero-occupancy", "block-too-large", "exceeds-launch-bounds", "low-occupancy")
DIMENSIONS = (1024, 1024, 64)


def fixes(snapshot: Snapshot, site: LaunchSite) -> tuple[Fix, ...]:
    """The best few, and the best of those that are safe."""
    offered = block_fixes(snapshot, site)
    shown = [fix for _, fix in offered[:MOST_OFFERED]]
    shown += [fix for _, fix in offered[MOST_OFFERED:] if fix.is_preferred]
    return tuple(shown)


def block_fixes(
    snapshot: Snapshot, site: LaunchSite, asked: int | None = None
) -> tuple[tuple[int, Fix], ...]:
    """Every block size that gains, and the size that was asked for: (threads, fix), best first."""
    row = current(snapshot, site)
    case = row.worst if row is not None else None
    if row is None or case is None:
        return ()
    goal = target(snapshot, site, row.site)
    if isinstance(goal, str):
        return _disabled(row, case, goal)
    offers = [offer for block in shapes(goal) if (offer := Offer.of(snapshot, row, goal, block))]
    gaining = [o for o in offers if o.after.result.active_warps > case.result.active_warps]
    wanted = [o for o in offers if o.after.threads == asked != case.threads and o not in gaining]
    best = sorted(gaining + wanted, key=lambda o: o.rank(case.threads))
    chosen = next((offer for offer in best if offer.is_safe and offer in gaining), None)
    return tuple(
        (
            offer.after.threads,
            gated(snapshot, row, offer.fix(row, case, is_preferred=offer is chosen)),
        )
        for offer in _one_each(best)
    )


def current(snapshot: Snapshot, site: LaunchSite) -> Row | None:
    """The row that a launch is judged by: of one kernel, on the primary architecture, the entry
    with the least occupancy. None where the block is not one known size."""
    launch = of_launch(snapshot, site)
    rows = [row for row in launch.on(snapshot.architectures.primary) if row.is_shown]
    if len(launch.kernels) != 1 or site.launch.block.value is None:
        return None
    return min(rows, key=_least, default=None)


def _least(row: Row) -> int:
    return row.worst.result.active_warps if row.worst is not None else 0


def _disabled(row: Row, case: Case, why: str) -> tuple[tuple[int, Fix], ...]:
    """Where the launch cannot run something is said; elsewhere nothing."""
    if case.result.blocks_per_sm:
        return ()
    return ((case.threads, Fix("Use another block size", (), CODES, disabled=why)),)


class Offer:
    """One block that could be used: the plan of its edits, and what it would give."""

    def __init__(self, plan_: Plan, after: Case, answer: compiler.Row | None) -> None:
        self.plan = plan_
        self.after = after
        self.answer = answer

    @staticmethod
    def of(snapshot: Snapshot, row: Row, goal: Target, block: Triple) -> Offer | None:
        """None where the block does not run."""
        threads = math.prod(block)
        dynamic = of_block(goal.site.launch.dynamic_smem, threads)
        made = plan(goal, block)
        bounds = goal.kernel.kernel.launch_bounds
        answer = None
        if made.changes_bounds:
            least = bounds.min_blocks.value if bounds and bounds.min_blocks else None
            answer = answer_for(snapshot, row, threads, least)
        if not made.changes_bounds and threads > (row.resources.max_threads or MOST_THREADS):
            return None
        after = under(row, answer, block, dynamic)
        if after is None or not after.result.blocks_per_sm:
            return None
        return Offer(made, after, answer)

    @property
    def is_estimate(self) -> bool:
        """The compiler may come to other registers, and was not asked."""
        return self.plan.changes_code and self.answer is None

    @property
    def is_safe(self) -> bool:
        """Nothing else changes, and the outcome is known."""
        return self.plan.is_safe and not self.is_estimate and not self.after.is_bound

    def rank(self, threads: int) -> tuple[object, ...]:
        """Best first: most warps, then safe, then near to the present size."""
        distance = abs(math.log2(self.after.threads / threads))
        is_disabled = self.plan.disabled is not None
        return (is_disabled, -self.after.result.active_warps, not self.is_safe, distance)

    def fix(self, row: Row, case: Case, *, is_preferred: bool) -> Fix:
        """The quick fix."""
        block = self.after.block
        shape = f" ({block_text(block)})" if block[1:] != (1, 1) else ""
        title = (
            f"Use {self.after.threads} threads per block{shape}: "
            f"{outcome(row, case, self.after, is_estimate=self.is_estimate)}"
        )
        said = [compiled(self.answer)] if self.answer is not None else []
        title = "; ".join([title, *said, *self.plan.notes])
        fails = not case.result.blocks_per_sm
        return Fix(
            title,
            () if self.plan.disabled is not None else self.plan.edits,
            CODES,
            is_preferred=is_preferred,
            disabled=self.plan.disabled,
            kind="quickfix" if fails or case.result.occupancy <= LOW else "refactor.rewrite",
        )


LOW = 0.25


def _one_each(offers: list[Offer]) -> Iterator[Offer]:
    """The best shape of each size."""
    seen: set[int] = set()
    for offer in offers:
        if offer.after.threads not in seen:
            seen.add(offer.after.threads)
            yield offer


def shapes(goal: Target) -> list[Triple]:
    """The blocks that could be used instead: whole warps, of a shape that suits them.

    One definition at a time changes; two dimensions made by one constant change together.
    """
    groups: dict[object, list[int]] = {}
    for axis, definition in enumerate(goal.components):
        groups.setdefault((definition.path, definition.span), []).append(axis)
    found: dict[Triple, None] = {}
    for axes in sorted(groups.values(), reverse=True):
        for size in _sizes(goal, axes):
            block = list(goal.block)
            for axis in axes:
                block[axis] = size
            shape = (block[0], block[1], block[2])
            if shape != goal.block and _suits(shape):
                found.setdefault(shape)
    return list(found)


def _sizes(goal: Target, axes: list[int]) -> list[int]:
    if len(axes) > 1:
        return [4, 8, 16, 32]
    if goal.block[1:] == (1, 1) and axes == [0]:
        return list(range(WARP, MOST_THREADS + 1, WARP))
    if axes == [0]:
        return [size for size in range(1, MOST_THREADS + 1) if _is_friendly(size)]
    return list(range(1, MOST_THREADS // max(1, goal.block[0]) + 1))


def _is_friendly(x: int) -> bool:
    """Rows of threads fill warps: a multiple of 32, or a power of two."""
    return x % WARP == 0 or x & (x - 1) == 0


def _suits(block: Triple) -> bool:
    threads = math.prod(block)
    return (
        threads <= MOST_THREADS
        and threads % WARP == 0
        and all(size <= most for size, most in zip(block, DIMENSIONS, strict=True))
        and _is_friendly(block[0])
    )


def with_codes(fix: Fix, codes: tuple[str, ...], title: str) -> Fix:
    """The fix under another title, for other findings."""
    return replace(fix, codes=codes, title=title)
