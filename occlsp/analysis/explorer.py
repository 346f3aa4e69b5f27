"""The occupancy explorer's data: where a kernel stands, and how occupancy moves around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from occlsp.analysis import join, present
from occlsp.analysis.cases import Case, smem_function
from occlsp.analysis.join import KernelJoin, LaunchJoin, Row
from occlsp.analysis.levers import lever_text
from occlsp.analysis.results import (
    Explorer,
    ExplorerArchitecture,
    ExplorerFix,
    ExplorerPoint,
    ExplorerWhatIf,
)
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import KernelSite, LaunchSite
from occlsp.analysis.whatif import answers
from occlsp.analysis.words import instance_name
from occlsp.occupancy import InvalidInput, Occupancy, levers, occupancy
from occlsp.source.text import Span

DEFAULT_BLOCK = 256
SMEM_STEPS = 64
MOST_REGISTERS = 255


def explorer(
    snapshot: Snapshot, path: str, offset: int, override: Mapping[str, int] | None = None
) -> Explorer | None:
    """The explorer's answer for the launch or kernel that holds `offset`; None elsewhere.

    `override` sets "block", "registers" or "dynamic_smem" (bytes) away from the source's and
    the report's; the answer is marked as estimated then.
    """
    place = _place(snapshot, path, offset)
    if place is None:
        return None
    override = override or {}
    if isinstance(place, LaunchSite):
        return _of_launch(snapshot, join.of_launch(snapshot, place), override)
    return _of_kernel(snapshot, join.of_kernel(snapshot, place), override)


def _place(snapshot: Snapshot, path: str, offset: int) -> KernelSite | LaunchSite | None:
    """The launch whose statement, or else the kernel whose definition, holds the offset."""
    facts = snapshot.sources.facts(path)
    if facts is None:
        return None
    for launch in facts.launches:
        whole = launch.statement_span or Span(launch.callee_span.start, launch.config_span.end)
        if whole.start <= offset <= whole.end:
            return LaunchSite(path, launch)
    for kernel in facts.kernels:
        if kernel.span.start <= offset <= kernel.span.end:
            return KernelSite(path, kernel)
    return None


def _of_launch(
    snapshot: Snapshot, launch: LaunchJoin, override: Mapping[str, int]
) -> Explorer | None:
    if not launch.kernels:
        return None
    site = launch.site
    file = snapshot.sources.file(site.path)
    line = file.lines.line_of(site.launch.span.start) + 1 if file is not None else None
    return _build(
        snapshot,
        launch.kernels[0],
        site.path,
        site.launch.config_span,
        line,
        launch.rows,
        override,
        site,
    )


def _of_kernel(snapshot: Snapshot, kernel: KernelJoin, override: Mapping[str, int]) -> Explorer:
    rows = kernel.rows
    first = next((row for row in rows if row.launch is not None), None)
    line = None
    if first is not None and first.launch is not None:
        file = snapshot.sources.file(first.launch.path)
        if file is not None:
            line = file.lines.line_of(first.launch.launch.span.start) + 1
    return _build(
        snapshot,
        kernel.site,
        kernel.site.path,
        kernel.site.kernel.name_span,
        line,
        rows,
        override,
        first.launch if first is not None else None,
    )


def _build(
    snapshot: Snapshot,
    kernel: KernelSite,
    path: str,
    span: Span,
    line: int | None,
    rows: Sequence[Row],
    override: Mapping[str, int],
    launch: LaunchSite | None,
) -> Explorer:
    chosen = [
        row
        for arch in snapshot.architectures.names
        if (row := _representative(rows, arch, launch)) is not None
    ]
    entries = {row.entry.entry: row.entry for row in rows if row.entry is not None}
    shown = chosen[0].entry if chosen else None
    return Explorer(
        kernel=kernel.kernel.qualified_name,
        instance=instance_name(shown) if shown is not None and len(entries) > 1 else None,
        path=path,
        span=span,
        launch_line=line,
        architectures=tuple(_architecture(snapshot, row, override) for row in chosen),
        fixes=_fixes(snapshot, launch, override.get("block")),
        why=None if chosen else "it stands in an #if branch that is not compiled",
    )


def _representative(rows: Sequence[Row], arch: str, launch: LaunchSite | None) -> Row | None:
    """The row to stand for an architecture: of the launch shown, with the least occupancy."""
    here = [row for row in rows if row.arch == arch]
    here = [row for row in here if launch is None or row.launch == launch] or here
    shown = [row for row in here if row.is_shown] or here
    return min(shown, key=_warps, default=None)


def _warps(row: Row) -> int:
    worst = row.worst
    return worst.result.active_warps if worst is not None else 0


def _architecture(
    snapshot: Snapshot, row: Row, override: Mapping[str, int]
) -> ExplorerArchitecture:
    case = row.worst if row.is_shown else None
    block = override.get("block") or (case.threads if case else None) or _default_block(row)
    block = max(1, min(block, row.limits.threads_per_block))
    known = row.resources.registers
    registers = min(override.get("registers", known or 0), MOST_REGISTERS)
    static = row.resources.static_smem or 0
    most = max(0, row.limits.smem_per_block_optin - static)
    dynamic = min(override.get("dynamic_smem", _dynamic(row, case, block)), most)
    at = _model(row, static)
    result = at(block, registers, dynamic)
    steps = sorted({*range(0, most + 1, max(1024, most // SMEM_STEPS // 1024 * 1024)), dynamic})
    sizes = sorted({*range(32, row.limits.threads_per_block + 1, 32), block})
    return ExplorerArchitecture(
        arch=row.arch,
        point=_point(block, registers, static, dynamic, result),
        block_curve=tuple(
            (n, at(n, registers, _at_block(row, dynamic, n, override)).occupancy) for n in sizes
        ),
        register_curve=tuple((n, at(block, n, dynamic).occupancy) for n in range(1, 256)),
        smem_curve=tuple((n, at(block, registers, n).occupancy) for n in steps),
        max_dynamic_smem=most,
        levers=_levers(row, block, registers, static, dynamic),
        source=present.provenance(row.entry, row.age),
        stale=row.age.is_stale,
        estimated=bool(override) or known is None or (case is not None and case.is_bound),
        whatif=_whatif(snapshot, row, case),
    )


def _default_block(row: Row) -> int:
    return min(DEFAULT_BLOCK, row.resources.max_threads or DEFAULT_BLOCK)


def _dynamic(row: Row, case: Case | None, block: int) -> int:
    if case is not None:
        return case.dynamic_smem or 0
    return _at_block(row, 0, block, {})


def _at_block(row: Row, dynamic: int, block: int, override: Mapping[str, int]) -> int:
    """Dynamic shared memory that follows the block where the source makes it."""
    if row.launch is None or "dynamic_smem" in override:
        return dynamic
    function = smem_function(row.launch.launch.dynamic_smem)
    try:
        return function(block) if callable(function) else dynamic
    except InvalidInput:
        return dynamic


def _model(row: Row, static: int) -> Callable[[int, int, int], Occupancy]:
    """The model with what the sliders do not set; launch bounds do not stop a slider."""

    def at(block: int, registers: int, dynamic: int) -> Occupancy:
        return occupancy(
            row.limits,
            block,
            registers,
            static,
            dynamic,
            carveout=row.resources.carveout,
            barriers=row.resources.barriers,
        )

    return at


def _point(
    block: int, registers: int, static: int, dynamic: int, result: Occupancy
) -> ExplorerPoint:
    return ExplorerPoint(
        block=block,
        registers=registers,
        static_smem=static,
        dynamic_smem=dynamic,
        blocks_per_sm=result.blocks_per_sm,
        active_warps=result.active_warps,
        max_warps=result.max_warps,
        occupancy=result.occupancy,
        limiter=result.limiter,
        limiters=result.limiters,
        limits=structs.asdict(result.limits),
        allocated=structs.asdict(result.allocated),
        reason=result.reason,
    )


def _levers(row: Row, block: int, registers: int, static: int, dynamic: int) -> tuple[str, ...]:
    found = levers(
        row.limits,
        block,
        registers,
        static,
        dynamic,
        carveout=row.resources.carveout,
        barriers=row.resources.barriers,
    )
    return tuple(lever_text(lever) for lever in found)


def _whatif(snapshot: Snapshot, row: Row, case: Case | None) -> tuple[ExplorerWhatIf, ...]:
    if case is None:
        return ()
    return tuple(
        ExplorerWhatIf(
            max_threads=one.row.bounds.max_threads,
            min_blocks=one.row.bounds.min_blocks,
            registers=one.row.registers or 0,
            spill_bytes=one.spill_bytes,
            blocks_per_sm=one.result.blocks_per_sm,
            occupancy=one.result.occupancy,
            limiter=one.result.limiter,
            is_current=one.row.is_current,
            is_best=one.is_best,
        )
        for one in answers(snapshot, row, case)
    )


def _fixes(
    snapshot: Snapshot, launch: LaunchSite | None, asked: int | None
) -> tuple[ExplorerFix, ...]:
    from occlsp.analysis.fixes.block_size import block_fixes

    if launch is None:
        return ()
    return tuple(
        ExplorerFix(
            block=block,
            title=fix.title,
            edits=fix.edits,
            disabled=fix.disabled,
            is_preferred=fix.is_preferred,
        )
        for block, fix in block_fixes(snapshot, launch, asked)
    )
