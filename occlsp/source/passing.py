"""Templates that are handed functions, and call them."""

from __future__ import annotations

import re

from occlsp.source.syntax import Function


def callables(function: Function) -> frozenset[str]:
    """The parameters of a function template that may be any function: their type is its own."""
    own = {p.name for p in function.template_parameters if p.kind in ("typename", "class")}
    return frozenset(
        parameter.name
        for parameter in function.parameters
        if parameter.name and parameter.type.removeprefix("const ").rstrip("& ") in own
    )


def forwarded(function: Function, masked: bytes) -> int | None:
    """The parameter that a function does nothing with but call it with all that follow it.

    `template <class F, class... A> void run(int n, F f, A&&... a) { f(std::forward<A>(a)...); }`:
    1. None where there is no such parameter.
    """
    if b"..." not in function.listed_code:
        return None
    parameters = function.parameters
    if len(parameters) < 2 or not parameters[-1].type.endswith("..."):
        return None
    called, pack = parameters[-2].name, parameters[-1].name
    if called is None or pack is None or called not in callables(function):
        return None
    body = masked[function.body.start : function.body.end].decode("latin-1")
    handed = rf"std\s*::\s*forward\s*<[^;{{}}()]*>\s*\(\s*{pack}\s*\)"
    calls = re.findall(rf"\b{called}\s*\(\s*(?:{handed}|{pack})\s*\.\.\.\s*\)", body)
    is_only_called = len(calls) == len(re.findall(rf"\b{called}\b", body))
    return len(parameters) - 2 if calls and is_only_called else None
