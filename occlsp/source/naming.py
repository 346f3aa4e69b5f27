"""Which names can be a function's: others that are spelled alike are variables, or members.

template <class Policy> void sum(int* p);      // named with arguments only: `int sum` is another
namespace detail { void reduce(int* p); }      // no member: `block.reduce(p)` is another
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from occlsp.source.collect import Origin
from occlsp.source.fragment import words
from occlsp.source.sites import Site, has_arguments, template_site
from occlsp.source.syntax import FileSyntax, Function
from occlsp.source.view import scope_names

_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMBER = re.compile(rb"(?:\.|->|(?:\.|->|::)\s*template)\s*\Z")
_OPENED = re.compile(rb"\b(namespace|struct|class|union)\s+(?:\w+\s*::\s*)*(?:\w+\s+)?\Z")
_DECLARED = re.compile(rb"([A-Za-z_]\w*)(?:\s+|\s*[>*&]\s*)\Z")
_DECLARES = re.compile(rb"\s*(?:[;,)\[]|=(?!=))")
_KEYWORDS = frozenset(
    (b"return", b"throw", b"case", b"else", b"goto", b"new", b"delete", b"using", b"typename")
)
_NEAR = 64


class Naming(NamedTuple):
    """How a function is named."""

    has_arguments: bool
    """Never without its template arguments: nothing but those tells the first."""
    is_free: bool
    """Never as a member: it stands in a namespace."""

    def places(
        self, syntax: FileSyntax, name: str, sites: Sequence[tuple[int, Site | None]]
    ) -> list[tuple[int, Site | None]]:
        """Those of the places where a file has the name that can be the function's."""
        code = syntax.code
        found = [one for one in sites if not self.is_free or not _is_member(code, one[0])]
        found = [one for one in found if not _is_head(syntax, name, one[0])]
        if not self.has_arguments:
            return found
        bare = [one for one in found if not _opens_arguments(code, one[0], one[0] + len(name))]
        if not bare or not _is_variable(code, name, bare):
            return found
        return [one for one in found if one not in bare]


def _is_member(code: bytes, start: int) -> bool:
    return _MEMBER.search(code, max(0, start - _NEAR), start) is not None


def _is_head(syntax: FileSyntax, name: str, start: int) -> bool:
    """Whether a name is that of a function that is defined there."""
    index = syntax.function_at(start)
    function = None if index is None else syntax.functions[index]
    return function is not None and function.name == name and start < function.listed.start


def _is_variable(code: bytes, name: str, sites: Sequence[tuple[int, Site | None]]) -> bool:
    """Whether one of some places declares a variable."""
    for start, _ in sites:
        before = _DECLARED.search(code, max(0, start - _NEAR), start)
        is_typed = before is not None and before[1] not in _KEYWORDS
        if is_typed and _DECLARES.match(code, start + len(name)):
            return True
    return False


def _opens_arguments(code: bytes, start: int, end: int) -> bool:
    """Whether template arguments stand behind a name, and no comparison."""
    return has_arguments(code, end) and template_site(code, start, end) is not None


def naming_of(origin: Origin, function: Function) -> Naming:
    """How a function is named that stands there."""
    scope = scope_names(function.qualified_name)[:-1]
    is_free = not scope or is_namespace(origin.syntax.code, scope[-1])
    return Naming(is_free and _has_arguments(function), is_free)


def _has_arguments(function: Function) -> bool:
    first = next(iter(function.template_parameters), None)
    if first is None or first.is_pack or first.default is not None:
        return False
    named = _WORD.findall(" ".join(parameter.type for parameter in function.parameters))
    return first.name not in named


@lru_cache(maxsize=16)  # a file's functions stand in the same few
def is_namespace(code: bytes, name: str) -> bool:
    """Whether a file opens a namespace of a name, and no class."""
    found = {
        match[1]
        for start in words(code, name.encode())
        if (match := _OPENED.search(code, max(0, start - _NEAR), start))
    }
    return found == {b"namespace"}
