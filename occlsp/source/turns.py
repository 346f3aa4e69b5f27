"""What a loop leaves of the variables that it changes, where it can be run turn by turn.

int threads = 32;
while (threads < N) threads *= 2;    // where N is known here
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from occlsp.source import statements as st
from occlsp.source.dependents import is_exact
from occlsp.source.effects import sets_any
from occlsp.source.evaluate import evaluate
from occlsp.source.lexer import split_arguments, tokenize
from occlsp.source.macro_statements import may_break
from occlsp.source.numbers import Number
from occlsp.source.values import Abstract, to_number

if TYPE_CHECKING:
    from occlsp.source.flow import Interpreter

MAX_TURNS = 64

_JUMPS = re.compile(r"\b(?:continue|goto|throw|try|catch)\b")
Left = dict[str, Abstract]


def left_behind(node: st.Loop, flow: Interpreter) -> Left:
    """The values of the variables that a loop changes, behind it; none where one of them is not
    known in some turn, or it is left in another way than by its condition."""
    is_last = not flow.breaks and node.end >= flow.slice.until  # in no other loop, which comes back
    parts = _parts(node, flow.text)
    if is_last or flow.is_turning or parts is None:
        return {}
    names = {one.name for one in flow.slice.changes(node.start, node.end)}
    names = {name for name in names if flow.is_local(name)}
    if not names or not _is_asked(names, node, parts[0], flow):
        return {}
    text = flow.text[node.start : node.end]
    if _JUMPS.search(text) or may_break(text, flow.view):
        return {}
    kept = flow.state, flow.events, flow.returns, flow.steps
    flow.state, flow.events, flow.returns, flow.is_turning = flow.state.fork(), [], None, True
    flow.enter()
    try:
        is_known = _run(node, parts, flow, names)
        flow.leave()
        found = {name: flow.state.variables.get(name) for name in names}
    finally:
        flow.state, flow.events, flow.returns, flow.steps = kept
        flow.is_turning = False
    return {name: _by_itself(one) for name, one in found.items() if one} if is_known else {}


def _is_asked(names: set[str], node: st.Loop, before: st.Range, flow: Interpreter) -> bool:
    """Whether any of the variables is named behind a loop, and all are known as it begins."""
    if not flow.breaks:  # in another loop, what stands before comes behind, too
        places_of = flow.slice.relevance.sentences.words.places_of
        if all(max(places_of(name), default=-1) < node.end for name in names):
            return False
    made = {token.text for token in tokenize(flow.text[slice(*before)])}
    variables = flow.state.variables
    return all(name in made or (name in variables and is_exact(variables[name])) for name in names)


def _parts(node: st.Loop, text: str) -> tuple[st.Range, st.Range, st.Range] | None:
    """What is done before a loop, its condition, and what is done behind each turn."""
    start, end = node.head
    if node.kind in ("while", "do"):
        return (start, start), (start, end), (end, end)
    pieces = text[start:end].split(";")
    if node.kind != "for" or len(pieces) != 3:
        return None
    first = start + len(pieces[0])
    second = first + 1 + len(pieces[1])
    return (start, first), (first + 1, second), (second + 1, end)


def _run(
    node: st.Loop, parts: tuple[st.Range, st.Range, st.Range], flow: Interpreter, names: set[str]
) -> bool:
    """Whether it comes to its end, with all variables known in each turn."""
    before, condition, behind = parts
    flow.effect(*before)
    if sets_any(tokenize(flow.text[slice(*condition)])):
        return False
    for turn in range(MAX_TURNS):
        if turn or node.kind != "do":
            nodes = flow.condition(*condition)
            goes_on = to_number(evaluate(nodes[0], flow.scope_here())) if len(nodes) == 1 else None
            if goes_on is None or goes_on.value is None or goes_on.device:
                return False
            if goes_on.value == 0:
                return True
        flow.breaks.append([])
        flow.statement(node.body)
        if flow.breaks.pop() or not flow.state.reachable:
            return False
        for step in _steps(behind, flow.text):
            flow.effect(*step)
        variables = flow.state.variables
        if not all(name in variables and is_exact(variables[name]) for name in names):
            return False
    return False


def _steps(behind: st.Range, text: str) -> Iterator[st.Range]:
    """What is done behind each turn, with commas between."""
    start, end = behind
    for part in filter(None, split_arguments(tokenize(text[start:end]))):
        yield start + part[0].start, start + part[-1].start + len(part[-1].text)


def _by_itself(value: Abstract) -> Abstract:
    """A value that follows nothing: what it was made of had others in other turns."""
    return value.defined(value.definition, ()) if isinstance(value, Number) else value
