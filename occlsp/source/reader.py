"""Reads the facts of one file, once its scopes are known."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TypeVar, cast

from occlsp.source import declarations, kernels, launches
from occlsp.source.brackets import split
from occlsp.source.branches import Conditions, Scan, one_branch
from occlsp.source.definitions import read_bodies
from occlsp.source.fragment import Fragment, moved
from occlsp.source.heads import parameter, read_head
from occlsp.source.scanner import Block
from occlsp.source.syntax import (
    Condition,
    Constant,
    Define,
    Expr,
    Function,
    Parameter,
    RawCall,
    RawKernel,
    RawLaunch,
    RawShared,
    TypeAlias,
)
from occlsp.source.text import Span

_BACK, _AHEAD = 8192, 32768
"""How far around a token its surroundings are read branch by branch."""
_MOST_VARIANTS = 8
_MOST_VIEWS = 4000

Fact = TypeVar("Fact", RawKernel, RawLaunch, RawCall)


class Reader:
    """Collects facts; each list is in the order of the text."""

    def __init__(self, text: bytes, scan: Scan, aliases: frozenset[str]) -> None:
        self.text = text
        self.code = scan.code
        self.scan = scan
        self.tokens = kernels.tokens(aliases)
        self.kernels: list[RawKernel] = []
        self.launches: list[RawLaunch] = []
        self.calls: list[RawCall] = []
        self.functions: list[Function] = []
        self.constants: list[Constant] = []
        self.aliases: list[TypeAlias] = []
        self.shared: list[RawShared] = []
        self.starts: list[int] = []
        self.views = 0
        self.chunk: Fragment | None = None

    def read(self, start: int = 0, end: int | None = None) -> None:
        """Reads all that stands in `text[start:end]`; both are checkpoints."""
        end = len(self.code) if end is None else end
        self.read_blocks()
        self.read_statements()
        self.read_kernels(start, end)
        self.read_launches(start, end)
        self.read_calls(start, end)
        self.read_shared(start, end)
        self.read_aliases(start, end)
        self.read_bodies()

    def read_bodies(self) -> None:
        """The facts in macros' bodies, and the kernels that uses of them make."""
        bodies = read_bodies(self.text, self.scan.defines, self.tokens)
        defines = {define.body.span: define for define in self.scan.defines}
        macros: dict[str, list[tuple[Define, RawKernel]]] = {}
        for kernel in bodies.kernels:
            define = next(
                one for span, one in defines.items() if span.start <= kernel.span.start < span.end
            )
            macros.setdefault(define.name, []).append((define, kernel))
        self.read_macro_kernels(macros)
        self.kernels.extend(bodies.kernels)
        self.launches.extend(bodies.launches)
        self.calls.extend(bodies.calls)
        self.shared.extend(bodies.shared)
        for facts in (self.kernels, self.launches, self.calls, self.shared):
            facts.sort(key=_place)

    # -- what is around an offset ------------------------------------------------------------

    def fragment_at(self, offset: int) -> Fragment:
        """What lies between the checkpoints around an offset."""
        if self.chunk is None or not self.chunk.start <= offset < self.chunk.end:
            checkpoints = self.scan.checkpoints
            index = bisect_right(checkpoints, offset)
            end = checkpoints[index] if index < len(checkpoints) else len(self.code)
            self.chunk = Fragment(self.text, self.code, checkpoints[index - 1], end)
        return self.chunk

    def scope_at(self, offset: int) -> tuple[str, ...]:
        return self.scan.scope_names[bisect_right(self.scan.scope_starts, offset) - 1]

    def function_at(self, offset: int) -> int | None:
        index = bisect_right(self.starts, offset) - 1
        for candidate in range(index, max(index - 8, -1), -1):
            if offset < self.functions[candidate].span.end:
                return candidate
        return None

    def is_in_body(self, offset: int) -> bool:
        index = self.function_at(offset)
        return index is not None and offset >= self.functions[index].body.start

    def view(
        self, around: Fragment, offset: int, chosen: dict[int, int] | None = None
    ) -> tuple[Fragment, int]:
        """The surroundings of an offset with one branch of each `#if`, and where they start."""
        self.views += 1
        start = max(around.start, offset - _BACK)
        end = min(around.end, offset + _AHEAD)
        code = one_branch(
            self.code[start:end],
            start,
            offset,
            self.scan.condition_starts,
            self.scan.condition_sets,
            chosen,
        )
        return Fragment(self.text[start:end], code, 0, end - start), start

    def variants(
        self,
        offset: int,
        read: Callable[[Fragment, int], Fact | None],
        extent: Callable[[Fact], Span],
    ) -> Iterator[Fact]:
        """The fact at an offset, or one for each `#if` branch that stands inside of it."""
        around = self.fragment_at(offset)
        fact = read(around, offset)
        conditions: Conditions = self.scan.conditions_at(offset)
        if fact is not None and not self.scan.is_branched(*extent(fact)):
            yield replace(fact, conditions=conditions)
            return
        near = max(around.start, offset - _BACK), min(around.end, offset + _AHEAD)
        if not self.scan.is_branched(*near) or self.views > _MOST_VIEWS:
            if fact is not None:
                yield replace(fact, conditions=conditions)
            return
        first = self.viewed(around, offset, read, None)
        if first is None:
            return
        seen: list[Fact] = []
        for chosen, condition in self.choices(extent(first), conditions):
            one = self.viewed(around, offset, read, chosen)
            if one is not None and one not in seen:
                seen.append(one)
                extra: Conditions = () if condition is None else (condition,)
                yield replace(one, conditions=(*conditions, *extra))

    def viewed(
        self,
        around: Fragment,
        offset: int,
        read: Callable[[Fragment, int], Fact | None],
        chosen: dict[int, int] | None,
    ) -> Fact | None:
        fragment, base = self.view(around, offset, chosen)
        fact = read(fragment, offset - base)
        return None if fact is None else cast(Fact, moved(fact, base))

    def choices(
        self, extent: Span, outer: Conditions
    ) -> Iterator[tuple[dict[int, int] | None, Condition | None]]:
        """The ways through the first `#if` inside of `extent`."""
        starts, sets = self.scan.condition_starts, self.scan.condition_sets
        known = {condition.group for condition in outer}
        inside: list[Condition] = []
        for index in range(bisect_right(starts, extent.start), bisect_right(starts, extent.end)):
            for condition in sets[index]:
                if condition.group not in known and condition not in inside:
                    inside.append(condition)
        if not inside:
            yield None, None
            return
        group = inside[0].group
        branches = [condition for condition in inside if condition.group == group]
        for condition in branches[:_MOST_VARIANTS]:
            yield {group: condition.branch}, condition
        if len(branches) == 1:
            only = branches[0]
            yield {group: -1}, replace(only, text=f"!({only.text})", branch=only.branch + 1)

    # -- facts -------------------------------------------------------------------------------

    def read_blocks(self) -> None:
        for block in self.scan.blocks:
            if block.kind == "function":
                function = self.function_of(block)
                if function is not None:
                    self.functions.append(function)
                    self.starts.append(function.span.start)
        self.functions.sort(key=lambda function: function.span)
        self.starts = [function.span.start for function in self.functions]

    def function_of(self, block: Block) -> Function | None:
        code, base = self.code, 0
        if self.scan.is_branched(block.declaration, block.opening):
            code = one_branch(
                code[block.declaration : block.opening],
                block.declaration,
                block.opening,
                self.scan.condition_starts,
                self.scan.condition_sets,
            )
            base = block.declaration
        head = read_head(code, block.declaration - base, block.opening - base, self.tokens.aliases)
        declarator = head.declarator
        if declarator is None:
            return None
        fragment = Fragment(
            self.text[base : base + len(code)] if base else self.text, code, 0, len(code)
        )
        name = fragment.words(*declarator.name)
        parameters = tuple(
            self.parameter(fragment, part, base)
            for part in split(code, *(declarator.parameters or declarator.arguments))
        )
        scope = [*block.names, *declarator.qualifiers, name]
        return Function(
            name,
            "::".join(part or "(anonymous namespace)" for part in scope),
            Span(head.start + base, block.end),
            Span(block.opening, block.end),
            parameters,
            head.template_parameters,
            head.is_template,
            bool(head.words & {b"constexpr", b"consteval"}),
            None,
            self.scan.conditions_at(block.opening),
        )

    def parameter(self, fragment: Fragment, part: Span, base: int) -> Parameter:
        kind, name, default = parameter(fragment.code, part)
        if default is None:
            return Parameter(kind, name)
        return Parameter(kind, name, cast(Expr, moved(fragment.expression(*default), base)))

    def read_statements(self) -> None:
        found: list[tuple[int, Constant]] = []
        for block in self.scan.blocks:
            if block.kind == "enum":
                found.extend(self.enumeration(block))
        for statement in self.scan.statements:
            fragment = Fragment(self.text, self.code, statement.start, statement.end)
            conditions = self.scan.conditions_at(statement.end)
            found.extend(
                declarations.constants(
                    fragment, statement.start, statement.end, statement.names, conditions
                )
            )
        found.sort(key=lambda one: one[0])
        for index, (_, constant) in enumerate(found):
            is_chained = constant.previous is not None
            self.constants.append(replace(constant, previous=index - 1) if is_chained else constant)

    def enumeration(self, block: Block) -> Iterator[tuple[int, Constant]]:
        fragment = Fragment(self.text, self.code, block.declaration, block.end)
        return declarations.enumerators(
            fragment, block.opening, block.names, self.scan.conditions_at(block.opening)
        )

    def read_kernels(self, start: int, end: int) -> None:
        bodies = {block.opening: block.end for block in self.scan.blocks}
        last_end = last_token = start
        found = self.tokens.find(self.code, start, end)
        for token, following in zip_longest(found, found[1:]):
            if token < last_end and not self.scan.is_branched(last_token, token):
                continue
            if self.code[token] != 0x5F and self.is_in_body(token):
                continue
            read = partial(
                self.kernel_at, token, last_end if last_end <= token else start, following
            )
            for kernel in self.variants(token, read, lambda kernel: kernel.span):
                last_token = token
                last_end = max(last_end, kernel.span.end)
                self.kernels.append(self.placed(kernel, bodies))

    def kernel_at(
        self, token: int, floor: int, following: int | None, fragment: Fragment, offset: int
    ) -> RawKernel | None:
        """The kernel of a token that is at `offset` of a fragment."""
        base = token - offset
        if (
            following is not None
            and fragment.code[following - base : following - base + 1].isspace()
        ):
            following = None  # blanked: it is in another branch
        borders = kernels.head_range(
            fragment, offset, max(0, floor - base), None if following is None else following - base
        )
        return kernels.kernel_at(fragment, offset, borders, self.tokens)

    def read_macro_kernels(self, macros: dict[str, list[tuple[Define, RawKernel]]]) -> None:
        """Uses of the macros that define kernels, outside of functions."""
        if not macros:
            return
        names = "|".join(re.escape(name) for name in macros)
        pattern = re.compile(rb"(?<![0-9A-Za-z_$])(?:" + names.encode() + rb")\s*\(")
        for match in pattern.finditer(self.code):
            if self.is_in_body(match.start()):
                continue
            fragment = self.fragment_at(match.start())
            closing = fragment.closing.get(match.end() - 1)
            if closing is None:
                continue
            arguments = fragment.expressions(match.end(), closing)
            name = fragment.words(match.start(), match.end() - 1)
            span = Span(match.start(), match.start() + len(name))
            for define, kernel in macros[name]:
                self.kernels.append(
                    replace(
                        kernel,
                        name=kernels.substituted(kernel.name, define.parameters or (), arguments),
                        name_span=span,
                        span=Span(span.start, closing + 1),
                        body=None,
                        scope=(*self.scope_at(span.start), *kernel.scope),
                        in_macro=None,
                        from_macro=name,
                        conditions=self.scan.conditions_at(span.start),
                    )
                )

    def placed(self, kernel: RawKernel, bodies: dict[int, int]) -> RawKernel:
        terminator = kernel.span.end
        end = terminator + 1
        body = None
        if self.code[terminator : terminator + 1] == b"{":
            end = (
                bodies.get(terminator)
                or self.fragment_at(terminator).closing.get(
                    terminator, self.fragment_at(terminator).end - 1
                )
                + 1
            )
            body = Span(terminator, end)
        return replace(
            kernel,
            scope=(*self.scope_at(kernel.name_span.start), *kernel.scope),
            body=body,
            span=Span(kernel.span.start, min(end, len(self.code))),
        )

    def read_launches(self, start: int, end: int) -> None:
        for token in launches.chevrons(self.code, start, end):
            for launch in self.variants(token, launches.chevron_launch, launch_extent):
                self.launches.append(replace(launch, function=self.function_at(token)))

    def read_calls(self, start: int, end: int) -> None:
        for name in launches.api_names(self.code, start, end):
            length = name.end - name.start

            def read(fragment: Fragment, offset: int, length: int = length) -> RawCall | None:
                return launches.call_at(fragment, Span(offset, offset + length))

            for call in self.variants(name.start, read, lambda call: call.arguments_span):
                function = self.function_at(name.start)
                if call.name not in launches.LAUNCH_APIS:
                    self.calls.append(replace(call, function=function))
                    continue
                launch = launches.launch_of_call(self.fragment_at(name.start), call)
                if launch is not None:
                    self.launches.append(
                        replace(launch, function=function, conditions=call.conditions)
                    )

    def read_shared(self, start: int, end: int) -> None:
        for token in declarations.shared_tokens(self.code, start, end):
            fragment = self.fragment_at(token)
            for variable in declarations.shared_variables(fragment, token):
                self.shared.append(
                    replace(
                        variable,
                        function=self.function_at(token),
                        conditions=self.scan.conditions_at(token),
                    )
                )

    def read_aliases(self, start: int, end: int) -> None:
        for token in declarations.alias_tokens(self.code, start, end):
            alias = declarations.alias_at(
                self.fragment_at(token), token, self.scope_at(token), self.function_at(token)
            )
            if alias is not None:
                self.aliases.append(alias)


def _place(fact: RawKernel | RawLaunch | RawCall | RawShared) -> Span:
    return fact.name_span if isinstance(fact, RawKernel) else fact.span


def launch_extent(launch: RawLaunch) -> Span:
    """From the callee to the end of the kernel's arguments."""
    end = launch.config_span.end
    if launch.arguments:
        end = max(end, launch.arguments[-1].span.end)
    return Span(launch.callee.span.start, end)
