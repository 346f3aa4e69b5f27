"""What a host condition says: of variables, where it holds; and of the device."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from occlsp.source import expressions as ast
from occlsp.source.evaluate import evaluate, place
from occlsp.source.linear import Linear, Symbol, at, itself, most
from occlsp.source.numbers import INT, UINT, Number, among, between, binary, common
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

PARTS = ("x", "y", "z")
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_NEGATED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}


@lru_cache(maxsize=1024)
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
        if isinstance(left, ast.Binary):
            _compare_made(left, op, right, variables, scope)
        return
    key = place(left, scope)
    if key is None:
        return
    holder, _, part = key.rpartition(".")
    dim = variables.get(holder)
    if isinstance(dim, Dim) and part in PARTS:
        variables[holder] = _with_part(dim, PARTS.index(part), op, evaluate(right, scope))
        return
    if key not in variables:
        return
    variable = variables[key]
    bound = evaluate(right, scope)
    if not isinstance(variable, Number) or not isinstance(bound, Number):
        return
    narrowed = _narrowed(variable, op, bound)
    if narrowed is not None:
        variables[key] = narrowed
        _follow(variables, narrowed)


def _with_part(dim: Dim, index: int, op: str, bound: Abstract) -> Dim:
    """`block.x <= 1024` bounds a part of each of the triples, or leaves some of them."""
    found = []
    for triple in dim.alternatives:
        if isinstance(bound, Number) and binary(op, triple[index], bound).value != 0:
            parts = list(triple)
            parts[index] = _narrowed(parts[index], op, bound) or parts[index]
            found.append((parts[0], parts[1], parts[2]))
    return replace(dim, alternatives=tuple(found)) if found else dim


def _compare_made(
    left: ast.Binary, op: str, right: ast.Node, variables: dict[str, Abstract], scope: StaticScope
) -> None:
    """`n / 2 <= 512` bounds n; `n / m == 64` tells the whole."""
    made, bound = evaluate(left, scope), evaluate(right, scope)
    if not isinstance(made, Number) or not isinstance(bound, Number):
        return
    narrowed = _narrowed(made, op, bound)
    if narrowed is None or made.type is None:
        return
    _limit(made, narrowed, variables)
    if narrowed.values is not None:
        scope.pin(left, narrowed)


def _limit(made: Number, narrowed: Number, variables: dict[str, Abstract]) -> None:
    """Bounds the variables that a number follows, which is narrowed."""
    if narrowed.high is None or made.type is None:
        return
    for one in made.linear:
        high = most(one, narrowed.high)
        if high is None or not (made.type.signed or (one[1] == 1 and one[2] <= 0)):
            continue  # an unsigned value may have wrapped
        for name, variable in variables.items():
            if isinstance(variable, Number) and itself(one[0]) in variable.linear:
                limited = _narrowed(variable, "<=", Number(variable.type, (high,), high, high))
                if limited is not None:
                    variables[name] = limited
                    _follow(variables, limited)
                break


def _follow(variables: dict[str, Abstract], narrowed: Number) -> None:
    """Narrows what was computed from a variable along with it: `dim3 block(t)` where t is 64."""
    symbols = {one[0] for one in narrowed.linear if one[1:] == (1, 0, 1)}
    if not symbols:
        return
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
    """A number that follows a variable, which is narrowed."""
    for one in number.linear:
        if one[0] not in symbols:
            continue
        if narrowed.values is None:
            return _bounded_along(number, narrowed, one)
        values = {at(one, value) for value in narrowed.values}
        if number.values is not None:
            values &= set(number.values)
        if values and _holds(number, min(values), max(values)):
            return replace(
                among(values, number.type),
                linear=number.linear,
                device=number.device,
                definition=number.definition,
            )
    return number


def _bounded_along(number: Number, narrowed: Number, one: Linear) -> Number:
    if number.values is not None or narrowed.high is None or one[1] <= 0:
        return number
    high = at(one, narrowed.high)
    if (
        high < 0
        or (number.high is not None and number.high <= high)
        or not _holds(number, high, high)
    ):
        return number
    return replace(number, high=high)


def _holds(number: Number, low: int, high: int) -> bool:
    type_ = number.type
    return type_ is None or type_.lowest <= low <= high <= type_.highest


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
    low, high = variable.low, variable.high
    as_unsigned = bound.type is not None and not bound.type.signed and variable.type != bound.type
    if as_unsigned and (low is None or low < 0):
        # A negative value compares as a large one: below a small one there is none.
        is_small = bound.high is not None and bound.high <= INT.highest
        if op not in ("<", "<=") or common(variable.type, bound.type) != UINT or not is_small:
            return None
        low = 0
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
