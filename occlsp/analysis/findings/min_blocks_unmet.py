"""Launch bounds ask for more blocks per SM than can be resident.

`__launch_bounds__(threads, minBlocks)` makes the compiler limit registers so that `minBlocks`
blocks fit. Above what the threads or the blocks of an SM allow, the compiler ignores the
request. Above what shared memory, or the launch as it is, allows, it holds registers down for
nothing: a smaller number, or none, gives them back.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import KernelJoin, Row
from occlsp.analysis.words import LONG, plural
from occlsp.occupancy import Limits, limits
from occlsp.source.facts import Value


def check(scene: Scene, kernel: KernelJoin) -> Iterator[Draft]:
    bounds = kernel.site.kernel.launch_bounds
    if bounds is None or bounds.min_blocks is None:
        return
    asked = bounds.min_blocks.value
    if asked is None or asked < 2:
        return
    found = {
        arch: message
        for arch in scene.snapshot.architectures.names
        if (message := _unmet(kernel, arch, asked, bounds.max_threads)) is not None
    }
    if not found:
        return
    arch = scene.primary if scene.primary in found else next(iter(found))
    yield Draft(
        kernel.site.kernel.name_span,
        found[arch],
        arch=arch,
        is_certain=arch == scene.primary or len(found) == len(scene.snapshot.architectures.names),
    )


def _unmet(kernel: KernelJoin, arch: str, asked: int, threads: Value) -> str | None:
    row = limits(arch)
    request = f"the launch bounds ask for {plural(asked, 'block')} per SM"
    most = most_admitted(row, threads.value)
    if most is not None and asked > most:
        return (
            f"{request}, but {arch} can hold {most}"
            f"{f' of {threads.value} threads' if most < row.blocks_per_sm else ''}: the compiler "
            f"ignores the request; ask for at most {most}, or leave it out"
        )
    rows = [r for r in kernel.on(arch) if r.cases]
    if not rows or not _is_all(kernel, arch):
        return None
    counts = [resident_without_registers(r) for r in rows]
    resident, limiter = max(counts)
    if resident >= asked:
        return None
    return (
        f"{request}, but {LONG[limiter]} admits {resident} on {arch}: registers are held down for "
        f"nothing; ask for at most {max(resident, 1)}, or leave it out"
    )


def attainable(kernel: KernelJoin, arch: str) -> int | None:
    """The blocks per SM that the bounds can ask for, where they ask for more; else None."""
    bounds = kernel.site.kernel.launch_bounds
    asked = bounds.min_blocks.value if bounds is not None and bounds.min_blocks else None
    if bounds is None or asked is None:
        return None
    most = most_admitted(limits(arch), bounds.max_threads.value)
    if most is not None and asked > most:
        return most
    rows = [row for row in kernel.on(arch) if row.cases]
    if not rows or not _is_all(kernel, arch):
        return None
    resident, _ = max(resident_without_registers(row) for row in rows)
    return max(resident, 1) if resident < asked else None


def most_admitted(row: Limits, threads: int | None) -> int | None:
    """The most blocks per SM by threads and by the number of blocks; None: bound not known."""
    if threads is None or not 0 < threads <= row.threads_per_block:
        return None
    warps = -(-threads // row.warp_size)
    return min(row.blocks_per_sm, row.warps_per_sm // warps)


def resident_without_registers(row: Row) -> tuple[int, str]:
    """The most blocks of any case, were registers no limit, and what limits them."""
    best = (0, "shared_memory")
    for case in row.cases:
        known = case.result.limits
        by = {
            "shared_memory": known.shared_memory,
            "warps": known.warps,
            "blocks": known.blocks,
            "barriers": known.barriers,
        }
        count, name = min((n, name) for name, n in by.items() if n is not None)
        best = max(best, (count, name))
    return best


def _is_all(kernel: KernelJoin, arch: str) -> bool:
    """Whether the rows on `arch` are all the launches in view, with every value known."""
    rows = kernel.on(arch)
    launched = {row.launch.launch.span for row in rows if row.launch is not None}
    if len(launched) != len(kernel.launches):
        return False
    return all(row.is_covered and row.is_shown for row in rows)


RULE = Rule(
    code="min-blocks-unmet",
    severity="warning",
    summary="launch bounds ask for more blocks per SM than can be resident: above the threads or "
    "the block limit of the architecture the compiler ignores the request; above what shared "
    "memory or the actual launch allows, registers are held down for nothing",
    page=__doc__ or "",
    kernels=check,
)
