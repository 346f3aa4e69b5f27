"""The values of `#if` conditions, macros in them expanded."""

from __future__ import annotations

from occlsp.source import expressions as ast
from occlsp.source.build_macros import DEPENDS_ON_BUILD
from occlsp.source.numbers import Number, among, binary, known, unary, unknown

NOT_KNOWN = "__occlsp_not_known"
"""Stands for what may be defined or not."""


def condition_value(node: ast.Node, depth: int = 0) -> Number:
    """What a condition is: names that are left in it are 0, unless the build decides them."""
    if depth > ast.MAX_DEPTH:
        return unknown("nested too deeply")
    match node:
        case ast.Literal():
            from occlsp.source.literals import literal

            value = literal(node.text)
            return value if isinstance(value, Number) else unknown("no integer")
        case ast.Name():
            if node.text == NOT_KNOWN:
                return among((0, 1), None)
            if node.text in DEPENDS_ON_BUILD:
                return unknown("depends on the build")
            return known(0)
        case ast.Unary():
            return unary(node.op, condition_value(node.operand, depth + 1))
        case ast.Binary():
            left = condition_value(node.left, depth + 1)
            right = condition_value(node.right, depth + 1)
            return binary(node.op, left, right)
        case ast.Ternary():
            condition = condition_value(node.condition, depth + 1)
            if condition.value is None:
                return unknown("depends on a condition")
            return condition_value(node.yes if condition.value else node.no, depth + 1)
        case _:
            return unknown("not a condition that is evaluated")
