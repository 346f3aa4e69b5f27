"""Which scopes a name is looked for in beside those around it: what `using` brings in.

`using namespace detail::sizes;`, `using detail::kThreads;` and `namespace d = detail;`, in a file
or in one function of it. Where a directive of a file stands is not kept: it is taken to hold
wherever the scope that it names can be named so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from occlsp.source.fragment import matches
from occlsp.source.syntax import Function
from occlsp.source.text import Span

Path = tuple[str, ...]
"""Namespaces and classes, outermost first."""

_USING = re.compile(
    rb"using\s+(?!\w+\s*=)(?:(namespace)\s+)?(?:typename\s+)?((?:::)?\w+(?:\s*::\s*\w+)*)\s*;"
)
_ALIAS = re.compile(rb"namespace\s+(\w+)\s*=\s*((?:::)?\w+(?:\s*::\s*\w+)*)\s*;")
_PART = re.compile(r"\w+")
_MOST_NESTED = 8


class Directive(NamedTuple):
    """One of these declarations."""

    target: Path
    """As it is written: from a scope around it on."""
    alias: str | None = None
    """What `namespace X =` calls it."""
    is_namespace: bool = True
    """Whether all that is declared in there is meant, and not one name."""

    @property
    def is_all(self) -> bool:
        """Whether it may be of any name what is found by it."""
        return self.is_namespace and self.alias is None

    @property
    def name(self) -> str:
        """The one that it makes known."""
        return self.alias or self.target[-1]


class Directives(NamedTuple):
    """Those of a file."""

    everywhere: frozenset[Directive] = frozenset()
    inside: tuple[tuple[Span, Directive], ...] = ()
    """Those in functions, with the functions' spans."""


NOTHING = Directives()


class Seen:
    """What some directives make visible."""

    def __init__(
        self, directives: Iterable[Directive], near: frozenset[Directive] = frozenset()
    ) -> None:
        """`near` are those of the function itself."""
        self.directives = near.union(directives)
        self._near = {d.target for d in near if not d.is_namespace}
        self._spaces = {d.target for d in self.directives if d.is_all}
        self._names = {d.target for d in self.directives if not d.is_namespace}
        self._aliases = {**_aliases(self.directives), **_aliases(near)}

    def is_seen(self, around: Path, name: str, scope: Path) -> bool:
        """Whether a name that is declared in `around` is found from `scope` by a directive."""
        return any(
            rest in self._spaces or (*rest, name) in self._names for rest in _rests(around, scope)
        )

    def is_near(self, around: Path, name: str, scope: Path) -> bool:
        """Whether the function itself says that this one is meant: `using detail::kThreads;`."""
        return bool(self._near) and any(
            (*rest, name) in self._near for rest in _rests(around, scope)
        )

    def spelled_out(self, qualifiers: Path) -> Path:
        """Qualifiers without an alias in front."""
        target = self._aliases.get(qualifiers[0])
        return qualifiers if target is None else (*target, *qualifiers[1:])


def _aliases(directives: Iterable[Directive]) -> dict[str, Path]:
    """What `namespace X =` names, where it is the same wherever X is said."""
    found: dict[str, set[Path]] = {}
    for one in directives:
        if one.alias is not None:
            found.setdefault(one.alias, set()).add(one.target)
    return {alias: targets.pop() for alias, targets in found.items() if len(targets) == 1}


def _rests(around: Path, scope: Path) -> Iterator[Path]:
    """What names a scope as seen from another one, and from those around that."""
    for index in range(len(around)):
        if around[:index] != scope[:index]:
            return
        yield around[index:]


def directives(masked: bytes, functions: Sequence[Function]) -> Directives:
    """The directives of a text without comments and literals, with these functions in order."""
    found = []
    for match in matches(_USING, b"using", masked):
        target = _parts(match[2])
        if match[1] or len(target) > 1:
            found.append((match.start(), Directive(target, None, match[1] is not None)))
    for match in matches(_ALIAS, b"namespace", masked):
        alias = match[1].decode("latin-1")
        found.append((match.start(), Directive(_parts(match[2]), alias)))
    if not found:
        return NOTHING
    starts = [function.span.start for function in functions]
    everywhere, inside = set(), []
    for place, directive in found:
        span = _around(place, starts, functions)
        if span is None:
            everywhere.add(directive)
        else:
            inside.append((span, directive))
    return Directives(frozenset(everywhere), tuple(inside))


def _parts(name: bytes) -> Path:
    return tuple(_PART.findall(name.decode("latin-1")))


def _around(place: int, starts: Sequence[int], functions: Sequence[Function]) -> Span | None:
    """The span of the innermost function around a place."""
    last = bisect_right(starts, place)
    for function in reversed(functions[max(0, last - _MOST_NESTED) : last]):
        if function.span.start <= place < function.span.end:
            return function.span
    return None
