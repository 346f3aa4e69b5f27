"""What one file and its includes say: kernels' heads, launches and attribute calls.

Functions that did not change keep their facts; only offsets move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from occlsp.source.expansion import expanded_facts
from occlsp.source.facts import Attribute, Definition, Kernel, Launch
from occlsp.source.ignores import ignores
from occlsp.source.kernel_facts import kernel_facts
from occlsp.source.names import Binding
from occlsp.source.resolve import FunctionFacts, Origin, function_facts
from occlsp.source.shared_memory import SharedMemory
from occlsp.source.syntax import FileSyntax, Function, RawCall, RawKernel, RawLaunch
from occlsp.source.text import Span
from occlsp.source.values import Abstract
from occlsp.source.view import View, kernel_bindings


@dataclass(slots=True)
class LocalFacts:
    """The facts of one file before other files' uses of it are known."""

    kernels: tuple[tuple[RawKernel, Kernel], ...] = ()
    launches: tuple[Launch, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    ignores: dict[int, frozenset[str]] = field(default_factory=dict)
    macros_may_set_attributes: bool = False


def local_facts(
    path: str, syntax: FileSyntax, view: View, before: LocalFacts | None = None
) -> LocalFacts:
    """Reads all of a file's kernels, launches and attribute calls."""
    users = frozenset().union(*(index.dynamic_users for index in view.indexes))
    memory = SharedMemory(path, syntax, view, users)
    kernels = tuple((raw, kernel_facts(raw, path, syntax, view, memory)) for raw in syntax.kernels)
    origin = Origin(path, syntax, view)
    found = FunctionFacts()
    for index, launches, calls in by_function(syntax):
        facts = function_facts(origin, index, launches, calls, no_callers(origin))
        found.launches += facts.launches
        found.attributes += facts.attributes
    more = expanded_facts(origin)
    found.launches += more.launches
    found.attributes += more.attributes
    found.launches.sort(key=lambda launch: launch.span)
    return LocalFacts(
        kernels,
        tuple(found.launches),
        tuple(found.attributes),
        ignores(syntax.text),
        any(index.macro_sets_attributes for index in view.indexes),
    )


def by_function(
    syntax: FileSyntax,
) -> list[tuple[int | None, list[RawLaunch], list[RawCall]]]:
    """Launches and calls grouped by the function that they are in."""
    groups: dict[int | None, tuple[list[RawLaunch], list[RawCall]]] = {}
    for launch in syntax.launches:
        groups.setdefault(launch.function, ([], []))[0].append(launch)
    for call in syntax.calls:
        groups.setdefault(call.function, ([], []))[1].append(call)
    return [(index, *items) for index, items in groups.items()]


def no_callers(
    origin: Origin,
) -> Callable[[Function], tuple[dict[str, Binding], dict[str, Abstract]]]:
    """Bindings where nothing is known of a function's callers."""

    def bindings(function: Function) -> tuple[dict[str, Binding], dict[str, Abstract]]:
        return {**kernel_bindings(function.template_parameters)}, {}

    return bindings


def moved(fact: Any, path: str, relocate: Callable[[int], int]) -> Any:
    """A fact with the offsets in its own file moved."""
    if isinstance(fact, Span):
        return Span(relocate(fact.start), relocate(fact.end))
    if isinstance(fact, Definition):
        return replace(fact, span=moved(fact.span, path, relocate)) if fact.path == path else fact
    if isinstance(fact, tuple):
        return tuple(moved(item, path, relocate) for item in fact)
    if is_dataclass(fact) and not isinstance(fact, type):
        changes = {}
        for item in fields(fact):
            value = getattr(fact, item.name)
            if isinstance(value, tuple) or is_dataclass(value):
                changes[item.name] = moved(value, path, relocate)
        return replace(fact, **changes)
    return fact
