"""Variables that are set where they are declared, and that nothing changes: good as constants.

dim3 blockSize(16, 16);
void draw() { run(blockSize); }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from occlsp.source.brackets import split
from occlsp.source.effects import changes
from occlsp.source.expansion import arguments_end
from occlsp.source.fragment import words
from occlsp.source.known_calls import may_change
from occlsp.source.lexer import tokenize
from occlsp.source.syntax import Constant, Expr, FileSyntax
from occlsp.source.text import Span
from occlsp.source.view import View

_DECLARED = re.compile(
    rb"^[ \t]*(?:static\s+)?((?:unsigned\s+)?(?:int|long|short)|unsigned|uint|size_t|dim3)\s+"
    rb"(\w+)\s*(?:=\s*([^;{}]+?)|\(([^;{}]*)\)|\{([^;{}]*)\})\s*;",
    re.M,
)
_BOUND = re.compile(rb"[;{}]")
_LONGEST = 4000
"""Bytes of a statement that is looked at."""


def unchanged(syntax: FileSyntax, view: View) -> Iterator[Constant]:
    """The variables at namespace scope that nothing in the file changes."""
    for match in _DECLARED.finditer(syntax.code):
        value = next(Span(*match.span(i)) for i in (3, 4, 5) if match[i] is not None)
        name = match[2].decode()
        if syntax.function_at(match.start()) is not None or _changes(syntax, view, name):
            continue
        yield Constant(
            name,
            (),
            " ".join(match[1].decode().split()),
            Expr(syntax.code[slice(*value)].decode("latin-1"), value),
            is_constexpr=False,
            conditions=syntax.conditions_at(match.start()),
        )


def _changes(syntax: FileSyntax, view: View, name: str) -> bool:
    """Whether any statement of the file may change a variable."""
    code = syntax.code
    if any(name in define.body.text for define in syntax.defines):
        return True
    for start in words(code, name.encode()):
        floor = max(0, start - _LONGEST)
        bounds = list(_BOUND.finditer(code, floor, start))
        end = _BOUND.search(code, start, start + _LONGEST)
        if end is None or (not bounds and floor > 0):
            return True
        statement = code[bounds[-1].end() if bounds else 0 : end.start()].decode("latin-1")
        if syntax.function_at(start) is None:
            continue
        for change in changes(tokenize(statement), {name}):
            if change.callee is None or (
                not _takes_value(syntax, change.callee, change.position)
                and may_change(change.callee, change.position, view, change.is_statement)
            ):
                return True
    return False


def _takes_value(syntax: FileSyntax, callee: str, position: int) -> bool:
    """Whether a function that the file declares takes its argument at a position by value."""
    code = syntax.code
    for start in words(code, callee.encode()):
        end = arguments_end(code, start + len(callee))
        if syntax.function_at(start) is None and end > start + len(callee):
            opening = code.index(b"(", start) + 1
            parts = split(code, opening, end - 1)
            return position < len(parts) and b"&" not in code[slice(*parts[position])]
    return False
