"""Turns joined rows into words and tables: Markdown that reads well as plain text.

Each function gives one piece (lines of text), empty where there is nothing to say.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from occlsp.analysis.cases import Case, smem_function
from occlsp.analysis.freshness import Age
from occlsp.analysis.join import Row
from occlsp.analysis.levers import lever_text, of_case
from occlsp.analysis.words import (
    LONG,
    block_text,
    instance_name,
    listing,
    number_range,
    percent,
    percent_range,
    plural,
    size,
)
from occlsp.occupancy import Candidate, Gpu, InvalidInput, sweep, waves
from occlsp.reports.facts import Entry, Origin
from occlsp.source.facts import Triple

ORIGINS: dict[Origin, str] = {
    "compile": "compiled here",
    "standins": "compiled here with stand-ins for missing headers",
    "slice": "compiled from the device code alone",
    "record": "recorded from the build",
    "binary": "read from the compiled file",
    "dump": "read from a resource dump",
    "log": "read from a log",
}
SWEEP_SIZES = (32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 896, 1024)
VIRTUAL = ("sm_10", "sm_11", "sm_12")
MOST_ROWS = 8


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table, padded so that its columns stand below each other as text."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    padded = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [padded[0], rule, *padded[1:]]


def headline(name: str, rows: Sequence[Row]) -> str:
    """Like "**name** on sm_90: 37.5% occupancy, 3 blocks per SM, limited by registers"."""
    arch = rows[0].arch
    cases = [case for row in rows for case in row.cases]
    marks = mark(rows)
    share = percent_range(case.result.occupancy for case in cases)
    blocks = number_range(case.result.blocks_per_sm for case in cases)
    noun = "block" if blocks == "1" else "blocks"
    limiters = listing(
        dict.fromkeys(LONG[limiter] for case in cases for limiter in case.result.limiters)
    )
    return (
        f"**{name}** on {arch}: {marks}{share} occupancy, {blocks} {noun} per SM, "
        f"limited by {limiters}"
    )


def mark(rows: Iterable[Row]) -> str:
    """The marks "~" before what is stale, "≤" before an upper bound."""
    known = list(rows)
    stale = "~" if any(row.age.is_stale for row in known) else ""
    bound = "≤" if any(row.is_bound for row in known) else ""
    return stale + bound


def limits_table(row: Row, case: Case) -> list[str]:
    """Blocks per SM that each resource allows, with what a block takes; those that bind marked."""
    result, limits = case.result, row.limits
    takes = {
        "warps": f"{_threads(case)}: {-(-case.threads // 32)} of {result.max_warps} warps",
        "registers": _registers(row, case),
        "shared_memory": _shared_memory(row, case),
        "blocks": f"at most {limits.blocks_per_sm} per SM",
        "barriers": f"{row.resources.barriers} of {limits.barriers_per_sm}",
    }
    rows = []
    for name, text in takes.items():
        count = getattr(result.limits, name)
        if name == "barriers" and not (row.resources.barriers and limits.barriers_per_sm):
            continue
        binds = name in result.limiters
        shown = "no limit" if count is None else str(count)
        rows.append((f"**{LONG[name]}** ◀" if binds else LONG[name], shown, text))
    return table(("limit", "blocks/SM", "one block takes"), rows)


def _threads(case: Case) -> str:
    shape = f" ({block_text(case.block)})" if case.block[1:] != (1, 1) else ""
    return f"{plural(case.threads, 'thread')}{shape}"


def _registers(row: Row, case: Case) -> str:
    if case.registers is None:
        return "not known: no report"
    taken = case.result.allocated.registers_per_block
    return f"{case.registers} per thread: {taken} of {row.limits.registers_per_sm} allocated"


def _shared_memory(row: Row, case: Case) -> str:
    static = "unknown static" if case.static_smem is None else f"{size(case.static_smem)} static"
    dynamic = (
        "unknown dynamic" if case.dynamic_smem is None else f"{size(case.dynamic_smem)} dynamic"
    )
    reserved = f" + {size(row.limits.smem_reserved)} reserved" if row.limits.smem_reserved else ""
    taken = case.result.allocated.shared_memory_per_block
    return f"{static} + {dynamic}{reserved}: {size(taken)} of {size(row.limits.smem_per_sm)}"


def warps_line(case: Case) -> str:
    """Like "3 blocks × 8 warps = 24 of 64 warps"."""
    result = case.result
    if result.reason is not None:
        return result.reason
    each = -(-case.threads // 32)
    return (
        f"{plural(result.blocks_per_sm, 'block')} × {plural(each, 'warp')} = "
        f"{result.active_warps} of {result.max_warps} warps"
    )


def headroom(row: Row, case: Case) -> list[str]:
    """What would gain the next blocks."""
    if case.result.active_warps == case.result.max_warps:
        return []
    texts = [lever_text(lever) for lever in of_case(row, case)]
    return [f"Headroom: {'; '.join(texts)}"] if texts else []


def sweep_candidates(row: Row, case: Case) -> list[Candidate]:
    """Every block size that the kernel admits, with the resources of `case`."""
    dynamic = case.dynamic_smem or 0
    function = smem_function(row.launch.launch.dynamic_smem) if row.launch is not None else None
    try:
        return sweep(
            row.limits,
            case.registers or 0,
            case.static_smem or 0,
            function if callable(function) else dynamic,
            **row.resources.options(),
        )
    except InvalidInput:
        return []


def sweep_line(row: Row, case: Case) -> list[str]:
    """Occupancy by block size, the present one in brackets."""
    if case.is_bound:
        return []
    shown = [
        candidate
        for candidate in sweep_candidates(row, case)
        if candidate.block in SWEEP_SIZES or candidate.block == case.threads
    ]
    texts = [
        f"[{c.block}: {percent(c.result.occupancy)}]"
        if c.block == case.threads
        else f"{c.block}: {percent(c.result.occupancy)}"
        for c in shown
    ]
    return [f"By block size: {' · '.join(texts)}"] if texts else []


def waves_line(case: Case, grid: Triple | None, gpu: Gpu | None) -> list[str]:
    """How the grid fills the GPU."""
    if grid is None or gpu is None or case.is_bound:
        return []
    try:
        found = waves(grid, case.result.blocks_per_sm, gpu.sms)
    except InvalidInput:
        return []
    if found is None:
        return []
    tail = f", the last leaves {percent(found.tail)} idle" if found.tail_blocks else ""
    return [
        f"Waves on {gpu.name} ({gpu.sms} SMs): {found.waves:.2f} "
        f"({found.count} of {found.wave_blocks} blocks{tail})"
    ]


def spills_line(entry: Entry | None) -> list[str]:
    """Spills, or a stack frame that is none."""
    if entry is None:
        return []
    stores, loads = entry.spill_stores, entry.spill_loads
    frame = f", stack frame {size(entry.stack)}" if entry.stack else ""
    if stores or loads:
        return [f"Spills: {stores or 0} bytes stores, {loads or 0} bytes loads{frame}"]
    if entry.stack:
        return [f"No spills; stack frame {size(entry.stack)} (arrays indexed at run time)"]
    return []


def provenance(entry: Entry | None, age: Age, now: float | None = None) -> str:
    """Where the numbers come from and how old they are."""
    if entry is None:
        return "No report: registers are not known, the occupancy is an upper bound"
    parts = [ORIGINS[entry.origin]]
    if entry.source:
        parts.append(f"`{entry.source.replace('`', '')}`")
    if entry.toolkit:
        parts.append(f"toolkit {entry.toolkit}")
    if entry.time is not None:
        parts.append(elapsed((time.time() if now is None else now) - entry.time))
    notes = []
    if age.is_stale:
        notes.append(f"stale: {age.why}")
    elif age.why is not None:
        notes.append(age.why)
    if entry.debug:
        notes.append("of a debug build")
    if not entry.linked:
        notes.append("before linking")
    if entry.unit and entry.unit != entry.source:
        notes.append(f"unit `{entry.unit}`")
    said = f" ({'; '.join(notes)})" if notes else ""
    return f"Numbers {', '.join(parts)}{said}"


def elapsed(seconds: float) -> str:
    """Like "just now", "5 min ago", "3 h ago", "12 days ago"."""
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 48 * 3600:
        return f"{int(seconds // 3600)} h ago"
    return f"{int(seconds // 86400)} days ago"


def instances_table(entries: Sequence[Entry]) -> list[str]:
    """The instantiations on one architecture; the fewest registers first."""
    if len(entries) < 2:
        return []
    ordered = sorted(entries, key=lambda entry: (entry.registers or 0, instance_name(entry)))
    rows = [
        (
            f"`{instance_name(entry)}`",
            _unknown(entry.registers),
            _unknown(entry.static_smem),
            _spilled(entry),
        )
        for entry in _ends(ordered)
    ]
    more = len(ordered) - len(rows)
    lines = table(("instantiation", "registers", "static smem", "spills"), rows)
    return [*lines, *([f"… and {more} more"] if more > 0 else [])]


def _ends(entries: Sequence[Entry]) -> list[Entry]:
    if len(entries) <= MOST_ROWS:
        return list(entries)
    half = MOST_ROWS // 2
    return [*entries[:half], *entries[-half:]]


def _unknown(number: int | None) -> str:
    return "?" if number is None else str(number)


def _spilled(entry: Entry) -> str:
    if entry.spill_stores is None and entry.spill_loads is None:
        return "?"
    count = (entry.spill_stores or 0) + (entry.spill_loads or 0)
    return f"{count} B" if count else "none"


def rows_table(first: str, named: Iterable[tuple[str, Sequence[Row]]]) -> list[str]:
    """One line for each group of rows (an architecture, a launch): its figures side by side."""
    lines = []
    for name, rows in named:
        cases = [case for row in rows for case in row.cases]
        if not cases:
            continue
        lines.append(
            (
                name,
                f"{mark(rows)}{percent_range(case.result.occupancy for case in cases)}",
                number_range(case.result.blocks_per_sm for case in cases),
                listing(dict.fromkeys(LONG[case.result.limiter] for case in cases)),
            )
        )
    return table((first, "occupancy", "blocks/SM", "limiter"), lines) if lines else []


def notes(row: Row, gpu: Gpu | None) -> list[str]:
    """What the numbers do not tell."""
    found = []
    features = row.site.kernel.features
    if "setmaxnreg" in features:
        found.append(
            "The registers are those at launch; `setmaxnreg` moves them between warps later"
        )
    if "tcgen05" in features:
        found.append("Tensor memory (tcgen05) can limit the blocks too; it is not modelled")
    if row.limits.provisional:
        found.append(row.limits.provisional)
    if row.resources.carveout is not None:
        found.append(f"Shared-memory carveout: {row.resources.carveout}%")
    if row.launch is not None and row.launch.launch.cluster is not None:
        found.append("How many clusters fit depends on the GPU's layout; it is not computed")
    return found
