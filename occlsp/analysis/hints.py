"""Inlay hints at the end of the lines of kernels, launches, and of code that spills.

    __global__ void k(…)            37.5% · regs (72) · spills 76B
    k<<<grid, 256>>>(…)             37.5% · regs · 3 blk/SM

A label has at most 30 characters and stands alone: where it is too long, parts go from the right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from occlsp.analysis import join
from occlsp.analysis.findings import fusable
from occlsp.analysis.findings.spills import spill_lines, spilled
from occlsp.analysis.hover import kernel_text, launch_text
from occlsp.analysis.join import KernelJoin, LaunchJoin, Row
from occlsp.analysis.present import mark
from occlsp.analysis.results import Hint
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite
from occlsp.analysis.words import SHORT, number_range, percent_range
from occlsp.reports.facts import Entry
from occlsp.source.text import Span

LONGEST = 30
SEPARATOR = " · "


def hints(
    snapshot: Snapshot, path: str, span: Span | None = None, *, tooltips: bool = True
) -> tuple[Hint, ...]:
    """The hints of a file, or of those of its lines that `span` touches, in the order of the
    text. An offset lies on the line that the hint is for. Without `tooltips` they are empty:
    each is a whole hover, which a client may ask for later."""
    wanted = _lines(snapshot, path, span)
    found = [
        *_kernels(snapshot, path, wanted, tooltips),
        *_launches(snapshot, path, wanted, tooltips),
        *_spills(snapshot, path, wanted),
    ]
    return tuple(sorted(found, key=lambda hint: (hint.offset, hint.kind)))


def _lines(snapshot: Snapshot, path: str, span: Span | None) -> Span | None:
    """`span` widened to whole lines."""
    file = snapshot.sources.file(path) if span is not None else None
    if file is None or span is None:
        return span
    first = file.lines.line_span(file.lines.line_of(span.start))
    last = file.lines.line_span(file.lines.line_of(span.end))
    return Span(first.start, last.end)


def _is_in(offset: int, span: Span | None) -> bool:
    return span is None or span.start <= offset <= span.end


def _kernels(snapshot: Snapshot, path: str, span: Span | None, tooltips: bool) -> Iterator[Hint]:
    if not snapshot.settings.hints.kernels:
        return
    for site in snapshot.sources.kernels_of(path):
        kernel = site.kernel
        if kernel.inactive or not _is_in(kernel.name_span.start, span):
            continue
        joined = join.of_kernel(snapshot, site)
        label = kernel_label(snapshot, joined)
        if label:
            text = kernel_text(snapshot, joined) if tooltips else ""
            yield Hint(kernel.name_span.start, label, text, "kernel")


def _launches(snapshot: Snapshot, path: str, span: Span | None, tooltips: bool) -> Iterator[Hint]:
    facts = snapshot.sources.facts(path)
    if not snapshot.settings.hints.launches or facts is None:
        return
    shown = (
        launch
        for launch in facts.launches
        if not launch.inactive and not launch.hip_only and _is_in(launch.span.start, span)
    )
    for start, launches in groupby(shown, key=lambda launch: launch.span.start):
        joined = join.of_place(snapshot, [LaunchSite(path, launch) for launch in launches])
        label = launch_label(snapshot, joined)
        if label:
            text = launch_text(snapshot, joined) if tooltips else ""
            yield Hint(start, label, text, "launch")


def _spills(snapshot: Snapshot, path: str, span: Span | None) -> Iterator[Hint]:
    facts = snapshot.sources.facts(path)
    if not snapshot.settings.hints.spills or facts is None:
        return
    worst: dict[int, int] = {}
    for site in snapshot.sources.kernels_of(path):
        if not any(entry.spill_lines for entry in snapshot.entries.named(site)):
            continue
        for entry in join.entries_here(snapshot, site, snapshot.architectures.primary):
            if not snapshot.history.age(path, site.kernel, entry).is_stale:
                for line, count in spill_lines(snapshot, site, entry).items():
                    worst[line] = max(worst.get(line, 0), sum(count))
    file = snapshot.sources.file(path) if worst else None
    if file is None:
        return
    for line, most in sorted(worst.items()):
        start = file.lines.line_span(line).start
        if _is_in(start, span):
            text = f"Spill stores and loads on this line: {most} bytes per thread"
            yield Hint(start, f"spills {most} B", text, "spill")


def kernel_label(snapshot: Snapshot, kernel: KernelJoin) -> str:
    """The figure of a kernel: that of its launches, or at its launch bounds, or its registers."""
    groups = [
        (arch, rows)
        for arch in snapshot.architectures.names
        if (rows := [row for row in kernel.on(arch) if row.is_shown])
    ]
    if len(groups) > 1:
        return side_by_side(groups)
    arch = snapshot.architectures.primary
    entries = kernel.entries_on(groups[0][0] if groups else arch)
    if not groups:
        return _fit([*_registers(snapshot, kernel, entries), *_spill_part(entries)])
    rows = groups[0][1]
    threads = number_range(case.threads for row in rows for case in row.cases)
    at = "" if rows[0].launch is not None else f" at {threads}"
    parts = [f"{_share(rows)}{at}", _limiter(rows, with_registers=True), *_spill_part(entries)]
    return _fit(parts)


def launch_label(snapshot: Snapshot, launch: LaunchJoin) -> str:
    """The figure of a launch; empty where its block or kernel is not known."""
    groups = [
        (arch, rows)
        for arch in snapshot.architectures.names
        if (rows := [row for row in launch.on(arch) if row.is_shown])
    ]
    if not groups:
        return ""
    if len(groups) > 1:
        return side_by_side(groups)
    rows = groups[0][1]
    blocks = number_range(case.result.blocks_per_sm for row in rows for case in row.cases)
    last = _fusion(snapshot, launch) or f"{blocks} blk/SM"
    return _fit([_share(rows), _limiter(rows, with_registers=False), last])


def _fusion(snapshot: Snapshot, launch: LaunchJoin) -> str | None:
    """ "est. fuse 1.67×" where that finding is asked for: less traffic as one kernel."""
    pair = fusable.of_launch(snapshot, launch.site.path, launch.site.launch.span.start)
    return f"est. fuse {pair.judgement.score or 0:.2f}×" if pair is not None else None


def side_by_side(groups: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """Like "sm_80 50% · sm_90 37.5%", what does not fit as "+2"."""
    texts = [f"{arch} {_share(rows)}" for arch, rows in groups]
    for count in range(len(texts), 0, -1):
        rest = len(texts) - count
        label = SEPARATOR.join([*texts[:count], *([f"+{rest}"] if rest else [])])
        if len(label) <= LONGEST:
            return label
    return texts[0]


def _share(rows: Sequence[Row]) -> str:
    cases = [case for row in rows for case in row.cases]
    return mark(rows) + percent_range(case.result.occupancy for case in cases)


def _limiter(rows: Sequence[Row], *, with_registers: bool) -> str:
    """The limiter of the least occupancy, or what is not known where it is a bound."""
    cases = [case for row in rows for case in row.cases]
    if any(case.is_bound for case in cases):
        is_regs = any(case.is_bound and case.registers is None for case in cases)
        return "regs unknown" if is_regs else "smem unknown"
    worst = min(cases, key=lambda case: case.result.active_warps)
    name = SHORT[worst.result.limiter]
    if with_registers and worst.result.limiter == "registers":
        known = [case.registers for case in cases if case.registers is not None]
        return f"{name} ({number_range(known)})"
    return name


def _registers(snapshot: Snapshot, kernel: KernelJoin, entries: Sequence[Entry]) -> list[str]:
    known = [entry.registers for entry in entries if entry.registers is not None]
    if not known:
        return []
    is_stale = any(
        snapshot.history.age(kernel.site.path, kernel.site.kernel, entry).is_stale
        for entry in entries
    )
    return [f"{'~' if is_stale else ''}{number_range(known)} regs"]


def _spill_part(entries: Iterable[Entry]) -> list[str]:
    most = max(map(spilled, entries), default=0)
    return [f"spills {most}B"] if most else []


def _fit(parts: Sequence[str]) -> str:
    """The parts as one label; those on the right go where it is too long."""
    kept = list(parts)
    while len(kept) > 1 and len(SEPARATOR.join(kept)) > LONGEST:
        kept.pop()
    return SEPARATOR.join(kept)
