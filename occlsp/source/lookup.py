"""Which declarations a name means at a place: C++'s scopes, without overload resolution."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from occlsp.source.namespaces import Seen
from occlsp.source.view import Callable_, View, parts, scope_names

if TYPE_CHECKING:
    from occlsp.source.names import StaticScope

MAX_BASES = 8

Table = Literal["constants", "functions", "aliases"]
Declared = tuple[str, Any]
"""A declaration and the file that it is in."""


def meant(
    scope: StaticScope,
    table: Table,
    name: str,
    qualifiers: Sequence[tuple[str, tuple[str, ...] | None]],
) -> list[Declared]:
    """The declarations that a name with these qualifiers can mean in a scope."""
    view = scope.view
    names = tuple([part for part, _ in qualifiers])
    seen = view.seen(scope.at)
    key = (table, name, names, scope.scope, seen)
    found = view.meant.get(key)
    if found is None:
        declared: list[Declared] = getattr(view, table)(name)
        found = _meant(view, declared, name, names, scope.scope, seen) if declared else []
        view.meant[key] = found
    return found


def _meant(
    view: View,
    found: list[Declared],
    name: str,
    names: tuple[str, ...],
    scope: tuple[str, ...],
    seen: Seen,
) -> list[Declared]:
    if names:
        names = seen.spelled_out(names)
        matching = [i for i in found if scope_of(i[1])[-len(names) :] == names]
        return matching or _inherited(view, found, names[-1])
    by_depth: dict[tuple[bool, int, bool], list[Declared]] = {}
    for item in found:
        around = scope_of(item[1])
        common = _common(around, scope)
        # Of two that are found as far out a directive holds elsewhere: it would be ambiguous.
        is_around = common == len(around)
        if is_around or seen.is_seen(around, name, scope):
            key = seen.is_near(around, name, scope), common, is_around
            by_depth.setdefault(key, []).append(item)
    if by_depth:
        return by_depth[max(by_depth)]
    for depth in range(len(scope), 0, -1):
        inherited = _inherited(view, found, scope[depth - 1])
        if inherited:
            return inherited
    return []


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many scopes are around both: what a directive brings in is found in the last of them."""
    found = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        found += 1
    return found


def _inherited(view: View, found: list[Declared], current: str) -> list[Declared]:
    """Members of the bases of a class."""
    for _ in range(MAX_BASES):
        clause = view.bases.get(current)
        if clause is None:
            return []
        for base in base_names(clause):
            named_parts = parts(base)
            if not named_parts:
                continue
            current = named_parts[-1][0]
            matching = [i for i in found if scope_of(i[1])[-1:] == (current,)]
            if matching:
                return matching
    return []


def scope_of(item: Any) -> tuple[str, ...]:
    if isinstance(item, Callable_):
        return scope_names(item.function.qualified_name)[:-1]
    scope: tuple[str, ...] = item.scope
    return scope if all(scope) else tuple(filter(None, scope))


def base_names(clause: str) -> Iterator[str]:
    """The classes that a base clause names."""
    depth = 0
    current = ""
    for char in clause + ",":
        if char == "," and depth == 0:
            yield re.sub(r"\b(?:public|protected|private|virtual|typename)\b", "", current).strip()
            current = ""
            continue
        depth += (char == "<") - (char == ">")
        current += char
