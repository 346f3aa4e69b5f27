"""What one file and its includes say: kernels' heads, launches and attribute calls.

Functions that did not change keep their facts; only offsets move.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from occlsp.source.callers import Callers, Given
from occlsp.source.collect import FunctionFacts, Origin
from occlsp.source.expansion import (
    Expansion,
    Use,
    arguments_end,
    dispatching_macros,
    expand,
    launching_macros,
    placed,
    uses,
)
from occlsp.source.facts import Attribute, Kernel, Launch
from occlsp.source.ignores import ignores
from occlsp.source.kernel_facts import kernel_facts
from occlsp.source.resolve import Bindings, function_facts
from occlsp.source.reuse import Kept, Memory, Reuse, texts
from occlsp.source.shared_memory import SharedMemory
from occlsp.source.syntax import FileSyntax, Function, RawCall, RawKernel, RawLaunch
from occlsp.source.text import Span
from occlsp.source.view import View, kernel_bindings


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


def local_facts(
    path: str,
    syntax: FileSyntax,
    view: View,
    callers: Callers,
    environment: bytes = b"",
    before: Memory | None = None,
) -> LocalFacts:
    """Reads all of a file's kernels, launches and attribute calls.

    `before` is what an earlier reading kept, `environment` says what it depends on: what the
    edit between them left alone is taken from there.
    """
    kept = Memory(environment, syntax)
    reuse = Reuse(path, before, environment, syntax)
    users = frozenset().union(*(index.dynamic_users for index in view.indexes))
    memory = SharedMemory(path, syntax, view, users)
    kernels = []
    for raw in syntax.kernels:
        conditions = texts(raw.conditions)
        known = reuse.find("kernels", raw.span, conditions)
        if known is None:
            known = Kept(kernel_facts(raw, path, syntax, view, memory), conditions)
        assert isinstance(known.facts, Kernel)
        kept.kernels[raw.span] = known
        kernels.append((raw, known.facts))
    origin = Origin(path, syntax, view)
    found = FunctionFacts()
    reused = {
        index: known
        for index, function in enumerate(syntax.functions)
        if (known := reuse.find("functions", function.span, texts(function.conditions)))
    }
    inside, outside = macro_uses(origin, reused)
    groups = by_function(syntax, inside)
    first: dict[int | None, FunctionFacts] = {}
    """Of functions that are read anew, before their callers are asked."""
    for index, launches, calls in groups:
        if index is None:
            first[None] = function_facts(origin, None, launches, calls, no_callers(origin))
            continue
        function = syntax.functions[index]
        known = reused.get(index)
        if known is None:
            within = inside.get(index, [])
            facts = function_facts(origin, index, launches, calls, no_callers(origin), within)
            first[index] = facts
        else:
            assert isinstance(known.facts, FunctionFacts)
            kept.functions[function.span] = known
            facts = known.facts
        callers.followed_names(origin, function, facts.names)
    for index, launches, calls in groups:
        if index is None:
            found.add(first[None])
            continue
        function = syntax.functions[index]
        if index in first:
            facts, asks = first[index], False
            if wants_callers(facts, function) or (function.is_template and facts.launches):
                asks = True
                given = callers.bindings(origin, index)
                if given is not None:
                    bound, within = known_callers(given), inside.get(index, [])
                    facts = function_facts(origin, index, launches, calls, bound, within)
            if function.is_template and (path, index) in callers.uncalled:
                unused = [replace(one, in_uninstantiated_template=True) for one in facts.launches]
                facts = FunctionFacts(unused, facts.attributes, facts.names)
            conditions = texts(function.conditions)
            kept.functions[function.span] = Kept(facts, conditions, function.name, asks)
        known_facts = kept.functions[function.span].facts
        assert isinstance(known_facts, FunctionFacts)
        found.add(known_facts)
    for use in outside:
        for expansion in expand(use, masked_text(syntax, use), view, wrapped=False):
            kernels += namespace_expansion(origin, expansion, found)
    found.launches.sort(key=lambda launch: launch.span)
    return LocalFacts(
        tuple(kernels),
        tuple(found.launches),
        tuple(found.attributes),
        ignores(syntax.text),
        any(index.macro_sets_attributes for index in view.indexes),
        any(item.asked_callers for item in kept.functions.values()),
        kept,
    )


def wants_callers(facts: FunctionFacts, function: Function) -> bool:
    """Whether a function's callers may say more of its launches."""
    if not function.template_parameters and not any(p.name for p in function.parameters):
        return False
    return any(
        launch.block.values is None
        or launch.dynamic_smem.values is None
        or launch.template_args_known is None
        or not launch.kernel_known
        for launch in facts.launches
        if not launch.in_macro
    ) or any(a.kernel is None or a.value.values is None for a in facts.attributes)


def known_callers(given: Given) -> Bindings:
    """Bindings as the callers give them."""

    def bindings(function: Function) -> Given:
        return given

    return bindings


def masked_text(syntax: FileSyntax, use: Use) -> str:
    """A macro's use with its arguments."""
    return (syntax.code or syntax.text)[use.span.start : use.end].decode("latin-1")


def macro_uses(
    origin: Origin, known: Collection[int] = ()
) -> tuple[dict[int, list[Use]], list[Use]]:
    """Uses of macros that launch something: by function, and those outside of any.

    What stands in the arguments of others is not looked for in functions that are `known`.
    """
    syntax, view = origin.syntax, origin.view
    launching = set(launching_macros(view))
    names = set(launching)
    for other in view.indexes:
        names |= other.kernel_macros
    inside: dict[int, list[Use]] = {}
    outside: list[Use] = []
    for use in uses(syntax, names):
        index = syntax.function_at(use.span.start)
        if index is None:
            outside.append(use)
        elif use.span.start > syntax.functions[index].body.start:
            inside.setdefault(index, []).append(use)
        elif use.name in launching:
            # Without a semicolon it reads as the first word of the next function's head.
            outside.append(use)
    written: dict[int, list[int]] = {}
    for launch in syntax.launches:
        if launch.function is not None and launch.in_macro is None:
            written.setdefault(launch.function, []).append(launch.span.start)
    for index, positions in written.items():
        if index in known:
            continue
        for outer in around(origin, syntax.functions[index].body, positions):
            _take(inside.setdefault(index, []), outer)
    return inside, outside


def around(origin: Origin, body: Span, positions: list[int]) -> list[Use]:
    """The outermost macros of the view in whose arguments the launches of a body stand."""
    code = origin.syntax.code
    pending = sorted(positions, reverse=True)
    opened: list[int] = []
    found: dict[int, Use | None] = {}
    for match in _BRACKETS.finditer(code, body.start, pending[0]):
        while pending and pending[-1] < match.start():
            pending.pop()
            for opening in opened:
                if opening not in found:
                    found[opening] = _use_at(origin, opening, body.start)
        if match.group() == b"(":
            opened.append(match.start())
        elif opened:
            opened.pop()
    for opening in opened if pending else ():
        if opening not in found:
            found[opening] = _use_at(origin, opening, body.start)
    return [use for _, use in sorted(found.items()) if use is not None]


def _use_at(origin: Origin, opening: int, start: int) -> Use | None:
    """The use of a macro that makes blocks or constants, whose bracket opens here."""
    code = origin.syntax.code
    word = _LAST.search(code, max(start, opening - 80), opening)
    if word is None or not dispatching_macros(origin.view, [word[1].decode()]):
        return None
    return Use(word[1].decode(), Span(*word.span(1)), arguments_end(code, word.end(1)))


_BRACKETS = re.compile(rb"[()]")


def _take(taken: list[Use], use: Use) -> None:
    """Adds a use, in place of those that stand inside of it."""
    if any(other.span.start <= use.span.start < other.end for other in taken):
        return
    taken[:] = [u for u in taken if not use.span.start <= u.span.start < use.end]
    taken.append(use)


_LAST = re.compile(rb"\b([A-Za-z_]\w*)\s*\Z")


def namespace_expansion(
    origin: Origin, expansion: Expansion, found: FunctionFacts
) -> list[tuple[RawKernel, Kernel]]:
    """The launches and kernels of functions that a macro makes at namespace scope."""
    syntax = expansion.syntax
    inner = Origin(origin.path, syntax, origin.view, expansion)
    for index, launches, calls in by_function(syntax, {}):
        facts = function_facts(inner, index, launches, calls, no_callers(inner))
        found.add(facts)
    users = frozenset().union(*(index.dynamic_users for index in origin.view.indexes))
    memory = SharedMemory(origin.path, syntax, origin.view, users)
    made = []
    for raw in syntax.kernels:
        if raw.in_macro is not None:
            continue
        raw = replace(raw, from_macro=expansion.use.name, conditions=())
        kernel = kernel_facts(raw, origin.path, syntax, origin.view, memory)
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


def no_callers(origin: Origin) -> Bindings:
    """Bindings where nothing is known of a function's callers."""

    def bindings(function: Function) -> Given:
        return {**kernel_bindings(function.template_parameters)}, {}

    return bindings
