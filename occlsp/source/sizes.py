"""`sizeof`: of types, of variables, of arrays and their elements."""

from __future__ import annotations

import re

from occlsp.source import types
from occlsp.source.evaluate import Scope, evaluate
from occlsp.source.numbers import Number
from occlsp.source.values import Dim, Real, to_number

_ARRAY = re.compile(r"^(.*?)((?:\[[^\[\]]*\])+)$", re.S)
_PART = re.compile(r"(\**)\s*([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)*)")


def size_of(text: str, scope: Scope) -> int | None:
    """Bytes of a type, of a local variable, or of an element of one."""
    part = _PART.fullmatch(text)
    declared = scope.declared(part[2]) if part else None
    if part is None or declared is None:
        return _size_of_type(text, scope)
    for _ in range(len(part[1]) + part[3].count("[")):
        array = _ARRAY.match(declared)
        if array is None and not declared.endswith("*"):
            return None
        declared = array[1] + array[2].partition("]")[2] if array else declared[:-1]
    found = _size_of_type(declared, scope)
    return found if found is not None or part[1] or part[3] else _size_of_value(text, scope)


def _size_of_type(text: str, scope: Scope) -> int | None:
    array = _ARRAY.match(text)
    if array is None:
        return types.size(scope.type_text(text))
    count = 1
    for length in re.findall(r"\[([^\[\]]*)\]", array[2]):
        values = [to_number(evaluate(n, scope)).value for n in scope.nodes(length)]
        if len(values) != 1 or values[0] is None:
            return None
        count *= values[0]
    element = _size_of_type(array[1].strip(), scope)
    return None if element is None else element * count


def _size_of_value(name: str, scope: Scope) -> int | None:
    """Bytes of a variable whose type is `auto`."""
    value = scope.variable(name)
    if isinstance(value, Number) and value.type is not None:
        return max(value.type.bits // 8, 1)
    if isinstance(value, Real):
        return value.bits // 8
    return 12 if isinstance(value, Dim) else None
