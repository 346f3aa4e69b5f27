"""The scopes of a file: a machine over braces, semicolons and directives.

It knows where namespaces, classes, enumerations and functions begin and end, under which
`#if` branches each offset stands, and which text is no code (directives, `#if 0`). Function
bodies are passed over by counting braces.

Branches of an `#if` are alternatives, so that each starts from the state at the `#if`, and
what follows the `#endif` goes on from the end of the first live branch; functions that
several branches open and text after them closes (`#ifdef A … void f(int) { #else … void
f(long) { #endif … }`) are closed together. A `__global__` definition or a `template` or
`namespace` at the start of a line cannot stand in a function body: there, braces are missing
(half-typed code), and the machine goes back to namespace scope.

Between two declarations the machine has a small immutable state, a checkpoint. It can go on
from one, and stop at one that it knows to be followed by what it has seen before.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from occlsp.source.branches import Scan, one_branch
from occlsp.source.broken import (
    begins_anew,
    begins_statement,
    impossible_in_body,
    is_statement,
)
from occlsp.source.classify import FUNCTION, classify
from occlsp.source.directives import (
    Directive,
    condition_text,
    dead_branch_end,
    guard_name,
    is_false,
    is_true,
    read_define,
    read_directive,
    read_include,
)
from occlsp.source.heads import Plain, plain_head
from occlsp.source.marks import Marks
from occlsp.source.mask import blank
from occlsp.source.states import Block, Checkpoint, Group, Scope, State, Statement
from occlsp.source.syntax import Condition
from occlsp.source.text import IDENTIFIER, Span

_DECLARATION = (b"{", b"}", b";", b"#")
_VISIBLE = re.compile(rb"\S")
_MORE = re.compile(rb"\s*[,{]")
_COLON = re.compile(rb"(?<!:):(?!:)")
_GUARDED = re.compile(rb"\s*#\s*define\s+(" + IDENTIFIER + rb")[ \t]*(?:1[ \t]*)?\r?$", re.M)
_NAMESPACES = frozenset(("root", "namespace", "linkage"))
_MOST_DECLARATIONS = 100_000
_DEEPEST = 128
"""Nested `#if`s: deeper ones are taken as if all their branches held."""
_MOST_NEGATED = 64
_MOST_BLOCKS = 64
"""Braces in one declaration before its head: further ones are taken as initialisers."""


class Scanner:
    """Runs the machine over a text, from a checkpoint on."""

    def __init__(
        self, text: bytes, masked: bytes, start: int = 0, at: Checkpoint | None = None
    ) -> None:
        self.text = text
        self.masked = masked
        self.start = start
        self.scan = Scan()
        self.code = bytearray(masked[start:])
        at = at or Checkpoint(Scope("root", None, (), 0, 0), (), (), seen_directive=False)
        self.here = at
        self.state = State(at.scope, 0, start, 0)
        self.groups = at.groups
        self.conditions = at.conditions
        self.seen_directive = at.seen_directive
        self.last_close = start
        self.too_deep = 0
        self.impossible = self.hash = start - 1
        self.hidden = start
        """Where the last directive or dead branch ends: behind it, the code is the masked text."""
        self.stop: Callable[[int, Checkpoint], bool] | None = None
        self.stopped = False
        self.change_conditions(start)
        self.enter(at.scope, start)

    def run(self, stop: Callable[[int, Checkpoint], bool] | None = None) -> Scan:
        """Scans until `stop` says so at a checkpoint, or to the end of the text."""
        self.stop = stop
        position: int | None = self.start
        masked, next_mark = self.masked, Marks(self.masked, _DECLARATION).first
        while position is not None and not self.stopped:
            if self.state.scope.holds_declarations:
                offset = next_mark(position)
                if offset == len(masked):
                    break
                if masked[offset] == 0x3B:
                    self.end_statement(offset)
                    position = offset + 1
                else:
                    position = self.take(offset, position)
            else:
                position = self.pass_over(position)
        if not self.stopped:
            self.scan.end = len(self.masked)
            self.finish()
        self.scan.code = bytes(self.code[: self.scan.end - self.start])
        self.scan.blocks.sort()
        return self.scan

    def take(self, offset: int, floor: int) -> int:
        """Uses the token at `offset`; where the next is looked for."""
        token = self.masked[offset]
        if token == 0x7B:
            return self.open_declared(offset)
        if token == 0x23:
            return self.take_directive(offset, floor)
        self.close_declarations(offset)
        return offset + 1

    def pass_over(self, position: int) -> int | None:
        """Passes over a body by counting its braces, to its end or behind the next directive; None
        at the end of the text."""
        masked = self.masked
        limit = self.body_limit(position)
        depth = self.state.depth
        while (close := masked.find(b"}", position, limit)) >= 0:
            depth += masked.count(b"{", position, close)
            position = self.last_close = close + 1
            if depth == 0:
                self.close_body(position)
                return position
            depth -= 1
        depth += masked.count(b"{", position, limit)
        self.state = replace(self.state, depth=depth)
        if limit == len(masked):
            return None
        if limit == self.impossible:
            self.leave_broken_body(limit)
            return limit + 1
        return self.take_directive(limit, position)

    def body_limit(self, position: int) -> int:
        """Up to where a body that begins at `position` can be told by its braces alone."""
        if self.hash < position:
            found = self.masked.find(b"#", position)
            self.hash = len(self.masked) if found < 0 else found
        return min(self.hash, self.next_impossible(position))

    def body_end(self, position: int) -> int | None:
        """The end of a body that nothing but braces decides; None where more does."""
        masked, limit, depth = self.masked, self.body_limit(position), 0
        while (close := masked.find(b"}", position, limit)) >= 0:
            depth += masked.count(b"{", position, close)
            position = close + 1
            if depth == 0:
                return position
            depth -= 1
        return None

    def next_impossible(self, position: int) -> int:
        """The next place that cannot be in a function body, or the end of the text."""
        if self.impossible < position:
            self.impossible = impossible_in_body(self.masked, position)
        return self.impossible

    # -- braces ---------------------------------------------------------------------------

    def open_declared(self, offset: int) -> int:
        """Uses the brace at `offset`; where the next token is looked for."""
        if self.is_rest(offset):
            self.begin_rest()
        state = self.state
        scope, declaration, blocks = state.scope, state.declaration, state.blocks
        opening, head = None, b""
        if blocks < _MOST_BLOCKS:
            head = self.head_text(declaration, offset).lstrip()
            is_open = head.count(b"(") > head.count(b")")
            if is_open and (again := begins_anew(head)) is not None:
                is_open, head = False, head[again:]
                declaration = offset - len(head)
                self.state = State(scope, 0, declaration, blocks)
            if not is_open:
                plain = plain_head(head, 0, len(head))
                if plain is not None:
                    self.scan.heads[offset] = plain, offset - len(head)
                    if not blocks and (done := self.pass_function(plain, offset)):
                        return done
                    opening = FUNCTION
                else:
                    opening = classify(head)
        if opening is None or opening.kind == "block":
            block = Scope("block", scope, scope.names, declaration, offset)
            self.state = State(block, 0, declaration, blocks + 1)
            return offset + 1
        inner = Scope(opening.kind, scope, (*scope.names, *opening.names), declaration, offset)
        self.state = State(inner, 0, offset + 1, blocks)
        if opening.kind == "class" and b"template" in head:
            inner.heads = (*inner.heads, head)
        if inner.holds_declarations:
            self.state = State(inner, 0, offset + 1, 0)
            self.enter(inner, offset + 1)
        return offset + 1

    def pass_function(self, head: Plain, opening: int) -> int | None:
        """Passes over a function at once, as most are; None where its body has to be looked into,
        or its brace may be an initialiser's."""
        if b":" in head.said.string[head.listed.end :]:
            return None
        end = self.body_end(opening + 1)
        if end is None:
            return None
        scope, declaration = self.state.scope, self.state.declaration
        block = Block(declaration, opening, end, scope.names, "function", scope.heads)
        self.scan.blocks.append(block)
        self.last_close = end
        self.state = State(scope, 0, end, 0)
        self.checkpoint(end)
        return end

    def head_text(self, start: int, end: int) -> bytes:
        """What reads as `code[start:end]` does from `end`."""
        return self.masked[start:end] if start >= self.hidden else self.branch_text(start, end)

    def is_rest(self, end: int) -> bool:
        """Whether what is declared up to `end` is a statement: it is left of a function whose body
        was closed too early, by a brace too many."""
        scope, start = self.state.scope, self.state.declaration
        return scope.kind in _NAMESPACES and is_statement(self.masked, start, end)

    def begin_rest(self) -> None:
        """What is left of a function that was closed too early is a scope of its own, which the
        function's brace closes: else it would close the namespace."""
        state = self.state
        scope, declaration, blocks = state.scope, state.declaration, state.blocks
        rest = Scope("rest", scope, scope.names, declaration, declaration)
        self.state = State(rest, 0, declaration, blocks)

    def close_declarations(self, offset: int) -> None:
        scope = self.state.scope
        self.last_close = offset + 1
        if scope.parent is None:
            self.state = State(scope, 0, offset + 1, 0)
        else:
            self.state = State(scope.parent, 0, offset + 1, 0)
            self.enter(scope.parent, offset + 1)

    def close_body(self, end: int) -> None:
        scope, blocks = self.state.scope, self.state.blocks
        parent = scope.parent
        assert parent is not None
        if scope.kind == "block":
            head = scope.declaration, scope.opening
            is_stray = blocks == 1 and not self.masked[slice(*head)].strip()
            self.state = State(parent, 0, end, 0)
            if not is_stray:
                self.state = State(parent, 0, scope.declaration, blocks)
        elif scope.kind == "function" and self.is_initialiser(scope, end):
            self.state = State(parent, 0, scope.declaration, blocks + 1)
        else:
            self.emit(scope, end)
            self.state = State(parent, 0, end, 0)
            self.checkpoint(end)

    def is_initialiser(self, scope: Scope, end: int) -> bool:
        """Whether `{…}` belongs to a member of `X() : a{1}, b{2} { }`."""
        if _MORE.match(self.masked, end) is None:
            return False
        parameters = self.masked.find(b")", scope.declaration, scope.opening)
        return _COLON.search(self.masked, parameters, scope.opening) is not None

    def emit(self, scope: Scope, end: int) -> None:
        for one in (scope, *scope.twins):
            if not one.closed and one.parent is not None:
                one.closed = True
                names = one.names if one.kind == "enum" else one.parent.names
                self.scan.blocks.append(
                    Block(one.declaration, one.opening, end, names, one.kind, one.parent.heads)
                )

    def end_statement(self, offset: int) -> None:
        if self.is_rest(offset):
            self.begin_rest()
        scope, declaration = self.state.scope, self.state.declaration
        if scope.kind != "rest" and self.masked.find(b"const", declaration, offset) >= 0:
            self.scan.statements.append(Statement(declaration, offset, scope.names, scope.heads))
        self.state = State(scope, 0, offset + 1, 0)
        self.checkpoint(offset + 1)

    def leave_broken_body(self, offset: int) -> None:
        """Goes back to namespace scope in front of a declaration found in a body."""
        scope = self.state.scope
        floor = scope.opening
        boundary = max(self.masked.rfind(c, floor, offset) for c in (b";", b"{", b"}")) + 1
        end = max(min(self.last_close, boundary), scope.opening + 1)
        if begins_statement(self.masked, boundary, offset):
            # A statement that is not ended yet is no head of what follows.
            boundary = max(self.masked.rfind(b"\n", floor, offset) + 1, boundary)
        while not scope.holds_declarations:
            if scope.kind != "block":
                self.emit(scope, end)
            assert scope.parent is not None
            scope = scope.parent
        self.state = State(scope, 0, boundary, 0)

    def enter(self, scope: Scope, offset: int) -> None:
        self.scan.scope_starts.append(offset)
        self.scan.scope_names.append(scope.names)
        self.checkpoint(offset)

    def checkpoint(self, offset: int) -> None:
        if self.too_deep or (self.groups and not all(g.is_settled for g in self.groups)):
            return
        here, scope = self.here, self.state.scope
        if (
            here.scope is not scope
            or here.groups is not self.groups
            or here.conditions is not self.conditions
            or here.seen_directive != self.seen_directive
        ):
            here = Checkpoint(scope, self.groups, self.conditions, self.seen_directive)
        self.here = here
        if self.stop is not None and self.stop(offset, here):
            self.stopped = True
            self.scan.end = offset
            return
        self.scan.checkpoints.append(offset)
        self.scan.states.append(here)
        if len(self.scan.checkpoints) > _MOST_DECLARATIONS:
            self.scan.is_cut = self.stopped = True
            self.scan.end = len(self.masked)

    # -- directives -----------------------------------------------------------------------

    def hide(self, start: int, end: int) -> None:
        self.code[start - self.start : end - self.start] = blank(end - start)
        self.hidden = end

    def take_directive(self, offset: int, floor: int) -> int:
        directive = read_directive(self.masked, offset, floor)
        if directive is None:
            return offset + 1
        end = directive.span.end
        self.hide(directive.span.start, directive.span.end)
        first, self.seen_directive = not self.seen_directive, True
        name = directive.name
        if name in (b"define", b"undef"):
            define = read_define(self.text, self.masked, directive, self.conditions)
            if define is not None:
                self.scan.defines.append(define)
        elif name == b"include":
            include = read_include(self.text, directive, self.conditions)
            if include is not None:
                self.scan.includes.append(include)
        elif name in (b"if", b"ifdef", b"ifndef"):
            if len(self.groups) < _DEEPEST:
                return self.open_group(directive, first)
            self.too_deep += 1
        elif self.too_deep:
            self.too_deep -= name == b"endif"
        elif name in (b"elif", b"else", b"elifdef", b"elifndef") and self.groups:
            return self.next_branch(directive)
        elif name == b"endif" and self.groups:
            self.close_group(end)
        elif name == b"pragma":
            self.seen_directive = not first
        return end

    def open_group(self, directive: Directive, first: bool) -> int:
        text = condition_text(self.masked, directive)
        guard = guard_name(text) if first else None
        is_guard = False
        if guard is not None:
            # A guard has no value: `#ifndef BLOCK` with `#define BLOCK 256` is a default.
            defined = _GUARDED.match(self.masked, directive.span.end)
            is_guard = defined is not None and defined[1] == guard.encode()
        is_settled = self.settle(directive.span.start)
        group = Group(
            directive.span.start,
            self.conditions,
            self.state,
            (text,),
            is_guard=is_guard,
            starts_settled=is_settled,
            is_settled=is_settled,
        )
        self.groups = (*self.groups, group)
        return self.begin_branch(group, directive, text)

    def settle(self, offset: int) -> bool:
        """Whether `offset` is between two declarations; if so, the next one begins there."""
        state = self.state
        begin, end = state.declaration - self.start, offset - self.start
        is_inside = not state.scope.holds_declarations or state.blocks
        if is_inside or _VISIBLE.search(self.code, begin, end) is not None:
            return False
        self.state = State(state.scope, state.depth, offset, 0)
        return True

    def next_branch(self, directive: Directive) -> int:
        group = self.groups[-1]
        text = condition_text(self.masked, directive)
        negated = [f"!({one})" for one in group.texts[-_MOST_NEGATED:] if not is_false(one)]
        parts = [*negated, f"({text})" if negated else text] if text else negated
        whole = "0" if text and is_false(text) else " && ".join(parts) or "1"
        is_settled = group.is_settled and (bool(group.ends) or self.settle(directive.span.start))
        group = replace(
            group,
            branch=group.branch + 1,
            texts=(*group.texts[-_MOST_NEGATED:], text or "1"),
            is_settled=is_settled,
            ends=(*group.ends, self.state) if group.is_live else group.ends,
        )
        self.state = group.at_start
        if group.starts_settled:
            self.state = replace(self.state, declaration=directive.span.end)
        self.resume(directive.span.end)
        return self.begin_branch(group, directive, whole)

    def begin_branch(self, group: Group, directive: Directive, text: str) -> int:
        end = directive.span.end
        self.conditions = group.outer
        is_live = not (group.rest_is_dead or is_false(text))
        rest_is_dead = group.rest_is_dead or is_true(text)
        group = replace(group, is_live=is_live, rest_is_dead=rest_is_dead)
        self.groups = (*self.groups[:-1], group)
        if not is_live:
            dead = dead_branch_end(self.masked, end)
            self.hide(end, dead)
            self.scan.dead.append(Span(end, dead))
            return dead
        if not rest_is_dead and not group.is_guard:
            condition = Condition(text, directive.span, group.offset, group.branch)
            self.conditions = (*group.outer, condition)
        self.change_conditions(end)
        return end

    def close_group(self, end: int) -> None:
        group = self.groups[-1]
        self.groups = self.groups[:-1]
        ends = (*group.ends, self.state) if group.is_live else group.ends
        self.conditions = group.outer
        self.change_conditions(end)
        self.state = ends[0] if ends else group.at_start
        if (group.is_settled and len(ends) > 1) or (group.starts_settled and not ends):
            self.state = replace(self.state, declaration=end)
        self.resume(end)
        for other in ends[1:]:
            _join(self.state, other)

    def resume(self, offset: int) -> None:
        """Takes note of the scope that an `#if` goes on in, where a branch left it for another."""
        names = self.state.scope.names
        if names != self.scan.scope_names[-1]:
            self.scan.scope_starts.append(offset)
            self.scan.scope_names.append(names)

    def change_conditions(self, offset: int) -> None:
        self.scan.condition_starts.append(offset)
        self.scan.condition_sets.append(self.conditions)

    def branch_text(self, start: int, end: int) -> bytes:
        """`code[start:end]` as seen from `end`: other branches blanked."""
        return one_branch(
            bytes(self.code[start - self.start : end - self.start]),
            start,
            end,
            self.scan.condition_starts,
            self.scan.condition_sets,
        )

    # -- the end --------------------------------------------------------------------------

    def finish(self) -> None:
        end = len(self.masked)
        scope: Scope | None = self.state.scope
        while scope is not None and scope.parent is not None:
            self.scan.unclosed.append(scope.kind)
            if not scope.holds_declarations and scope.kind != "block":
                self.emit(scope, end)
            scope = scope.parent


def _join(first: State, other: State) -> None:
    """Closes what `other` has open together with what `first` has open."""
    mine: Scope | None = first.scope
    its: Scope | None = other.scope
    while mine is not None and its is not None and mine is not its:
        if mine.kind == its.kind == "function":
            mine.twins.append(its)
            mine.twins.extend(its.twins)
        mine, its = mine.parent, its.parent
