"""`sizeof`: of types, of variables, of arrays and their elements."""

from __future__ import annotations

import re
from collections.abc import Sequence

from occlsp.source import types
from occlsp.source.evaluate import Scope, evaluate
from occlsp.source.numbers import ULONG, Number, among, unknown
from occlsp.source.together import in_rows
from occlsp.source.values import Dim, Real, to_number

Sizes = tuple[int, ...]
_ARRAY = re.compile(r"^(.*?)((?:\[[^\[\]]*\])+)$", re.S)
_PART = re.compile(r"(\**)\s*([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)*)")


def size_in(text: str, scope: Scope) -> Number:
    """What `sizeof` gives in an expression."""
    found = sizes_of(text, scope)
    if not found:
        return unknown(f"sizeof({text}) is not known", ULONG)
    branches, _ = scope.alternatives(scope.type_text(text))
    if not branches:
        return among(found, ULONG)
    # All that is made of such sizes is made of one and the same branch's.
    rows = in_rows(branches, ("sizeof",), [(size,) for size in found])
    return among(found, ULONG, together=rows.get("sizeof"))


def size_of(text: str, scope: Scope) -> int | None:
    """Bytes of a type, of a local variable, or of an element of one; None where that is not known,
    or not one number."""
    found = sizes_of(text, scope)
    return found[0] if len(found) == 1 else None


def sizes_of(text: str, scope: Scope) -> Sizes:
    """The same, each that it can be: branches of `#if` may have a type stand for others."""
    part = _PART.fullmatch(text)
    declared = scope.declared(part[2]) if part else None
    if part is None or declared is None:
        return _of_type(text, scope)
    for _ in range(len(part[1]) + part[3].count("[")):
        array = _ARRAY.match(declared)
        if array is None and not declared.endswith("*"):
            return ()
        declared = array[1] + array[2].partition("]")[2] if array else declared[:-1]
    return _of_type(declared, scope) or (() if part[1] or part[3] else _of_value(text, scope))


def _of_type(text: str, scope: Scope) -> Sizes:
    array = _ARRAY.match(text)
    if array is None:
        resolved = scope.type_text(text)
        size = types.size(resolved)
        return (size,) if size is not None else _of_each(scope.alternatives(resolved)[1], scope)
    count = 1
    for length in re.findall(r"\[([^\[\]]*)\]", array[2]):
        values = [to_number(evaluate(n, scope)).value for n in scope.nodes(length)]
        if len(values) != 1 or values[0] is None:
            return ()
        count *= values[0]
    return tuple([size * count for size in _of_type(array[1].strip(), scope)])


def _of_each(texts: Sequence[str], scope: Scope) -> Sizes:
    """Of a type that is one of several; none where one is not known."""
    found = [types.size(scope.type_text(text)) for text in texts]
    known = tuple([size for size in found if size is not None])
    return known if len(known) == len(found) else ()


def _of_value(name: str, scope: Scope) -> Sizes:
    """Bytes of a variable whose type is `auto`."""
    value = scope.variable(name)
    if isinstance(value, Number) and value.type is not None:
        return (max(value.type.bits // 8, 1),)
    if isinstance(value, Real):
        return (value.bits // 8,)
    return (12,) if isinstance(value, Dim) else ()
