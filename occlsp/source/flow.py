"""Follows a function's statements and knows, at every place, what its variables can be.

An abstract interpretation: branches are followed apart and joined, what a loop changes is not
known at its head, early returns end a path. Where something cannot be followed, the variables
that it may change are unknown: never a guess.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

from occlsp.source import expressions as ast
from occlsp.source import statements as st
from occlsp.source import types
from occlsp.source.conditions import device_guard, refine
from occlsp.source.dependents import Dependents
from occlsp.source.effects import changes
from occlsp.source.evaluate import Budget, evaluate
from occlsp.source.lambda_calls import given_to, name_of
from occlsp.source.lambdas import lambda_parameters
from occlsp.source.lexer import tokenize
from occlsp.source.linear import itself
from occlsp.source.macro_statements import may_break
from occlsp.source.names import Binding
from occlsp.source.numbers import Number, unknown
from occlsp.source.slicing import plan
from occlsp.source.state import Body, Constant, FlowScope, State, join_states
from occlsp.source.text import places_of
from occlsp.source.turns import left_behind
from occlsp.source.values import Abstract, to_number
from occlsp.source.variables import Variables, root_of
from occlsp.source.view import View

MAX_STATEMENTS = 50_000


Handler = Callable[[int, "FlowScope", State], None]


class Interpreter(Variables):
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
        self.scope = tuple(filter(None, scope))
        self.template = template
        self.events = sorted(events)
        self.handler = handler
        self.local_types: dict[str, str] = {}
        self.constants: dict[tuple[str, tuple[str, ...] | None], Constant] = {}
        self.state = State()
        for name, (kind, value) in parameters.items():
            self.state.variables[name] = value
            self.state.types[name] = types.passed(kind)
        self.names = names
        self.steps = 0
        self.declared: list[dict[str, tuple[str | None, dict[str, Abstract]]]] = [{}]
        self.dependents = Dependents()
        self.breaks: list[list[State]] = []
        self.returns: list[Abstract] | None = None
        self.budget: Budget | None = None
        """Shared with the evaluation that this is a part of."""
        self.failed = self.is_turning = False

    def run(self) -> None:
        """Follows the body; where its structure cannot be read, nothing of locals is known."""
        self.parted = {root_of(key) for key in self.state.variables if not key.isidentifier()}
        planned = plan(
            self.text,
            tuple(self.events),
            frozenset(self.names),
            frozenset(self.known_names()),
            self.view.setting,
            is_whole=self.returns is not None,
        )
        self.text, self.slice, found = planned.text, planned.slice, planned.statements
        self.names = self.slice.names
        self.has_jumps = "goto" in self.text
        if found is None:
            self.unreadable()
            return
        for statement in found:
            if statement.start >= self.slice.until:
                break
            self.sequence((statement,))

    def unreadable(self) -> None:
        self.failed = True
        for name in self.names:
            if name in self.state.variables or _may_be_made(self.text, name):
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
        if isinstance(node, st.Simple):
            self.simple(node)
            return
        skipped = not isinstance(node, st.Block)
        if isinstance(node, st.If) or (skipped and self.returns is not None):
            skipped = not self.slice.may_end(node.start, node.end)
        if skipped and not self.slice.touches(node.start, node.end):
            return
        match node:
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

    def block(self, found: Sequence[st.Statement]) -> None:
        self.enter()
        self.sequence(found)
        self.leave()

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
        if holds and isinstance(nodes[0], ast.Binary) and nodes[0].op == "==":
            self.dependents.tell(nodes[0].left, self)
        return True

    def loop(self, node: st.Loop) -> None:
        """What is seen in a loop holds in any of its turns."""
        behind = left_behind(node, self)
        follow = self.for_loop if node.kind == "for" else self.other_loop
        follow(node)
        self.state.variables.update(behind)

    def other_loop(self, node: st.Loop) -> None:
        guarded = self.state.guarded
        entry = self.state.fork()
        self.havoc(node.start, node.end)
        if node.kind == "catch":
            self.havoc(*node.head)
            self.state.reachable = True
        left = self.left_by(node, entry) if node.kind == "while" else None
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
        left_early = breaks or may_break(self.text[node.start : node.end], self.view)
        if node.kind in ("while", "do") and not left_early:
            self.assume(self.condition(*node.head), holds=False, guard=False)
            self.state.guarded = guarded  # it is come to in any case
        if left is not None:
            self.state.variables[left[0]] = left[1]

    def left_by(self, node: st.Loop, entry: State) -> tuple[str, Number] | None:
        """The variable that a loop does nothing but step, and what it can be behind the loop."""
        from occlsp.source.counting import left_by, stepped

        statements = node.body.statements if isinstance(node.body, st.Block) else (node.body,)
        *exits, body = statements or (node,)
        if not isinstance(body, st.Simple) or body.jump is not None or not all(map(_leaves, exits)):
            return None
        written = self.text[body.start : body.end].rstrip("; \t\r\n")
        name = stepped(written)
        first = entry.variables.get(name or "")
        if name is None or not isinstance(first, Number) or self.changed_in(name, *node.head):
            return None
        if any(self.changed_in(name, one.start, one.end) for one in exits):
            return None
        nodes = self.condition(*node.head)
        if len(nodes) != 1:
            return None
        scope = FlowScope(self, self.state.fork())
        left = left_by(name, first, nodes[0], written, scope, anywhere=bool(exits))
        if left is None:
            return None
        symbol = (f"{self.body.path}:{name}", self.body.base + node.start)
        return name, left.defined(None, (itself(symbol),)).asked(device=first.device)

    def for_loop(self, node: st.Loop) -> None:
        self.enter()
        guarded = self.state.guarded
        parts = self.text[node.head[0] : node.head[1]].split(";")
        entry_parts = parts[0] if len(parts) == 3 else ""
        first = (node.head[0], node.head[0] + len(parts[0])) if len(parts) == 3 else node.head
        if self.slice.touches(*first):
            self.fire(*first)
            self.effect(*first)
        is_asked = self.slice.touches(*node.head)
        known = self.counted(parts, node) if len(parts) == 3 and is_asked else None
        entry = self.state.fork()
        self.havoc(node.head[0] + len(entry_parts), node.end)
        if known is not None:
            self.state.variables[known[0]] = known[1]
        elif len(parts) == 3 and is_asked:
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
        return any(
            change.callee is None
            for first, last in self.slice.changing(start, end)
            for change in changes(tokenize(self.text[first:last]), {name})
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
            self.dependents.tell(nodes[0], self)

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
        label = _LABEL.match(text, node.start, node.end) if self.has_jumps else None
        if label is None and node.jump is None and not self.slice.matters(node):
            return
        ends = _EXITS.match(text, node.start, node.end) is not None
        is_plain = label is None and node.jump is None
        if is_plain and not self.slice.touches(node.start, node.end):
            if ends:
                self.state.reachable = False
            elif "using" in text[node.start : node.end] or "typedef" in text[node.start : node.end]:
                self.local_alias(text[node.start : node.end])
            return
        start = node.start
        if label is not None:
            start = label.end()
            self.havoc(0, len(text))
            self.state.reachable = True
        for inner in node.lambdas:
            self.lambda_body(inner, node)
        if node.jump is not None:
            self.jump(node)
            return
        self.fire(start, node.end, node.lambdas)
        if self.slice.may_change(start, node.end) or "<<<" not in text[start : node.end]:
            kept = node.lambdas and not _called_at_once(text, node)
            self.effect(start, node.end, () if kept else node.lambdas)
        if ends:
            self.state.reachable = False

    def jump(self, node: st.Simple) -> None:
        """What is said behind is not come to from here: nothing that this changes is asked for."""
        is_return = node.jump in ("return", "co_return")
        if is_return and self.returns is not None and self.state.reachable:
            self.expressions(node.start, node.end, node.lambdas)
            self.returned(node)
        elif is_return or node.jump == "throw":
            self.fire(node.start, node.end, node.lambdas)
        elif node.jump == "break" and self.breaks:
            self.breaks[-1].append(self.state.fork())
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
        if inner.head[0] != inner.head[1]:
            if not _called_at_once(self.text, node):
                self.havoc(node.end, len(self.text))
            self.havoc(inner.body.start, inner.body.end)  # it may be called again
        self.enter()
        parameters = lambda_parameters(self.text[slice(*inner.head)])
        for kind, name in parameters:
            self.hide(name, kind)
            self.state.variables[name] = unknown(f"{name} is a parameter of a lambda")
        if parameters:
            self.take_calls(inner, node, parameters)
        self.breaks.append([])
        returns, self.returns = self.returns, None
        self.block(inner.body.statements)
        self.returns = returns
        self.breaks.pop()
        self.declared.pop()
        self.state = entry
        self.havoc(inner.body.start, inner.body.end)

    def take_calls(
        self, inner: st.LambdaBody, node: st.Simple, parameters: Sequence[tuple[str, str]]
    ) -> None:
        """Takes in what the calls of a lambda give, where anything is asked for in it."""
        name = name_of(self.text[node.start : inner.head[0]])
        is_asked = self.slice.touches(inner.body.start, inner.body.end)
        if name is None or not is_asked or self.body.seen_from is not None:
            return
        place = f"{self.body.path}:{self.body.base + inner.head[0]}"
        callees = {name}
        given = given_to(name, parameters, self.body.text, self.view, place, callees)
        self.state.variables.update(given)
        self.parted.update(map(root_of, given))
        self.names = self.names | callees

    def expressions(self, start: int, end: int, lambdas: Sequence[st.LambdaBody] = ()) -> None:
        """Events inside of an expression, and what it changes."""
        self.fire(start, end, lambdas)
        if self.slice.touches(start, end):
            tokens = tokenize(self.text[start:end])
            self.side_effects(tokens)

    def fire(self, start: int, end: int, lambdas: Sequence[st.LambdaBody] = ()) -> None:
        index = bisect_left(self.events, start)
        while index < len(self.events) and self.events[index] < end:
            event = self.events[index]
            inside = any(inner.body.start <= event < inner.body.end for inner in lambdas)
            if not inside:
                self.handler(event, self.scope_at(event), self.state)
            index += 1


_EXITS = re.compile(r"\s*(?:std::)?(?:exit|abort|terminate|_exit|quick_exit)\s*\(")
_LABEL = re.compile(r"\s*(?!default\b|public\b|private\b)[A-Za-z_]\w*\s*:(?!:)")


def _leaves(node: st.Statement) -> bool:
    """Whether a statement of a loop does nothing but leave it: `if (…) break;`."""
    if not isinstance(node, st.If) or node.no is not None:
        return False
    yes = node.yes.statements if isinstance(node.yes, st.Block) else (node.yes,)
    return len(yes) == 1 and isinstance(yes[0], st.Simple) and yes[0].jump == "break"


_MADE = re.compile(r"\s*[=({;,]")


def _may_be_made(text: str, name: str) -> bool:
    """Whether a text may declare or assign a name."""
    return any(_MADE.match(text, place + len(name)) for place in places_of(text, name))


def _first_name(text: str) -> str | None:
    match = re.search(r"[A-Za-z_]\w*", text)
    return match.group() if match else None


def _called_at_once(text: str, node: st.Simple) -> bool:
    """A lambda that is an argument, or called where it is written: not kept for later."""
    first = text[node.start : node.end].lstrip()
    return "=" not in first.split("[", 1)[0]
