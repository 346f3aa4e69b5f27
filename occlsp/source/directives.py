"""Preprocessor directives: one logical line each, and the conditions that `#if` makes."""

from __future__ import annotations

import re

from msgspec import Struct

from occlsp.source.mask import blank_comments
from occlsp.source.syntax import Condition, Define, Expr, Include
from occlsp.source.text import IDENTIFIER, Span

_LINE_END = re.compile(rb"\r\n|\n|\r")
_NAME = re.compile(rb"#[ \t]*([A-Za-z_]+)")
_DEFINE = re.compile(rb"\s*(" + IDENTIFIER + rb")(?:\(([^()]*)\))?")
_INCLUDE = re.compile(rb'\s*(?:"([^"\r\n]+)"|<([^>\r\n]+)>)')
_CONTINUATION = re.compile(rb"\\(\r\n|\n|\r)")
_NEXT = re.compile(rb"[\n\r][ \t\f\v]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")
_GUARD = re.compile(rb"\s*!\s*defined\s*\(?\s*(" + IDENTIFIER + rb")\s*\)?\s*\Z")
_FALSE = re.compile(r"\(*\s*(?:0+|false|!\s*1)\s*\)*")
_TRUE = re.compile(r"\(*\s*(?:[1-9][0-9]*|true|!\s*0)\s*\)*")


class Directive(Struct, frozen=True):
    """One directive: its name, and its logical line from `#` to before the line end."""

    name: bytes
    span: Span
    rest: Span
    """What follows the name."""


def read_directive(masked: bytes, offset: int, floor: int) -> Directive | None:
    """The directive whose `#` is at `offset`; None where that `#` does not begin a line.

    `floor` is 0 or follows the last token that was read, so that what is before it need not
    be looked at.
    """
    if offset and masked[offset - 1] not in b"\n\r":
        line = masked.rfind(b"\n", floor, offset)
        line = max(line, masked.rfind(b"\r", max(line, floor), offset))
        if (line < 0 and floor > 0) or masked[max(line, 0) : offset].strip():
            return None
    end = _line_end(masked, offset)
    name = _NAME.match(masked, offset, end)
    if name is None:
        return Directive(b"", Span(offset, end), Span(offset + 1, end))
    return Directive(name[1], Span(offset, end), Span(name.end(), end))


def _line_end(masked: bytes, position: int) -> int:
    """Where the logical line ends that goes on at `position`."""
    end = masked.find(b"\n", position)
    if end >= 0 and masked[end - 1] not in b"\r\\" and masked.find(b"\r", position, end) < 0:
        return end
    while True:
        match = _LINE_END.search(masked, position)
        if match is None:
            return len(masked)
        end, position = match.span()
        if masked[end - 1] != 0x5C:
            return end


def dead_branch_end(masked: bytes, position: int) -> int:
    """Where the branch that begins at `position` ends: the line end in front of its `#elif`,
    `#else` or `#endif`, or the end of the text."""
    depth = 0
    while True:
        match = _NEXT.search(masked, position)
        if match is None:
            return len(masked)
        name = match[1]
        if name.startswith(b"if"):
            depth += 1
        elif depth == 0:
            return match.start()
        elif name == b"endif":
            depth -= 1
        position = match.end()


def read_define(
    text: bytes, masked: bytes, directive: Directive, conditions: tuple[Condition, ...]
) -> Define | None:
    """The `#define` or `#undef` that a directive is."""
    match = _DEFINE.match(masked, directive.rest.start, directive.rest.end)
    if match is None:
        return None
    name = match[1].decode("utf-8", "replace")
    undefined = directive.name == b"undef"
    parameters: tuple[str, ...] | None = None
    if match[2] is not None:
        names = match[2].replace(b"\\", b" ").decode("utf-8", "replace").split(",")
        parameters = tuple(part.strip() for part in names if part.strip())
    start = directive.rest.end if undefined else match.end()
    body = unfold(text[start : directive.rest.end])
    stripped = body.lstrip()
    start += len(body) - len(stripped)
    stripped = stripped.rstrip()
    expression = Expr(stripped.decode("utf-8", "replace"), Span(start, start + len(stripped)))
    return Define(name, parameters, expression, conditions, undefined)


def unfold(text: bytes) -> bytes:
    """A logical line with its comments and continuations blanked."""
    text = blank_comments(text)
    if b"\\" not in text:
        return text
    return _CONTINUATION.sub(lambda match: b" " * len(match[0]), text)


def read_include(
    text: bytes, directive: Directive, conditions: tuple[Condition, ...]
) -> Include | None:
    """The `#include` that a directive is; None where its target is a macro."""
    match = _INCLUDE.match(text, directive.rest.start, directive.rest.end)
    if match is None:
        return None
    group = match.lastindex or 0
    target = match[group].decode("utf-8", "replace")
    return Include(target, group == 2, Span(*match.span(group)), conditions)


def condition_text(masked: bytes, directive: Directive) -> str:
    """The expression of an `#if`, `#ifdef`, `#ifndef`, `#elif…`; empty for `#else`."""
    expression = " ".join(
        unfold(masked[directive.rest.start : directive.rest.end]).decode("utf-8", "replace").split()
    )
    if directive.name in (b"ifdef", b"elifdef"):
        return f"defined({expression.split(' ')[0]})"
    if directive.name in (b"ifndef", b"elifndef"):
        return f"!defined({expression.split(' ')[0]})"
    return "" if directive.name == b"else" else expression


def is_false(condition: str) -> bool:
    """Whether a condition is written to be false whatever is defined: `0`, `false`, `!1`."""
    return _FALSE.fullmatch(condition) is not None


def is_true(condition: str) -> bool:
    """Whether a condition is written to be true whatever is defined: `1`, `true`, `!0`."""
    return _TRUE.fullmatch(condition) is not None


def guard_name(condition: str) -> str | None:
    """The macro whose absence a condition tests, as an include guard does."""
    match = _GUARD.match(condition.encode())
    return match[1].decode("utf-8", "replace") if match is not None else None
