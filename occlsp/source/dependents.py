"""Variables that follow from another: told again where that one is known.

int warps = 128 / size;                       // size is not known here
switch (size) { case 4: k<<<n, warps>>>(); }  // 32 warps
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from occlsp.source import expressions as ast
from occlsp.source.effects import Declaration, changes, declarations
from occlsp.source.lexer import tokenize
from occlsp.source.numbers import Number
from occlsp.source.values import Abstract, Dim

if TYPE_CHECKING:
    from occlsp.source.flow import Interpreter


class Dependents:
    """The variables of a body that their declarations alone set."""

    def __init__(self) -> None:
        self._declared: dict[str, tuple[Declaration, int] | None] = {}
        """None: in several places."""
        self._settled: dict[str, bool] = {}

    def declare(self, item: Declaration, start: int) -> None:
        """Takes in the declaration in the statement at `start`."""
        known = self._declared.get(item.name, (item, start))
        is_same = known is not None and known[1] == start
        self._declared[item.name] = (item, start) if is_same else None

    def tell(self, node: ast.Node, flow: Interpreter) -> None:
        """Evaluates again what follows from the variable that a condition is about, if it is known
        here: nothing but its declaration may set it, nor anything else that is asked."""
        value = flow.state.variables.get(node.text) if isinstance(node, ast.Name) else None
        if not isinstance(node, ast.Name) or not isinstance(value, Number) or value.value is None:
            return
        if not self._is_settled(node.text, flow):
            return
        told = {node.text}
        for name, declared in self._declared.items():
            known = flow.state.variables.get(name)
            if declared is None or known is None or name in told or is_exact(known):
                continue
            item, start = declared
            words = {token.text for token in item.initial or () if token.kind == "name"}
            if item.is_array or told.isdisjoint(words):
                continue
            if all(self._is_settled(word, flow) for word in (name, *words)):
                again = flow.initial(item, start)
                if is_exact(again):
                    flow.state.variables[name] = again
                    told.add(name)

    def _is_settled(self, name: str, flow: Interpreter) -> bool:
        found = self._settled.get(name)
        if found is None:
            found = self._settled[name] = self._find_settled(name, flow)
        return found

    def _find_settled(self, name: str, flow: Interpreter) -> bool:
        if not flow.is_local(name) and name not in self._declared:
            return True  # a constant or a function
        declared = self._declared.get(name, (None, -1))
        if declared is None:
            return False
        for first, last in flow.slice.changing(0, len(flow.text)):
            if first <= declared[1] < last:
                continue
            tokens = tokenize(flow.text[first:last])
            for variant in flow.view.macros.variants(tokens, flow.place(first)):
                made = declarations(variant)
                # Else `dim3 block(warps)` reads as a call that is given them.
                parts = [variant] if made is None else [one.initial or () for one in made]
                found = (change for part in parts for change in changes(part, {name}))
                if any(flow.may_change(change) for change in found):
                    return False
        return True


def is_exact(value: Abstract) -> bool:
    """Whether it is one number, or three."""
    if isinstance(value, Dim):
        return len(value.alternatives) == 1 and all(
            part.value is not None for part in value.alternatives[0]
        )
    return isinstance(value, Number) and value.value is not None
