"""Hovers on kernel names, launch bounds and launches."""

from __future__ import annotations

from collections.abc import Sequence

from occlsp.analysis import join, present
from occlsp.analysis.advice.measured_kernel import measured_lines
from occlsp.analysis.findings import fusable
from occlsp.analysis.gpus import gpu_on
from occlsp.analysis.join import KernelJoin, LaunchJoin, Row
from occlsp.analysis.results import Hover
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import KernelSite, LaunchKey, LaunchSite
from occlsp.analysis.templates import is_unused
from occlsp.analysis.whatif import whatif_table
from occlsp.analysis.words import block_text, instance_name, listing, number_range, size
from occlsp.reports.facts import Entry
from occlsp.source.facts import Launch
from occlsp.source.text import Span


def hover(snapshot: Snapshot, path: str, offset: int, *, picture: bool = False) -> Hover | None:
    """What to show for a byte offset of a file; None where there is nothing of ours.

    With `picture` the block-size curve is in it as a `data:` image.
    """
    place = place_at(snapshot, path, offset)
    if place is None:
        return None
    if isinstance(place, LaunchSite):
        joined = join.of_place(snapshot, _beside(snapshot, place))
        text = launch_text(snapshot, joined) + (_picture(snapshot, joined) if picture else "")
        launch = place.launch
        start = min(launch.callee_span.start, launch.span.start)
        return Hover(Span(start, launch.config_span.end), text)
    kernel = join.of_kernel(snapshot, place)
    text = kernel_text(snapshot, kernel) + (_picture(snapshot, kernel) if picture else "")
    bounds = place.kernel.launch_bounds
    if bounds is not None and bounds.span is not None and _holds(bounds.span, offset):
        return Hover(bounds.span, text)
    return Hover(place.kernel.name_span, text)


def _beside(snapshot: Snapshot, site: LaunchSite) -> list[LaunchSite]:
    """The launch with those that the same use of a macro makes."""
    facts = snapshot.sources.facts(site.path)
    start = site.launch.span.start
    launches = facts.launches if facts is not None else (site.launch,)
    return [LaunchSite(site.path, launch) for launch in launches if launch.span.start == start]


def _picture(snapshot: Snapshot, joined: KernelJoin | LaunchJoin) -> str:
    from occlsp.analysis.curve import picture

    row = _shown(snapshot, joined)
    case = row.worst if row is not None else None
    lines = picture(row, case) if row is not None and case is not None else []
    return "".join(f"\n\n{line}" for line in lines)


def _shown(snapshot: Snapshot, joined: KernelJoin | LaunchJoin) -> Row | None:
    """The row that the limits table is of: the one with the least occupancy."""
    rows = [row for row in joined.on(snapshot.architectures.primary) if row.is_shown]
    return min(rows, key=_least, default=None)


def place_at(snapshot: Snapshot, path: str, offset: int) -> KernelSite | LaunchSite | None:
    """The launch (its callee, configuration, or the name of the API that launches) or the kernel
    (its name or launch bounds) at an offset."""
    facts = snapshot.sources.facts(path)
    if facts is None:
        return None
    for launch in facts.launches:
        places = (launch.config_span, launch.callee_span, launch.span)
        if any(_holds(span, offset) for span in places):
            return LaunchSite(path, launch)
    for kernel in facts.kernels:
        bounds = kernel.launch_bounds
        if _holds(kernel.name_span, offset) or (
            bounds is not None and bounds.span is not None and _holds(bounds.span, offset)
        ):
            return KernelSite(path, kernel)
    return None


def _holds(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def launch_text(snapshot: Snapshot, launch: LaunchJoin) -> str:
    """The hover of a launch: its configuration on the primary architecture, then the others."""
    primary = snapshot.architectures.primary
    shown = [row for row in launch.on(primary) if row.is_shown]
    row = _shown(snapshot, launch)
    case = row.worst if row is not None else None
    if row is None or case is None:
        return _paragraphs([_unknown_launch(launch)])
    name = instance_name(row.entry) if row.entry is not None else row.site.kernel.name
    gpu = gpu_on(snapshot, primary)
    pieces = [
        [present.headline(name, shown)],
        _several(shown),
        present.limits_table(row, case),
        [
            present.warps_line(case),
            *present.headroom(row, case),
            *present.sweep_line(row, case),
            *present.waves_line(case, launch.site.launch.grid.value, gpu),
            *present.spills_line(row.entry),
            *present.notes(row, gpu),
        ],
        measured_lines(snapshot, row, case),
        _fusion(snapshot, launch),
        _others(snapshot, launch.rows),
        whatif_table(snapshot, row, case),
        [_footer(snapshot, row)],
    ]
    return _paragraphs(*pieces)


def _fusion(snapshot: Snapshot, launch: LaunchJoin) -> list[str]:
    """That it could be one kernel with the launch before it, where that finding is asked for."""
    pair = fusable.of_launch(snapshot, launch.site.path, launch.site.launch.span.start)
    return [f"E{fusable.summary(pair)[1:]}"] if pair is not None else []


def kernel_text(snapshot: Snapshot, kernel: KernelJoin) -> str:
    """The hover of a kernel: the launch with the least occupancy, all launches, instantiations."""
    primary = snapshot.architectures.primary
    shown = [row for row in kernel.on(primary) if row.is_shown]
    entries = kernel.entries_on(primary)
    row = _shown(snapshot, kernel)
    case = row.worst if row is not None else None
    if row is None or case is None:
        return _paragraphs(
            [_unknown_kernel(kernel, primary)],
            present.instances_table(entries),
            [line for entry in entries[:1] for line in present.spills_line(entry)],
            [_provenance(snapshot, kernel, primary)],
        )
    name = kernel.site.kernel.name
    return _paragraphs(
        [present.headline(name, shown)],
        _launches(snapshot, shown),
        [f"{_where(snapshot, row)}, {block_text(case.block)} threads{_which(row, entries)}:"],
        present.limits_table(row, case),
        [
            present.warps_line(case),
            *present.headroom(row, case),
            *present.sweep_line(row, case),
            *present.spills_line(row.entry),
            *present.notes(row, None),
        ],
        measured_lines(snapshot, row, case),
        present.instances_table(entries),
        _others(snapshot, kernel.rows),
        whatif_table(snapshot, row, case),
        [_footer(snapshot, row)],
    )


def _which(row: Row, entries: Sequence[Entry]) -> str:
    """The instantiation that a table is of, where there are several."""
    return f", `{instance_name(row.entry)}`" if row.entry is not None and len(entries) > 1 else ""


def _paragraphs(*pieces: Sequence[str]) -> str:
    """Tables stand by themselves; lines of a piece end in a Markdown line break."""
    texts = [
        "\n".join(piece) if piece[0].startswith("|") else "  \n".join(piece)
        for piece in pieces
        if piece
    ]
    return "\n\n".join(texts)


def _least(row: Row) -> int:
    worst = row.worst
    return worst.result.active_warps if worst is not None else 0


def _several(rows: Sequence[Row]) -> list[str]:
    """What may run, where it is not one configuration of one kernel."""
    lines = []
    names = [instance_name(row.entry) for row in rows if row.entry is not None]
    if len(rows) > 1 and names:
        shown = [f"`{name}`" for name in names[: present.MOST_ROWS]]
        if len(names) > len(shown):
            shown.append(f"{len(names) - len(shown)} more")
        told = f"May run {len(rows)} kernels: {listing(shown)}"
        lines.append(f"{told}; the one with the least is shown")
    blocks = {case.threads for row in rows for case in row.cases}
    if len(blocks) > 1:
        lines.append(f"The block can have {number_range(blocks)} threads; the least is shown")
    return lines


def _others(snapshot: Snapshot, rows: Sequence[Row]) -> list[str]:
    """The other architectures, where there are any."""
    if len(snapshot.architectures.names) < 2:
        return []
    return present.rows_table(
        "architecture",
        (
            (arch, [row for row in rows if row.arch == arch and row.is_shown])
            for arch in snapshot.architectures.names
        ),
    )


def _launches(snapshot: Snapshot, rows: Sequence[Row]) -> list[str]:
    """The known launches, where there are several."""
    groups: dict[LaunchKey, list[Row]] = {}
    for row in rows:
        if row.launch is not None:
            groups.setdefault(row.launch.key, []).append(row)
    if len(groups) < 2:
        return []
    named = [(_where(snapshot, group[0]), group) for group in groups.values()]
    lines = present.rows_table("launch", named[: present.MOST_ROWS])
    more = len(named) - present.MOST_ROWS
    return [*lines, *([f"… and {more} more"] if more > 0 else [])]


def _where(snapshot: Snapshot, row: Row) -> str:
    if row.launch is None:
        return "At the maximum of its launch bounds"
    path, launch = row.launch.path, row.launch.launch
    file = snapshot.sources.file(path)
    line = f" {file.lines.line_of(launch.span.start) + 1}" if file is not None else ""
    if path == row.site.path:
        return f"Line{line}"
    return f"{path.replace(chr(92), '/').rsplit('/', 1)[-1]}{line}"


def _unknown_launch(launch: LaunchJoin) -> str:
    site = launch.site.launch
    if site.hip_only:
        return "A HIP launch: nothing is computed for it"
    if site.inactive:
        return "In an `#if` branch that is not compiled: nothing is computed for it"
    if not launch.kernels:
        return f"The kernel of this launch is not in view{_reason(site)}"
    name = launch.kernels[0].kernel.name
    if all(kernel.kernel.inactive for kernel in launch.kernels):
        return f"**{name}**: this kernel stands in an `#if` branch that is not compiled"
    if site.block.values:
        return f"**{name}**: a block of {block_text(site.block.values[0])} threads is none"
    why = site.block.why or "not known without running"
    x, y, z = site.block.max or (None, None, None)
    bound = "" if x is None or y is None or z is None else f" (at most {block_text((x, y, z))})"
    return f"**{name}**: the block size is not known{bound}: {why}"


def _reason(launch: Launch) -> str:
    return "" if launch.kernel_known else ": it is a value that is known at run time"


def _unknown_kernel(kernel: KernelJoin, arch: str) -> str:
    entries = kernel.entries_on(arch)
    registers = [entry.registers for entry in entries if entry.registers is not None]
    static = [entry.static_smem for entry in entries if entry.static_smem]
    known = []
    if registers:
        known.append(f"{number_range(registers)} registers")
    if static:
        known.append(f"{size(max(static))} static shared memory")
    said = f" on {arch}: {', '.join(known)}" if known else ""
    if kernel.launches:
        why = "no launch of it has a block size that is known"
    else:
        why = "no launch of it is in view, and it has no launch bounds"
    return f"**{kernel.site.kernel.name}**{said}; no occupancy: {why}"


def _footer(snapshot: Snapshot, row: Row) -> str:
    architectures = snapshot.architectures
    return f"{present.provenance(row.entry, row.age)}; architecture from {architectures.origin}"


_WAY_TO_A_REPORT = {
    "trusted": "save the file to compile it, or keep a log of your build with -Xptxas -v",
    "untrusted": "nothing is compiled in a workspace that is not trusted; a log of your build with "
    "-Xptxas -v, or its objects, are read",
    "unknown": "compile the file, or keep a log of your build with -Xptxas -v",
}


def _provenance(snapshot: Snapshot, kernel: KernelJoin, arch: str) -> str:
    entries = kernel.entries_on(arch)
    if not entries:
        if is_unused(snapshot.sources, kernel.site):
            return "Nothing in view instantiates it, so the compiler makes no code of it"
        return f"No report of it for {arch}: {_WAY_TO_A_REPORT[snapshot.trust]}"
    age = snapshot.history.age(kernel.site.path, kernel.site.kernel, entries[0])
    return present.provenance(entries[0], age)
