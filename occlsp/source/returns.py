"""What a function with more than one statement returns: its body is followed."""

from __future__ import annotations

import re

from occlsp.source.bodies import readable
from occlsp.source.flow import Interpreter
from occlsp.source.names import StaticScope
from occlsp.source.numbers import unknown
from occlsp.source.state import Body
from occlsp.source.values import Abstract, join_values
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
