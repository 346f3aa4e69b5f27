"""Values as variables hold them, and texts as values: conversions, and where a value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from occlsp.source import expressions as ast
from occlsp.source import types
from occlsp.source.evaluate import Where, evaluate, to_integer
from occlsp.source.facts import Definition
from occlsp.source.linear import itself
from occlsp.source.numbers import Number, unknown
from occlsp.source.syntax import Expr
from occlsp.source.text import Span
from occlsp.source.values import (
    Abstract,
    Dim,
    Kernels,
    Lambda,
    defined_at,
    join_values,
)

if TYPE_CHECKING:
    from occlsp.source.names import StaticScope


def converted(value: Abstract, type_text: str, scope: StaticScope) -> Abstract:
    """The value as a variable of the written type holds it."""
    text = types.plain(type_text)
    if (
        not text
        or text in ("auto", "enum", "decltype(auto)")
        or isinstance(value, Kernels | Lambda)
    ):
        return value
    resolved = scope.type_text(text)
    type_ = types.integer(resolved)
    if type_ is not None:
        result = to_integer(value, type_)
        definition = _definition(value) if result.definition is None else None
        return result if definition is None else result.defined(definition, result.linear)
    if resolved == "dim3":
        from occlsp.source.values import to_dim

        return to_dim(value)
    if types.floating(resolved) is not None:
        from occlsp.source.literals import real_of

        return real_of(value, types.floating(resolved) or 64) or unknown("a floating-point value")
    if isinstance(value, Number):
        return _held_by_any(value, text)
    return value


def _definition(value: Abstract) -> Definition | None:
    return value.definition if isinstance(value, Number | Dim) else None


def _held_by_any(value: Number, text: str) -> Number:
    """A value in a type that is not known: kept where any integer type of use holds it."""
    if value.low is not None and value.high is not None and 0 <= value.low <= value.high < 1 << 15:
        return replace(value, type=None)
    return unknown(value.why or f"the type {text} is not known", device=value.device)


def undefined(value: Abstract) -> Abstract:
    """The value without the place that makes it: a call's result is not edited there."""
    if not isinstance(value, Number | Dim) or value.definition is None:
        return value
    return replace(value, definition=None)


def named(value: Abstract, path: str, span: Span, name: str) -> Abstract:
    """The value as the constant `name` makes it, unless it only passes another on."""
    definition = named_definition(value, path, span, name)
    if definition is None:
        return value
    if isinstance(value, Number):
        return value.defined(definition, (itself((f"{path}:{name}", span.start)),))
    return value.defined(definition) if isinstance(value, Dim) else value


def named_definition(value: Abstract, path: str, span: Span, name: str) -> Definition | None:
    """The place that makes a value, where that is the initialiser of `name` at `span`."""
    if not isinstance(value, Number | Dim):
        return None
    inner = value.definition
    if inner is not None and (inner.kind not in ("literal", "dim3") or inner.name is not None):
        return None
    held = inner.span if inner is not None and inner.kind == "dim3" else span
    return Definition(path, held, "dim3" if isinstance(value, Dim) else "constant", name)


def evaluate_text(expr: Expr, scope: StaticScope, path: str | None) -> Abstract:
    """What a text can be: macros expanded, every alternative of them joined."""
    where = Where(path, expr.span.start) if path is not None else None
    define = scope.view.macros.simple(expr.text, scope.at)
    if define is not None and define.define.body.text.strip():
        if scope.budget.depth > 20:
            scope.budget.is_cut = True
            return unknown("macros are nested too deeply")
        scope.budget.depth += 1
        body = define.define.body
        value = evaluate_text(body, scope, define.path or None)
        scope.budget.depth -= 1
        return _by_macro(value, define.path, define.define.name, body.span)
    result: Abstract | None = None
    for node in scope.nodes(expr.text):
        value = evaluate(node, scope, where)
        if (
            where is not None
            and _only_literals(node)
            and isinstance(value, Number)
            and value.values
        ):
            span = Span(where.base + node.start, where.base + node.end)
            value = defined_at(value, Definition(where.path, span, "literal", None))
        result = value if result is None else join_values(result, value, "differs")
    return result if result is not None else unknown("empty")


def _by_macro(value: Abstract, path: str, name: str, span: Span) -> Abstract:
    if not path or not isinstance(value, Number | Dim):
        return value
    inner = value.definition
    if inner is None or (inner.kind in ("literal", "dim3") and inner.name is None):
        definition = Definition(path, span, "define", name)
        if isinstance(value, Number):
            return value.defined(definition, (itself((f"{path}:{name}", span.start)),))
        return value.defined(definition)
    return value


def _only_literals(node: ast.Node) -> bool:
    match node:
        case ast.Literal():
            return node.start >= 0
        case ast.Binary():
            return node.start >= 0 and _only_literals(node.left) and _only_literals(node.right)
        case ast.Unary():
            return node.start >= 0 and _only_literals(node.operand)
        case _:
            return False
