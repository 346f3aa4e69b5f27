"""What functions that a unit only declares may change of what they are given.

extern "C" void launch(dim3 grid, dim3 block, int* data, int& count);
"""

from __future__ import annotations

import re
from functools import lru_cache

from occlsp.source import types
from occlsp.source.brackets import split
from occlsp.source.expansion import arguments_end
from occlsp.source.fragment import words
from occlsp.source.parameters import parameter
from occlsp.source.syntax import FileSyntax

Prototypes = tuple[tuple[bool, ...], ...]
"""Of each declaration of a function, whether it may change the argument for each parameter."""
_BEFORE = re.compile(rb"(?:^|[;{}\n])\s*(?!return\b)[A-Za-z_][\w\s:<>,*&]*?[\s*&>]\Z")
_BEHIND = re.compile(rb"\s*(?:noexcept\s*)?;")
_CALLED = re.compile(rb"([A-Za-z_]\w*)\s*\(")
_LONGEST = 400
"""Bytes of what stands in front of a declared name."""


def named_outside(syntax: FileSyntax) -> frozenset[bytes]:
    """The names in front of brackets outside of functions: only those can be declared. Most edits
    are in functions, and leave them as they are."""
    pieces, last = [], 0
    for function in syntax.functions:
        pieces.append(syntax.code[last : function.span.start])
        last = max(last, function.span.end)
    return _called(b"".join((*pieces, syntax.code[last:])))


@lru_cache(maxsize=8)
def _called(code: bytes) -> frozenset[bytes]:
    return frozenset(_CALLED.findall(code))


def prototypes(syntax: FileSyntax, name: str) -> Prototypes:
    """The declarations of a function outside of any other; none where what is no declaration may
    be one."""
    code, found = syntax.code, []
    for start in words(code, name.encode()):
        if syntax.function_at(start) is not None:
            continue  # first, as most stand in functions
        end = arguments_end(code, start + len(name))
        if end == start + len(name):
            continue
        before = code[max(0, start - _LONGEST) : start]
        if not _BEFORE.search(before) or not _BEHIND.match(code, end):
            return ()
        opening = code.index(b"(", start) + 1
        parts = split(code, opening, end - 1, declares=True)
        found.append(tuple([types.is_reference(parameter(code, one)[0]) for one in parts]))
    return tuple(found)
