"""What calls give for the parameters of a function, and for those of its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from occlsp.source.class_instances import template_argument, template_arguments
from occlsp.source.collect import Origin
from occlsp.source.conversion import converted, evaluate_text
from occlsp.source.linear import itself
from occlsp.source.macros import Place as At
from occlsp.source.moving import Given
from occlsp.source.names import Binding, StaticScope
from occlsp.source.numbers import Number, unknown
from occlsp.source.resolve import parameter_symbol
from occlsp.source.sites import Call
from occlsp.source.syntax import Expr, Function
from occlsp.source.together import alone, call_by_call, in_rows, is_told_apart
from occlsp.source.values import Abstract, join_values
from occlsp.source.view import kernel_bindings


def given_by(origin: Origin, function: Function, calls: Sequence[Call]) -> Given:
    """Each parameter as any of the calls gives it."""
    template: dict[str, Binding] = {**kernel_bindings(function.template_parameters)}
    scope = StaticScope(origin.view, At(origin.path, function.span.start))
    for position, parameter in enumerate(function.template_parameters):
        if parameter.name is None or parameter.is_pack:
            break
        bound = template_argument(calls, position, parameter, scope)
        if bound is not None:
            template[parameter.name] = bound
    scope.template = template
    values: dict[str, Abstract] = {}
    for position, given in enumerate(function.parameters):
        if given.name is None or (given.type.rstrip().endswith("&") and "const" not in given.type):
            continue
        result: Abstract | None = None
        for call in calls:
            if call.arguments is None:
                result = unknown(f"{given.name} is a parameter of {function.name}()")
                break
            value = _argument(call, position, given.default, scope)
            result = value if result is None else join_values(result, value, "callers differ")
        if result is not None and _is_told(result):
            value = converted(result, given.type, scope)
            if isinstance(value, Number) and value.value is None:
                # As one of which nothing is known: what is made of it follows it.
                symbol = parameter_symbol(function, given.name, origin.path)
                value = value.defined(value.definition, (itself(symbol),))
            values[given.name] = value
    _pair(origin, function, calls, (template, values), scope)
    return template, values


def _argument(call: Call, position: int, default: Expr | None, scope: StaticScope) -> Abstract:
    assert call.arguments is not None
    if position < len(call.arguments):
        value = call.arguments[position]
        return replace(value, linear=()) if isinstance(value, Number) else value
    if default is not None:
        return evaluate_text(default, scope, None)
    return unknown("not given")


def _is_told(value: Abstract) -> bool:
    """Whether there is more to say than the parameter's own reason."""
    return not isinstance(value, Number) or value.values is not None or value.high is not None


def _pair(
    origin: Origin, function: Function, calls: Sequence[Call], given: Given, scope: StaticScope
) -> None:
    """Says of the numbers of several values which go together: those of one call."""
    columns: dict[str, list[Number]] = {}
    template, values = given
    for position, parameter in enumerate(function.template_parameters):
        if parameter.name is not None and _is_several(template.get(parameter.name)):
            each = template_arguments(calls, position, parameter, scope)
            columns[parameter.name] = [one for one in each if isinstance(one, Number)]
    for position, one in enumerate(function.parameters):
        if one.name is not None and _is_several(values.get(one.name)):
            found = [_argument(call, position, one.default, scope) for call in calls]
            held = [converted(value, one.type, scope) for value in found]
            columns[one.name] = [value for value in held if isinstance(value, Number)]
    columns = {
        name: each
        for name, each in columns.items()
        if len(each) == len(calls) and all(map(is_told_apart, each))
    }
    place = f"{origin.path}:{function.span.start}"
    pairs = in_rows(place, tuple(columns), _rows(columns))
    for known in given:
        for name, number in known.items():
            if isinstance(number, Number) and _is_several(number):
                together = pairs.get(name) or alone(place, name, number)
                known[name] = replace(number, together=together)


def _rows(columns: Mapping[str, Sequence[Number]]) -> list[tuple[int, ...]]:
    """What each call gives for some parameters; nothing where that is not known of one call."""
    rows: list[tuple[int, ...]] = []
    for call in zip(*columns.values(), strict=True):
        of_call = call_by_call(call)
        if of_call is not None:
            rows += of_call[1]
        elif any(number.value is None for number in call):
            return []
        else:
            rows.append(tuple([number.value or 0 for number in call]))
    return rows


def _is_several(value: Binding | None) -> bool:
    return isinstance(value, Number) and value.values is not None and value.value is None
