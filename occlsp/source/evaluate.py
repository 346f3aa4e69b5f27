"""Evaluates expression trees in a scope: C++ semantics, sets and bounds, never a guess.

Nothing of the document is ever executed. Work is bounded: by a budget of steps for each
expression, by depth, by the size of sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from occlsp.source import expressions as ast
from occlsp.source import types
from occlsp.source.facts import Definition
from occlsp.source.literals import literal, real_binary, real_of, rounded
from occlsp.source.numbers import (
    INT,
    UINT,
    ULONG,
    IntType,
    Number,
    among,
    binary,
    common,
    convert,
    extent,
    known,
    maximum,
    minimum,
    unary,
    unknown,
)
from occlsp.source.text import Span
from occlsp.source.together import either
from occlsp.source.values import (
    Abstract,
    Dim,
    KernelName,
    Kernels,
    Lambda,
    Place,
    Real,
    component,
    defined_at,
    dim_of,
    join_values,
    to_dim,
    to_number,
)

MAX_STEPS = 5_000
MAX_CALLS = 24


class Where(Struct, frozen=True):
    """The file text that an expression's offsets count from."""

    path: str
    base: int


class Budget(Struct):
    """Steps left for one evaluation, and how deep calls and constants are nested."""

    steps: int = MAX_STEPS
    calls: int = 64
    depth: int = 0
    is_cut: bool = False
    """Whether a limit was met: with more left, there may be more to tell."""


class Scope(Protocol):
    """What names mean at some place."""

    budget: Budget

    def variable(self, name: str) -> Abstract | None:
        """A local variable, parameter or constant; None where there is none in view."""

    def member(self, key: str) -> Abstract | None:
        """A field of a local aggregate: `config.gridDim`; None where it was never set."""

    def elements(self, key: str) -> list[Abstract]:
        """All elements of a local array; none where they are not known."""

    def declared(self, name: str) -> str | None:
        """The type of a local variable or parameter, extents of arrays included."""

    def constant(self, name: str, arguments: tuple[str, ...] | None) -> Abstract | None:
        """A constant, enumerator or kernel in view."""

    def outside(self, name: str) -> Abstract | None:
        """What a name that is not in view means to the files that include this one."""

    def type_text(self, text: str) -> str:
        """A type with aliases and template parameters resolved as far as they are known."""

    def alternatives(self, name: str) -> tuple[str, Sequence[str]]:
        """The types that a name can stand for, and what stands for which of them it is."""

    def call(
        self, name: str, template_arguments: tuple[str, ...] | None, arguments: list[Abstract]
    ) -> Abstract | None:
        """A call of a function of the source; None where none is in view."""

    def call_lambda(self, function: Lambda, arguments: list[Abstract]) -> Abstract:
        """A call of a local lambda."""

    def nodes(self, text: str) -> Sequence[ast.Node]:
        """The trees that a text can be, macros expanded."""

    def told(self, node: ast.Binary, value: Number) -> Number:
        """What an expression is, where a condition says more of it than its operands do."""


def evaluate(node: ast.Node, scope: Scope, where: Where | None = None) -> Abstract:
    """What `node` can be in `scope`. `where` lets values carry their place."""
    budget = scope.budget
    budget.steps -= 1
    if budget.steps < 0:
        budget.is_cut = True
        return unknown("takes too many steps to evaluate")
    return _EVALUATORS[type(node)](node, scope, where)


def _literal(node: ast.Literal, scope: Scope, where: Where | None) -> Abstract:
    value = literal(node.text)
    if where is not None and node.start >= 0:
        span = Span(where.base + node.start, where.base + node.end)
        return defined_at(value, Definition(where.path, span, "literal", None))
    return value


def _name(node: ast.Name, scope: Scope, where: Where | None) -> Abstract:
    value: Abstract | None
    if node.arguments is None and "::" not in node.text:
        value = scope.variable(node.text)
        if value is not None:
            return value
        if node.text == "warpSize":
            return known(32, INT)
    value = scope.constant(node.text, node.arguments)
    if value is None and node.arguments is None and "::" not in node.text:
        value = scope.outside(node.text)
    if value is not None:
        return value
    shown = node.text if node.arguments is None else f"{node.text}<…>"
    return unknown(f"{shown} is not known here")


def _unary(node: ast.Unary, scope: Scope, where: Where | None) -> Abstract:
    if node.op == "&":
        if isinstance(node.operand, ast.Name):
            kernel = _kernel_of(node.operand, scope)
            return kernel if kernel is not None else Place(node.operand.text)
        key = place(node.operand, scope)
        return Place(key) if key is not None else unknown("an address")
    if node.op == "*":
        value = evaluate(node.operand, scope)
        return value if isinstance(value, Kernels) else unknown("behind a pointer")
    if node.op in ("++", "--"):
        return unknown("changes its operand")
    value = evaluate(node.operand, scope)
    if isinstance(value, Real):
        return replace(value, value=-value.value) if node.op == "-" else value
    return unary(node.op, to_number(value))


def _kernel_of(name: ast.Name, scope: Scope) -> Kernels | None:
    """A name as a kernel: by its local meaning, or as it is written."""
    if name.arguments is None and "::" not in name.text:
        value = scope.variable(name.text)
        if value is not None:
            return value if isinstance(value, Kernels) else None
    value = scope.constant(name.text, name.arguments)
    if isinstance(value, Kernels):
        return value
    if name.arguments is not None and value is None:
        return Kernels((KernelName(name.text, name.arguments),))
    return None


def _binary(node: ast.Binary, scope: Scope, where: Where | None) -> Abstract:
    if node.op in ("&&", "||"):
        left = to_number(evaluate(node.left, scope))
        if (node.op == "&&" and left.value == 0) or (
            node.op == "||" and left.value not in (0, None)
        ):
            return binary(node.op, left, left)
        return binary(node.op, left, to_number(evaluate(node.right, scope)))
    first, second = evaluate(node.left, scope), evaluate(node.right, scope)
    if isinstance(first, Real) or isinstance(second, Real):
        return real_binary(node.op, first, second)
    return scope.told(node, binary(node.op, to_number(first), to_number(second)))


def _ternary(node: ast.Ternary, scope: Scope, where: Where | None) -> Abstract:
    condition = to_number(evaluate(node.condition, scope))
    if condition.value is not None:
        return evaluate(node.yes if condition.value else node.no, scope, where)
    chosen = _clamp(node, scope)
    if chosen is not None:
        return chosen
    yes, no = evaluate(node.yes, scope), evaluate(node.no, scope)
    if isinstance(yes, Number) and isinstance(no, Number):
        type_ = common(yes.type, no.type)
        yes, no = convert(yes, type_), convert(no, type_)
        of_calls = either(condition, yes, no)
        if of_calls is not None:
            return among(of_calls.values, type_, together=of_calls)
    return join_values(yes, no, "depends on a condition")


def _clamp(node: ast.Ternary, scope: Scope) -> Abstract | None:
    """`a < b ? a : b` is min(a, b), `a > b ? a : b` max(a, b)."""
    test = node.condition
    if not isinstance(test, ast.Binary) or test.op not in ("<", "<=", ">", ">="):
        return None
    sides = [ast.bare(n) for n in (test.left, test.right, node.yes, node.no)]
    if sides[:2] == sides[2:]:
        smaller = test.op in ("<", "<=")
    elif sides[:2] == sides[:1:-1]:
        smaller = test.op in (">", ">=")
    else:
        return None
    left, right = evaluate(test.left, scope), evaluate(test.right, scope)
    if not isinstance(left, Number) or not isinstance(right, Number):
        return None
    return minimum(left, right) if smaller else maximum(left, right)


def _cast(node: ast.Cast, scope: Scope, where: Where | None) -> Abstract:
    value = evaluate(node.operand, scope, where)
    text = scope.type_text(node.type)
    type_ = types.integer(text)
    if type_ is not None:
        return to_integer(value, type_)
    bits = types.floating(text)
    if bits is not None:
        return real_of(value, bits) or unknown("a floating-point value is not known")
    if types.plain(text).endswith("*") or isinstance(value, Kernels):
        return value if isinstance(value, Kernels | Place) else unknown("a pointer")
    if types.plain(text) in ("auto", "dim3"):
        return to_dim(value) if types.plain(text) == "dim3" else value
    if not node.certain and isinstance(node.operand, ast.Name | ast.Literal | ast.Binary):
        called = scope.call(node.type, None, [value])
        if called is not None:
            return called
    return _of_unknown_type(value, node.type)


def to_integer(value: Abstract, type_: IntType) -> Number:
    """A conversion to an integer type, from a floating-point one too."""
    if isinstance(value, Real):
        if not math.isfinite(value.value) or abs(value.value) >= 1 << 62:
            return unknown("a floating-point value is out of range", type_)
        whole = int(value.value)
        if not type_.lowest <= whole <= type_.highest:
            return unknown("a floating-point value is out of range", type_)
        return known(whole, type_)
    return convert(to_number(value), type_)


def _of_unknown_type(value: Abstract, text: str) -> Number:
    """A conversion to a type that is not known: what every integer type of use can hold stays."""
    number = to_number(value)
    if (
        number.low is not None
        and number.high is not None
        and 0 <= number.low <= number.high < 1 << 15
    ):
        return replace(number, type=None)
    return unknown(f"the type {types.plain(text)} is not known")


def _call(node: ast.Call, scope: Scope, where: Where | None) -> Abstract:
    callee = node.callee
    if isinstance(callee, ast.Name):
        name = callee.text.removeprefix("std::").removeprefix("cuda::std::")
        name = name.removeprefix("::")
        if name in ("dim3", "make_uint3") or types.plain(scope.type_text(callee.text)) == "dim3":
            return _dim(node.arguments, scope, where)
        arguments = [evaluate(item, scope) for item in node.arguments]
        local = scope.variable(callee.text) if "::" not in callee.text else None
        if isinstance(local, Lambda):
            result = _deeper(scope, lambda: scope.call_lambda(local, arguments))
            return result if result is not None else unknown("the lambda is not evaluated")
        if local is None:
            builtin = _builtin(name, callee.arguments, arguments, scope)
            if builtin is not None:
                return builtin
            called = _deeper(scope, lambda: scope.call(callee.text, callee.arguments, arguments))
            if called is not None:
                return called
            if len(arguments) == 1 and callee.arguments is None:
                return _functional_cast(callee.text, arguments[0], scope)
        return unknown(f"the call of {callee.text} is not evaluated", device=_asks_device(name))
    if isinstance(callee, ast.Member):
        why = f"the call of {callee.name} is not evaluated"
        return _method(callee, node, scope) or unknown(why, device=_asks_device(callee.name))
    return unknown("the call is not evaluated")


def _deeper(scope: Scope, action: Callable[[], Abstract | None]) -> Abstract | None:
    budget = scope.budget
    budget.calls -= 1
    if budget.depth >= MAX_CALLS or budget.calls < 0:
        budget.is_cut = True
        return unknown("calls are nested too deeply")
    budget.depth += 1
    try:
        return action()
    finally:
        budget.depth -= 1


def _method(callee: ast.Member, node: ast.Call, scope: Scope) -> Abstract | None:
    """A member function of this object, or of one whose class is known."""
    if not isinstance(callee.object, ast.Name):
        return None
    name = callee.name
    if callee.object.text != "this":
        kind = scope.declared(callee.object.text)
        if kind is None or kind.rstrip().endswith(("&", "*", "]")) or types.size(kind) is not None:
            return None
        name = f"{types.plain(kind)}::{name}"
    arguments = [evaluate(item, scope) for item in node.arguments]
    result = _deeper(scope, lambda: scope.call(name, None, arguments))
    is_told = not isinstance(result, Number) or result.values or result.high is not None
    return result if is_told else None


def _functional_cast(name: str, value: Abstract, scope: Scope) -> Abstract:
    text = scope.type_text(name)
    type_ = types.integer(text)
    if type_ is not None:
        return to_integer(value, type_)
    bits = types.floating(text)
    if bits is not None:
        return real_of(value, bits) or unknown("a floating-point value is not known")
    return unknown(f"the call of {name} is not evaluated")


_DEVICE = re.compile(r"device|arch|compute_?cap|(?:^|_)(?:sm|cc)(?:_|$)|propert|occupancy", re.I)


def _asks_device(name: str) -> bool:
    return _DEVICE.search(name) is not None


def _builtin(
    name: str, template_arguments: tuple[str, ...] | None, arguments: list[Abstract], scope: Scope
) -> Abstract | None:
    """std::min, std::max, ceil, floor and their like."""
    if name in ("min", "max", "fmin", "fmax", "umin", "umax") and len(arguments) == 2:
        left, right = arguments
        if isinstance(left, Real) or isinstance(right, Real):
            return unknown("a floating-point value is not known")
        a, b = to_number(left), to_number(right)
        if template_arguments:
            type_ = types.integer(scope.type_text(template_arguments[0]))
            a, b = convert(a, type_), convert(b, type_)
        return minimum(a, b) if name.endswith("min") else maximum(a, b)
    if (
        name in ("ceil", "ceilf", "floor", "floorf", "sqrt", "sqrtf", "round", "roundf")
        and len(arguments) == 1
    ):
        return rounded(name, arguments[0])
    if name == "abs" and len(arguments) == 1 and isinstance(arguments[0], Number):
        number = arguments[0]
        if number.values is not None and number.type is not None:
            return among([abs(v) for v in number.values], number.type)
    return None


def _dim(arguments: tuple[ast.Node, ...], scope: Scope, where: Where | None) -> Abstract:
    """`dim3(x, y, z)`, `{x, y, z}`: absent components are 1."""
    if len(arguments) == 1:
        value = evaluate(arguments[0], scope, where)
        if isinstance(value, Dim):
            return value
        return dim_of(arguments[0], to_integer(value, UINT) if isinstance(value, Real) else value)
    if len(arguments) > 3:
        return unknown("no dim3")
    values = [evaluate(argument, scope, where) for argument in arguments]
    parts = [to_integer(v, UINT) if isinstance(v, Real) else extent(to_number(v)) for v in values]
    written = len(parts)
    parts += [known(1, UINT)] * (3 - written)
    definition = None
    if where is not None and arguments and arguments[0].start >= 0 and arguments[-1].end >= 0:
        span = Span(where.base + arguments[0].start, where.base + arguments[-1].end)
        definition = Definition(where.path, span, "dim3", None)
    return Dim(((parts[0], parts[1], parts[2]),), definition, written)


def _braces(node: ast.Braces, scope: Scope, where: Where | None) -> Abstract:
    if node.type is None or types.plain(scope.type_text(node.type)) in ("dim3", "uint3", "auto"):
        return _dim(node.items, scope, where)
    type_ = types.integer(scope.type_text(node.type))
    if type_ is not None and len(node.items) <= 1:
        value = evaluate(node.items[0], scope, where) if node.items else known(0)
        return to_integer(value, type_)
    return unknown(f"an object of {types.plain(node.type)}")


def place(node: ast.Node, scope: Scope) -> str | None:
    """The key of a local aggregate's part: `config.attrs[0].val`; None where it is none."""
    match node:
        case ast.Name(arguments=None) if "::" not in node.text:
            value = scope.variable(node.text)
            return value.key if isinstance(value, Place) else node.text
        case ast.Member():
            if isinstance(node.object, ast.Name) and node.object.text == "this":
                return None
            inner = place(node.object, scope)
            if inner is None:
                return None
            key = f"{inner}.{node.name}"
            value = scope.member(key)
            return value.key if isinstance(value, Place) else key
        case ast.Index():
            inner = place(node.object, scope)
            index = to_number(evaluate(node.index, scope)).value
            return None if inner is None or index is None else f"{inner}[{index}]"
        case ast.Unary(op="*"):
            return place(node.operand, scope)
        case _:
            return None


_PROPERTY = re.compile(
    r"prop|sharedMemPer|maxThreadsPer|multiProcessorCount|regsPer|warpSize|^(?:major|minor|cc|sm|arch)$"
)


def _member(node: ast.Member, scope: Scope, where: Where | None) -> Abstract:
    device = _PROPERTY.search(node.name) is not None
    key = place(node, scope)
    if key is not None:
        value = scope.member(key)
        if value is not None:
            return value
    if node.name in ("x", "y", "z"):
        value = evaluate(node.object, scope)
        if isinstance(value, Dim):
            return component(value, node.name)
    written = f"{node.object.text}.{node.name}" if isinstance(node.object, ast.Name) else node.name
    return unknown(f"{written} is a member that is not known", device=device)


def _index(node: ast.Index, scope: Scope, where: Where | None) -> Abstract:
    key = place(node, scope)
    value = scope.member(key) if key is not None else None
    if value is not None:
        return value
    array = evaluate(node.object, scope)
    if isinstance(array, Place) and to_number(evaluate(node.index, scope)).value is None:
        elements = scope.elements(array.key)
        if elements:
            result = elements[0]
            for other in elements[1:]:
                result = join_values(result, other, "elements differ")
            return result
    return unknown(f"an element of {ast.last_name(node.object)} is not known")


def _sizeof(node: ast.Sizeof, scope: Scope, where: Where | None) -> Abstract:
    if node.operator == "alignof":
        return unknown("alignof is not evaluated", ULONG)
    from occlsp.source.sizes import size_in

    return size_in(node.text, scope)


def _opaque(node: ast.Opaque, scope: Scope, where: Where | None) -> Abstract:
    return unknown(node.why)


_EVALUATORS: dict[type[ast.Node], Callable[..., Abstract]] = {
    ast.Literal: _literal,
    ast.Name: _name,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Ternary: _ternary,
    ast.Call: _call,
    ast.Braces: _braces,
    ast.Cast: _cast,
    ast.Member: _member,
    ast.Index: _index,
    ast.Sizeof: _sizeof,
    ast.Opaque: _opaque,
}
