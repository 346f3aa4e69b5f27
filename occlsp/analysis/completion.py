"""Block sizes that can be typed, with the occupancy that each would give.

Inside `__launch_bounds__(` and in the block argument of a launch.
"""

from __future__ import annotations

import re

from occlsp.analysis import join
from occlsp.analysis.cases import Case, smem_function
from occlsp.analysis.join import Row
from occlsp.analysis.results import Completion
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import KernelSite, LaunchSite, SourceFile
from occlsp.analysis.words import LONG, percent, plural
from occlsp.occupancy import Candidate, InvalidInput, Options, limits, sweep
from occlsp.source.text import Span

SIZES = (32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024)
_BOUNDS = re.compile(rb"__launch_bounds__\s*\(\s*(\w*)\Z")
_BLOCK = re.compile(rb"(?:<<<|,|dim3\s*\(|\{)\s*(\w*)\Z")
_WINDOW = 400
"""Bytes before the cursor that are looked at: a configuration is shorter."""


def completions(snapshot: Snapshot, path: str, offset: int) -> tuple[Completion, ...]:
    """What can be typed at a byte offset, best first; empty elsewhere."""
    file = snapshot.sources.file(path)
    if file is None:
        return ()
    before = file.text[max(0, offset - _WINDOW) : offset]
    bounds = _BOUNDS.search(before)
    if bounds is not None:
        kernel = _kernel_after(snapshot, path, offset)
        rows = join.of_kernel(snapshot, kernel).rows if kernel is not None else ()
        return _offer(snapshot, rows, _word(file, offset, bounds[1]))
    launch = _launch_around(snapshot, path, offset)
    word = _BLOCK.search(before)
    if launch is None or word is None or not _is_in_block(file, launch, offset):
        return ()
    rows = join.of_launch(snapshot, launch).rows or _any_rows(snapshot, launch)
    return _offer(snapshot, rows, _word(file, offset, word[1]))


def _word(file: SourceFile, offset: int, typed: bytes) -> Span:
    """What is typed already, and what of it follows the cursor."""
    rest = re.match(rb"\w*", file.text[offset : offset + 64])
    return Span(offset - len(typed), offset + (rest.end() if rest is not None else 0))


def _kernel_after(snapshot: Snapshot, path: str, offset: int) -> KernelSite | None:
    """The kernel whose head the cursor is in: the next name."""
    sites = [
        site
        for site in snapshot.sources.kernels_of(path)
        if site.kernel.span.start <= offset <= (site.kernel.body or site.kernel.span).start
        or site.kernel.name_span.start >= offset
    ]
    return min(sites, key=lambda site: abs(site.kernel.name_span.start - offset), default=None)


def _launch_around(snapshot: Snapshot, path: str, offset: int) -> LaunchSite | None:
    facts = snapshot.sources.facts(path)
    for launch in facts.launches if facts is not None else ():
        if launch.config_span.start < offset <= launch.config_span.end and not launch.hip_only:
            return LaunchSite(path, launch)
    return None


def _is_in_block(file: SourceFile, site: LaunchSite, offset: int) -> bool:
    """Whether the cursor is in the second argument of the configuration."""
    launch = site.launch
    if launch.block.span is not None and launch.block.span.start <= offset <= launch.block.span.end:
        return True
    text = file.text[launch.config_span.start : offset]
    depth = commas = 0
    for byte in text:
        if byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
        elif byte == ord(",") and depth == 0:
            commas += 1
    return commas == 1 and launch.api == "<<<>>>"


def _any_rows(snapshot: Snapshot, launch: LaunchSite) -> tuple[Row, ...]:
    kernels = snapshot.sources.launched(launch)
    return join.of_kernel(snapshot, kernels[0]).rows if kernels else ()


def _offer(snapshot: Snapshot, rows: tuple[Row, ...], span: Span) -> tuple[Completion, ...]:
    """Sizes on the primary architecture; the same for any kernel where none is known."""
    primary = snapshot.architectures.primary
    row = next((row for row in rows if row.arch == primary), None)
    found = [c for c in _candidates(primary, row) if c.block in SIZES]
    ranked = sorted(found, key=lambda c: (-c.result.active_warps, -c.block))
    bound = "" if row is not None and row.resources.registers is not None else "≤ "
    return tuple(
        Completion(
            span,
            str(c.block),
            f"{bound}{percent(c.result.occupancy)} · "
            f"{plural(c.result.blocks_per_sm, 'block')}/SM · {LONG[c.result.limiter]}",
            rank,
        )
        for rank, c in enumerate(ranked)
    )


def _candidates(arch: str, row: Row | None) -> list[Candidate]:
    if row is None:
        return sweep(limits(arch), 0)
    case: Case | None = row.worst
    dynamic = smem_function(row.launch.launch.dynamic_smem) if row.launch is not None else None
    if dynamic is None:
        dynamic = case.dynamic_smem or 0 if case is not None else 0
    options: Options = {**row.resources.options(), "launch_bounds": None}
    if row.launch is not None:
        options = row.resources.options()
    try:
        return sweep(
            row.limits,
            row.resources.registers or 0,
            row.resources.static_smem or 0,
            dynamic,
            **options,
        )
    except InvalidInput:
        return []
