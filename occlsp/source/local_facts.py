"""What one file and its includes say: kernels' heads, launches and attribute calls.

Functions that did not change keep their facts; only offsets move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from msgspec import structs

from occlsp.source.affected import function_head, kernel_head
from occlsp.source.beside import Seen
from occlsp.source.callers import Callers, Paused
from occlsp.source.collect import FunctionFacts, Origin
from occlsp.source.dispatches import with_outer
from occlsp.source.expansion import (
    Expansion,
    Use,
    expand,
    is_lost,
    placed,
    uses,
)
from occlsp.source.facts import Attribute, InstanceBounds, Kernel, Launch
from occlsp.source.ignores import ignores
from occlsp.source.includes import UNITS
from occlsp.source.kernel_facts import kernel_facts
from occlsp.source.made_launches import decided
from occlsp.source.moving import Given
from occlsp.source.pieces import Pieces
from occlsp.source.resolve import deciding_names, function_facts
from occlsp.source.reuse import KeptFunction, KeptKernel, Memory, Reuse
from occlsp.source.shared_memory import SharedMemory, users_in_view
from occlsp.source.syntax import FileSyntax, Function, RawCall, RawKernel, RawLaunch
from occlsp.source.text import Span
from occlsp.source.view import View, kernel_bindings, scope_names

if TYPE_CHECKING:
    from occlsp.source.places import Places

AT_A_STRETCH = 0.005
"""Seconds after which the callers of one function are no further followed at a stretch."""


@dataclass(slots=True)
class LocalFacts:
    """The facts of one file before other files' uses of it are known."""

    kernels: tuple[tuple[RawKernel, Kernel], ...] = ()
    launches: tuple[Launch, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    ignores: dict[int, frozenset[str]] = field(default_factory=dict)
    macros_may_set_attributes: bool = False
    asks_callers: bool = False
    """Other files that call this one's functions may change what is known of it."""
    memory: Memory | None = None
    """For the next reading of the file, where it is open."""
    kernel_names: dict[str, bool] = field(default_factory=dict)
    """Names of which was asked whether the workspace has a kernel of them, with the answers."""
    beside: Seen = ()
    """What was looked at of the units beside this one."""
    bounds: dict[int, tuple[tuple[tuple[str, ...], ...], tuple[InstanceBounds, ...]]] = field(
        default_factory=dict
    )
    """By a kernel's number: template arguments in view, and the launch bounds for each."""
    places: dict[str, Places] = field(default_factory=dict)
    """The other files that its values are defined in."""

    def bounds_of(
        self,
        number: int,
        span: Span,
        kernel: Kernel,
        arguments: tuple[tuple[str, ...], ...],
        find: Callable[[], tuple[InstanceBounds, ...]],
    ) -> tuple[InstanceBounds, ...]:
        """The bounds of a kernel's instantiations, found where they are not known."""
        if self.memory is None:
            return find()
        known = self.bounds.get(number)
        if known is None or known[0] != arguments:
            known = arguments, self.memory.instances(span, kernel, arguments, find)
            self.bounds[number] = known
        return known[1]


class Reading:
    """One reading of a file, in which what `reuse` still knows is not evaluated again."""

    def __init__(self, path: str, syntax: FileSyntax, view: View, reuse: Reuse) -> None:
        self.path = path
        self.syntax = syntax
        self.view = view
        self.reuse = reuse
        self.origin = Origin(path, syntax, view)
        self.shared = SharedMemory(path, syntax, view, users_in_view(view))
        self.asks_callers = False
        self._known: dict[int, KeptFunction | None] = {}
        self.launching = view.launching_macros

    def kernels(self) -> Pieces[list[tuple[RawKernel, Kernel]]]:
        """The kernels that stand in the file."""
        found = []
        for raw in self.syntax.kernels:
            found.append((raw, self.kernel(raw)))
            yield
        return found

    def kernel(self, raw: RawKernel) -> Kernel:
        head = kernel_head(raw)
        known = self.reuse.kernel(raw, head)
        if known is None:
            facts = kernel_facts(raw, self.path, self.syntax, self.view, self.shared)
            known = KeptKernel(head, self.reuse.kernel_words(raw, head), facts)
        self.reuse.memory.kernels.setdefault(raw.span, []).append(known)
        return known.facts

    def known(self, index: int) -> KeptFunction | None:
        """What is kept of a function from an earlier reading."""
        if index not in self._known:
            function = self.syntax.functions[index]
            self._known[index] = next(self.reuse.functions(function, function_head(function)), None)
        return self._known[index]

    def function(
        self, index: int, launches: list[RawLaunch], calls: list[RawCall], within: list[Use]
    ) -> KeptFunction:
        """One function without its callers."""
        known = self.known(index)
        if known is not None:
            return known
        function = self.syntax.functions[index]
        head, items = function_head(function), (launches, calls)
        facts: FunctionFacts | None = None
        if surely_asks(function, launches):
            names = deciding_names(self.origin, index, *items, within)
        else:
            facts = function_facts(self.origin, index, *items, no_callers, within)
            names = facts.names
        asks = (
            facts is None
            or wants_callers(facts, function)
            or (function.is_template and bool(facts.launches))
            or (self.is_of_template(function) and is_open(facts))
        )
        return KeptFunction(head, self.reuse.words(function, head, names), names, facts, asks)

    def is_of_template(self, function: Function) -> bool:
        """Whether a function is a member of a class template."""
        scope = scope_names(function.qualified_name)[:-1]
        return bool(scope) and scope[-1] in self.view.class_templates

    def functions(self, callers: Callers, found: FunctionFacts) -> Pieces[list[Use]]:
        """Adds what functions launch and set; gives the macros' uses outside of any."""
        inside, outside = yield from macro_uses(self)
        groups = by_function(self.syntax, inside)
        read: dict[int, KeptFunction] = {}
        for index, launches, calls in groups:
            if index is not None:
                read[index] = self.function(index, launches, calls, inside.get(index, []))
                function = self.syntax.functions[index]
                callers.deciding.take(self.origin, function, read[index].names)
                yield
        for index, launches, calls in groups:
            yield
            if index is None:
                found.add(function_facts(self.origin, None, launches, calls, no_callers))
                continue
            kept = read[index]
            self.asks_callers |= kept.asks
            if kept.asks and kept.uncalled is None:
                work = partial(self.with_callers, callers, index, kept, launches, calls, inside)
                kept = yield from self.in_pieces(callers, work)
                kept = structs.replace(kept, uncalled=(self.path, index) in callers.uncalled)
            elif kept.uncalled:
                callers.uncalled.add((self.path, index))
            span = self.syntax.functions[index].span
            self.reuse.memory.functions.setdefault(span, []).append(kept)
            found.add(self.told(kept, index, callers))
        return outside

    def in_pieces(self, callers: Callers, work: Callable[[], KeptFunction]) -> Pieces[KeptFunction]:
        """What some work with the callers gives; a file that is open is not read at a stretch."""
        while True:
            if self.reuse.keeps:
                callers.until = perf_counter() + AT_A_STRETCH
            try:
                return work()
            except Paused:
                yield
            finally:
                callers.until = inf

    def with_callers(
        self,
        callers: Callers,
        index: int,
        kept: KeptFunction,
        launches: list[RawLaunch],
        calls: list[RawCall],
        inside: dict[int, list[Use]],
    ) -> KeptFunction:
        """What is kept of a function, with its facts as its callers' arguments make them."""
        given = callers.bindings(self.origin, index)
        function = self.syntax.functions[index]
        if given is not None:
            for known in chain((kept,), self.reuse.functions(function, kept.head)):
                if known.facts is not None and known.given == given:
                    return known
        uses = inside.get(index, [])
        if self.known(index) is not None:  # so that those were not looked for yet
            uses = with_outer(self.origin, index, launches, uses)
        if given is None or given == no_callers(function):
            bare = kept.bare
            if bare is None:
                bare = function_facts(self.origin, index, launches, calls, no_callers, uses)
                kept = self.deciding(kept, function, bare)
            return structs.replace(
                kept, bare=bare, given=given, facts=None if given is None else bare
            )
        facts = function_facts(self.origin, index, launches, calls, lambda _: given, uses)
        return structs.replace(self.deciding(kept, function, facts), given=given, facts=facts)

    def deciding(
        self, kept: KeptFunction, function: Function, facts: FunctionFacts
    ) -> KeptFunction:
        """What is kept of a function with the names that decided more facts of it."""
        words = kept.words | self.reuse.words(function, kept.head, facts.names)
        return structs.replace(kept, names=kept.names | facts.names, words=words)

    def told(self, kept: KeptFunction, index: int, callers: Callers) -> FunctionFacts:
        """A function's facts as they are told."""
        facts = kept.facts or kept.bare
        assert facts is not None
        is_template = self.syntax.functions[index].is_template
        if not is_template or (self.path, index) not in callers.uncalled:
            return facts
        unused = [structs.replace(one, in_uninstantiated_template=True) for one in facts.launches]
        return replace(facts, launches=unused)


def local_facts(
    path: str, syntax: FileSyntax, view: View, callers: Callers, reuse: Reuse
) -> Pieces[LocalFacts]:
    """Reads all of a file's kernels, launches and attribute calls, piece by piece.

    What an edit left alone is taken from what `reuse` knows, which takes in what is read.
    """
    reading = Reading(path, syntax, view, reuse)
    kernels = yield from reading.kernels()
    found = FunctionFacts()
    outside = yield from reading.functions(callers, found)
    for use in outside:
        yield
        expansions = expand(use, masked_text(syntax, use), view, is_inside=False)
        found.is_complete &= not is_lost(use, expansions, view)
        for expansion in expansions:
            kernels += namespace_expansion(reading, expansion, found)
    found.launches.sort(key=lambda launch: launch.span)
    reuse.memory.asked = callers.asked_of(path)
    reuse.memory.is_alone = callers.is_alone
    memory = reuse.finish()
    # Nobody includes a unit: all uses of its macros are here.
    is_told = found.is_complete and path.endswith(UNITS)
    launches = decided(found.launches) if is_told else found.launches
    return LocalFacts(
        tuple(kernels),
        tuple(launches),
        tuple(found.attributes),
        ignores(syntax.text),
        any(index.macro_sets_attributes for index in view.indexes),
        reading.asks_callers and not path.endswith(UNITS),
        memory,
    )


def surely_asks(function: Function, launches: list[RawLaunch]) -> bool:
    """Whether a function's callers are asked in any case: it is a template that launches, or is
    given the block or the shared memory."""
    if function.is_template:
        return bool(launches)
    names = {parameter.name for parameter in function.parameters}
    return any(one.text in names for launch in launches for one in launch.config[1:3])


def wants_callers(facts: FunctionFacts, function: Function) -> bool:
    """Whether a function's callers may say more of its launches."""
    if not function.template_parameters and not any(p.name for p in function.parameters):
        return False
    return is_open(facts)


def is_open(facts: FunctionFacts) -> bool:
    """Whether more may be said of what a function launches and sets."""
    return any(
        launch.block.values is None
        or launch.dynamic_smem.values is None
        or launch.template_args_known is None
        or not launch.kernel_known
        for launch in facts.launches
        if not launch.in_macro
    ) or any(a.kernel is None or a.value.values is None for a in facts.attributes)


def masked_text(syntax: FileSyntax, use: Use) -> str:
    """A macro's use with its arguments."""
    return (syntax.code or syntax.text)[use.span.start : use.end].decode("latin-1")


def macro_uses(reading: Reading) -> Pieces[tuple[dict[int, list[Use]], list[Use]]]:
    """Uses of macros that launch something: by function, and those outside of any.

    What stands in the arguments of others is not looked for in functions that are known.
    """
    syntax = reading.syntax
    inside: dict[int, list[Use]] = {}
    outside: list[Use] = []
    for use in uses(syntax, reading.reuse.launching):
        index = syntax.function_at(use.span.start)
        if index is None:
            outside.append(use)
        elif use.span.start > syntax.functions[index].body.start:
            inside.setdefault(index, []).append(use)
        elif use.name in reading.launching:
            # Without a semicolon it reads as the first word of the next function's head.
            outside.append(use)
    written: dict[int, list[RawLaunch]] = {}
    for launch in syntax.launches:
        if launch.function is not None:
            written.setdefault(launch.function, []).append(launch)
    for index, launches in written.items():
        yield
        if reading.known(index) is None:
            found = with_outer(reading.origin, index, launches, inside.get(index, []))
            if found:
                inside[index] = found
    return inside, outside


def namespace_expansion(
    reading: Reading, expansion: Expansion, found: FunctionFacts
) -> list[tuple[RawKernel, Kernel]]:
    """The launches and kernels of functions that a macro makes at namespace scope."""
    syntax = expansion.syntax
    inner = Origin(reading.path, syntax, reading.view, expansion)
    for index, launches, calls in by_function(syntax, {}):
        found.add(function_facts(inner, index, launches, calls, no_callers))
    memory = SharedMemory(reading.path, syntax, reading.view, reading.shared.users)
    made = []
    for raw in syntax.kernels:
        if raw.in_macro is not None:
            continue
        raw = structs.replace(raw, from_macro=expansion.use.name, conditions=())
        kernel = kernel_facts(raw, reading.path, syntax, reading.view, memory)
        made.append((placed(raw, expansion.placed), placed(kernel, expansion.placed)))
    return made


def by_function(
    syntax: FileSyntax, uses_by_function: dict[int, list[Use]]
) -> list[tuple[int | None, list[RawLaunch], list[RawCall]]]:
    """Launches and calls grouped by the function that they are in."""
    groups: dict[int | None, tuple[list[RawLaunch], list[RawCall]]] = {}
    for launch in syntax.launches:
        groups.setdefault(launch.function, ([], []))[0].append(launch)
    for index in uses_by_function:
        groups.setdefault(index, ([], []))
    for call in syntax.calls:
        groups.setdefault(call.function, ([], []))[1].append(call)
    return [(index, *items) for index, items in groups.items()]


def no_callers(function: Function) -> Given:
    """Bindings where nothing is known of a function's callers."""
    return {**kernel_bindings(function.template_parameters)}, {}
