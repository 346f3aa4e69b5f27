"""What one file and its includes say: kernels' heads, launches and attribute calls.

Functions that did not change keep their facts; only offsets move.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from occlsp.source.callers import Callers, Given
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
from occlsp.source.resolve import Bindings, FunctionFacts, Origin, function_facts
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


def local_facts(path: str, syntax: FileSyntax, view: View, callers: Callers) -> LocalFacts:
    """Reads all of a file's kernels, launches and attribute calls."""
    asked = False
    users = frozenset().union(*(index.dynamic_users for index in view.indexes))
    memory = SharedMemory(path, syntax, view, users)
    kernels = tuple((raw, kernel_facts(raw, path, syntax, view, memory)) for raw in syntax.kernels)
    origin = Origin(path, syntax, view)
    found = FunctionFacts()
    inside, outside = macro_uses(origin)
    for index, launches, calls in by_function(syntax, inside):
        within = inside.get(index, []) if index is not None else []
        facts = function_facts(origin, index, launches, calls, no_callers(origin), within)
        if index is not None and wants_callers(facts, syntax.functions[index]):
            asked = True
            given = callers.bindings(origin, index)
            if given is not None:
                bound = known_callers(given)
                facts = function_facts(origin, index, launches, calls, bound, within)
        found.launches += facts.launches
        found.attributes += facts.attributes
    made: list[tuple[RawKernel, Kernel]] = []
    for use in outside:
        for expansion in expand(use, masked_text(syntax, use), view, wrapped=False):
            made += namespace_expansion(origin, expansion, found)
    kernels = (*kernels, *made)
    found.launches.sort(key=lambda launch: launch.span)
    return LocalFacts(
        kernels,
        tuple(found.launches),
        tuple(found.attributes),
        ignores(syntax.text),
        any(index.macro_sets_attributes for index in view.indexes),
        asked,
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


def macro_uses(origin: Origin) -> tuple[dict[int, list[Use]], list[Use]]:
    """Uses of macros that launch something: by function, and those outside of any."""
    syntax, view = origin.syntax, origin.view
    names = set(launching_macros(view))
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
    for launch in syntax.launches:
        if launch.function is not None and launch.in_macro is None:
            outer = around(origin, launch)
            if outer is not None:
                _take(inside.setdefault(launch.function, []), outer)
    return inside, outside


def around(origin: Origin, launch: RawLaunch) -> Use | None:
    """The outermost macro of the view in whose arguments a launch stands."""
    syntax = origin.syntax
    function = syntax.functions[launch.function or 0]
    start = function.body.start
    code = syntax.code
    position = launch.span.start
    found: Use | None = None
    depth = 0
    for index in range(position - 1, max(start, position - 20_000), -1):
        char = code[index]
        if char == 0x29:
            depth += 1
        elif char == 0x28:
            if depth:
                depth -= 1
                continue
            word = _LAST.search(code, max(start, index - 80), index)
            if word is not None and dispatching_macros(origin.view, [word[1].decode()]):
                end = arguments_end(code, word.end(1))
                found = Use(word[1].decode(), Span(*word.span(1)), end)
    return found


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
        found.launches += facts.launches
        found.attributes += facts.attributes
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
