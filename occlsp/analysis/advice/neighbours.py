"""Launches in a row that can be one kernel: which, and on what evidence.

Two launches on one stream with equal grid and block, nothing between them, and every element that
both touch, and one writes, is the same thread's own in both. Then one thread can do the second's
work right after the first's: no other thread is waited for.
"""

from __future__ import annotations

import re
from itertools import pairwise

from msgspec import Struct

from occlsp.analysis import join
from occlsp.analysis.advice.fusing import Bounds, Fused, Judgement, Part, judge
from occlsp.analysis.advice.indexing import GRID_STRIDE, OwnIndex, own_index
from occlsp.analysis.advice.kernel_body import Access, Body, read_body
from occlsp.analysis.join import Row
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite, SourceFile
from occlsp.occupancy import Limits, limits
from occlsp.source.facts import Kernel, Launch, Value3

_NOTHING = re.compile(
    r"\s*(?:(?:(?:[A-Za-z_]\w*\s*\(\s*)?cuda(?:GetLastError|PeekAtLastError|DeviceSynchronize"
    r"|StreamSynchronize)\s*\(\s*\w*\s*\)\s*\)?|\w*(?:check|error)\w*\s*(?:\(\s*\))?)\s*;\s*)*",
    re.IGNORECASE,
)
"""What may stand between two launches: checks that touch no memory of theirs, their messages
blanked."""
_CONTROL = re.compile(r"\b(?:if|for|while|else|do|switch|case)\b|\?")
"""A statement that holds its launch on a condition, or more than once."""
_WRITTEN = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)+(?:=(?!=)|[-+*/]=)")


class Side(Struct, frozen=True):
    """One of the two launches."""

    site: LaunchSite
    path: str
    """The file that the kernel is in."""
    kernel: Kernel
    body: Body
    row: Row | None
    """The join's, on the primary architecture; None: the block is not known."""

    @property
    def name(self) -> str:
        """The kernel's."""
        return self.kernel.name


class Pair(Struct, frozen=True):
    """Two launches that can be one kernel."""

    first: Side
    second: Side
    intermediates: tuple[str, ...]
    """Arguments that the first writes and the second reads, each thread its own elements."""
    dropped: tuple[str, ...]
    """Those whose write goes too: nothing else reads them, or the second writes them anew."""
    parts: tuple[Part, Part]
    fused: Fused
    judgement: Judgement
    limits: Limits
    are_registers_estimated: bool
    """No report: the registers of the kernels are estimated too, not only the fused one's."""

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both."""
        return self.first, self.second


def pairs(snapshot: Snapshot, path: str, overrides: Overrides | None = None) -> tuple[Pair, ...]:
    """The pairs in one file, in the order of the text."""
    file = snapshot.sources.file(path)
    if file is None or not file.text:
        return ()
    launches = sorted(
        (one for one in file.facts.launches if _may_fuse(one)), key=lambda one: one.span.start
    )
    found = (
        _pair(snapshot, file, one, other, overrides or Overrides())
        for one, other in pairwise(launches)
        if _are_neighbours(file, one, other)
    )
    return tuple(pair for pair in found if pair is not None)


class Overrides(Struct, frozen=True):
    """Limits that the user gave. None: those of the documentation."""

    registers: int | None = None
    smem: int | None = None
    threshold: float | None = None


def _may_fuse(launch: Launch) -> bool:
    return (
        not (launch.inactive or launch.hip_only or launch.in_macro)
        and launch.kernel_known
        and not launch.candidates
        and not launch.cooperative
        and launch.cluster is None
        and launch.statement_span is not None
        and launch.api == "<<<>>>"
        and launch.dynamic_smem.value == 0
    )


def _are_neighbours(file: SourceFile, one: Launch, other: Launch) -> bool:
    """In a row in one function, on one stream, with one grid and block."""
    if one.function_span is None or one.function_span != other.function_span:
        return False
    if _bare(one.stream) not in _same_stream(other.stream):
        return False
    if not (_equal(one.grid, other.grid) and _equal(one.block, other.block)):
        return False
    assert one.statement_span is not None
    assert other.statement_span is not None
    before = file.masked[one.function_span.start : one.statement_span.start].rstrip()
    if not before.endswith((b";", b"{", b"}")):
        return False  # behind a label, an `else`
    for launch, statement in ((one, one.statement_span), (other, other.statement_span)):
        head = file.masked[statement.start : launch.callee_span.start]
        if _CONTROL.search(head.decode("latin-1")):
            return False
    between = file.masked[one.statement_span.end : other.statement_span.start]
    return _NOTHING.fullmatch(between.decode("latin-1")) is not None


def _same_stream(stream: str) -> set[str]:
    bare = _bare(stream)
    return {bare, *(("", "0", "nullptr", "NULL") if bare in ("", "0", "nullptr", "NULL") else ())}


def _bare(text: str) -> str:
    return "".join(text.split())


def _equal(one: Value3, other: Value3) -> bool:
    """The same known value, or the same text: nothing between the two changes what it means."""
    if one.value is not None and one.value == other.value:
        return True
    text = _bare(one.text)
    return bool(text) and text == _bare(other.text) and not re.search(r"\+\+|--|[^=<>!]=[^=]", text)


def _pair(
    snapshot: Snapshot, file: SourceFile, one: Launch, other: Launch, overrides: Overrides
) -> Pair | None:
    first, second = (_side(snapshot, file.facts.path, launch) for launch in (one, other))
    if first is None or second is None:
        return None
    common = _common(first, second)
    if common is None:
        return None
    written = {a.parameter.argument for a in first.body.accesses if a.writes}
    read = {a.parameter.argument for a in second.body.accesses if a.reads}
    intermediates = tuple(name for name in common if name in written & read)
    if not intermediates:
        return None
    dropped = tuple(
        name
        for name in intermediates
        if _is_rewritten(second, name) or _is_dead(file, one, other, name)
    )
    return _judged(snapshot, first, second, intermediates, dropped, overrides)


def _side(snapshot: Snapshot, path: str, launch: Launch) -> Side | None:
    site = LaunchSite(path, launch)
    kernels = snapshot.sources.launched(site)
    if len(kernels) != 1 or not kernels[0].kernel.is_definition or kernels[0].kernel.inactive:
        return None
    (kernel,) = kernels
    file = snapshot.sources.file(kernel.path)
    body = read_body(file.masked, kernel.kernel, launch) if file is not None else None
    if body is None or kernel.kernel.uses_dynamic_smem or kernel.kernel.features:
        return None
    joined = join.of_launch(snapshot, site)
    rows = [row for row in joined.on(snapshot.architectures.primary) if row.is_shown]
    worst = min(
        rows, key=lambda row: row.worst.result.active_warps if row.worst else 0, default=None
    )
    return Side(site, kernel.path, kernel.kernel, body, worst)


def _common(first: Side, second: Side) -> tuple[str, ...] | None:
    """The arguments that both touch, one of them writing; None where any is not every thread's
    own: then a thread of the second may wait for another of the first."""
    pointers = {p.argument: p for p in first.body.pointers}
    others = {p.argument: p for p in second.body.pointers}
    for left in pointers:
        for right in others:
            if left != right and _may_alias(left, right):
                return None
    if _globals(first) & set(re.findall(r"[A-Za-z_]\w*", second.body.text)):
        return None
    shared = []
    for name in pointers:
        if name not in others:
            continue
        if not _is_one_type(first, pointers[name].pointee, second, others[name].pointee):
            return None
        touching = (*first.body.of(name), *second.body.of(name))
        escapes = name in first.body.escaping | second.body.escaping
        if not any(access.writes or access.may_write for access in touching) and not escapes:
            continue
        if escapes or not _is_own(first, second, touching):
            return None
        shared.append(name)
    return tuple(shared)


def _is_one_type(first: Side, one: str, second: Side, other: str) -> bool:
    """The same elements; a template's type that the launch leaves to be deduced is the other's."""
    deduced = {p.name for side in (first, second) for p in side.kernel.template_parameters}
    return one == other or one in deduced or other in deduced


def _is_own(first: Side, second: Side, touching: tuple[Access, ...]) -> bool:
    found = [own_index(a.index) if a.index is not None else None for a in touching]
    bases = {index.base if index is not None else None for index in found}
    index = found[0] if found else None
    return (
        len(bases) == 1
        and index is not None
        and _covers(index, first.site.launch)
        and _covers(index, second.site.launch)
    )


def _covers(index: OwnIndex, launch: Launch) -> bool:
    """Every dimension that the launch has is in the index: else threads share elements."""
    factors = {factor for product, _ in index.base.terms for factor in product}
    is_strided = any(factor.startswith(GRID_STRIDE) for factor in factors)
    for number, axis in enumerate("xyz"):
        is_used = f"threadIdx.{axis}" in factors or (is_strided and axis == "x")
        for shape in (launch.block, launch.grid):
            if is_used or number == 0:
                continue
            size = shape.value[number] if shape.value is not None else None
            if size is None and len(shape.components) > number:
                component = shape.components[number]
                size = component.value if component.value is not None else 2
            if size is not None and size > 1:
                return False
    return True


def _may_alias(left: str, right: str) -> bool:
    """Two different arguments that name the same thing: `p` and `p + n`."""
    names = set(re.findall(r"[A-Za-z_]\w*", left)) & set(re.findall(r"[A-Za-z_]\w*", right))
    is_plain = re.fullmatch(r"[\w.>-]+", left) and re.fullmatch(r"[\w.>-]+", right)
    return bool(names) and not is_plain


def _globals(side: Side) -> set[str]:
    """What a body writes by subscript that is neither its parameter nor its own."""
    parameters = {parameter.name for parameter in side.body.parameters}
    text = side.body.text
    return {
        name
        for name in _WRITTEN.findall(text)
        if name not in parameters
        and not re.search(rf"[\w>*&]\s+\**{name}\s*[\[;=,({{]|[\w>]\s*[*&]\s*{name}\s*[;=]", text)
    }


def _is_rewritten(second: Side, name: str) -> bool:
    """The second writes the very elements anew, whatever happens: not in a branch of its own."""
    found = second.body.of(name)
    return any(access.writes for access in found)


def _is_dead(file: SourceFile, one: Launch, other: Launch, name: str) -> bool:
    """A pointer local to the function that nothing but allocation and release mentions beside
    the two launches."""
    if one.function_span is None or not name.isidentifier():
        return False
    start, end = one.function_span
    text = file.masked[start:end].decode("latin-1")
    opening = text.find("{")
    declared = re.search(
        rf"\*\s*(?:__restrict__\s+)?{name}\s*(?:;|,|(?:=|\{{)\s*(?:nullptr|NULL|0)?\s*\}}?\s*[;,])",
        text[opening:],
    )
    if declared is None:
        return False
    spans = [span for launch in (one, other) if (span := launch.statement_span) is not None]
    for match in re.finditer(rf"(?<![\w.]){name}(?!\w)", text):
        at = start + match.start()
        if any(span.start <= at < span.end for span in spans):
            continue
        before = text[max(0, match.start() - 120) : match.start()]
        if re.search(r"\*\s*$|(?:\w*[Mm]alloc\w*|\w*[Ff]ree\w*)\s*\([^;]*$", before) is None:
            return False
    return True


def _judged(
    snapshot: Snapshot,
    first: Side,
    second: Side,
    intermediates: tuple[str, ...],
    dropped: tuple[str, ...],
    overrides: Overrides,
) -> Pair:
    row = limits(snapshot.architectures.primary)
    parts = (_part(first), _part(second))
    sizes = {p.argument: p.size for p in first.body.pointers}
    held = sum(max(1, sizes[name] // 4) for name in intermediates)
    apart = _traffic(first.body) + _traffic(second.body)
    saved = sum(sizes[name] for name in intermediates) + sum(sizes[name] for name in dropped)
    fused = Fused(
        registers=max(part.registers for part in parts) + held,
        static_smem=sum(part.static_smem for part in parts),
        threads=_threads(first) or _threads(second) or 256,
        bytes_with=apart,
        bytes_without=apart - saved,
        operations=first.body.operations + second.body.operations,
    )
    bounds = Bounds.of(row, overrides.registers, overrides.smem, overrides.threshold)
    return Pair(
        first,
        second,
        intermediates,
        dropped,
        parts,
        fused,
        judge(parts, fused, row, bounds),
        row,
        any(_registers(side) is None for side in (first, second)),
    )


def _part(side: Side) -> Part:
    known = _registers(side)
    static = side.row.resources.static_smem if side.row is not None else side.kernel.static_smem
    return Part(
        side.name, known if known is not None else estimated_registers(side.body), static or 0
    )


def _registers(side: Side) -> int | None:
    return side.row.resources.registers if side.row is not None else None


def estimated_registers(body: Body) -> int:
    """Without a report: eight, two a pointer, one a scalar and a local. A guess, and said so."""
    pointers = len(body.pointers)
    return 8 + 2 * pointers + (len(body.parameters) - pointers) + len(body.locals)


def _threads(side: Side) -> int | None:
    case = side.row.worst if side.row is not None else None
    return case.threads if case is not None else None


def _traffic(body: Body) -> int:
    """Bytes that one thread moves for one element: each place read once and written once."""
    moved: dict[tuple[str, str, str], int] = {}
    for access in body.accesses:
        argument, place = access.parameter.argument, str(access.index)
        for kind, does in (("read", access.reads), ("write", access.writes)):
            if does:
                moved[argument, place, kind] = access.parameter.size
    return sum(moved.values())
