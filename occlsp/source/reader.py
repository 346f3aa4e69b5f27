"""Reads the facts of a file, or of a part of it, once its scopes are known."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, zip_longest
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from occlsp.source import declarations, kernels, launches
from occlsp.source.branches import Scan
from occlsp.source.definitions import read_bodies
from occlsp.source.fragment import Fragment, written
from occlsp.source.heads import Head, qualifiers, read_head
from occlsp.source.states import Block
from occlsp.source.surroundings import Surroundings
from occlsp.source.syntax import (
    Constant,
    Define,
    Expr,
    Function,
    RawCall,
    RawKernel,
    RawLaunch,
    RawShared,
    TypeAlias,
)
from occlsp.source.text import Span

_NOT_A_WORD = re.compile(rb"[(){};]")
_CONSTEXPR = frozenset((b"constexpr", b"consteval"))
_LONGEST_WORDS = 256
MOST_FACTS = 10_000
"""Of one kind in one file: further ones are not read."""


class Facts(Struct):
    """Facts in the order of the text, without the kernels that uses of macros make."""

    kernels: list[RawKernel] = field(default_factory=list)
    launches: list[RawLaunch] = field(default_factory=list)
    calls: list[RawCall] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """The offsets of `functions`."""
    constants: list[Constant] = field(default_factory=list)
    constant_places: list[int] = field(default_factory=list)
    """The offsets of `constants`."""
    aliases: list[TypeAlias] = field(default_factory=list)
    shared: list[RawShared] = field(default_factory=list)

    def function_at(self, offset: int) -> int | None:
        """Index of the innermost function around an offset."""
        index = bisect_right(self.starts, offset) - 1
        for candidate in range(index, max(index - 8, -1), -1):
            if offset < self.functions[candidate].span.end:
                return candidate
        return None

    def is_in_body(self, offset: int) -> bool:
        """Whether an offset is in a function's braces."""
        index = self.function_at(offset)
        return index is not None and offset >= self.functions[index].body.start


def place(fact: Any) -> int:
    """The offset that facts of one kind are sorted by."""
    return cast(Span, getattr(fact, "name_span", None) or fact.span).start


class Reader:
    """Reads what stands between two checkpoints of a file."""

    def __init__(
        self, text: bytes, code: bytes, scan: Scan, aliases: frozenset[str], functions: int = 0
    ) -> None:
        """`aliases` stand for `__global__`; so many `functions` stand in front of the part."""
        self.text = text
        self.code = code
        self.scan = scan
        self.around = Surroundings(text, code, scan)
        self.tokens = kernels.tokens(aliases)
        self.before = functions
        self.facts = Facts()
        self.heads: dict[int, Head] = {}
        """The functions' heads by the offset of their braces: kernels are functions, too."""

    def read(self, start: int, end: int) -> Facts:
        """Reads all that stands in `text[start:end]`, which is what the scan covers."""
        facts = self.facts
        self.read_functions()
        self.read_constants()
        self.read_kernels(start, end)
        self.read_launches(start, end)
        self.read_calls(start, end)
        self.read_shared(start, end)
        self.read_aliases(start, end)
        bodies = read_bodies(self.text, self.scan.defines, self.tokens)
        facts.kernels.extend(bodies.kernels)
        facts.launches.extend(bodies.launches)
        facts.calls.extend(bodies.calls)
        facts.shared.extend(bodies.shared)
        for found in (facts.kernels, facts.launches, facts.calls, facts.shared):
            cast(list[Any], found).sort(key=place)
        return facts

    def function_at(self, offset: int) -> int | None:
        """Index, in the whole file, of the function around an offset."""
        index = self.facts.function_at(offset)
        return None if index is None else index + self.before

    def read_functions(self) -> None:
        functions = self.facts.functions
        for block in self.scan.blocks:
            function = self.function_of(block) if block.kind == "function" else None
            if function is not None:
                functions.append(function)
        functions.sort(key=lambda function: function.span)
        self.facts.starts = [function.span.start for function in functions]

    def function_of(self, block: Block) -> Function | None:
        plain, base = self.scan.heads.get(block.opening, (None, 0))
        if plain is not None and plain.name not in self.tokens.aliases:
            said, listed = plain.said, plain.listed
            before = said[3]
            return self.function(
                block,
                Span(base + plain.start, block.end),
                qualifiers(before),
                plain.name,
                Span(base + listed.start, base + listed.end),
                said.string[listed.start : listed.end],
                () if said[1] is None else (said[2][1:-1],),
                b"const" in before and not _CONSTEXPR.isdisjoint(before.split()),
            )
        code, base = self.around.branch(block.declaration, block.opening)
        head = read_head(code, block.declaration - base, block.opening - base, self.tokens.aliases)
        if code is self.code:
            self.heads[block.opening] = head
        declarator = head.declarator
        if declarator is None:
            return None
        listed = declarator.parameters or declarator.arguments
        start, end = listed.start, listed.end
        return self.function(
            block,
            Span(head.start + base, block.end),
            declarator.qualifiers,
            code[declarator.name.start : declarator.name.end],
            Span(start + base, end + base),
            code[start:end],
            tuple([code[one.start : one.end] for one in head.angles]),
            not _CONSTEXPR.isdisjoint(head.words),
        )

    def function(
        self,
        block: Block,
        span: Span,
        outer: tuple[str, ...],
        named: bytes,
        listed: Span,
        code: bytes,
        template_heads: tuple[bytes, ...],
        is_constexpr: bool,
    ) -> Function:
        """The function of a block, given what its head says."""
        name = written(named)
        scope = (*block.names, *outer, name)
        text = self.text[listed.start : listed.end]
        return Function(
            name,
            "::".join([part or "(anonymous namespace)" for part in scope]),
            span,
            Span(block.opening, block.end),
            listed,
            code if text == code else text,
            code,
            template_heads,
            bool(template_heads),
            is_constexpr,
            None,
            self.scan.conditions_at(block.opening),
        )

    def read_constants(self) -> None:
        found: list[tuple[int, Constant]] = []
        for block in self.scan.blocks:
            if block.kind == "enum":
                fragment = Fragment(self.text, self.code, block.declaration, block.end)
                conditions = self.scan.conditions_at(block.opening)
                found.extend(
                    declarations.enumerators(
                        fragment, block.opening, block.names, block.heads, conditions
                    )
                )
        for statement in self.scan.statements:
            fragment = Fragment(self.text, self.code, statement.start, statement.end)
            conditions = self.scan.conditions_at(statement.end)
            found.extend(
                declarations.constants(fragment, statement.names, statement.heads, conditions)
            )
        found.sort(key=lambda one: one[0])
        self.facts.constant_places = [offset for offset, _ in found]
        self.facts.constants = [
            constant if constant.previous is None else replace(constant, previous=index - 1)
            for index, (_, constant) in enumerate(found)
        ]

    def read_kernels(self, start: int, end: int) -> None:
        bodies = {block.opening: block.end for block in self.scan.blocks}
        last_end = last_token = start
        found = self.tokens.find(self.code, start, end)[:MOST_FACTS]
        for token, following in zip_longest(found, found[1:]):
            if token < last_end and not self.scan.is_branched(last_token, token):
                continue
            if following is not None and following >= self.around.fragment(token).end:
                following = None
            if following is not None and self.is_one_head(token, following):
                continue
            if self.code[token] != 0x5F and self.facts.is_in_body(token):
                continue
            floor = last_end if last_end <= token else start
            read = partial(self.kernel_at, token, floor, following)
            for kernel in self.around.variants(token, read, lambda kernel: kernel.span):
                last_token = token
                last_end = max(last_end, kernel.span.end)
                self.facts.kernels.append(self.placed(kernel, bodies))

    def is_one_head(self, token: int, following: int) -> bool:
        """Whether two tokens stand in one head with nothing but words between them."""
        return (
            following - token < _LONGEST_WORDS
            and _NOT_A_WORD.search(self.code, token, following) is None
            and not self.scan.is_branched(token, following)
        )

    def kernel_at(
        self, token: int, floor: int, following: int | None, fragment: Fragment, offset: int
    ) -> RawKernel | None:
        """The kernel of a token that is at `offset` of a fragment."""
        base = token - offset
        if following is not None:
            following -= base
            if not fragment.code[following : following + 1].strip():
                following = None  # past the fragment, or blanked: it is in another branch
        borders = kernels.head_range(fragment, offset, max(0, floor - base), following)
        known = self.heads.get(borders.end) if fragment.code is self.code else None
        return kernels.kernel_at(fragment, offset, borders, self.tokens, known)

    def placed(self, kernel: RawKernel, bodies: dict[int, int]) -> RawKernel:
        """A kernel whose span ends with its head, with all of its span, body and scope."""
        terminator = kernel.span.end
        around = self.around.fragment(kernel.span.start)
        end, body = terminator, None
        if terminator < around.end:
            end += 1
            if self.code[terminator] == 0x7B:
                known = bodies.get(terminator)
                if known is None:
                    known = (around.closed(terminator) or around.end - 1) + 1
                body = Span(terminator, known)
                end = body.end
        return replace(
            kernel,
            scope=(*self.around.scope(kernel.name_span.start), *kernel.scope),
            body=body,
            span=Span(kernel.span.start, end),
        )

    def read_launches(self, start: int, end: int) -> None:
        for token in islice(launches.chevrons(self.code, start, end), MOST_FACTS):
            read = partial(launches.chevron_launch, function=self.function_at(token))
            self.facts.launches.extend(self.around.variants(token, read, _launch_extent))

    def read_calls(self, start: int, end: int) -> None:
        for name in launches.api_names(self.code, start, end)[:MOST_FACTS]:
            function = self.function_at(name.start)
            read: Callable[[Fragment, int], RawCall | None] = partial(
                _call_at, name.end - name.start, function
            )
            for call in self.around.variants(name.start, read, lambda call: call.arguments_span):
                if call.name not in launches.LAUNCH_APIS:
                    self.facts.calls.append(call)
                    continue
                launch = launches.launch_of_call(self.around.fragment(name.start), call)
                if launch is not None:
                    self.facts.launches.append(launch)

    def read_shared(self, start: int, end: int) -> None:
        for token in islice(declarations.shared_tokens(self.code, start, end), MOST_FACTS):
            function = self.function_at(token)
            conditions = self.scan.conditions_at(token)
            self.facts.shared.extend(
                replace(variable, function=function, conditions=conditions)
                for variable in declarations.shared_variables(self.around.fragment(token), token)
            )

    def read_aliases(self, start: int, end: int) -> None:
        around, aliases, code = self.around, self.facts.aliases, self.code
        for match in declarations.alias_matches(code, start, end)[:MOST_FACTS]:
            token = match.start()
            scope, function = around.scope(token), self.function_at(token)
            aliases.append(declarations.alias_of(code, start, match, scope, function))


def macro_made_kernels(
    around: Surroundings, facts: Facts, defines: list[Define]
) -> Iterator[RawKernel]:
    """The kernels that uses of the file's own macros make, outside of functions."""
    macros: dict[str, list[tuple[Define, RawKernel]]] = {}
    for kernel in facts.kernels:
        if kernel.in_macro is not None:
            index = bisect_right(defines, kernel.span.start, key=lambda one: one.body.span.start)
            macros.setdefault(kernel.in_macro, []).append((defines[index - 1], kernel))
    if not macros:
        return
    names = "|".join(re.escape(name) for name in macros)
    pattern = re.compile(rb"(?<![0-9A-Za-z_$])(?:" + names.encode() + rb")\s*\(")
    for match in pattern.finditer(around.code):
        start = match.start()
        fragment = around.fragment(start)
        closing = fragment.closed(match.end() - 1)
        if closing is None or facts.is_in_body(start):
            continue
        arguments = fragment.expressions(match.end(), closing)
        name = fragment.words(start, match.end() - 1)
        for define, kernel in macros[name]:
            parameters = define.parameters or ()
            yield replace(
                kernel,
                name=kernels.substituted(kernel.name, parameters, arguments),
                launch_bounds=kernel.launch_bounds
                and tuple(
                    Expr(kernels.substituted(bound.text, parameters, arguments), bound.span)
                    for bound in kernel.launch_bounds
                ),
                name_span=Span(start, start + len(name)),
                span=Span(start, closing + 1),
                body=None,
                scope=(*around.scope(start), *kernel.scope),
                in_macro=None,
                from_macro=name,
                conditions=around.scan.conditions_at(start),
            )


def _call_at(length: int, function: int | None, fragment: Fragment, offset: int) -> RawCall | None:
    return launches.call_at(fragment, Span(offset, offset + length), function)


def _launch_extent(launch: RawLaunch) -> Span:
    """From the callee to the end of the kernel's arguments."""
    end = launch.config_span.end
    if launch.arguments:
        end = max(end, launch.arguments[-1].span.end)
    return Span(launch.callee.span.start, end)
