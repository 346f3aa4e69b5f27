"""Calls as they are written, and what their arguments can be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from occlsp.source.expansion import arguments_end
from occlsp.source.lexer import split_arguments, tokenize
from occlsp.source.moving import Move
from occlsp.source.names import Binding
from occlsp.source.syntax import Expr
from occlsp.source.text import Span
from occlsp.source.type_syntax import template_arguments
from occlsp.source.values import Abstract


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its template arguments, and what its arguments can be (None: instantiation)."""

    template: tuple[Binding, ...]
    arguments: tuple[Abstract, ...] | None

    def moved(self, move: Move) -> Call:
        """The call as it is after an edit."""
        template = tuple([move.binding(one) for one in self.template])
        if self.arguments is None:
            return Call(template, None)
        return Call(template, tuple([move.abstract(one) for one in self.arguments]))


@dataclass(frozen=True, slots=True)
class Site:
    """The text of one call."""

    start: int
    span: Span
    template: tuple[str, ...]
    arguments: tuple[Expr, ...]


def read_site(code: bytes, start: int, end: int) -> Site | None:
    """The call whose name stands from `start` to `end`; None where it is not called there."""
    ahead = code[end : end + 2000].decode("latin-1")
    template: tuple[str, ...] = ()
    position = end
    if ahead.lstrip().startswith("<"):
        tokens = tokenize(ahead)
        found = template_arguments(tokens, 0)
        if found is None:
            return None
        template = found[0]
        if found[1] >= len(tokens):
            return None
        position = end + tokens[found[1]].start
    close = arguments_end(code, position)
    if close == position:
        return None
    opening = code.index(b"(", position) + 1
    inside = code[opening : close - 1].decode("latin-1")
    arguments = []
    for part in split_arguments(tokenize(inside)):
        if part:
            first, last = part[0].start, part[-1].start + len(part[-1].text)
            span = Span(opening + first, opening + last)
            arguments.append(Expr(inside[first:last], span))
    return Site(start, Span(start, close), template, tuple(arguments))


_WORD_BYTE = re.compile(rb"[0-9A-Za-z_]")


def occurrences(code: bytes, name: bytes) -> Iterator[int]:
    """Where a text holds a name as a word of its own."""
    start = code.find(name)
    while start >= 0:
        end = start + len(name)
        if not _WORD_BYTE.match(code, end) and not (start and _WORD_BYTE.match(code, start - 1)):
            yield start
        start = code.find(name, end)
