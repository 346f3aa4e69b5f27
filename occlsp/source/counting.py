"""The values that a loop's variable counts through, and those that a loop leaves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from occlsp.source.evaluate import evaluate
from occlsp.source.numbers import Number, among, between, binary, convert, known, truth
from occlsp.source.values import to_number

if TYPE_CHECKING:
    from occlsp.source import expressions as ast
    from occlsp.source.names import StaticScope

MAX_ROUNDS = 64

_CONDITION = re.compile(r"^\s*(\w+)\s*(<=|>=|!=|<|>)\s*(.+?)\s*$", re.S)
_STEP = re.compile(
    r"^\s*(?:(\+\+|--)\s*(\w+)|(\w+)\s*(\+\+|--)|(\w+)\s*(\+=|-=|\*=|/=|<<=|>>=)\s*(.+?))\s*$", re.S
)
_WRITTEN_OUT = re.compile(r"^\s*(\w+)\s*=\s*\1\s*(\+|-|\*|/|<<|>>)\s*(\w+)\s*$")


def counted(name: str, condition: str, step: str, scope: StaticScope) -> tuple[str, Number] | None:
    """The loop variable's values inside of the body; None where they are not known."""
    test, moved = _CONDITION.match(condition), _moved(step)
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


def stepped(statement: str) -> str | None:
    """The variable that a statement steps, where it does nothing else."""
    moved = _moved(statement)
    return None if moved is None or "," in statement else moved[2] or moved[3] or moved[5]


def left_by(
    name: str,
    first: Number,
    condition: ast.Node,
    statement: str,
    scope: StaticScope,
    *,
    anywhere: bool,
) -> Number | None:
    """What a variable can be behind `while (condition) statement;`; None where it is not known.
    `anywhere`: the loop may be left at each value.

    The loop may end wherever the condition need not hold: `while (t < n && t < 256) t *= 2;`
    leaves each power of two up to 256. It has to be known that it ends: nothing may overflow.
    """
    moved = _moved(statement)
    if moved is None or first.values is None or first.type is None:
        return None
    op, by = _step(moved, scope)
    if by is None:
        return None
    found: list[int] = []
    for value in first.values:
        current = known(value, first.type)
        for _ in range(MAX_ROUNDS):
            scope.variables[name] = current
            holds = truth(to_number(evaluate(condition, scope))).value
            if (anywhere or not holds) and current.value is not None:
                found.append(current.value)
            if holds == 0:
                break
            following = convert(binary(op, current, by), first.type)
            if following.value is None or following.value <= 0 or following == current:
                return None
            current = following
        else:
            return None
    return among(found, first.type)


def _moved(statement: str) -> re.Match[str] | None:
    """A step, `n = n * 2` as `n *= 2`."""
    return _STEP.match(_WRITTEN_OUT.sub(r"\1 \2= \3", statement))


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
