"""Where a value is written and read in the text around a launch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from occlsp.analysis.sources import SourceFile
from occlsp.source.brackets import match_angle, match_parenthesis, split
from occlsp.source.facts import Definition, Launch
from occlsp.source.text import Span

MOST_PIECES = 12
_NUMBER = re.compile(rb"(?<![\w.])(?:0[xX][0-9a-fA-F']+|\d[\d']*)(?:[uU]?[lL]{0,2}[uU]?)(?![\w.])")
_NAME = re.compile(rb"(?<![\w.])[A-Za-z_]\w*")
_PART, _LETTER = re.compile(rb"[\w.]"), re.compile(rb"\w")
"""What before a name makes it another, or a member; what after it makes it another."""


class Literal(Struct, frozen=True):
    """An integer literal of a text."""

    span: Span
    value: int


def is_in_macro(file: SourceFile, launch: Launch) -> bool:
    """Whether the launch is in the body of a macro, or is what the use of one expands to."""
    written = file.text[launch.span.start : launch.span.end]
    return launch.in_macro or (launch.api == "<<<>>>" and written != b"<<<")


def literals(file: SourceFile, span: Span) -> Iterator[Literal]:
    """The integer literals in a span, comments and strings left out."""
    for match in _NUMBER.finditer(file.masked, span.start, span.end):
        digits = re.sub(rb"[uUlL']+", b"", match[0]).decode()
        try:
            yield Literal(Span(*match.span()), int(digits, 0 if digits[:2].lower() == "0x" else 10))
        except ValueError:
            continue


def names(file: SourceFile, span: Span) -> dict[str, Span]:
    """The identifiers in a span that are no members, each with its first place."""
    found: dict[str, Span] = {}
    for match in _NAME.finditer(file.masked, span.start, span.end):
        found.setdefault(match[0].decode("latin-1"), Span(*match.span()))
    return found


def occurrences(file: SourceFile, name: str, span: Span | None = None) -> list[Span]:
    """Where a name stands in a file, or in a span of it."""
    wanted = name.encode()
    if not wanted or wanted not in file.text:
        return []  # most files that include a constant's: they need no masking
    start, end = span if span is not None else (0, len(file.masked))
    found: list[Span] = []
    at = file.masked.find(wanted, start, end)
    while at >= 0:
        stop = at + len(wanted)
        is_part = _PART.match(file.masked, at - 1) if at else None
        if is_part is None and (stop >= end or _LETTER.match(file.masked, stop) is None):
            found.append(Span(at, stop))
        at = file.masked.find(wanted, stop, end)
    return found


def text(file: SourceFile, span: Span) -> str:
    """The source in a span."""
    return file.text[span.start : span.end].decode("utf-8", "replace")


def bare(file: SourceFile, span: Span) -> str:
    """The code in a span without spaces and comments."""
    return re.sub(r"\s+", "", file.masked[span.start : span.end].decode("latin-1"))


class Piece(Struct, frozen=True):
    """An expression that a launch argument is made from; `axis` is x, y or z where it is known
    to be for this one."""

    span: Span
    axis: int | None


def pieces(file: SourceFile, launch: Launch, argument: Span) -> list[Piece]:
    """The argument's own expressions, then those of the local variables that it is made from.

    Only what the launching function itself says: an argument made elsewhere has no pieces there.
    """
    found = list(_parts(file, argument))
    seen: set[str] = set()
    for piece in found:
        for name in names(file, piece.span):
            if name not in seen and len(found) < MOST_PIECES:
                seen.add(name)
                found += [
                    Piece(part.span, part.axis if part.axis is not None else piece.axis)
                    for part in initialisers(file, launch, name)
                ]
    return found


def _parts(file: SourceFile, span: Span) -> Iterator[Piece]:
    """The components of `dim3(a, b)` or `{a, b}`; else the whole."""
    code = file.masked[span.start : span.end]
    match = re.match(rb"\s*(?:dim3\s*)?([({])", code)
    if match is not None:
        opening = span.start + match.start(1)
        closing = match_parenthesis(file.masked, opening, span.end)
        if closing is not None and not code[closing + 1 - span.start :].strip():
            arguments = split(file.masked, opening + 1, closing)
            if match[1] == b"{" or b"dim3" in match[0] or len(arguments) > 1:
                yield from _axes(arguments)
                return
    yield Piece(span, None)


def _axes(arguments: list[Span]) -> Iterator[Piece]:
    for axis, argument in enumerate(arguments[:3]):
        yield Piece(argument, axis)


def initialisers(file: SourceFile, launch: Launch, name: str) -> Iterator[Piece]:
    """What is assigned to a local variable in the launching function, before the launch."""
    function = launch.function_span
    if function is None:
        return
    code = file.masked
    for at in occurrences(file, name, Span(function.start, launch.span.start)):
        after = re.compile(rb"\s*(?:\.\s*([xyz])\s*)?(=(?!=)|[({])").match(code, at.end)
        if after is None:
            continue
        axis = "xyz".index(after[1].decode()) if after[1] else None
        if after[2] == b"=":
            end = _end_of_expression(code, after.end(), launch.span.start)
            for piece in _parts(file, Span(after.end(), end)):
                yield Piece(piece.span, piece.axis if axis is None else axis)
        elif axis is None and _is_declared(code, at.start):
            closing = match_parenthesis(code, after.start(2), launch.span.start)
            if closing is not None:
                arguments = split(code, after.end(), closing)
                if len(arguments) == 1:
                    yield Piece(arguments[0], None)
                else:
                    yield from _axes(arguments)


def _is_declared(code: bytes, start: int) -> bool:
    """Whether a type stands before a name: it is declared here, not called."""
    before = code[max(0, start - 80) : start].rstrip()
    word = re.search(rb"(\w+)[&*]?\Z", before)
    declared_before = before.endswith(b",") and re.search(rb"\bdim3\b[^;{}]*\Z", before)
    return bool(declared_before) or (
        word is not None and word[1] not in (b"return", b"else", b"case", b"new")
    )


def _end_of_expression(code: bytes, start: int, limit: int) -> int:
    depth = 0
    for index in range(start, limit):
        byte = code[index]
        if byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
            if depth < 0:
                return index
        elif depth == 0 and byte in b";,":
            return index
    return limit


_TEMPLATE = re.compile(rb"template\s*<([^<>]*)>")


def head(file: SourceFile, function: Span) -> Span:
    """A function without its body."""
    brace = file.masked.find(b"{", function.start, function.end)
    return Span(function.start, brace if brace >= 0 else function.end)


def template_argument(file: SourceFile, path: str, launch: Launch, name: str) -> Definition | None:
    """Where the one user of the launching function template gives its parameter `name`."""
    function = launch.function_span
    match = _TEMPLATE.match(file.masked, function.start) if function is not None else None
    if function is None or match is None or launch.function is None:
        return None
    parameters = [part.split("=")[0].split()[-1:] for part in match[1].decode("latin-1").split(",")]
    if [name] not in parameters:
        return None
    index = parameters.index([name])
    uses: list[Span] = []
    for at in occurrences(file, launch.function.rpartition("::")[2]):
        if not function.start <= at.start < function.end:
            uses += _argument(file, at, index)
    if len(uses) != 1 or not text(file, uses[0]).strip().isdigit():
        return None
    return Definition(path, uses[0], "template_argument", name)


def _argument(file: SourceFile, name: Span, index: int) -> Iterator[Span]:
    """One template argument of a name; the name itself where it has none: it is a use still."""
    opening = re.compile(rb"\s*<").match(file.masked, name.end)
    closing = match_angle(file.masked, opening.end() - 1, len(file.masked)) if opening else None
    arguments = split(file.masked, opening.end(), closing) if opening and closing else []
    yield arguments[index] if index < len(arguments) else name
