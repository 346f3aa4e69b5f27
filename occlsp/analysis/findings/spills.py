"""The compiler ran out of registers and keeps values in memory.

Spill stores and loads, in bytes per thread, as the compiler reports them, with the source lines
where they happen (from the compiled code). A few bytes rarely matter: below 32 it is a hint. A
stack frame without spills, from arrays that are indexed at run time, is no spill.

Ways out: fewer threads in the launch bounds, a smaller `minBlocks`, a higher `-maxrregcount`,
less unrolling. Fewer registers mean more resident blocks, so measure both.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import KernelJoin
from occlsp.analysis.paths import same_file
from occlsp.analysis.results import Related
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import KernelSite
from occlsp.analysis.words import instance_name
from occlsp.reports.facts import Entry
from occlsp.source.text import Span

SMALL = 32


def check(scene: Scene, kernel: KernelJoin) -> Iterator[Draft]:
    for arch in scene.snapshot.architectures.names:
        entries = [entry for entry in kernel.entries_on(arch) if spilled(entry)]
        if not entries:
            continue
        worst = max(entries, key=spilled)
        count = len(kernel.entries_on(arch))
        name = f" in `{instance_name(worst)}`" if count > 1 else ""
        verb = "spills" if len(entries) == 1 else "spill"
        extent = f" ({len(entries)} of {count} instantiations {verb})" if count > 1 else ""
        is_small = spilled(worst) < SMALL
        yield Draft(
            kernel.site.kernel.name_span,
            f"{worst.spill_stores or 0} bytes of spill stores and {worst.spill_loads or 0} of "
            f"spill loads per thread{name} on {arch}{extent}{_way_out(kernel, worst)}",
            arch=arch,
            is_certain=arch == scene.primary,
            severity="hint" if is_small else None,
            related=tuple(_places(scene, kernel, worst)),
        )
        return


def spilled(entry: Entry) -> int:
    """Bytes of spill stores and loads together; 0 where there are none, or nobody knows."""
    return (entry.spill_stores or 0) + (entry.spill_loads or 0)


def spill_lines(snapshot: Snapshot, site: KernelSite, entry: Entry) -> dict[int, tuple[int, int]]:
    """0-based line of the kernel's file → bytes of stores and of loads.

    Lines in the kernel move with its name, which the report places too; lines elsewhere are
    told only while the name is where it was.
    """
    file = snapshot.sources.file(site.path)
    if file is None or not entry.spill_lines:
        return {}
    first = file.lines.line_of(site.kernel.span.start)
    last = file.lines.line_of(site.kernel.span.end)
    moved = 0
    if entry.line is not None:
        moved = file.lines.line_of(site.kernel.name_span.start) - (entry.line - 1)
    lines: dict[int, tuple[int, int]] = {}
    for place in entry.spill_lines:
        if not same_file(place.file, site.path):
            continue
        line = place.line - 1 + moved
        if moved and not first <= line <= last:
            continue
        if 0 <= line < len(file.lines.starts):
            stores, loads = lines.get(line, (0, 0))
            lines[line] = (stores + place.stores, loads + place.loads)
    return lines


def _places(scene: Scene, kernel: KernelJoin, entry: Entry) -> Iterator[Related]:
    site = kernel.site
    file = scene.snapshot.sources.file(site.path)
    if file is None or scene.snapshot.history.age(site.path, site.kernel, entry).is_stale:
        return
    for line, (stores, loads) in sorted(spill_lines(scene.snapshot, site, entry).items()):
        span = _trimmed(file.text, file.lines.line_span(line))
        yield Related(site.path, span, f"{stores} bytes of spill stores, {loads} of loads")


def _trimmed(text: bytes, span: Span) -> Span:
    content = text[span.start : span.end]
    return Span(span.start + len(content) - len(content.lstrip()), span.end)


def _way_out(kernel: KernelJoin, entry: Entry) -> str:
    bounds = kernel.site.kernel.launch_bounds
    if bounds is not None and bounds.min_blocks is not None:
        return "; a smaller minBlocks leaves more registers"
    if entry.max_registers not in (None, 255):
        return f"; the cap of {entry.max_registers} registers makes it spill"
    return "; less unrolling, or smaller per-thread arrays, need fewer registers"


RULE = Rule(
    code="spills",
    severity="warning",
    summary="spill stores or loads in the report (a hint below 32 bytes), with bytes, and the "
    "lines where they happen; a stack frame without spills is named as such, in the hover only",
    page=__doc__ or "",
    kernels=check,
)
