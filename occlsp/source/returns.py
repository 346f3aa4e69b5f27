"""What a function with more than one statement returns: its body is followed."""

from __future__ import annotations

import re

from occlsp.source.bodies import readable
from occlsp.source.flow import Interpreter
from occlsp.source.names import StaticScope
from occlsp.source.numbers import Number, among, unknown
from occlsp.source.state import Body
from occlsp.source.values import Abstract, join_values, to_number
from occlsp.source.view import Callable_, View

MAX_FOLLOWED = 6
"""How deep calls of such functions are followed."""

_ASKED = re.compile(
    r"\breturn\b[^;]*|\b(?:if|while|switch|for)\b[^{}]*?(?:;[^{};]*;[^{}]*?)?(?=[;{}]|\Z)"
)
"""What is returned, and the conditions that decide which is."""
_WORD = re.compile(r"[A-Za-z_]\w*")


def followed(view: View, path: str, item: Callable_, scope: StaticScope) -> Abstract:
    """Any of the values that the function's returns have, its parameters being bound in `scope`."""
    result = _followed(view, path, item, scope)
    several = [name for name, one in scope.variables.items() if _is_several(one)]
    if not isinstance(result, Number) or result.values is not None or len(several) != 1:
        return result
    given = to_number(scope.variables[several[0]])
    for place, value in enumerate(given.values or ()):
        scope.variables[several[0]] = among((value,), given.type)
        one = _followed(view, path, item, scope)
        result = one if place == 0 else join_values(result, one, "several results")
    return result


def _is_several(value: Abstract) -> bool:
    return isinstance(value, Number) and value.values is not None and value.value is None


def _followed(view: View, path: str, item: Callable_, scope: StaticScope) -> Abstract:
    function = item.function
    if item.body is None or scope.budget.depth > MAX_FOLLOWED:
        scope.budget.is_cut = True
        return unknown(f"{function.name}() is not evaluated")
    base = function.body.start + 1
    text = readable(item.body[1:-1], path, base, view.macros)
    parameters = {p.name: (p.type, scope.variables[p.name]) for p in function.parameters if p.name}
    interpreter = Interpreter(
        view,
        Body(text, path, base),
        scope.scope,
        scope.template,
        parameters,
        [],
        set(_WORD.findall(" ".join(_ASKED.findall(text)))),
        lambda event, inner, state: None,
    )
    interpreter.returns = []
    interpreter.budget = scope.budget
    interpreter.run()
    if interpreter.failed or not interpreter.returns:
        return unknown(f"{function.name}() is not evaluated")
    result = interpreter.returns[0]
    for other in interpreter.returns[1:]:
        result = join_values(result, other, f"{function.name}() has several results")
    return result
