"""Facts, and values that led to them, at their places after an edit."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from occlsp.source.facts import (
    Attribute,
    Definition,
    InstanceBounds,
    Kernel,
    Launch,
    LaunchBounds,
    Value,
    Value3,
)
from occlsp.source.incremental import Edit
from occlsp.source.instances import Types
from occlsp.source.names import Binding
from occlsp.source.numbers import Number
from occlsp.source.text import Span
from occlsp.source.values import Abstract, Dim

Given = tuple[dict[str, Binding], dict[str, Abstract]]
"""What callers give for a function's template parameters, and for its parameters."""


class Move:
    """Moves what an edit of a file leaves alone: what stands behind it by its length."""

    def __init__(self, path: str, edit: Edit) -> None:
        self.path = path
        self.start = edit.start
        self.old_end = edit.old_end
        self.delta = edit.delta
        self.is_lost = False
        """Whether something was to be moved that stood in the text that the edit replaced."""
        self._symbols = f"{path}:"

    def offset(self, offset: int) -> int:
        return offset if offset < self.start else offset + self.delta

    def span(self, span: Span) -> Span:
        start, end = span.start, span.end
        if end <= self.start:
            return span
        if start >= self.start:
            self.is_lost |= start < self.old_end
            start += self.delta
        self.is_lost |= end < self.old_end
        return Span(start, end + self.delta)

    def span_or_none(self, span: Span | None) -> Span | None:
        return None if span is None else self.span(span)

    def definition(self, one: Definition | None) -> Definition | None:
        if one is None or one.path != self.path or one.span.end <= self.start:
            return one
        self.is_lost |= one.span.start < self.old_end
        return Definition(one.path, self.span(one.span), one.kind, one.name)

    # Facts

    def value(self, one: Value) -> Value:
        span, definition = self.span_or_none(one.span), self.definition(one.definition)
        if span is one.span and definition is one.definition:
            return one
        expression = one.block_expression
        return Value(one.text, one.values, one.min, one.max, one.why, span, definition, expression)

    def value_or_none(self, one: Value | None) -> Value | None:
        return None if one is None else self.value(one)

    def value3(self, one: Value3) -> Value3:
        return Value3(
            one.text,
            one.values,
            one.min,
            one.max,
            one.why,
            self.span_or_none(one.span),
            self.definition(one.definition),
            tuple([self.value(part) for part in one.components]),
        )

    def value3_or_none(self, one: Value3 | None) -> Value3 | None:
        return None if one is None else self.value3(one)

    def launches(self, many: Iterable[Launch]) -> list[Launch]:
        return [self.launch(one) for one in many]

    def launch(self, one: Launch) -> Launch:
        return replace(
            one,
            callee_span=self.span(one.callee_span),
            span=self.span(one.span),
            config_span=self.span(one.config_span),
            grid=self.value3(one.grid),
            block=self.value3(one.block),
            dynamic_smem=self.value(one.dynamic_smem),
            function_span=self.span_or_none(one.function_span),
            statement_span=self.span_or_none(one.statement_span),
            cluster=self.value3_or_none(one.cluster),
            made_by=self.span_or_none(one.made_by),
        )

    def attributes(self, many: Iterable[Attribute]) -> list[Attribute]:
        return [
            replace(
                one,
                span=self.span(one.span),
                value=self.value(one.value),
                function_span=self.span_or_none(one.function_span),
            )
            for one in many
        ]

    def kernel(self, one: Kernel) -> Kernel:
        return replace(
            one,
            name_span=self.span(one.name_span),
            span=self.span(one.span),
            body=self.span_or_none(one.body),
            launch_bounds=self.bounds(one.launch_bounds),
            maxnreg=self.value_or_none(one.maxnreg),
            block_size=self.value3_or_none(one.block_size),
            cluster_dims=self.value3_or_none(one.cluster_dims),
        )

    def bounds(self, one: LaunchBounds | None) -> LaunchBounds | None:
        if one is None:
            return None
        return LaunchBounds(
            self.value(one.max_threads),
            self.value_or_none(one.min_blocks),
            self.value_or_none(one.max_blocks_per_cluster),
            self.span_or_none(one.span),
        )

    def instance(self, one: InstanceBounds) -> InstanceBounds:
        least = self.value_or_none(one.min_blocks)
        return InstanceBounds(one.template_args, self.value(one.max_threads), least)

    # What expressions evaluate to

    def number(self, one: Number) -> Number:
        definition = self.definition(one.definition)
        linear = one.linear
        if linear:
            linear = tuple([(self.symbol(one[0]), *one[1:]) for one in linear])
        elif definition is one.definition:
            return one
        return replace(one, definition=definition, linear=linear)

    def symbol(self, symbol: tuple[str, int]) -> tuple[str, int]:
        """A variable by where it gets its value."""
        name, place = symbol
        if place < self.start or not name.startswith(self._symbols):
            return symbol
        self.is_lost |= place < self.old_end
        return name, place + self.delta

    def abstract(self, one: Abstract) -> Abstract:
        if isinstance(one, Number):
            return self.number(one)
        if isinstance(one, Dim):
            alternatives = tuple(
                [(self.number(x), self.number(y), self.number(z)) for x, y, z in one.alternatives]
            )
            return Dim(alternatives, self.definition(one.definition), one.written)
        return one

    def binding(self, one: Binding) -> Binding:
        return one if isinstance(one, str | Types) else self.abstract(one)

    def given(self, one: Given | None) -> Given | None:
        if one is None:
            return None
        template, values = one
        return (
            {name: self.binding(value) for name, value in template.items()},
            {name: self.abstract(value) for name, value in values.items()},
        )
