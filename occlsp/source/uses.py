"""Calls of any function or macro by its name, found in a parsed file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import cast

from msgspec.structs import replace

from occlsp.source.branches import one_branch
from occlsp.source.fragment import Fragment, moved
from occlsp.source.launches import call_at
from occlsp.source.syntax import FileSyntax, RawCall
from occlsp.source.text import Span

_BACK, _AHEAD = 2048, 32768


def find_calls(syntax: FileSyntax, names: Collection[str]) -> Iterator[RawCall]:
    """Where the code of a file (not the bodies of its macros) calls one of `names`.

    `f<int>(x)`, `o.f(x)` and `n::f(x)` are calls of `f`; declarations are not.
    """
    if not names:
        return
    words = "|".join(re.escape(name) for name in sorted(names, reverse=True))
    pattern = re.compile(rb"(?:" + words.encode() + rb")(?=\s*[<(])")
    fragment: Fragment | None = None
    for match in pattern.finditer(syntax.code):
        start = match.start()
        if start and re.match(rb"[0-9A-Za-z_$\x80-\xff]", syntax.code[start - 1 : start]):
            continue
        index = syntax.function_at(start)
        if index is not None:
            bounds = syntax.functions[index].span
        else:
            bounds = Span(max(0, start - _BACK), min(len(syntax.code), start + _AHEAD))
        starts = syntax.condition_starts
        if fragment is None or Span(fragment.start, fragment.end) != bounds:
            fragment = Fragment(syntax.text, syntax.code, *bounds)
        call = call_at(fragment, Span(*match.span()))
        if call is None or any(call.span.start < one < call.arguments_span.end for one in starts):
            call = _in_one_branch(syntax, Span(*match.span())) or call
        if call is not None:
            yield replace(call, function=index, conditions=syntax.conditions_at(start))


def _in_one_branch(syntax: FileSyntax, name: Span) -> RawCall | None:
    start = max(0, name.start - _BACK)
    end = min(len(syntax.code), name.start + _AHEAD)
    code = one_branch(
        syntax.code[start:end],
        start,
        name.start,
        syntax.condition_starts,
        syntax.condition_sets,
    )
    fragment = Fragment(syntax.text[start:end], code, 0, end - start)
    call = call_at(fragment, Span(name.start - start, name.end - start))
    return None if call is None else cast(RawCall, moved(call, start))
