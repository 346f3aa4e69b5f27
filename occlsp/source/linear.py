"""How a number follows a variable: what is told of one later is told of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from occlsp.source.numbers import Number

Symbol = tuple[str, int]
"""A variable and which of its assignments: equal symbols have equal values."""
Linear = tuple[Symbol, int, int, int]
"""(s, a, b, d): the value is (a * s + b) / d, as C divides, for every value of the symbol s."""

MAX_FOLLOWED = 4


def itself(symbol: Symbol) -> Linear:
    """The variable's own value."""
    return symbol, 1, 0, 1


def at(one: Linear, value: int) -> int:
    """The value where the symbol has this one."""
    _, a, b, d = one
    whole = a * value + b
    return whole // d if whole >= 0 else -(-whole // d)


def most(one: Linear, high: int) -> int | None:
    """The largest value of the symbol with which the value is not above `high`."""
    _, a, b, d = one
    return None if a <= 0 or high < 0 else (high * d + d - 1 - b) // a


def linear(op: str, left: Number, right: Number) -> tuple[Linear, ...]:
    """How the result follows a symbol of one operand, the other being constant in it."""
    if not left.linear and not right.linear:
        return ()
    found: list[Linear] = []
    for one in left.linear[:MAX_FOLLOWED]:
        other = next((item for item in right.linear if item[0] == one[0]), None)
        if other is not None:
            if op in "+-" and one[3] == other[3] == 1:
                sign = 1 if op == "+" else -1
                found.append((one[0], one[1] + sign * other[1], one[2] + sign * other[2], 1))
            continue
        moved = _scaled(op, one, right.value)
        if moved is not None:
            found.append(moved)
    for one in right.linear[:MAX_FOLLOWED]:
        if any(item[0] == one[0] for item in left.linear) or op not in "+*":
            continue
        moved = _scaled(op, one, left.value)
        if moved is not None:
            found.append(moved)
    return tuple(found)


def _scaled(op: str, one: Linear, value: int | None) -> Linear | None:
    symbol, a, b, d = one
    if value is None:
        return None
    if op == "/" and value > 0:
        if d == 1 and a % value == 0 and b % value == 0:
            return symbol, a // value, b // value, 1
        return symbol, a, b, d * value
    if d != 1:
        return None
    match op:
        case "+":
            return symbol, a, b + value, 1
        case "-":
            return symbol, a, b - value, 1
        case "*":
            return symbol, a * value, b * value, 1
        case _:
            return None
