"""Calls that uses of macros make, in the files that see what they call.

#define REGISTER(T, N) void run_##T##_##N(T* p) { run<T, N>(p); }    // in a header
REGISTER(float, 128)                                                 // in a unit

In a function only literals say what is called: names may be its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from occlsp.source.collect import Origin
from occlsp.source.expansion import Use, uses
from occlsp.source.includes import HEADER_SUFFIXES
from occlsp.source.instances import binding
from occlsp.source.lexer import Token, split_arguments, tokenize
from occlsp.source.macros import Place as At
from occlsp.source.members import replaced
from occlsp.source.names import Binding, StaticScope
from occlsp.source.overloads import not_known
from occlsp.source.sites import Call, read_site
from occlsp.source.syntax import Define, Function
from occlsp.source.type_syntax import BUILTIN_WORDS

if TYPE_CHECKING:
    from occlsp.source.callers import Callers

MAX_USING = 32
"""Files that use one macro."""


def sees_uses(origin: Origin, function: Function) -> bool:
    """Whether it is asked what uses of macros call a function with."""
    return function.is_template and PurePath(origin.path).suffix in HEADER_SUFFIXES


def calls_by_macros(callers: Callers, origin: Origin, function: Function) -> list[Call] | None:
    """The calls of a template in a header that the macros it sees make in other files; None where
    one is not understood."""
    found: dict[Call, None] = {}
    for name in _naming(origin, function.name):
        using = callers.elsewhere(name, origin.path, MAX_USING)
        if using is None or _naming(origin, name):
            return None
        for other in using:
            file = other.origin()
            if file is None or file.view.index_of(origin.path) is None:
                continue  # another function is meant there
            for call in _calls_in(file, name, function):
                if call is None:
                    return None
                found[call] = None
    return list(found)


def _naming(origin: Origin, name: str) -> set[str]:
    """The macros in view whose bodies name something."""
    return {one for index in origin.view.indexes for one in index.macros_naming(name)}


def _calls_in(file: Origin, macro: str, function: Function) -> Iterator[Call | None]:
    """What each use of a macro gives a function for its template parameters."""
    defines = [one.define for one in file.view.defines(macro)]
    written = _template(defines[0], function) if len(defines) == 1 else None
    is_one = len(file.view.functions(function.name)) == 1
    known: dict[str, Binding] = {}
    for use in uses(file.syntax, [macro]):
        given = _arguments(file, use, defines[0]) if written and is_one else None
        if written is None or given is None:
            yield None
            return
        is_inside = _is_inside(file, use)
        scope = StaticScope(file.view, At(file.path, use.span.start))
        bound: list[Binding] = []
        for position, tokens in enumerate(written):
            put_in = replaced(tokens, given)
            if is_inside and any(_may_be_local(token) for token in put_in):
                bound.append(not_known(function.template_parameters, position))
                continue
            text = " ".join(token.text for token in put_in)
            if text not in known:
                known[text] = binding(text, scope, ())
            bound.append(known[text])
        yield Call(tuple(bound), None)


def _template(define: Define, function: Function) -> list[Sequence[Token]] | None:
    """The template arguments that a macro's body calls a function with, where it does so once."""
    body = define.body.text.encode("latin-1", "replace")
    name = function.name.encode()
    starts = [token.start for token in tokenize(define.body.text) if token.text == function.name]
    site = read_site(body, starts[0], starts[0] + len(name)) if len(starts) == 1 else None
    if site is None or site.is_address or "#" in "".join(site.template):
        return None
    return [tokenize(text) for text in site.template]


def _arguments(file: Origin, use: Use, define: Define) -> dict[str, list[Token]] | None:
    """What a use gives for a macro's parameters; None where it does not for all."""
    text = file.syntax.code[use.span.end : use.end].decode("latin-1").strip()
    arguments = split_arguments(tokenize(text[1:-1]))
    parameters = define.parameters or ()
    return dict(zip(parameters, arguments, strict=True)) if _fits(parameters, arguments) else None


def _is_inside(file: Origin, use: Use) -> bool:
    """Whether a use stands in the body of a function."""
    index = file.syntax.function_at(use.span.start)
    return index is not None and use.span.start > file.syntax.functions[index].body.start


def _may_be_local(token: Token) -> bool:
    """Whether a token may be the name of what a function declares."""
    return token.kind == "name" and token.text not in BUILTIN_WORDS


def _fits(parameters: Sequence[str], arguments: Sequence[object]) -> bool:
    return len(parameters) == len(arguments) and not any(p.endswith("...") for p in parameters)
