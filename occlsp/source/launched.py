"""What a launch launches: names, pointers to kernels, template arguments with values put in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from occlsp.source import types
from occlsp.source.evaluate import evaluate
from occlsp.source.instances import NOT_KNOWN
from occlsp.source.names import StaticScope
from occlsp.source.syntax import (
    Function,
    RawKernel,
)
from occlsp.source.values import (
    Kernels,
    to_number,
)


class Callee(Struct, frozen=True):
    """What is launched."""

    name: str
    arguments: tuple[str, ...] = ()
    known: bool = True
    candidates: tuple[str, ...] = ()


def of_kernels(value: Kernels, written: tuple[str, ...]) -> Callee:
    first = value.names[0]
    if len(value.names) == 1:
        return Callee(first.name.removeprefix("::"), first.arguments or written, known=True)
    names = tuple(dict.fromkeys(item.name.removeprefix("::") for item in value.names))
    same = names[0] if len(names) == 1 else None
    return Callee(same or names[0], (), known=False, candidates=names)


def is_name(name: str) -> bool:
    return all(part.isidentifier() for part in name.removeprefix("::").split("::"))


def resolved_arguments(
    arguments: Sequence[str],
    kernel: RawKernel | None,
    scope: StaticScope,
    function: Function | None,
) -> tuple[str, ...] | None:
    """Template arguments as one instantiation has them; None where any is not known."""
    open_types = _open_types(function, scope)
    found: list[str] = []
    for position, text in enumerate(arguments):
        parameters = kernel.template_parameters if kernel is not None else ()
        parameter = parameters[position] if position < len(parameters) else None
        known = _resolved_argument(text, parameter.kind if parameter else None, scope)
        if known is None or not open_types.isdisjoint(WORDS.findall(known)):
            return None
        found.append(known)
    return tuple(found)


def _open_types(function: Function | None, scope: StaticScope) -> set[str]:
    """Names of types that differ by instantiation of the enclosing function."""
    names = {"scalar_t", NOT_KNOWN}
    if function is not None:
        names |= {p.name for p in function.template_parameters if p.name}
    return {name for name in names if not isinstance(scope.template.get(name), str)}


def _resolved_argument(text: str, kind: str | None, scope: StaticScope) -> str | None:
    if kind in ("typename", "class", "template"):
        return scope.type_text(text)
    if kind is None and types.size(scope.type_text(text)) is not None:
        return scope.type_text(text)
    values = {to_number(evaluate(node, scope)).value for node in scope.nodes(text)}
    value = values.pop() if len(values) == 1 else None
    if value is not None:
        return ("true" if value else "false") if kind == "bool" else str(value)
    if kind is None and not any(char.isdigit() for char in text[:1]):
        resolved = scope.type_text(text)
        return resolved if resolved != types.plain(text) or "<" in text else None
    return None


WORDS = re.compile(r"[A-Za-z_]\w*")
