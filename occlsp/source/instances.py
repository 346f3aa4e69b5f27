"""Type parameters that can be one of several types, and types as they are named elsewhere.

template <class Traits> void run() { kernel<Traits><<<grid, Traits::kThreads>>>(); }
void small() { run<Shape<32>>(); }
void large() { run<Shape<64>>(); }
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from math import prod
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from occlsp.source import types
from occlsp.source.lexer import Token, spelled, tokenize
from occlsp.source.numbers import Number, among
from occlsp.source.syntax import Expr
from occlsp.source.text import Span
from occlsp.source.together import Together, rows_of
from occlsp.source.type_syntax import template_arguments
from occlsp.source.values import Abstract, join_values, to_number

if TYPE_CHECKING:
    from occlsp.source.names import Binding, StaticScope

MAX_TYPES = 64
MAX_VALUES = 8
"""Of the numbers among a type's arguments, each with each."""
NOT_KNOWN = "__occlsp_not_known"
"""In the place of a name that means nothing outside of the function that it is used in."""

Part = tuple[str, tuple[str, ...] | None]
"""Of a qualified name, with its template arguments."""
Scope = TypeVar("Scope", bound="StaticScope")


def spelled_parts(qualified: Sequence[Part]) -> str:
    """A qualified name as text."""
    return "::".join(
        name if arguments is None else f"{name}<{','.join(arguments)}>"
        for name, arguments in qualified
    )


class Types(Struct, frozen=True):
    """A type that is one of several: each as text."""

    texts: tuple[str, ...]


def instances(scope: Scope, names: Iterable[Part]) -> list[Scope]:
    """The scope once for each of the types that a parameter which is named there can be; none
    where all are one."""
    several = _several(scope, names)
    return _each(scope, several[0]) if several else []


def are_many(scope: Scope, names: Iterable[Part]) -> bool:
    """Whether the types that are named there can be more different ones together than are told."""
    bounds = (scope.template[name] for name in _several(scope, names))
    return prod(len(bound.texts) for bound in bounds if isinstance(bound, Types)) > MAX_TYPES


def _several(scope: Scope, names: Iterable[Part]) -> list[str]:
    """The parameters named there that can be one of several types."""
    several = [name for name, bound in scope.template.items() if isinstance(bound, Types)]
    if not several:
        return []
    words = {word for name, arguments in names for word in (name, *_words(arguments or ()))}
    return [name for name in several if name in words]


def whatever(scope: Scope) -> Scope:
    """The scope where nothing is known of the types that can be one of several."""
    one = copy(scope)
    one.template = {
        name: NOT_KNOWN if isinstance(bound, Types) else bound
        for name, bound in scope.template.items()
    }
    return one


def _each(scope: Scope, name: str) -> list[Scope]:
    bound = scope.template[name]
    found = []
    for text in bound.texts if isinstance(bound, Types) else ():
        one = copy(scope)
        one.template = {**scope.template, name: text}
        found.append(one)
    return found


def _call_by_call(scope: Scope, text: str) -> list[Scope]:
    """The scope once for each of the calls that give several values to what a text names."""
    given: dict[str, Together] = {}
    for word in _words((text,)) if "<" in text else ():
        number = scope.template.get(word)
        rows = rows_of(number) if isinstance(number, Number) else None
        if rows is not None:
            given[word] = rows
    calls = next(iter(given.values()), None)
    if calls is None or len(calls.values) > MAX_TYPES:
        return []
    found = []
    for row in range(len(calls.values)):
        one = copy(scope)
        one.template = {**scope.template}
        for name, rows in given.items():
            number = scope.template[name]
            if rows.calls == calls.calls and isinstance(number, Number):
                one.template[name] = among((rows.values[row],), number.type)
        found.append(one)
    return found


def _each_value(scope: Scope, text: str) -> list[Scope]:
    """The scope once for each of several values of what a text names."""
    several: dict[str, Number] = {}
    for word in _words((text,)) if "<" in text else ():
        number = scope.template.get(word)
        if isinstance(number, Number) and number.values is not None and number.value is None:
            several[word] = number
    if not several or prod(len(number.values or ()) for number in several.values()) > MAX_VALUES:
        return []
    name, number = next(iter(several.items()))
    found = []
    for value in number.values or ():
        one = copy(scope)
        one.template = {**scope.template, name: among((value,), number.type)}
        found.append(one)
    return found


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (token.text for token in tokenize(text) if token.kind == "name")


def closed(text: str, scope: StaticScope, local: Collection[str]) -> tuple[str, ...]:
    """The types that a text can be in a scope, as texts that say the same anywhere: names of
    `local`, which are the function's own, are replaced by what they are, or by `NOT_KNOWN`."""
    bare = types.plain(text)
    if scope.declared(bare) is not None or (bare in local and bare not in scope.template):
        return (NOT_KNOWN,)
    resolved = scope.type_text(bare)
    named: list[Part] = [(resolved, (resolved,))]
    if are_many(scope, named):
        return (NOT_KNOWN,)
    scopes = (
        instances(scope, named) or _call_by_call(scope, resolved) or _each_value(scope, resolved)
    )
    if not scopes:
        return (_closed(resolved, scope, local),)
    found = {one: None for each in scopes for one in closed(resolved, each, local)}
    return tuple(found) if len(found) <= MAX_TYPES else (NOT_KNOWN,)


def _closed(text: str, scope: StaticScope, local: Collection[str]) -> str:
    tokens = tokenize(text)
    result: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.text != "<":
            bound = scope.template.get(token.text)
            if isinstance(bound, str) and bound != text:
                result += tokenize(bound)
            else:
                is_own = token.kind == "name" and (bound is not None or token.text in local)
                result.append(Token("name", NOT_KNOWN, -1) if is_own else token)
            continue
        read = template_arguments(tokens, index - 1)
        if read is None:
            return NOT_KNOWN
        arguments, index = read
        texts = ",".join(_closed_argument(argument, scope, local) for argument in arguments)
        result += (token, *tokenize(texts), Token("op", ">", -1))
    return spelled(result)


def _closed_argument(text: str, scope: StaticScope, local: Collection[str]) -> str:
    from occlsp.source.conversion import evaluate_text

    value = to_number(evaluate_text(Expr(text, Span(0, 0)), scope, None)).value
    if value is not None:
        return str(value)
    found = closed(text, scope, local)
    return found[0] if len(found) == 1 else NOT_KNOWN


def binding(text: str, scope: StaticScope, own: Collection[str]) -> Binding:
    """A template argument as a value where it is one, else as types; `own` names mean nothing
    elsewhere."""
    from occlsp.source.conversion import evaluate_text

    value = evaluate_text(Expr(text, Span(0, 0)), scope, None)
    if isinstance(value, Number) and value.values is None:
        found = closed(text, scope, own)
        return found[0] if len(found) == 1 else Types(found)
    return value


def any_binding(bound: Sequence[Binding | None]) -> Binding | None:
    """One of several arguments; None where one is not known, or they are no types nor values."""
    if not bound or any(item is None for item in bound):
        return None
    texts: dict[str, None] = {}
    for item in bound:
        if isinstance(item, str | Types):
            texts.update(dict.fromkeys(item.texts if isinstance(item, Types) else (item,)))
    if texts:
        if NOT_KNOWN in texts or not all(isinstance(item, str | Types) for item in bound):
            return None
        return next(iter(texts)) if len(texts) == 1 else Types(tuple(texts))
    result: Abstract | None = None
    for item in bound:
        assert item is not None and not isinstance(item, str | Types)
        result = item if result is None else join_values(result, item, "instantiations differ")
    return result
