"""The values of a `for` loop's variable that counts from one constant to another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from occlsp.source.evaluate import evaluate
from occlsp.source.numbers import Number, among, between, binary, known
from occlsp.source.values import to_number

if TYPE_CHECKING:
    from occlsp.source.names import StaticScope

MAX_ROUNDS = 64

_CONDITION = re.compile(r"^\s*(\w+)\s*(<=|>=|!=|<|>)\s*(.+?)\s*$", re.S)
_STEP = re.compile(
    r"^\s*(?:(\+\+|--)\s*(\w+)|(\w+)\s*(\+\+|--)|(\w+)\s*(\+=|-=|\*=|/=|<<=|>>=)\s*(.+?))\s*$", re.S
)


def counted(name: str, condition: str, step: str, scope: StaticScope) -> tuple[str, Number] | None:
    """The loop variable's values inside of the body; None where they are not known."""
    test, moved = _CONDITION.match(condition), _STEP.match(step)
    first = to_number(scope.variable(name))
    if test is None or moved is None or test[1] != name or first.value is None:
        return None
    limit = _single(test[3], scope)
    op, by = _step(moved, scope)
    if limit is None or by is None:
        return None
    values: list[int] = []
    current = first
    for _ in range(MAX_ROUNDS):
        holds = binary(test[2], current, limit).value
        if holds is None:
            return None
        if not holds:
            return (name, among(values, first.type)) if values else None
        assert current.value is not None
        values.append(current.value)
        following = binary(op, current, by)
        if following.value is None or following.value == current.value:
            return None
        current = known(following.value, first.type or following.type or current.type)  # type: ignore[arg-type]
    if op == "+" and test[2] in ("<", "<=") and limit.value is not None:
        last = limit.value - (test[2] == "<")
        return name, between(first.value, last, first.type, f"{name} counts up to {last}")
    return None


def _step(moved: re.Match[str], scope: StaticScope) -> tuple[str, Number | None]:
    sign = moved[1] or moved[4]
    if sign:
        return sign[0], known(1)
    return moved[6][:-1], _single(moved[7], scope)


def _single(text: str, scope: StaticScope) -> Number | None:
    nodes = scope.nodes(text)
    if len(nodes) != 1:
        return None
    number = to_number(evaluate(nodes[0], scope))
    return number if number.value is not None else None
