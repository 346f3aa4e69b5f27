"""Evaluated expressions as the facts that others read: `Value` and `Value3`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from occlsp.source import expressions as ast
from occlsp.source.facts import Triple, Value, Value3
from occlsp.source.numbers import Number, convert
from occlsp.source.syntax import Expr
from occlsp.source.text import Span
from occlsp.source.together import call_by_call
from occlsp.source.types import integer
from occlsp.source.values import Abstract, Dim, components, dim_of, to_dim, to_number

MAX_VALUES = 32
_NOWHERE = Expr("", Span(0, 0))
_NONE = (None, None, None)


def value(expr: Expr, what: Abstract | None, type_name: str | None = None) -> Value:
    """What an integer expression of the source can be, as a fact."""
    number = to_number(what)
    if type_name is not None:
        number = convert(number, integer(type_name))
    return of_number(expr, number)


def of_number(expr: Expr, number: Number) -> Value:
    """A number as a fact; what cannot be a use of the program is not told."""
    values = number.values
    if values is not None and len(values) > MAX_VALUES:
        values = None
    why = None
    if values is None:
        why = number.why or "many values"
    text = expr.text.strip()
    return Value(
        text,
        values,
        number.low,
        number.high,
        why,
        expr.span if text else None,
        number.definition,
    )


def value3(expr: Expr, what: Abstract | None, parts: Sequence[Expr] = ()) -> Value3:
    """What a `dim3` expression can be; `parts` are its components as written."""
    is_open = isinstance(what, Number) and what.is_nothing
    dim = dim_of(ast.parse(expr.text), what) if is_open else to_dim(what)
    triples = _triples(dim)
    x, y, z = numbers = components(dim)
    lows, highs = (x.low, y.low, z.low), (x.high, y.high, z.high)
    why = None
    if triples is None:
        why = next((n.why for n in numbers if n.values is None and n.why), "many values")
    written = [
        of_number(parts[index] if index < len(parts) else _NOWHERE, numbers[index])
        for index in range(dim.written)
    ]
    text = expr.text.strip()
    return Value3(
        text,
        triples,
        None if lows == _NONE else lows,
        None if highs == _NONE else highs,
        why,
        expr.span if text else None,
        dim.definition,
        tuple(written),
    )


def _triples(dim: Dim) -> tuple[Triple, ...] | None:
    """All that a `dim3` can be; None where that is not known, or too much."""
    found: set[Triple] = set()
    for x, y, z in dim.alternatives:
        if x.values is None or y.values is None or z.values is None:
            return None
        of_calls = call_by_call((x, y, z))
        if of_calls is not None:
            found.update(of_calls[1])  # type: ignore[arg-type]
            continue
        if len(found) + len(x.values) * len(y.values) * len(z.values) > 64:
            return None
        found.update(product(x.values, y.values, z.values))
    return None if len(found) > MAX_VALUES else tuple(sorted(found))


def written_parts(expr: Expr) -> tuple[Expr, ...]:
    """The components of `dim3(x, y)`, `{x, y}` or an integer, as written in place."""
    if not expr.text.endswith((")", "}")):
        return ()
    node = ast.parse(expr.text)
    items: tuple[ast.Node, ...] = ()
    if isinstance(node, ast.Call) and isinstance(node.callee, ast.Name):
        items = node.arguments if node.callee.text.endswith(("dim3", "make_uint3")) else ()
    elif isinstance(node, ast.Braces):
        items = node.items
    if not items or any(item.start < 0 for item in items):
        return ()
    base = expr.span.start
    return tuple(
        Expr(expr.text[item.start : item.end], Span(base + item.start, base + item.end))
        for item in items
    )


def block_expression(block: Abstract | None, memory: Abstract | None) -> str | None:
    """Shared memory as an expression in the threads per block, where both follow one name."""
    dim, number = to_dim(block), to_number(memory)
    if len(dim.alternatives) != 1 or not number.linear:
        return None
    for symbol, a, b, d in number.linear:
        threads = _threads(dim, symbol)
        if d == 1 and a > 0 and threads and a % threads == 0 and b >= 0:
            factor = a // threads
            text = "block" if factor == 1 else f"{factor}*block"
            return f"{text}+{b}" if b else text
    return None


def _threads(dim: Dim, symbol: tuple[str, int]) -> int | None:
    """How many threads for each unit of a symbol: it makes one component, the rest is constant."""
    factor: int | None = None
    constant = 1
    for number in dim.alternatives[0]:
        follows = next((item for item in number.linear if item[0] == symbol), None)
        if follows is None:
            if number.value is None:
                return None
            constant *= number.value
        elif factor is not None or follows[2] != 0 or follows[3] != 1:
            return None
        else:
            factor = follows[1]
    return None if factor is None else factor * constant


def from_occupancy(block: Abstract) -> bool:
    """Whether a block comes from an occupancy query of the runtime."""
    if isinstance(block, Dim):
        return any(number.occupancy for alternative in block.alternatives for number in alternative)
    return isinstance(block, Number) and block.occupancy
