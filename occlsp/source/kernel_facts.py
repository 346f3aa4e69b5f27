"""A kernel's facts from its syntax: bounds, attributes in its head, memory, fingerprint."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from occlsp.source import shown
from occlsp.source.conversion import evaluate_text
from occlsp.source.evaluate import Budget
from occlsp.source.facts import (
    InstanceBounds,
    Kernel,
    LaunchBounds,
    TemplateParameter,
    Value,
    Value3,
)
from occlsp.source.fingerprint import features, fingerprint
from occlsp.source.lexer import Token, matching, spelled, split_arguments, tokenize
from occlsp.source.macros import Place as At
from occlsp.source.names import StaticScope
from occlsp.source.numbers import UINT, known, unknown
from occlsp.source.shared_memory import SharedMemory
from occlsp.source.syntax import Expr, FileSyntax, RawKernel
from occlsp.source.text import Span
from occlsp.source.values import Abstract, Dim, to_number
from occlsp.source.view import View

HEAD_WORDS = frozenset(
    {
        "__launch_bounds__",
        "launch_bounds",
        "__maxnreg__",
        "maxnreg",
        "__block_size__",
        "__cluster_dims__",
        "cluster_dims",
    }
)
MAX_INSTANCES = 64


def kernel_facts(
    raw: RawKernel, path: str, syntax: FileSyntax, view: View, memory: SharedMemory
) -> Kernel:
    """All that is known of one kernel without looking at its launches."""
    scope = kernel_scope(raw, path, view, None)
    expanded = _expanded_head(raw, path, view)
    bounds = _bounds(raw, expanded, scope)
    block_size = _shape(raw.block_size, expanded.get("__block_size__"), scope)
    if block_size is not None and bounds is None:
        bounds = LaunchBounds(_product(block_size))
    cluster = _shape(
        raw.cluster_dims, expanded.get("__cluster_dims__") or expanded.get("cluster_dims"), scope
    )
    if cluster is None:
        # `__block_size__((64, 1, 1), (2, 1, 1))`: the second tuple is the cluster's.
        both = raw.block_size or expanded.get("__block_size__") or ()
        cluster = _shape(both[1:] if _is_tuple(both[0].text) else (), None, scope) if both else None
    maxnreg = None
    register = raw.maxnreg or _first(expanded.get("__maxnreg__"))
    if register is not None:
        maxnreg = shown.value(register, evaluate_text(register, scope, path))
    body = raw.body
    return Kernel(
        raw.name,
        qualified(raw),
        raw.name_span,
        raw.span,
        body,
        raw.parameters,
        raw.template_parameters,
        tuple(e.text.strip() for e in raw.template_arguments)
        if raw.template_arguments is not None
        else None,
        raw.is_template,
        is_definition=body is not None,
        launch_bounds=bounds,
        maxnreg=maxnreg,
        block_size=block_size,
        cluster_dims=cluster,
        static_smem=memory.static_bytes(raw, scope) if body is not None else None,
        uses_dynamic_smem=memory.is_dynamic(raw),
        in_macro=raw.in_macro is not None,
        from_macro=raw.from_macro,
        inactive=view.macros.active(raw.conditions, path) is False,
        features=features(syntax.text, body),
        fingerprint=fingerprint(syntax, raw, view),
    )


def qualified(raw: RawKernel) -> str:
    """The kernel's name with its namespaces and classes."""
    return "::".join(part or "(anonymous namespace)" for part in (*raw.scope, raw.name))


def kernel_scope(
    raw: RawKernel, path: str, view: View, arguments: Sequence[str] | None
) -> StaticScope:
    """Where a kernel's head is read; with template arguments, for one instantiation."""
    scope = StaticScope(view, At(path, raw.span.start), raw.scope)
    scope.template = scope.bind(raw.template_parameters, arguments)
    if raw.in_macro is not None:
        scope.variables = _macro_parameters(raw, path, view)
    return scope


def _macro_parameters(raw: RawKernel, path: str, view: View) -> dict[str, Abstract]:
    index = view.index_of(path)
    found: dict[str, Abstract] = {}
    for define in index.defines.get(raw.in_macro or "", ()) if index else ():
        for name in define.parameters or ():
            found[name] = unknown(f"{name} is a parameter of the macro {raw.in_macro}")
    return found


def _expanded_head(raw: RawKernel, path: str, view: View) -> dict[str, list[Expr]]:
    """Attributes that macros in the head expand to: name → arguments."""
    found: dict[str, list[Expr]] = {}
    at = At(path, raw.span.start)
    for call in raw.macro_calls:
        for variant in view.macros.variants(tokenize(call.text), at):
            variant = _after_declarations(variant)
            for index, token in enumerate(variant):
                if token.text in HEAD_WORDS and variant[index + 1 : index + 2]:
                    _collect(found, token, variant, index, call.span)
    return found


def _after_declarations(tokens: list[Token]) -> list[Token]:
    """What belongs to the head that follows: a macro without a semicolon after it may make whole
    declarations, whose attributes are their own."""
    ends = [index for index, token in enumerate(tokens) if token.text in (";", "}")]
    return tokens[ends[-1] + 1 :] if ends else tokens


def _collect(
    found: dict[str, list[Expr]], token: Token, tokens: list[Token], index: int, span: Span
) -> None:
    if tokens[index + 1].text != "(":
        return
    inside = tokens[index + 2 : matching(tokens, index + 1)]
    arguments = [Expr(spelled(part), span) for part in split_arguments(inside)]
    name = "__launch_bounds__" if token.text == "launch_bounds" else token.text
    if name in found and [e.text for e in found[name]] != [e.text for e in arguments]:
        arguments = [Expr("", span) for _ in arguments]
    found[name] = arguments


def _first(arguments: list[Expr] | None) -> Expr | None:
    return arguments[0] if arguments else None


def _bounds(
    raw: RawKernel, expanded: dict[str, list[Expr]], scope: StaticScope
) -> LaunchBounds | None:
    arguments: Sequence[Expr] | None = raw.launch_bounds
    span = raw.launch_bounds_span
    by_macro = raw.from_macro is not None and raw.body is None
    if not arguments:
        arguments = expanded.get("__launch_bounds__")
        by_macro = True
        if arguments and span is None:
            span = arguments[0].span
    if not arguments:
        return None
    values = [_bound(expr, scope, by_macro=by_macro) for expr in arguments[:3]]
    return LaunchBounds(
        values[0],
        values[1] if len(values) > 1 else None,
        values[2] if len(values) > 2 else None,
        span,
    )


def _bound(expr: Expr, scope: StaticScope, *, by_macro: bool) -> Value:
    path = None if by_macro else scope.at.path
    scope.budget = Budget()
    return shown.value(expr, evaluate_text(expr, scope, path))


def _shape(
    arguments: Sequence[Expr] | None, expanded: list[Expr] | None, scope: StaticScope
) -> Value3 | None:
    """`(x, y, z)` or `x, y, z` of an attribute."""
    parts = arguments or expanded
    if not parts:
        return None
    if _is_tuple(parts[0].text):
        opening = parts[0].text.index("(") + 1
        inner = parts[0].text[opening : parts[0].text.rindex(")")]
        parts = _split(inner, parts[0].span.start + opening)
    numbers = [to_number(evaluate_text(e, scope, scope.at.path)) for e in parts[:3]]
    while len(numbers) < 3:
        numbers.append(known(1, UINT))
    whole = Expr(
        ", ".join(e.text.strip() for e in parts), Span(parts[0].span.start, parts[-1].span.end)
    )
    dim = Dim(((numbers[0], numbers[1], numbers[2]),), None, min(len(parts), 3))
    return shown.value3(whole, dim, parts)


def _is_tuple(text: str) -> bool:
    """Whether a text is one parenthesis."""
    tokens = tokenize(text)
    return bool(tokens) and tokens[0].text == "(" and matching(tokens, 0) == len(tokens) - 1


def _split(text: str, base: int) -> list[Expr]:
    found = []
    for part in split_arguments(tokenize(text)):
        if part:
            start, end = part[0].start, part[-1].start + len(part[-1].text)
            found.append(Expr(text[start:end], Span(base + start, base + end)))
    return found


def _product(shape: Value3) -> Value:
    if shape.values is None:
        return Value(shape.text, why=shape.why, span=shape.span)
    values = tuple(sorted({x * y * z for x, y, z in shape.values}))
    return Value(shape.text, values, values[0], values[-1], None, shape.span)


def declared_bounds(kernel: Kernel, others: Sequence[Kernel]) -> Kernel:
    """Bounds on a forward declaration count for the definition."""
    if kernel.launch_bounds is not None:
        return kernel
    for other in others:
        if other is kernel or other.launch_bounds is None:
            continue
        if other.qualified_name != kernel.qualified_name or other.is_definition:
            continue
        if len(other.parameters) == len(kernel.parameters):
            return replace(kernel, launch_bounds=other.launch_bounds)
    return kernel


def instances(
    raw: RawKernel, path: str, view: View, arguments: Sequence[tuple[str, ...]]
) -> tuple[InstanceBounds, ...]:
    """Launch bounds for each of the template arguments in view."""
    expanded = _expanded_head(raw, path, view)
    found = []
    for given in arguments[:MAX_INSTANCES]:
        scope = kernel_scope(raw, path, view, given)
        bounds = _bounds(raw, expanded, scope)
        if bounds is not None:
            found.append(InstanceBounds(given, bounds.max_threads, bounds.min_blocks))
    return tuple(found)


def depends_on_template(raw: RawKernel, parameters: Sequence[TemplateParameter]) -> bool:
    """Whether the head's bounds name a template parameter."""
    names = {parameter.name for parameter in parameters if parameter.name}
    texts = [e.text for e in (*(raw.launch_bounds or ()), *raw.macro_calls)]
    return any(token.text in names for text in texts for token in tokenize(text))
