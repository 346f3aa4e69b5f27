"""What is known at one point of a function, and what names mean there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from msgspec import Struct, field

from occlsp.source import expressions as ast
from occlsp.source import types
from occlsp.source.evaluate import Budget
from occlsp.source.instances import Types
from occlsp.source.launched import WORDS
from occlsp.source.names import StaticScope
from occlsp.source.numbers import Number, unknown
from occlsp.source.pinned import Pin, pin
from occlsp.source.values import (
    Abstract,
    join_values,
)

if TYPE_CHECKING:
    from occlsp.source.variables import Variables


class Body(Struct, frozen=True):
    """A body to follow."""

    text: str
    """Without its braces, comments and strings blanked, directives resolved."""
    path: str
    base: int
    """Offset of the text in its file."""
    seen_from: int | None = None
    """For text that a macro made: the offset of its use, which macros are seen from."""


class State(Struct):
    """What is known at one point of a function."""

    variables: dict[str, Abstract] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """Local variables' types, as written."""
    reachable: bool = True
    guarded: bool = False
    pins: Mapping[ast.Node, Pin] = field(default_factory=dict)
    """What conditions say of expressions."""

    def fork(self) -> State:
        """A copy to follow one branch."""
        variables, types = dict(self.variables), dict(self.types)
        return State(variables, types, self.reachable, self.guarded, self.pins)


def join_states(left: State, right: State, *, guarded: bool) -> State:
    """Where two paths meet."""
    if not left.reachable or not right.reachable:
        return right if not left.reachable else left
    variables = dict(left.variables)
    others = right.variables
    for name, a in left.variables.items():
        b = others.get(name)
        if a is not b:
            variables[name] = _met(name, a, b, left, right)
    for name in others.keys() - variables.keys():
        variables[name] = _met(name, None, others[name], left, right)
    both = left.pins
    if both is not right.pins:
        both = {node: one for node, one in both.items() if right.pins.get(node) is one}
    return State(
        variables, {**right.types, **left.types}, reachable=True, guarded=guarded, pins=both
    )


def _met(name: str, a: Abstract | None, b: Abstract | None, left: State, right: State) -> Abstract:
    """A variable where two paths meet. What is a field of an object that has no value yet on one
    of them is what the other says: who launches with it comes from there."""
    root = name.partition(".")[0]
    if root != name:
        if a is None and b is not None and _is_unset(root, left):
            return b
        if b is None and a is not None and _is_unset(root, right):
            return a
    return join_values(a, b, f"{name} depends on the path")


def not_set(name: str) -> Number:
    """The value of a variable that is declared without one."""
    return unknown(f"{name} has no value yet")


def _is_unset(name: str, state: State) -> bool:
    value = state.variables.get(name)
    return isinstance(value, Number) and value.values is None and value.why == not_set(name).why


class Constant(Struct, frozen=True):
    """What a name means that is none of a function's own."""

    words: AbstractSet[str]
    """All names that this follows from: it is another where one of them is the function's own."""
    value: Abstract | None
    is_cut: bool
    """Whether it refers to itself."""


def words_meant(texts: Iterable[str], scope: FlowScope) -> AbstractSet[str]:
    """The names in some texts, and those in the types that they stand for in a function."""
    template, local_types = scope.template, scope.interpreter.local_types
    found: set[str] = set()
    pending = list(texts)
    while pending:
        for word in set(WORDS.findall(pending.pop())) - found:
            found.add(word)
            bound = template.get(word) or local_types.get(word)
            if isinstance(bound, str):
                pending.append(bound)
            elif isinstance(bound, Types):
                pending += bound.texts
    return found


class FlowScope(StaticScope):
    """Names at one point of a function."""

    def __init__(self, interpreter: Variables, state: State) -> None:
        # As of any scope, without the call: there is one for each statement.
        self.view = interpreter.view
        self.at = interpreter.at
        self.scope = interpreter.scope
        self.template = interpreter.template
        self.variables = state.variables
        self.budget = interpreter.budget or Budget()
        self.interpreter = interpreter
        self.types = state.types
        self.state = state

    def told(self, node: ast.Binary, value: Number) -> Number:
        """What a condition said of an expression, where its operands tell less."""
        if value.values is not None or not self.state.pins:
            return value
        known = self.state.pins.get(ast.bare(node))
        return known.value if known is not None and known.holds(self.variables) else value

    def pin(self, node: ast.Binary, value: Number) -> None:
        """Takes in what an expression is from here on."""
        known = pin(node, value, self.variables)
        if known is not None:
            self.state.pins = {**self.state.pins, ast.bare(node): known}

    def declared(self, name: str) -> str | None:
        """The type of a local, an array's with its extents."""
        return self.types.get(name)

    def constant(self, name: str, arguments: tuple[str, ...] | None) -> Abstract | None:
        """A local variable hides what is outside of the function."""
        if name in self.types and name not in self.variables:
            return unknown(f"{name} is not known here")
        interpreter, budget = self.interpreter, self.budget
        is_inner = budget.depth or self.view.evaluating
        if self.template is not interpreter.template or is_inner:
            return super().constant(name, arguments)
        key = (name, arguments)
        kept = interpreter.constants.get(key)
        if kept is None or not self.has_none_of(kept.words):
            outer, budget.is_cut = budget.is_cut, False
            value = super().constant(name, arguments)
            words = words_meant((name, *(arguments or ())), self)
            kept = Constant(words, value, budget.is_cut)
            budget.is_cut = outer
            if budget.steps > 0 and budget.calls > 0 and self.has_none_of(words):
                interpreter.constants[key] = kept
        budget.is_cut |= kept.is_cut
        return kept.value

    def has_none_of(self, words: AbstractSet[str]) -> bool:
        """Whether none of some names is the function's own here."""
        return (
            self.types.keys().isdisjoint(words)
            and self.variables.keys().isdisjoint(words)
            and self.interpreter.parted.isdisjoint(words)
        )

    def is_type(self, name: str) -> bool:
        """Local type aliases, too."""
        return name in self.interpreter.local_types or super().is_type(name)

    def type_text(self, text: str) -> str:
        """Local type aliases first."""
        bare = types.plain(text)
        if bare in self.types:
            return super().type_text(self.types[bare])
        local = self.interpreter.local_types.get(bare.rstrip("*"))
        if local is not None and local != bare:
            return super().type_text(local + bare[len(bare.rstrip("*")) :])
        return super().type_text(text)
