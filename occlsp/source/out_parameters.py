"""What a function sets of the variables that it is given: its body is followed.

void distribute(int n, dim3& block) { if (n > 256) block.x = 256; else block.x = n; }
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from occlsp.source import types
from occlsp.source.bodies import readable
from occlsp.source.conversion import converted
from occlsp.source.effects import changes, sets_any
from occlsp.source.evaluate import Budget
from occlsp.source.lexer import Token, matching, split_arguments
from occlsp.source.linear import Symbol, itself
from occlsp.source.numbers import Number, unknown
from occlsp.source.state import Body
from occlsp.source.syntax import Parameter
from occlsp.source.type_syntax import template_arguments
from occlsp.source.values import Abstract, Dim, unknown_dim
from occlsp.source.view import kernel_bindings, scope_names

if TYPE_CHECKING:
    from occlsp.source.variables import Variables
    from occlsp.source.view import Callable_

MAX_FOLLOWED = 6

_LEAVES = re.compile(r"\b(?:return|goto|throw)\b")


def apply_function(tokens: Sequence[Token], start: int, interpreter: Variables) -> bool:
    """Applies a statement that is the call of a function in view, which sets what it is given;
    False where it is another one, or not all of its effects are known."""
    if len(tokens) < 4 or tokens[0].kind != "name":
        return False
    found = interpreter.view.functions(tokens[0].text)
    if len(found) != 1:
        return False
    given, opening = template_arguments(tuple(tokens), 1) or ((), 1)
    if opening >= len(tokens) or tokens[opening].text != "(":
        return False
    if matching(tokens, opening) != len(tokens) - 1:
        return False
    arguments = split_arguments(tokens[opening + 1 : -1])
    if sets_any(tokens):
        return False
    path, item = found[0]
    parameters = item.function.parameters
    if item.body is None or len(parameters) != len(arguments) or _LEAVES.search(item.body):
        return False
    targets = _targets(parameters, arguments, interpreter)
    if not targets:
        return False
    left = _left(path, item, given, arguments, interpreter, list(targets))
    if left is None:
        return False
    for change in changes(tokens, interpreter.names):
        if change.name not in targets.values():
            interpreter.apply_change(change)
    place = interpreter.body.base + start + tokens[0].start
    for name, target in targets.items():
        kind = interpreter.state.types.get(target, "auto")
        value = converted(left[name], kind, interpreter.scope_here())
        interpreter.forget(target)
        symbol = (f"{interpreter.body.path}:{target}", place)
        interpreter.state.variables[target] = _given(value, symbol)
    return True


def _targets(
    parameters: Sequence[Parameter], arguments: Sequence[list[Token]], interpreter: Variables
) -> dict[str, str]:
    """The variables that references of a function stand for, by the parameters' names; none where
    one is no plain variable, or they are not all different."""
    found: dict[str, str] = {}
    for parameter, argument in zip(parameters, arguments, strict=True):
        if not types.is_reference(parameter.type):
            continue
        name = argument[0].text if len(argument) == 1 and argument[0].kind == "name" else None
        if name is None or parameter.name is None or name in found.values():
            return {}
        found[parameter.name] = name
    return {p: name for p, name in found.items() if interpreter.is_local(name)}


def _left(
    path: str,
    item: Callable_,
    given: Sequence[str],
    arguments: Sequence[list[Token]],
    interpreter: Variables,
    wanted: Sequence[str],
) -> dict[str, Abstract] | None:
    """What parameters are where the function ends; None where it cannot be followed."""
    from occlsp.source.flow import Interpreter

    function, view = item.function, interpreter.view
    budget = interpreter.budget or Budget()
    if item.body is None or budget.depth > MAX_FOLLOWED:
        budget.is_cut = True
        return None
    base = function.body.start + 1
    parameters: dict[str, tuple[str, Abstract]] = {}
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if parameter.name is not None:
            value = _argument(argument, parameter, interpreter)
            parameters[parameter.name] = (parameter.type, value)
    inner = Interpreter(
        view,
        Body(readable(item.body[1:-1], path, base, view.macros), path, base),
        scope_names(function.qualified_name)[:-1],
        {
            **kernel_bindings(function.template_parameters),
            **interpreter.scope_here().bind(function.template_parameters[: len(given)], given),
        },
        parameters,
        [],
        set(wanted),
        lambda event, scope, state: None,
    )
    inner.returns = []
    inner.budget = budget
    budget.depth += 1
    inner.run()
    budget.depth -= 1
    if inner.failed or not inner.state.reachable:
        return None
    return {name: inner.state.variables.get(name, unknown("not set")) for name in wanted}


def _argument(argument: list[Token], parameter: Parameter, interpreter: Variables) -> Abstract:
    """What an argument is: variables that decide nothing else here are not followed."""
    if all(token.text in interpreter.names for token in argument if token.kind == "name"):
        return interpreter.evaluated(argument, 0)
    why = f"{parameter.name} is not followed"
    if types.plain(parameter.type) == "dim3":
        return unknown_dim(why)
    return unknown(why, types.integer(parameter.type))


def _given(value: Abstract, symbol: Symbol) -> Abstract:
    """A value as the call gives it: what it follows in the function it follows there only."""
    if isinstance(value, Dim):
        triples = tuple(
            (x.defined(None, ()), y.defined(None, ()), z.defined(None, ()))
            for x, y, z in value.alternatives
        )
        return Dim(triples, None, value.written)
    return value.defined(None, (itself(symbol),)) if isinstance(value, Number) else value
