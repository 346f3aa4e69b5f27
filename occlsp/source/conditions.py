"""What a host condition says: of variables, where it holds; and of the device."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from occlsp.source import expressions as ast
from occlsp.source.evaluate import evaluate, place
from occlsp.source.numbers import Number, Symbol, among, between, binary
from occlsp.source.values import Abstract, Dim

if TYPE_CHECKING:
    from occlsp.source.names import StaticScope

_GUARD = re.compile(
    r"\b(?:cc|arch|major|minor|sm_?\d*|sm_?(?:version|arch|count)|warp_?size|\w*compute_?cap\w*|"
    r"\w*dev(?:ice)?_?prop\w*|prop|props|sharedMemPer\w*|maxThreadsPer\w*|maxGridSize|"
    r"regsPer\w*|max_?(?:dyn\w*|shared|smem)\w*|smpb\w*|\w*smem_?(?:limit|opt_?in|max)\w*|"
    r"cuda_?arch\w*|\w*is_sm\d*\w*|device_?arch\w*|get_?device\w*|cuda_?version|driver_?version|"
    r"\w*_available|supports?_?\w*|has_?(?:tensor|fp16|bf16)\w*)\b",
    re.I,
)

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_NEGATED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}


def device_guard(text: str) -> bool:
    """Whether a condition asks what the device can do."""
    return _GUARD.search(text) is not None


def refine(
    node: ast.Node, variables: dict[str, Abstract], scope: StaticScope, *, holds: bool
) -> None:
    """Puts into `variables` what they must be where the condition holds (or does not)."""
    match node:
        case ast.Unary(op="!"):
            refine(node.operand, variables, scope, holds=not holds)
        case ast.Binary(op="&&") if holds:
            refine(node.left, variables, scope, holds=True)
            refine(node.right, variables, scope, holds=True)
        case ast.Binary(op="||") if not holds:
            refine(node.left, variables, scope, holds=False)
            refine(node.right, variables, scope, holds=False)
        case ast.Binary() if node.op in _NEGATED:
            op = node.op if holds else _NEGATED[node.op]
            _compare(node.left, op, node.right, variables, scope)
            _compare(node.right, _MIRRORED[op], node.left, variables, scope)


def _compare(
    left: ast.Node, op: str, right: ast.Node, variables: dict[str, Abstract], scope: StaticScope
) -> None:
    if not isinstance(left, ast.Name | ast.Member):
        return
    key = place(left, scope)
    if key is None or key not in variables:
        return
    variable = variables[key]
    bound = evaluate(right, scope)
    if not isinstance(variable, Number) or not isinstance(bound, Number):
        return
    narrowed = _narrowed(variable, op, bound)
    if narrowed is not None:
        variables[key] = narrowed
        _follow(variables, narrowed)


def _follow(variables: dict[str, Abstract], narrowed: Number) -> None:
    """Narrows what was computed from a variable along with it: `dim3 block(t)` where t is 64."""
    symbols = {symbol for symbol, factor, offset in narrowed.linear if (factor, offset) == (1, 0)}
    for name, value in list(variables.items()):
        if isinstance(value, Number):
            variables[name] = _along(value, narrowed, symbols)
        elif isinstance(value, Dim):
            found = tuple(
                (_along(x, narrowed, symbols), _along(y, narrowed, symbols), z)
                for x, y, z in value.alternatives
            )
            if found != value.alternatives:
                variables[name] = replace(value, alternatives=found)


def _along(number: Number, narrowed: Number, symbols: set[Symbol]) -> Number:
    """A number that is a multiple of a variable, which is narrowed."""
    for symbol, factor, offset in number.linear:
        if symbol not in symbols or narrowed.values is None:
            continue
        values = {factor * value + offset for value in narrowed.values}
        if number.values is not None:
            values &= set(number.values)
        type_ = number.type
        if values and (
            type_ is None or type_.lowest <= min(values) <= max(values) <= type_.highest
        ):
            return replace(
                among(values, type_),
                linear=number.linear,
                device=number.device,
                definition=number.definition,
            )
    return number


def _narrowed(variable: Number, op: str, bound: Number) -> Number | None:
    if variable.values is not None and bound.value is not None:
        kept = [
            value
            for value in variable.values
            if binary(op, replace(variable, values=(value,), low=value, high=value), bound).value
            != 0
        ]
        if not kept or len(kept) == len(variable.values):
            return None
        return replace(among(kept, variable.type), linear=variable.linear, device=variable.device)
    if variable.values is not None:
        return None
    if op == "==" and bound.values is not None and min(bound.values) >= 0:
        return replace(among(bound.values, variable.type), linear=variable.linear)
    as_unsigned = bound.type is not None and not bound.type.signed and variable.type != bound.type
    if as_unsigned and (variable.low is None or variable.low < 0):
        # A negative value compares as a large one: an upper bound says nothing of it.
        return None
    low, high = variable.low, variable.high
    if op in ("<", "<=") and bound.high is not None and bound.high >= 0:
        limit = bound.high - (op == "<")
        high = limit if high is None else min(high, limit)
    elif op in (">", ">=") and bound.low is not None and bound.low >= 0:
        limit = bound.low + (op == ">")
        low = limit if low is None else max(low, limit)
    else:
        return None
    if low is not None and high is not None and low > high:
        return None
    narrowed = between(low, high, variable.type, variable.why)
    return replace(narrowed, linear=variable.linear, device=variable.device)
