"""Follows a function's statements and knows, at every place, what its variables can be.

An abstract interpretation: branches are followed apart and joined, what a loop changes is not
known at its head, early returns end a path. Where something cannot be followed, the variables
that it may change are unknown: never a guess.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from occlsp.source import expressions as ast
from occlsp.source import statements as st
from occlsp.source import types
from occlsp.source.conditions import device_guard, refine
from occlsp.source.effects import Change, Declaration, assignment, changes, declarations
from occlsp.source.evaluate import Budget, Where, evaluate, place
from occlsp.source.known_calls import apply_known_call, may_change
from occlsp.source.lexer import Token, matching, split_arguments, tokenize
from occlsp.source.macros import Place as At
from occlsp.source.names import Binding, StaticScope, converted, named
from occlsp.source.numbers import Number, binary, known, unknown
from occlsp.source.text import Span
from occlsp.source.values import (
    Abstract,
    Dim,
    Lambda,
    Place,
    join_values,
    to_dim,
    to_number,
    unknown_dim,
    with_component,
)
from occlsp.source.view import View

MAX_STATEMENTS = 50_000
MAX_ELEMENTS = 64


@dataclass(slots=True)
class State:
    """What is known at one point of a function."""

    variables: dict[str, Abstract] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """Local variables' types, as written."""
    reachable: bool = True
    guarded: bool = False

    def fork(self) -> State:
        """A copy to follow one branch."""
        return State(dict(self.variables), dict(self.types), self.reachable, self.guarded)


def join_states(left: State, right: State, *, guarded: bool) -> State:
    """Where two paths meet."""
    if not left.reachable or not right.reachable:
        return right if not left.reachable else left
    variables: dict[str, Abstract] = {}
    for name in left.variables.keys() | right.variables.keys():
        a, b = left.variables.get(name), right.variables.get(name)
        if a is b:
            assert a is not None
            variables[name] = a
            continue
        variables[name] = join_values(a, b, f"{name} depends on the path")
    return State(variables, {**right.types, **left.types}, reachable=True, guarded=guarded)


class FlowScope(StaticScope):
    """Names at one point of a function."""

    def __init__(self, interpreter: Interpreter, state: State) -> None:
        super().__init__(
            interpreter.view,
            interpreter.at,
            interpreter.scope,
            interpreter.template,
            state.variables,
            interpreter.budget or Budget(),
        )
        self.interpreter = interpreter
        self.types = state.types

    def constant(self, name: str, arguments: tuple[str, ...] | None) -> Abstract | None:
        """A local variable hides what is outside of the function."""
        if name in self.types and name not in self.variables:
            return unknown(f"{name} is not known here")
        return super().constant(name, arguments)

    def type_text(self, text: str) -> str:
        """Local type aliases first."""
        bare = types.plain(text)
        if bare in self.types:
            return super().type_text(self.types[bare])
        local = self.interpreter.local_types.get(bare.rstrip("*"))
        if local is not None and local != bare:
            return super().type_text(local + bare[len(bare.rstrip("*")) :])
        return super().type_text(text)


Handler = Callable[[int, "FlowScope", State], None]


@dataclass(frozen=True, slots=True)
class Body:
    """A body to follow."""

    text: str
    """Without its braces, comments and strings blanked, directives resolved."""
    path: str
    base: int
    """Offset of the text in its file."""
    seen_from: int | None = None
    """For text that a macro made: the offset of its use, which macros are seen from."""


class Interpreter:
    """Follows one body and calls `handler` at each of `events` (offsets in the text)."""

    def __init__(
        self,
        view: View,
        body: Body,
        scope: Sequence[str],
        template: dict[str, Binding],
        parameters: dict[str, tuple[str, Abstract]],
        events: Sequence[int],
        names: set[str],
        handler: Handler,
    ) -> None:
        self.view = view
        self.body = body
        self.text = body.text
        self.at = self.place(0)
        self.scope = tuple(scope)
        self.template = template
        self.events = sorted(events)
        self.handler = handler
        self.local_types: dict[str, str] = {}
        self.state = State()
        for name, (kind, value) in parameters.items():
            self.state.variables[name] = value
            self.state.types[name] = kind
        self.names = names
        self.positions = relevant_positions(self.text, names)
        self.steps = 0
        self.declared: list[dict[str, tuple[str | None, dict[str, Abstract]]]] = [{}]
        self.breaks: list[list[State]] = []
        self.returns: list[Abstract] | None = None
        self.budget: Budget | None = None
        """Shared with the evaluation that this is a part of."""
        self.failed = False

    def place(self, offset: int) -> At:
        """Where an offset of the text stands, for what macros are seen there."""
        body = self.body
        return At(body.path, body.base + offset if body.seen_from is None else body.seen_from)

    def run(self) -> None:
        """Follows the body; where its structure cannot be read, nothing of locals is known."""
        try:
            found = st.read(self.text)
        except (st.Unreadable, RecursionError):
            self.unreadable()
            return
        self.sequence(found)

    def unreadable(self) -> None:
        self.failed = True
        for name in self.names:
            if name in self.state.variables or re.search(
                rf"\b{re.escape(name)}\b\s*[=({{;,]", self.text
            ):
                self.state.variables[name] = unknown("the function's structure could not be read")
        for event in self.events:
            self.handler(event, FlowScope(self, self.state), self.state)

    # Structure

    def sequence(self, found: Sequence[st.Statement]) -> None:
        for statement in found:
            self.steps += 1
            if self.steps > MAX_STATEMENTS:
                return
            self.statement(statement)

    def statement(self, node: st.Statement) -> None:
        skipped = isinstance(node, st.Loop | st.Switch | st.Choice)
        if skipped and not self.touches(node.start, node.end):
            return
        match node:
            case st.Simple():
                self.simple(node)
            case st.Block():
                self.block(node.statements)
            case st.If():
                self.branches(node)
            case st.Loop():
                self.loop(node)
            case st.Switch():
                self.switch(node)
            case st.Choice():
                self.choice(node)

    def touches(self, start: int, end: int) -> bool:
        """Whether a relevant name or an event stands between two offsets."""
        index = bisect_left(self.positions, start)
        if index < len(self.positions) and self.positions[index] < end:
            return True
        index = bisect_left(self.events, start)
        return index < len(self.events) and self.events[index] < end

    def block(self, found: Sequence[st.Statement]) -> None:
        self.enter()
        self.sequence(found)
        self.leave()

    def enter(self) -> None:
        """Begins a scope: what it declares ends with it."""
        self.declared.append({})

    def leave(self) -> None:
        """Ends a scope: what its declarations hid is back."""
        for name, (kind, hidden) in self.declared.pop().items():
            self.forget(name)
            self.state.types.pop(name, None)
            if kind is not None:
                self.state.types[name] = kind
            self.state.variables.update(hidden)

    def hide(self, name: str, kind: str) -> None:
        """Declares a variable in the current scope."""
        state = self.state
        if name not in self.declared[-1]:
            starts = (f"{name}.", f"{name}[")
            hidden = {k: v for k, v in state.variables.items() if k == name or k.startswith(starts)}
            self.declared[-1][name] = (state.types.get(name), hidden)
        self.forget(name)
        state.types[name] = kind

    def forget(self, name: str) -> None:
        """Drops a variable and all that is known of its parts."""
        variables = self.state.variables
        variables.pop(name, None)
        for key in [k for k in variables if k.startswith((f"{name}.", f"{name}[", f"{name}->"))]:
            del variables[key]

    def branches(self, node: st.If) -> None:
        before_guard = self.state.guarded
        ends: list[State] = []
        current: st.Statement | None = node
        while isinstance(current, st.If):
            self.expressions(*current.condition)
            condition = self.condition(*current.condition)
            guard = self.is_guard(current.condition)
            entry = self.state
            self.state = entry.fork()
            if not self.assume(condition, holds=True, guard=guard):
                self.state.reachable = False
            self.statement(current.yes)
            ends.append(self.state)
            self.state = entry
            if not self.assume(condition, holds=False, guard=guard):
                self.state.reachable = False
            current = current.no
        if current is not None:
            self.statement(current)
        ends.append(self.state)
        self.meet(ends, before_guard)

    def meet(self, ends: list[State], before_guard: bool) -> None:
        reachable = [state for state in ends if state.reachable]
        if not reachable:
            self.state = ends[-1]
            return
        result = reachable[0]
        for other in reachable[1:]:
            result = join_states(result, other, guarded=before_guard)
        self.state = result

    def condition(self, start: int, end: int) -> tuple[ast.Node, ...]:
        """The trees of a condition; none where it declares something or is not read."""
        text = self.text[start:end]
        if st.MARKS.search(text) or not text.strip():
            return ()
        if ";" in text:
            text = text.rsplit(";", 1)[1]
        return tuple(FlowScope(self, self.state).nodes(text))

    def is_guard(self, condition: st.Range) -> bool:
        return device_guard(self.text[condition[0] : condition[1]])

    def assume(self, nodes: tuple[ast.Node, ...], *, holds: bool, guard: bool) -> bool:
        """Goes on where a condition holds, or where it does not; False where that cannot be."""
        if guard:
            self.state.guarded = True
        if len(nodes) != 1:
            return True
        scope = FlowScope(self, self.state)
        value = to_number(evaluate(nodes[0], scope))
        if value.device:
            self.state.guarded = True
        if value.value is not None and bool(value.value) != holds:
            # Code that cannot run is still read: its launches are guarded.
            self.state.guarded = True
            return False
        refine(nodes[0], self.state.variables, scope, holds=holds)
        return True

    def loop(self, node: st.Loop) -> None:
        guarded = self.state.guarded
        if node.kind == "for":
            self.for_loop(node)
            return
        entry = self.state.fork()
        self.havoc(node.start, node.end)
        if node.kind == "while":
            self.expressions(*node.head)
            condition = self.condition(*node.head)
            self.assume(condition, holds=True, guard=self.is_guard(node.head))
        elif node.kind == "macro":
            self.expressions(node.start, node.body.start)
        self.breaks.append([])
        self.statement(node.body)
        if node.kind == "do":
            self.expressions(*node.head)
        breaks = self.breaks.pop()
        ends = [*breaks, self.state] if node.kind == "do" else [*breaks, self.state, entry]
        for end in ends:
            end.reachable = end.reachable or (node.kind != "do" and entry.reachable)
        self.meet(ends, guarded)
        self.havoc(node.start, node.end)

    def for_loop(self, node: st.Loop) -> None:
        self.enter()
        guarded = self.state.guarded
        parts = self.text[node.head[0] : node.head[1]].split(";")
        entry_parts = parts[0] if len(parts) == 3 else ""
        if len(parts) == 3:
            self.effect(node.head[0], node.head[0] + len(parts[0]))
        else:
            self.effect(*node.head)
        known = self.counted(parts, node) if len(parts) == 3 else None
        entry = self.state.fork()
        self.havoc(node.head[0] + len(entry_parts), node.end)
        if known is not None:
            self.state.variables[known[0]] = known[1]
        elif len(parts) == 3:
            start = node.head[0] + len(parts[0]) + 1
            self.assume(self.condition(start, start + len(parts[1])), holds=True, guard=False)
        self.breaks.append([])
        self.statement(node.body)
        ends = [*self.breaks.pop(), self.state, entry]
        for end in ends:
            end.reachable = end.reachable or entry.reachable
        self.meet(ends, guarded)
        self.havoc(node.head[0] + len(entry_parts), node.end)
        self.leave()

    def counted(self, parts: list[str], node: st.Loop) -> tuple[str, Number] | None:
        """The values of a loop variable that counts from one constant to another."""
        from occlsp.source.counting import counted

        start = node.body.start
        name = _first_name(parts[2])
        if name is None or self.changed_in(name, start, node.end):
            return None
        return counted(name, parts[1], parts[2], FlowScope(self, self.state))

    def changed_in(self, name: str, start: int, end: int) -> bool:
        tokens = tokenize(self.text[start:end])
        return any(
            change.name == name and change.callee is None for change in changes(tokens, {name})
        )

    def havoc(self, start: int, end: int) -> None:
        """What a loop may change is not known at its head, nor behind it."""
        tokens = tokenize(self.text[start:end])
        for change in changes(tokens, self.known_names()):
            if change.callee is None or may_change(
                change.callee, change.position, self.view, change.is_statement
            ):
                self.spoil(change.name, f"{change.name} changes in a loop")

    def known_names(self) -> set[str]:
        return {name.split(".")[0].split("[")[0] for name in self.state.variables} | set(
            self.state.types
        )

    def spoil(self, name: str, why: str) -> None:
        """Nothing is known of a variable any more."""
        value = self.state.variables.get(name)
        device = isinstance(value, Number) and value.device
        self.forget(name)
        self.state.variables[name] = (
            unknown_dim(why) if isinstance(value, Dim) else unknown(why, device=device)
        )

    def switch(self, node: st.Switch) -> None:
        self.expressions(*node.condition)
        guarded = self.state.guarded
        if self.is_guard(node.condition):
            self.state.guarded = True
        entry = self.state.fork()
        nodes = self.condition(*node.condition)
        self.breaks.append([])
        has_default = False
        self.state.reachable = False
        body = node.body.statements if isinstance(node.body, st.Block) else (node.body,)
        self.enter()
        for child in body:
            if isinstance(child, st.Case):
                has_default = has_default or child.value[0] == child.value[1]
                arrived = entry.fork()
                before, self.state = self.state, arrived
                self.case_value(nodes, child)
                self.state = join_states(before, self.state, guarded=entry.guarded)
                continue
            self.statement(child)
        self.leave()
        ends = [*self.breaks.pop(), self.state]
        if not has_default:
            ends.append(entry)
        self.meet(ends, guarded)

    def case_value(self, nodes: tuple[ast.Node, ...], case: st.Case) -> None:
        if len(nodes) != 1 or case.value[0] == case.value[1]:
            return
        values = FlowScope(self, self.state).nodes(self.text[slice(*case.value)])
        if len(values) == 1:
            equal = ast.Binary("==", nodes[0], values[0])
            refine(equal, self.state.variables, FlowScope(self, self.state), holds=True)

    def choice(self, node: st.Choice) -> None:
        guarded = self.state.guarded
        entry = self.state
        ends = []
        for branch in node.branches:
            self.state = entry.fork()
            self.sequence(branch)
            ends.append(self.state)
        if not node.has_else:
            ends.append(entry)
        self.meet(ends, guarded)

    # Statements

    def simple(self, node: st.Simple) -> None:
        text = self.text
        if node.jump is None and not self.touches(node.start, node.end):
            if _EXITS.match(text, node.start, node.end):
                self.state.reachable = False
            elif "using" in text[node.start : node.end] or "typedef" in text[node.start : node.end]:
                self.local_alias(text[node.start : node.end])
            return
        start = node.start
        label = _LABEL.match(text, node.start, node.end)
        if label:
            start = label.end()
            self.havoc(0, len(text))
            self.state.reachable = True
        for inner in node.lambdas:
            self.lambda_body(inner, node)
        if node.jump is not None:
            self.jump(node)
            return
        self.effect(start, node.end, node.lambdas)

    def jump(self, node: st.Simple) -> None:
        if node.jump in ("return", "co_return"):
            self.expressions(node.start, node.end, node.lambdas)
            if self.returns is not None and self.state.reachable:
                self.returned(node)
            self.state.reachable = False
        elif node.jump == "break":
            if self.breaks:
                self.breaks[-1].append(self.state.fork())
            self.state.reachable = False
        else:
            if node.jump == "throw":
                self.expressions(node.start, node.end)
            self.state.reachable = False

    def returned(self, node: st.Simple) -> None:
        assert self.returns is not None
        text = self.text[node.start : node.end].strip()
        text = text.removeprefix("return").rstrip("; \t\r\n")
        scope = FlowScope(self, self.state)
        self.returns.extend(evaluate(tree, scope) for tree in scope.nodes(text))

    def lambda_body(self, inner: st.LambdaBody, node: st.Simple) -> None:
        """A lambda's statements see what is known here, but for what changes later."""
        entry = self.state
        self.state = entry.fork()
        if inner.head[0] != inner.head[1] and not _called_at_once(self.text, node):
            self.havoc(node.end, len(self.text))
        self.enter()
        for declared in _lambda_parameters(self.text[slice(*inner.head)]):
            self.hide(declared[1], declared[0])
            self.state.variables[declared[1]] = unknown(f"{declared[1]} is a parameter of a lambda")
        self.breaks.append([])
        returns, self.returns = self.returns, None
        self.block(inner.body.statements)
        self.returns = returns
        self.breaks.pop()
        self.declared.pop()
        self.state = entry
        self.havoc(*_span(inner.body))

    def expressions(self, start: int, end: int, lambdas: Sequence[st.LambdaBody] = ()) -> None:
        """Events inside of an expression, and what it changes."""
        self.fire(start, end, lambdas)
        if self.touches(start, end):
            tokens = tokenize(self.text[start:end])
            self.side_effects(tokens)

    def fire(self, start: int, end: int, lambdas: Sequence[st.LambdaBody] = ()) -> None:
        index = bisect_left(self.events, start)
        while index < len(self.events) and self.events[index] < end:
            event = self.events[index]
            inside = any(inner.body.start <= event < inner.body.end for inner in lambdas)
            if not inside:
                self.handler(event, FlowScope(self, self.state), self.state)
            index += 1

    def effect(self, start: int, end: int, lambdas: Sequence[st.LambdaBody] = ()) -> None:
        """One declaration, assignment or expression."""
        self.fire(start, end, lambdas)
        written = self.text[start:end].rstrip("; \t\r\n")
        if st.MARKS.search(written):
            self.side_effects(tokenize(written), every=True)
            return
        tokens = tokenize(written)
        end_of_macro = _macro_end(tokens)
        while end_of_macro:
            self.call_effect(tokens[:end_of_macro], start)
            tokens = tokens[end_of_macro:]
            end_of_macro = _macro_end(tokens)
        if not tokens:
            return
        if tokens[0].text in ("using", "typedef"):
            self.local_alias(written)
        elif tokens[0].text == "enum":
            self.local_enum(tokens)
        elif declarations(tokens) is not None or assignment(tokens) is not None:
            self.one_effect(list(tokens), start)
        else:
            self.call_effect(tokens, start)

    def call_effect(self, tokens: Sequence[Token], start: int) -> None:
        """A statement that is a call or a macro: what it expands to may assign."""
        at = self.place(start)
        variants = self.view.macros.variants(tokens, at)
        if len(variants) == 1 and not any(t.text in ("{", "}") for t in variants[0]):
            depth = 0
            part: list[Token] = []
            for token in (*variants[0], Token("op", ";", -1)):
                depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
                if token.text != ";" or depth > 0:
                    part.append(token)
                    continue
                self.one_effect(part, start)
                part = []
            return
        for variant in variants:
            self.side_effects(variant)

    def one_effect(self, tokens: list[Token], start: int) -> None:
        if not tokens:
            return
        declared = declarations(tokens)
        if declared is not None:
            for item in declared:
                self.declare(item, start)
            return
        set_ = assignment(tokens)
        if set_ is not None:
            self.assign(list(set_.target), set_.op, list(set_.value), start)
            return
        if apply_known_call(tokens, self, FlowScope(self, self.state)):
            return
        parts = split_arguments(tokens)
        if len(parts) > 1 and all(assignment(part) for part in parts):
            for part in parts:
                self.one_effect(part, start)
            return
        self.side_effects(tokens)

    def side_effects(self, tokens: Sequence[Token], *, every: bool = False) -> None:
        names = self.known_names()
        if every:
            for token in tokens:
                if token.kind == "name" and token.text in names:
                    self.spoil(token.text, f"{token.text} may change in a macro")
            return
        if apply_known_call(tokens, self, FlowScope(self, self.state)):
            return
        for change in changes(tokens, names):
            self.apply_change(change)

    def apply_change(self, change: Change) -> None:
        if change.callee is None:
            self.spoil(change.name, f"{change.name} may be changed")
            return
        kind = self.state.types.get(change.name, "")
        if types.is_constant(kind):
            return
        if not may_change(change.callee, change.position, self.view, change.is_statement):
            return
        self.spoil(change.name, f"{change.callee}() may change {change.name}")

    def evaluated(self, tokens: Sequence[Token], start: int) -> Abstract:
        """What tokens of the statement at `start` evaluate to."""
        if any(token.text in ("{",) for token in tokens[1:]) and any(
            t.text == "[" for t in tokens[:1]
        ):
            return _lambda_value(tokens)
        scope = FlowScope(self, self.state)
        result: Abstract | None = None
        at = self.place(start)
        where = (
            Where(self.body.path, self.body.base + start) if self.body.seen_from is None else None
        )
        single = self.single_macro(tokens, at)
        if single is not None:
            return single
        for variant in self.view.macros.variants(tokens, at):
            value = evaluate(ast.parse(variant), scope, where)
            result = value if result is None else join_values(result, value, "differs")
        return result if result is not None else unknown("empty")

    def single_macro(self, tokens: Sequence[Token], at: At) -> Abstract | None:
        """A lone macro's value with the `#define` that makes it."""
        if len(tokens) != 1 or tokens[0].kind != "name":
            return None
        if self.view.macros.simple(tokens[0].text, at) is None:
            return None
        from occlsp.source.names import evaluate_text
        from occlsp.source.syntax import Expr

        scope = FlowScope(self, self.state)
        return evaluate_text(Expr(tokens[0].text, Span(0, 0)), scope, None)

    def declare(self, item: Declaration, start: int) -> None:
        state = self.state
        if item.initial:
            self.side_effects(item.initial)
        if item.name not in self.names:
            self.hide(item.name, item.type)
            return
        if item.type.rstrip().endswith("&") and not types.is_constant(item.type):
            self.share(item)
            self.hide(item.name, item.type)
            state.variables[item.name] = unknown(f"{item.name} is a reference")
            return
        value = self.initial(item, start)
        fields = {k: v for k, v in state.variables.items() if k.startswith(f"{item.name}.")}
        self.hide(item.name, item.type)
        state.variables[item.name] = value
        if isinstance(value, Number) and "Config" in item.type:
            state.variables.update(fields)
        if item.is_array and not item.is_function_pointer:
            state.variables.update(self.array_elements(item, start))

    def array_elements(self, item: Declaration, start: int) -> dict[str, Abstract]:
        """`int sizes[] = {32, 64}`: the elements by their keys, and `sizes[]`: how many."""
        tokens = list(item.initial or ())
        close = matching(tokens, 0)
        dimension = tokens[1:close]
        rest = tokens[close + 1 :]
        if len(rest) < 3 or [t.text for t in rest[:2]] != ["=", "{"] or rest[-1].text != "}":
            return {}
        parts = split_arguments(rest[2:-1])
        if not all(parts) or len(parts) > MAX_ELEMENTS:
            return {}
        length = len(parts)
        if dimension:
            declared = to_number(self.evaluated(dimension, start)).value
            if declared != length:
                return {}
        scope = FlowScope(self, self.state)
        found: dict[str, Abstract] = {f"{item.name}[]": known(length)}
        for index, part in enumerate(parts):
            value = converted(self.evaluated(part, start), item.type, scope)
            found[f"{item.name}[{index}]"] = value
        return found

    def share(self, item: Declaration) -> None:
        """A reference to a variable: what it does to it is not followed."""
        for token in item.initial or ():
            if token.text in self.state.variables:
                self.spoil(token.text, f"{token.text} is shared by a reference")

    def initial(self, item: Declaration, start: int) -> Abstract:
        kind = types.plain(item.type)
        if item.is_array:
            return Place(item.name)
        if item.form == ":":
            return unknown(f"{item.name} runs over a range")
        scope = FlowScope(self, self.state)
        resolved = scope.type_text(kind)
        tokens = list(item.initial or ())
        if resolved == "dim3":
            return self.dim_initial(item, tokens, start)
        if not item.form or (not tokens and item.form != "="):
            if item.form == "{" and (types.integer(resolved) or "Config" in kind):
                return (
                    to_number(unknown(f"{item.name} is an object"))
                    if "Config" in kind
                    else converted(_ZERO, kind, scope)
                )
            return unknown(f"{item.name} has no value yet")
        if kind.endswith(("Config_t", "cudaLaunchConfig")):
            return self.configuration(item, tokens, start)
        if item.form in ("(", "{") and len(split_arguments(tokens)) > 1:
            return unknown(f"{item.name} is an object")
        value = self.evaluated(tokens, start)
        if item.is_function_pointer or kind.endswith("*"):
            return value if not isinstance(value, Number) else unknown(value.why or "a pointer")
        return self.named(converted(value, kind, scope), item.name, tokens, start)

    def dim_initial(self, item: Declaration, tokens: list[Token], start: int) -> Abstract:
        if not item.form or not tokens:
            return Dim(((_one(), _one(), _one()),))
        if item.form == "=":
            value: Abstract = to_dim(self.evaluated(tokens, start))
        else:
            opening = Token("op", "{", tokens[0].start)
            closing = Token("op", "}", tokens[-1].start)
            value = to_dim(self.evaluated([opening, *tokens, closing], start))
        return self.named(value, item.name, tokens, start)

    def configuration(self, item: Declaration, tokens: list[Token], start: int) -> Abstract:
        """`cudaLaunchConfig_t c = {grid, block, smem, stream}`, designated or not; or zeros."""
        inner = tokens
        if item.form == "=" and tokens and tokens[0].text == "{":
            inner = tokens[1:-1]
        fields = ("gridDim", "blockDim", "dynamicSmemBytes", "stream", "attrs", "numAttrs")
        parts = split_arguments(inner)
        self.state.variables[f"{item.name}.dynamicSmemBytes"] = _ZERO
        if len(parts) == 1 and parts[0] and parts[0][0].text == "0":
            return unknown(f"{item.name} is an object")
        for position, part in enumerate(parts[:6]):
            key = fields[position]
            if len(part) > 3 and part[0].text == "." and part[2].text == "=":
                key, part = part[1].text, part[3:]
            self.state.variables[f"{item.name}.{key}"] = self.evaluated(part, start)
        return unknown(f"{item.name} is an object")

    def named(self, value: Abstract, name: str, tokens: Sequence[Token], start: int) -> Abstract:
        """The value as this assignment makes it: a symbol of its own, and its place."""
        if not isinstance(value, Number | Dim) or not tokens:
            return value
        first, last = tokens[0], tokens[-1]
        begin = first.start + start + self.body.base
        if isinstance(value, Number):
            symbol = (f"{self.body.path}:{name}", begin)
            if (symbol, 1, 0) not in value.linear:
                value = replace(value, linear=(*value.linear, (symbol, 1, 0)))
        if self.body.seen_from is not None or first.start < 0 or last.start < 0:
            return value
        span = Span(begin, last.start + len(last.text) + start + self.body.base)
        fixed = value
        kept = value.linear if isinstance(value, Number) else ()
        fixed = named(value, self.body.path, span, name)  # type: ignore[assignment]
        if isinstance(fixed, Number) and kept:
            fixed = replace(fixed, linear=kept)
        return fixed

    def assign(self, target: list[Token], op: str, tokens: list[Token], start: int) -> None:
        nested = assignment(tokens)
        if nested is not None:
            self.assign(list(nested.target), nested.op, list(nested.value), start)
            tokens = list(nested.target)
        else:
            self.side_effects(tokens)
        scope = FlowScope(self, self.state)
        node = ast.parse(target)
        key = place(node, scope)
        if key is None:
            self.unknown_target(target)
            return
        root = key.split(".")[0].split("[")[0]
        if root not in self.names and root not in self.state.variables:
            return
        value = self.evaluated(tokens, start)
        if op != "=":
            old = evaluate(node, scope)
            value = binary(op[:-1], to_number(old), to_number(value))
        self.store(key, value, tokens, start)

    def store(self, key: str, value: Abstract, tokens: list[Token], start: int) -> None:
        variables = self.state.variables
        head, _, last = key.rpartition(".")
        if last in ("x", "y", "z") and head and isinstance(variables.get(head), Dim):
            number = self.named(to_number(value), key, tokens, start)
            variables[head] = with_component(variables[head], last, to_number(number))  # type: ignore[arg-type]
            return
        kind = self.state.types.get(key, "")
        if isinstance(variables.get(key), Dim) or types.plain(kind) == "dim3":
            value = to_dim(value)
        elif kind and not isinstance(value, Place):
            value = converted(value, kind, FlowScope(self, self.state))
        for name in [k for k in variables if k.startswith((f"{key}.", f"{key}["))]:
            del variables[name]
        variables[key] = self.named(value, key, tokens, start)

    def unknown_target(self, target: list[Token]) -> None:
        """`*p = …`, `a[i] = …`: the named variable is not known any more."""
        for token in target:
            if token.kind == "name" and token.text in self.state.variables:
                self.spoil(token.text, f"{token.text} is changed in part")
                return

    def local_alias(self, text: str) -> None:
        match = _USING.match(text.strip())
        if match:
            self.local_types[match[1]] = types.plain(match[2].rstrip("; "))
            return
        match = _TYPEDEF.match(text.strip())
        if match:
            self.local_types[match[2]] = types.plain(match[1])

    def local_enum(self, tokens: Sequence[Token]) -> None:
        opening = next((i for i, t in enumerate(tokens) if t.text == "{"), None)
        if opening is None:
            return
        last: Number | None = None
        for part in split_arguments(list(tokens[opening + 1 : -1])):
            if not part or part[0].kind != "name":
                return
            if len(part) > 2 and part[1].text == "=":
                last = to_number(self.evaluated(part[2:], 0))
            else:
                last = _ZERO if last is None else binary("+", last, to_number(_one()))
            self.state.variables[part[0].text] = last
            self.state.types[part[0].text] = "const int"


def _macro_end(tokens: Sequence[Token]) -> int:
    """Behind a macro that stands where a statement begins, with no semicolon; 0 for none."""
    if len(tokens) < 4 or tokens[0].kind != "name" or tokens[1].text != "(":
        return 0
    if tokens[0].text in ("alignas", "decltype", "__align__", "__attribute__", "sizeof"):
        return 0
    close = matching(tokens, 1)
    following = tokens[close + 1] if close + 1 < len(tokens) else None
    return close + 1 if following is not None and following.kind == "name" else 0


_ZERO = Number(types.integer("int"), (0,), 0, 0)
_EXITS = re.compile(r"\s*(?:std::)?(?:exit|abort|terminate|_exit|quick_exit)\s*\(")
_LABEL = re.compile(r"\s*(?!default\b|public\b|private\b)[A-Za-z_]\w*\s*:(?!:)")
_USING = re.compile(r"using\s+(\w+)\s*=\s*([^;]+)", re.S)
_TYPEDEF = re.compile(r"typedef\s+(.+?)\s+(\w+)\s*;?$", re.S)


def _one() -> Number:
    return Number(types.integer("unsigned"), (1,), 1, 1)


def _span(node: st.Statement) -> tuple[int, int]:
    return node.start, node.end


def _first_name(text: str) -> str | None:
    match = re.search(r"[A-Za-z_]\w*", text)
    return match.group() if match else None


def _called_at_once(text: str, node: st.Simple) -> bool:
    """A lambda that is an argument, or called where it is written: not kept for later."""
    first = text[node.start : node.end].lstrip()
    return "=" not in first.split("[", 1)[0]


_PARAMETERS = re.compile(r"\((.*)\)", re.S)


def _lambda_parameters(head: str) -> list[tuple[str, str]]:
    match = _PARAMETERS.search(head[head.find("]") :] if "]" in head else "")
    if match is None:
        return []
    found = []
    for part in split_arguments(tokenize(match[1])):
        declared = declarations(part)
        if declared:
            found.append((declared[0].type, declared[0].name))
    return found


def _lambda_value(tokens: Sequence[Token]) -> Abstract:
    from occlsp.source.lexer import spelled

    text = spelled(tokens)
    brace = text.find("{")
    parameters = _lambda_parameters(text[:brace])
    return Lambda(tuple(parameters), text[brace:])


_WORD = re.compile(r"[A-Za-z_]\w*")


def relevant_positions(text: str, names: set[str]) -> list[int]:
    """Where any of `names` stands; `names` grows by those that decide their values."""
    by_name: dict[str, list[int]] = {}
    for match in _WORD.finditer(text):
        by_name.setdefault(match.group(), []).append(match.start())
    pending = [name for name in names if name in by_name]
    seen = set(names)
    positions: list[int] = []
    while pending:
        name = pending.pop()
        for position in by_name[name]:
            positions.append(position)
            start, end = _sentence(text, position)
            if end - start > 4000:
                continue
            for match in _WORD.finditer(text, start, end):
                other = match.group()
                if other not in seen:
                    seen.add(other)
                    if other in by_name:
                        pending.append(other)
    names |= seen
    positions.sort()
    return positions


def _sentence(text: str, position: int) -> tuple[int, int]:
    """The statement around a position, roughly: from a semicolon or brace to the next."""
    start = (
        max(
            text.rfind(";", 0, position), text.rfind("{", 0, position), text.rfind("}", 0, position)
        )
        + 1
    )
    end = text.find(";", position)
    return start, len(text) if end < 0 else end
