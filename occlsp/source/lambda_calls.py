"""What the calls of a local lambda give for its parameters, where they are literals: those in its
function, and those by the templates that it is handed to.

auto run = [&](auto threads) { k<<<1, threads.value>>>(p); };
dispatch(run);    // which calls it as `run(std::integral_constant<int, 64>{})`
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from occlsp.source import types
from occlsp.source.brackets import split
from occlsp.source.literals import literal
from occlsp.source.numbers import IntType, Number, among
from occlsp.source.passing import callables
from occlsp.source.sites import handed_to, read_site
from occlsp.source.syntax import Function
from occlsp.source.text import WORD_BYTES
from occlsp.source.together import in_rows

if TYPE_CHECKING:
    from occlsp.source.view import View

Calls = tuple[tuple[str, ...], ...]
"""The arguments of some calls."""
_NAMED = re.compile(r"\bauto\s+(\w+)\s*=\s*\Z")
_CONSTANT = re.compile(r"(?:\w+::)*integral_constant<([\w:\s]+),\s*(\w+)>\s*(?:\{\}|\(\))")
_LITERAL = re.compile(r"\d\w*")
_BEHIND_MEMBER = re.compile(rb"(?:\.|->|::)\s*\Z")


def handed_on(function: Function, masked: bytes) -> tuple[tuple[int, Calls], ...]:
    """What a template calls the functions with that it is handed, and does nothing else with: by
    the place of the parameter, and only where that is all literals."""
    start, end = function.body.start, function.body.end
    if not function.is_template or b"__" in masked[function.span.start : start]:
        return ()  # on the device, nothing of the host is called
    body = masked[start:end]
    if b"#" in body:
        return ()  # not all of it may be there
    if not any(name + b"(" in body for name in _last_words(function.listed_code)):
        return ()  # as of most: what they are given is not read for that
    able, found = callables(function), []
    for position, parameter in enumerate(function.parameters):
        if parameter.name in able and f"{parameter.name}(".encode() in body:
            calls = _calls(body, parameter.name)
            if calls and all(_number(one) for call in calls for one in call):
                found.append((position, calls))
    return tuple(found)


def _last_words(parameters: bytes) -> list[bytes]:
    """What may be the names in a list of parameters."""
    parts = map(bytes.rstrip, parameters.replace(b"=", b",").split(b","))
    return [word for part in parts if (word := part[len(part.rstrip(WORD_BYTES)) :])]


def name_of(text: str) -> str | None:
    """The variable that the lambda behind a text is the value of."""
    named = _NAMED.search(text)
    return named[1] if named else None


def given_to(
    name: str,
    parameters: Sequence[tuple[str, str]],
    text: str,
    view: View,
    place: str,
    callees: set[str],
) -> dict[str, Number]:
    """The parameters, and members of them, that all calls of a lambda give; `callees` takes in
    what it is handed to."""
    calls = _calls(text.encode("latin-1"), name, view, callees)
    if not calls or any(len(call) != len(parameters) for call in calls):
        return {}
    columns: dict[str, list[int]] = {}
    kinds: dict[str, IntType | None] = {}
    for (kind, parameter), texts in zip(parameters, zip(*calls, strict=True), strict=True):
        read = [_number(one) for one in texts]
        if not all(read) or len({one[:2] for one in read if one}) != 1:
            continue
        member, type_, _ = read[0] or ("", None, 0)
        if not member and types.plain(kind) != "auto":
            type_ = types.integer(kind)
        values = [one[2] for one in read if one]
        if type_ is not None and all(type_.lowest <= one <= type_.highest for one in values):
            columns[f"{parameter}{member}"] = values
            kinds[f"{parameter}{member}"] = type_
    rows = in_rows(place, tuple(columns), zip(*columns.values(), strict=True))
    return {
        key: replace(among(values, kinds[key]), together=rows.get(key))
        for key, values in columns.items()
    }


def _calls(
    code: bytes, name: str, view: View | None = None, callees: set[str] | None = None
) -> Calls | None:
    """The calls of a name in a text; None where anything else is done with it. The function that
    it is declared in has a view: there, it may be handed to a template in view."""
    if view is not None and any(index.macros_naming(name) for index in view.indexes):
        return None
    calls: list[tuple[str, ...]] = []
    for match in re.finditer(rf"\b{name}\b".encode(), code):
        start, end = match.span()
        if view is not None and _is_declared(code, start, end):
            continue
        site = read_site(code, start, end)
        is_member = _BEHIND_MEMBER.search(code, max(0, start - 8), start)
        if site is not None and not site.is_address and not site.template and not is_member:
            given = split(code, code.index(b"(", end) + 1, site.span.end - 1)
            calls.append(tuple(code[slice(*one)].decode("latin-1") for one in given))
            continue
        handed = handed_to(code, start) if view is not None and site is None else None
        if view is None or callees is None or handed is None:
            return None
        callees.add(handed.callee)
        made = [dict(item.calls).get(handed.position) for _, item in view.functions(handed.callee)]
        if len(made) != 1 or made[0] is None:
            return None
        calls += made[0]
    return tuple(calls)


def _is_declared(code: bytes, start: int, end: int) -> bool:
    """Whether a name stands where a lambda is its value."""
    before, behind = code[max(0, start - 40) : start].rstrip(), code[end : end + 40].lstrip()
    return before.endswith(b"auto") and behind[:1] == b"=" and behind[1:].lstrip()[:1] == b"["


def _number(text: str) -> tuple[str, IntType, int] | None:
    """A literal, or the member `value` of a constant that is a type: which, its type, its value."""
    constant = _CONSTANT.fullmatch(text.strip())
    written = constant[2] if constant else text.strip()
    value = literal(written) if _LITERAL.fullmatch(written) else None
    if not isinstance(value, Number) or value.value is None:
        return None
    type_ = types.integer(constant[1].strip()) if constant else value.type
    return None if type_ is None else (".value" if constant else "", type_, value.value)
