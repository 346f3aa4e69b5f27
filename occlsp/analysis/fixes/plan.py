"""What has to be edited so that a launch has another block, and what else depends on it.

Safe means: the grid follows, and neither the kernel's body nor another launch reads the value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from occlsp.analysis.fixes import places
from occlsp.analysis.fixes.grid import Change, Follow, follow
from occlsp.analysis.results import Edit
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import KernelSite, LaunchSite, SourceFile
from occlsp.analysis.words import listing
from occlsp.source.facts import Definition, Triple
from occlsp.source.text import Span

MOST_NAMED = 3
"""Other users that a title names."""


class Plan(Struct, frozen=True):
    """The edits for a new block."""

    block: Triple
    edits: tuple[Edit, ...]
    notes: tuple[str, ...]
    """What else changes, for the title; with any the plan is not safe."""
    changes_code: bool
    """The compiler is told another thing: registers may change."""
    changes_bounds: bool
    """That other thing is the launch bounds alone: a what-if answers it."""
    disabled: str | None = None

    @property
    def is_safe(self) -> bool:
        """Nothing but this launch changes, and it computes the same."""
        return not self.notes and self.disabled is None


@dataclass(frozen=True)
class Target:
    """A launch whose block is to change: known, of one kernel, its text at hand."""

    snapshot: Snapshot
    site: LaunchSite
    kernel: KernelSite
    block: Triple
    file: SourceFile
    components: tuple[Definition, ...]
    """Where x, y and z are made, as far as they are written."""
    _notes: dict[tuple[int, ...], tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def grid(self) -> list[places.Piece]:
        """The expressions that the grid is made from."""
        span = self.site.launch.grid.span
        return places.pieces(self.file, self.site.launch, span) if span is not None else []

    @cached_property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """What the source around the launch calls each component."""
        return tuple(
            _reads(self, axis, definition) for axis, definition in enumerate(self.components)
        )

    @cached_property
    def largest_other(self) -> int:
        """The most threads of any other launch of the kernel."""
        return _largest_other(self)

    def dependents(self, axes: tuple[int, ...]) -> tuple[str, ...]:
        """What else depends on these components: the same for every size."""
        found = self._notes.get(axes)
        if found is None:
            found = (
                *_smem_notes(self, axes),
                *_other_users(self, axes),
                *_body_note(self, axes),
            )
            self._notes[axes] = found
        return found


def target(snapshot: Snapshot, site: LaunchSite, kernel: KernelSite) -> Target | str:
    """The launch as something that can be changed, or why it cannot."""
    launch = site.launch
    block = launch.block.value
    file = snapshot.sources.file(site.path)
    if file is None or not file.text:
        return "the text of the file is not at hand"
    if block is None:
        return "the block size is not known"
    if places.is_in_macro(file, launch):
        return "a macro makes the launch"
    if kernel.kernel.block_size is not None:
        return "the kernel requires this very block"
    if launch.cluster is not None or kernel.kernel.cluster_dims is not None:
        return "the grid has to stay a multiple of the cluster"
    components = list(_components(file, site))
    if not components:
        return "the block is made in a place that is not known"
    return Target(snapshot, site, kernel, block, file, tuple(components))


def _components(file: SourceFile, site: LaunchSite) -> Iterator[Definition]:
    block = site.launch.block
    for value in block.components:
        definition = value.definition or _in_place(site.path, value.text, value.span)
        if definition is None and len(block.components) == 1:
            definition = places.template_argument(
                file, site.path, site.launch, block.text.strip()
            ) or _in_place(site.path, block.text, block.span)
        if definition is None:
            return
        yield definition


def _in_place(path: str, text: str, span: Span | None) -> Definition | None:
    """An expression is replaced where it stands; a name has to be followed to what it is."""
    if span is None or text.strip().isidentifier() or not text.strip():
        return None
    return Definition(path, span, "literal", None)


def plan(goal: Target, block: Triple) -> Plan:
    """The edits that give a launch another block."""
    axes = tuple(axis for axis in range(len(goal.components)) if goal.block[axis] != block[axis])
    if _is_torn(goal, axes):
        return _impossible(block, "one constant makes two dimensions of the block")
    if _takes_as_argument(goal):
        return _impossible(block, "a template argument of the kernel is the block size too")
    edits: dict[tuple[str, Span], str] = {}
    notes: list[str] = []
    for axis in axes:
        definition = goal.components[axis]
        edits[definition.path, definition.span] = str(block[axis])
        change = Change(axis, goal.block[axis], block[axis], goal.reads[axis])
        found = follow(goal.file, goal.grid, change)
        for span, text in found.edits:
            edits[goal.site.path, span] = text
        if not found.follows or not found.is_exact:
            notes.append(_total(goal, block, found))
    notes += goal.dependents(axes)
    bounds = _bounds_edit(goal, math.prod(block))
    if bounds is not None:
        edits.setdefault(*bounds)
    changes_bounds = bounds is not None or _is_bound_by_name(goal)
    changes_body = _body_reads(goal, axes) is not None
    changes_instance = goal.kernel.kernel.is_template and any(
        goal.components[axis].kind == "template_argument" for axis in axes
    )
    return Plan(
        block,
        tuple(Edit(path, span, text) for (path, span), text in edits.items()),
        tuple(dict.fromkeys(notes)),
        changes_code=changes_bounds or changes_body or changes_instance,
        changes_bounds=changes_bounds and not changes_body and not changes_instance,
    )


def _is_torn(goal: Target, axes: tuple[int, ...]) -> bool:
    """Whether a definition would have to change for one dimension and stay for another."""
    places_ = [(definition.path, definition.span) for definition in goal.components]
    changed = {places_[axis] for axis in axes}
    return any(place in changed for axis, place in enumerate(places_) if axis not in axes)


def _impossible(block: Triple, why: str) -> Plan:
    return Plan(block, (), (), changes_code=False, changes_bounds=False, disabled=why)


def _reads(goal: Target, axis: int, definition: Definition) -> tuple[str, ...]:
    found = []
    if definition.name is not None and definition.kind != "dim3":
        found.append(definition.name)
    written = goal.site.launch.block.text.strip()
    if written.isidentifier() and _is_local(goal, written):
        found.append(f"{written}.{'xyz'[axis]}")
        if axis == 0 and not goal.site.launch.block.components[1:]:
            found.append(written)
    return tuple(dict.fromkeys(found))


def _is_local(goal: Target, name: str) -> bool:
    return any(True for _ in places.initialisers(goal.file, goal.site.launch, name))


def _takes_as_argument(goal: Target) -> bool:
    """The kernel is instantiated with the block size: another size is another kernel."""
    arguments = goal.site.launch.template_args_known or goal.site.launch.template_args
    sizes = {str(size) for size in goal.block if size > 1} | {str(math.prod(goal.block))}
    names = {d.name for d in goal.components if d.name is not None}
    return any(argument in sizes or argument in names for argument in arguments) or any(
        argument in names for argument in goal.site.launch.template_args
    )


def _total(goal: Target, block: Triple, found: Follow) -> str:
    grid = goal.site.launch.grid.value
    if grid is not None and not found.follows:
        before = math.prod(grid) * math.prod(goal.block)
        after = math.prod(grid) * math.prod(block)
        return f"changes total threads {before} → {after}"
    if found.follows:
        return "the grid is rounded down: work may be left out"
    return "changes the total threads, as the grid does not follow"


def _smem_notes(goal: Target, axes: tuple[int, ...]) -> Iterator[str]:
    """Shared memory that holds the old number does not follow; what reads the name does."""
    value = goal.site.launch.dynamic_smem
    if value.span is None or value.block_expression is not None:
        return
    old = {goal.block[axis] for axis in axes}
    for piece in places.pieces(goal.file, goal.site.launch, value.span):
        for one in places.literals(goal.file, piece.span):
            if one.value in old:
                yield f"the shared memory of the launch holds {one.value} too"
                return


def _bounds_edit(goal: Target, threads: int) -> tuple[tuple[str, Span], str] | None:
    """The launch bounds that hold the old size follow, unless another launch needs them."""
    bounds = goal.kernel.kernel.launch_bounds
    if bounds is None or bounds.max_threads.value is None:
        return None
    bound = bounds.max_threads.value
    old = math.prod(goal.block)
    span = bounds.max_threads.span
    if span is None or (bound != old and threads <= bound):
        return None
    shared = {(d.path, d.span) for d in goal.components}
    definition = bounds.max_threads.definition
    if definition is not None and (definition.path, definition.span) in shared:
        return None
    if threads < bound and goal.largest_other > threads:
        return None
    return (goal.kernel.path, span), str(threads)


def _largest_other(goal: Target) -> int:
    """The most threads of any other launch of the kernel; unknown ones count as the bound."""
    most = 0
    for site in goal.snapshot.sources.launches_of(goal.kernel):
        if site.launch is goal.site.launch or site.launch.span == goal.site.launch.span:
            continue
        values = site.launch.block.values
        most = max(most, max(map(math.prod, values)) if values else 1 << 31)
    return most


def _is_bound_by_name(goal: Target) -> bool:
    """The kernel's launch bounds read the constant that is edited."""
    bounds = goal.kernel.kernel.launch_bounds
    if bounds is None:
        return False
    definition = bounds.max_threads.definition
    edited = {(d.path, d.span) for d in goal.components}
    return definition is not None and (definition.path, definition.span) in edited


def _other_users(goal: Target, axes: tuple[int, ...]) -> Iterator[str]:
    """Other readers of a constant that is edited, named by their lines."""
    for definition in {goal.components[axis] for axis in axes}:
        if definition.name is None or definition.kind == "literal":
            continue
        lines = _lines_of_others(goal, definition)
        if lines:
            yield f"`{definition.name}` is also read at {_places_text(goal, lines)}"


def _places_text(goal: Target, lines: list[tuple[str, int]]) -> str:
    """Like "lines 5 and 9" in the file of the launch, "common.h 3" elsewhere."""
    shown = lines[:MOST_NAMED]
    own = [str(line) for path, line in shown if path == goal.site.path]
    others = [f"{path.rsplit('/', 1)[-1]} {line}" for path, line in shown if path != goal.site.path]
    named = [f"{'line' if len(own) == 1 else 'lines'} {listing(own)}"] if own else []
    more = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return f"{listing([*named, *others])}{more}"


def _lines_of_others(goal: Target, definition: Definition) -> list[tuple[str, int]]:
    body = goal.kernel.kernel.body
    launch = goal.site.launch
    allowed = [launch.config_span, *(piece.span for piece in goal.grid)]
    function = launch.function_span
    if function is not None and (
        definition.kind == "template_argument"
        or (definition.path == goal.site.path and _is_in(definition.span, function))
    ):
        # A parameter of that name is where it begins, no use of it.
        allowed.append(places.head(goal.file, function))
    lines: list[tuple[str, int]] = []
    for path in _readers(goal, definition):
        file = goal.snapshot.sources.file(path)
        if file is None:
            continue
        scope = _scope(goal, definition) if path == definition.path else None
        for at in places.occurrences(file, definition.name or "", scope):
            if path == goal.site.path and any(_is_in(at, span) for span in allowed):
                continue
            if path == goal.kernel.path and (
                (body is not None and _is_in(at, body)) or _is_bounds(goal, at)
            ):
                continue
            if path == definition.path and _is_declaration(file, at, definition):
                continue
            lines.append((path, file.lines.line_of(at.start) + 1))
    return list(dict.fromkeys(lines))


def _readers(goal: Target, definition: Definition) -> list[str]:
    """The file of a constant, those that include it directly, and those of the launch."""
    including = [
        path
        for path, file in goal.snapshot.sources.files.items()
        if definition.path in file.facts.includes
    ]
    known = [definition.path, goal.site.path, goal.kernel.path, *including]
    return list(dict.fromkeys(known))


def _scope(goal: Target, definition: Definition) -> Span | None:
    """A local or a template parameter of the launching function is read in it alone."""
    function = goal.site.launch.function_span
    if function is None or definition.path != goal.site.path:
        return None
    is_local = definition.kind == "template_argument" or _is_in(definition.span, function)
    return function if is_local else None


def _is_in(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _is_bounds(goal: Target, at: Span) -> bool:
    bounds = goal.kernel.kernel.launch_bounds
    return bounds is not None and bounds.span is not None and _is_in(at, bounds.span)


def _is_declaration(file: SourceFile, at: Span, definition: Definition) -> bool:
    """The name where it is declared: its value follows on the same line."""
    line = file.lines.line_of(at.start)
    return at.end <= definition.span.start and line == file.lines.line_of(definition.span.start)


def _body_note(goal: Target, axes: tuple[int, ...]) -> Iterator[str]:
    """The kernel's body reads the constant, or holds the number as a literal."""
    name = _body_reads(goal, axes)
    if name is not None:
        yield f"the kernel's body uses `{name}`"
        return
    body = goal.kernel.kernel.body
    file = goal.snapshot.sources.file(goal.kernel.path)
    if body is None or file is None:
        return
    numbers = {goal.block[axis] for axis in axes} | {math.prod(goal.block)}
    for one in places.literals(file, body):
        if one.value in numbers and one.value > 1:
            yield f"the kernel's body holds the number {one.value}"
            return


def _body_reads(goal: Target, axes: tuple[int, ...]) -> str | None:
    """The name of an edited constant that the kernel's body reads."""
    body = goal.kernel.kernel.body
    file = goal.snapshot.sources.file(goal.kernel.path)
    if body is None or file is None:
        return None
    for definition in (goal.components[axis] for axis in axes):
        if (
            definition.name is not None
            and _scope(goal, definition) is None
            and places.occurrences(file, definition.name, body)
        ):
            return definition.name
    return None
