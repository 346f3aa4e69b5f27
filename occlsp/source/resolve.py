"""Joins what one file says with what it sees: syntax in, facts out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from occlsp.source import types
from occlsp.source.bodies import between_braces, readable
from occlsp.source.collect import Collector, FunctionFacts, Item, Origin, follow
from occlsp.source.dispatches import unfolded
from occlsp.source.expansion import Use
from occlsp.source.linear import Symbol, itself
from occlsp.source.names import Binding
from occlsp.source.numbers import Number, unknown
from occlsp.source.slicing import plan
from occlsp.source.state import Body, State
from occlsp.source.syntax import Condition, Function, RawCall, RawLaunch
from occlsp.source.values import Abstract, unknown_dim
from occlsp.source.view import scope_names

MAX_WAYS = 8
"""Ways through the `#if`s of one function."""
Bindings = Callable[[Function], tuple[dict[str, Binding], dict[str, Abstract]]]
"""What callers give for a function's template parameters and its parameters."""


def function_facts(
    origin: Origin,
    index: int | None,
    launches: Sequence[RawLaunch],
    calls: Sequence[RawCall],
    bindings: Bindings,
    uses: Sequence[Use] = (),
) -> FunctionFacts:
    """The launches and attribute calls of one function, in the order of the text.

    `uses` are uses of macros in it to be expanded: what stands in their arguments is found there.
    """
    syntax = origin.syntax
    function = syntax.functions[index] if index is not None else None
    collector = Collector(origin, function, {item.span.start: item for item in launches})
    items: list[RawLaunch | RawCall] = [*launches, *calls]
    for item in items:
        if item.in_macro is None and function is None:
            collector.outside(item)
    in_macros(collector, [item for item in items if item.in_macro is not None])
    if function is None:
        return collector.facts
    body = _body(origin, function)
    uses = unfolded(collector, uses, items, body)
    bodies = _in_body(items, uses)
    if not bodies:
        return collector.facts
    template, given = bindings(function)
    parameters = parameter_values(function, given, origin.path)
    scope = scope_names(function.qualified_name)[:-1]
    ways = _ways(collector, function, bodies)
    for chosen, inside in ways:
        read = _body(origin, function, chosen) if chosen else body
        follow(collector, read, scope, template, parameters, inside)
    if len(ways) > 1:
        collector.facts.launches.sort(key=lambda one: one.span)
        collector.facts.attributes.sort(key=lambda one: one.span)
    if not all(collector.has(use) for use in uses):
        collector.facts.is_complete = False
    written = {id(item) for item in items if item.in_macro is None}
    for item in items:
        if id(item) in written and not collector.has(item):
            # Where the reader of statements lost it: what the function's locals are is unknown.
            collector.lost(item, _declared(body.text), template)
    return collector.facts


def deciding_names(
    origin: Origin,
    index: int,
    launches: Sequence[RawLaunch],
    calls: Sequence[RawCall],
    uses: Sequence[Use],
) -> AbstractSet[str]:
    """The names in a function's body that decide what `function_facts` tells of it."""
    function = origin.syntax.functions[index]
    collector = Collector(origin, function)
    parameters = frozenset([p.name for p in function.parameters if p.name is not None])
    names: set[str] = set()
    written: list[RawLaunch | RawCall] = [*launches, *calls]
    body, setting = _body(origin, function), origin.view.setting
    uses = unfolded(collector, uses, written, body)
    for chosen, items in _ways(collector, function, _in_body(written, uses)):
        read = _body(origin, function, chosen) if chosen else body
        events = tuple(sorted({item.span.start - read.base for item in items}))
        asked = frozenset(collector.asked(items, read))
        names |= plan(read.text, events, asked, parameters, setting, is_whole=False).slice.names
    return names


def _ways(
    collector: Collector, function: Function, items: Sequence[Item]
) -> list[tuple[tuple[Condition, ...], list[Item]]]:
    """What is come to in a body as it is compiled, and in each `#if` branch that is not: the
    conditions of those are taken to hold for what stands there."""
    found: dict[tuple[Condition, ...], list[Item]] = {(): []}
    for item in items:
        inside: tuple[Condition, ...] = ()
        if not isinstance(item, Use) and collector.inactive(item.conditions):
            inside = tuple([c for c in item.conditions if c.span.start > function.body.start])
        if inside in found or len(found) < MAX_WAYS:
            found.setdefault(inside, []).append(item)
    return [(chosen, inside) for chosen, inside in found.items() if inside]


def _in_body(items: Sequence[RawLaunch | RawCall], uses: Sequence[Use]) -> list[Item]:
    """What is to be followed to: uses of macros, and what stands in none of them."""
    found: list[Item] = [
        item
        for item in items
        if item.in_macro is None
        and not any(use.span.start <= item.span.start < use.end for use in uses)
    ]
    return found + list(uses)


def _body(origin: Origin, function: Function, chosen: Sequence[Condition] = ()) -> Body:
    base = function.body.start + 1
    raw = between_braces(origin.syntax.masked or origin.syntax.text, function.body)
    macros = origin.view.macros
    text = raw if origin.expansion else readable(raw, origin.path, base, macros, chosen)
    seen_from = origin.expansion.use.span.start if origin.expansion else None
    return Body(text, origin.path, base, seen_from)


def in_macros(collector: Collector, items: Sequence[RawLaunch | RawCall]) -> None:
    """Items in bodies of `#define`s: each body is followed with its parameters unknown."""
    bodies: dict[int, list[Item]] = {}
    defines = collector.origin.syntax.defines
    for item in items:
        for index, define in enumerate(defines):
            span = define.body.span
            if define.name == item.in_macro and span.start <= item.span.start < span.end:
                bodies.setdefault(index, []).append(item)
                break
        else:
            collector.outside(item)
    for index, inside in bodies.items():
        define = defines[index]
        state = State()
        for name in define.parameters or ():
            why = f"{name} is a parameter of the macro {define.name}"
            state.variables[name] = unknown(why)
            state.types[name] = "auto"
        text = define.body.text.replace("\\\n", "  ").replace("\\\r\n", "   ")
        body = Body(text, collector.origin.path, define.body.span.start)
        follow(collector, body, (), {}, {}, inside, state)
        for lost in inside:
            if not isinstance(lost, Use) and not collector.has(lost):
                collector.outside(lost)


def _declared(text: str) -> set[str]:
    """Names that a body may declare or assign."""
    return set(_ASSIGNED.findall(text))


def parameter_values(
    function: Function, given: Mapping[str, Abstract], path: str
) -> dict[str, tuple[str, Abstract]]:
    """A function's parameters by name: their types, and what callers give where that is known."""
    return {
        one.name: (one.type, given.get(one.name) or _parameter(function, one.name, one.type, path))
        for one in function.parameters
        if one.name is not None
    }


def _parameter(function: Function, name: str, kind: str, path: str) -> Abstract:
    """A parameter of which no caller is known."""
    why = f"{name} is a parameter of {function.name}()"
    if types.plain(kind) == "dim3":
        return unknown_dim(why)
    symbol = parameter_symbol(function, name, path)
    return Number(types.integer(kind), why=why, linear=(itself(symbol),))


def parameter_symbol(function: Function, name: str, path: str) -> Symbol:
    """What a parameter is where the function begins."""
    return f"{path}:{name}", function.span.start


_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*(?=[=({;,)])")
