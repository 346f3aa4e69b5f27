"""Calls as they are written, and what their arguments can be.

A function is called by its name, or by another that it is handed to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from occlsp.source.brackets import match_angle, skip_blanks
from occlsp.source.expansion import arguments_end
from occlsp.source.lexer import split_arguments, tokenize
from occlsp.source.moving import Move
from occlsp.source.names import Binding
from occlsp.source.passing import callables
from occlsp.source.syntax import Expr, Function
from occlsp.source.text import Span
from occlsp.source.type_syntax import template_arguments
from occlsp.source.values import Abstract
from occlsp.source.view import View


class Call(Struct, frozen=True):
    """One call: its template arguments, and what its arguments can be (None: instantiation)."""

    template: tuple[Binding, ...]
    arguments: tuple[Abstract, ...] | None
    is_idle: bool = False
    """Whether it is in a template of which no instance is in view."""

    def moved(self, move: Move) -> Call:
        """The call as it is after an edit."""
        template = tuple([move.binding(one) for one in self.template])
        if self.arguments is None:
            return Call(template, None, self.is_idle)
        values = tuple([move.abstract(one) for one in self.arguments])
        return Call(template, values, self.is_idle)


class Site(Struct, frozen=True):
    """The text of one call."""

    start: int
    span: Span
    template: tuple[str, ...]
    arguments: tuple[Expr, ...]
    is_address: bool = False
    """Whether an instance of a template is named, and not called: `table[] = {f<32>, f<64>}`, or
    is a kernel's, which is launched."""

    @property
    def is_counted(self) -> bool:
        """Whether it is to be seen how many arguments there are: none is a pack."""
        return not self.is_address and not self.is_pack

    @property
    def is_pack(self) -> bool:
        """Whether some of its arguments are a pack's."""
        return any(one.text.endswith("...") for one in self.arguments)


_NEAR, _AHEAD = 256, 2_000
"""Bytes behind a name in which its template arguments are looked for, and before one in which
the call that it is handed to is."""
_LAUNCHED = re.compile(rb"\s*(?:<(?!<)[^;{}]*?>)?\s*<<<")
_LAST_WORD = re.compile(rb"([A-Za-z_]\w*)\s*\Z")
_ADDRESS_END = re.compile(rb"\s*(?:[,;)}]|:(?!:)|<<<)")
_BRACKETS = re.compile(rb"[()\[\]{};,]")


def is_launched(code: bytes, end: int) -> bool:
    """Whether the name that ends there is a kernel's, which is launched."""
    return _LAUNCHED.match(code, end, end + _AHEAD) is not None


def has_arguments(code: bytes, end: int) -> bool:
    """Whether template arguments may begin behind the name that ends there."""
    return code[end : end + _NEAR].lstrip().startswith(b"<")


def read_site(
    code: bytes, start: int, end: int, view: View | None = None, inside: Function | None = None
) -> Site | None:
    """The call whose name stands from `start` to `end`; None where it is not called there, nor an
    instance of a template that somebody may call. One that is not closed in the function that it is
    `inside` of says nothing: an edit of another function may close it.

    With a view, `benchmark(times, f, a, b)` is a call of `f` with a and b where `benchmark` calls
    what it is handed with all that follows.
    """
    template: tuple[str, ...] = ()
    position = end
    if has_arguments(code, end):
        opening = code.find(b"(", end, end + _AHEAD)  # mostly the call's, close behind
        for behind in (opening + 1, end + _NEAR, end + _AHEAD):
            tokens = tokenize(code[end:behind].decode("latin-1"))
            found = template_arguments(tokens, 0)
            if found is not None and found[1] < len(tokens) - (tokens[-1].text != "("):
                break
        if found is None or found[1] >= len(tokens):
            return None
        template = found[0]
        position = end + tokens[found[1]].start
    close = arguments_end(code, position)
    if inside is not None and close > inside.span.end:
        return None
    if close == position:
        name = Span(start, position)
        forwarded = _forwarded(code, name, template, view) if view else None
        if forwarded is None and template and _ADDRESS_END.match(code, position):
            return Site(start, name, template, (), is_address=True)
        return forwarded
    opening = code.index(b"(", position) + 1
    return Site(start, Span(start, close), template, _arguments(code, opening, close - 1))


def template_site(code: bytes, start: int, end: int) -> Site | None:
    """The name of a template with the arguments that begin behind it; None where they are not
    read."""
    opening = skip_blanks(code, end, end + _NEAR)
    closing = match_angle(code, opening, min(len(code), opening + _AHEAD))
    if closing is None:
        return None
    tokens = tokenize(code[opening : closing + 1].decode("latin-1"))
    read = template_arguments(tokens, 0, is_template=True)
    if read is None or read[1] != len(tokens):
        return None
    return Site(start, Span(start, closing + 1), read[0], (), is_address=True)


def _arguments(code: bytes, start: int, end: int) -> tuple[Expr, ...]:
    inside = code[start:end].decode("latin-1")
    arguments = []
    for part in split_arguments(tokenize(inside)):
        if part:
            first, last = part[0].start, part[-1].start + len(part[-1].text)
            arguments.append(Expr(inside[first:last], Span(start + first, start + last)))
    return tuple(arguments)


def _forwarded(code: bytes, name: Span, template: tuple[str, ...], view: View) -> Site | None:
    handed = handed_to(code, name.start)
    if handed is None or view.forwarder(handed.callee) != handed.position:
        return None
    end = arguments_end(code, handed.opening) - 1
    comma = re.compile(rb"\s*[,)]").match(code, name.end)
    if end <= name.end or comma is None:
        return None
    return Site(name.start, name, template, _arguments(code, min(comma.end(), end), end))


class Handed(Struct, frozen=True):
    """A function's name as an argument: of which call, and which argument."""

    callee: str
    position: int
    opening: int
    """Offset of the call's bracket."""


def handed_to(code: bytes, start: int) -> Handed | None:
    """The call that what stands at `start` is an argument of; None where it is none by itself."""
    near = max(0, start - _NEAR)
    if not code[near:start].rstrip().removesuffix(b"&").rstrip().endswith((b"(", b",")):
        return None
    return _handed(code, near, start) or _handed(code, max(0, start - _AHEAD), start)


def _handed(code: bytes, floor: int, start: int) -> Handed | None:
    """The same, where the call begins behind `floor`."""
    position = depth = 0
    before = code[floor:start]
    for match in reversed(list(_BRACKETS.finditer(before))):
        text = match.group()
        if text in b")]}":
            depth += 1
        elif depth > 0:
            depth -= text in b"([{"
        elif text == b",":
            position += 1
        elif text == b"(":
            called = _LAST_WORD.search(before, max(0, match.start() - 80), match.start())
            opening = floor + match.start()
            return Handed(called[1].decode(), position, opening) if called is not None else None
        else:
            return None
    return None


def calls_of_parameter(
    code: bytes, named: Sequence[Function], handed: Handed
) -> tuple[Function, list[Site]] | None:
    """Where a template calls the function that it is handed: the template, and its calls.

    None where that is not known: none of the file's functions is meant for certain, or it does
    anything else with what it is handed.
    """
    if len(named) != 1:
        return None
    function = named[0]
    parameter = function.parameters[handed.position : handed.position + 1]
    if not parameter or parameter[0].name not in callables(function):
        return None
    name = parameter[0].name.encode()
    places = re.compile(rb"\b" + name + rb"\b").finditer(code, *function.body)
    found = [read_site(code, *place.span()) for place in places]
    sites = [site for site in found if site is not None and site.is_counted]
    return (function, sites) if sites and len(sites) == len(found) else None
