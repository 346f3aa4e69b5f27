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
from occlsp.analysis.words import LONG, instance_name, plural
from occlsp.occupancy import Limits, limits


def check(scene: Scene, kernel: KernelJoin) -> Iterator[Draft]:
    bounds = kernel.site.kernel.launch_bounds
    if bounds is None or bounds.min_blocks is None:
        return
    archs = scene.snapshot.architectures.names
    found = {
        arch: message for arch in archs if (message := _unmet(scene, kernel, arch)) is not None
    }
    if not found:
        return
    arch = scene.primary if scene.primary in found else next(iter(found))
    yield Draft(
        kernel.site.kernel.name_span,
        found[arch],
        arch=arch,
        is_certain=arch == scene.primary or len(found) == len(archs),
    )


def _unmet(scene: Scene, kernel: KernelJoin, arch: str) -> str | None:
    asked, threads = _asked(kernel)
    most = attainable(kernel, arch)
    if asked is None or most is None:
        return _said_by_the_compiler(scene, kernel, arch)
    request = f"the launch bounds ask for {plural(asked, 'block')} per SM"
    way_out = f"ask for at most {most}, or leave it out"
    held = most_admitted(limits(arch), threads)
    if held is not None and asked > held:
        size = f" of {threads} threads" if held < limits(arch).blocks_per_sm else ""
        return (
            f"{request}, but {arch} holds at most {plural(held, 'block')}{size}: the compiler "
            f"ignores the request; {way_out}"
        )
    row = max(_rows(kernel, arch), key=resident_without_registers)
    resident, limiter = resident_without_registers(row)
    if limiter in ("warps", "blocks"):
        # The bound is not known, but it is no less than the block that is launched.
        threads = min(case.threads for case in row.cases)
        return (
            f"{request}, but {arch} holds at most {plural(resident, 'block')} of the {threads} "
            f"threads that are launched: the compiler ignores the request; {way_out}"
        )
    verb = "admit" if limiter == "barriers" else "admits"
    return (
        f"{request}, but {LONG[limiter]} {verb} {resident} on {arch}: registers are held down for "
        f"nothing; {way_out}"
    )


def _asked(kernel: KernelJoin) -> tuple[int | None, int | None]:
    """The blocks that the bounds ask for (one is no request), and their threads."""
    bounds = kernel.site.kernel.launch_bounds
    asked = bounds.min_blocks.value if bounds is not None and bounds.min_blocks else None
    threads = bounds.max_threads.value if bounds is not None else None
    return (asked if asked is not None and asked > 1 else None), threads


def _said_by_the_compiler(scene: Scene, kernel: KernelJoin, arch: str) -> str | None:
    """The compiler's own warning: bounds of templates are known to it alone."""
    for entry in kernel.entries_on(arch):
        for warning in scene.snapshot.entries.warnings.get(entry.entry, ()):
            if warning.kind == "min-blocks-ignored" and warning.arch in (arch, entry.arch, None):
                return (
                    f"the compiler ignores the minimum of blocks in the launch bounds of "
                    f"`{instance_name(entry)}` on {arch}; ask for fewer, or leave it out"
                )
    return None


def attainable(kernel: KernelJoin, arch: str) -> int | None:
    """The blocks per SM that the bounds can ask for, where they ask for more; else None."""
    asked, threads = _asked(kernel)
    if asked is None:
        return None
    most = most_admitted(limits(arch), threads)
    if most is not None and asked > most:
        return most
    rows = _rows(kernel, arch)
    if not rows or not _is_all(kernel, arch):
        return None
    resident, _ = max(map(resident_without_registers, rows))
    return max(resident, 1) if resident < asked else None


def _rows(kernel: KernelJoin, arch: str) -> list[Row]:
    return [row for row in kernel.on(arch) if row.cases]


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
    launched = {row.launch.key for row in rows if row.launch is not None}
    if len(launched) != len({launch.key for launch in kernel.launches}):
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
