"""Facts moved to where an edit in front of them puts them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from occlsp.source.states import Block, Checkpoint, Conditions, Group, Statement
from occlsp.source.syntax import (
    Condition,
    Constant,
    Define,
    Expr,
    Function,
    Include,
    RawCall,
    RawKernel,
    RawLaunch,
    RawShared,
    TypeAlias,
)
from occlsp.source.text import Span


class Shift:
    """Moves what stands at or after offset `border` by `delta` bytes.

    `functions` and `constants` are how many more of them are in front now: indices move too.
    """

    def __init__(self, border: int, delta: int, functions: int = 0, constants: int = 0) -> None:
        self.border = border
        self.delta = delta
        self.functions = functions
        self.constants = constants
        self._conditions: dict[int, tuple[Conditions, Conditions]] = {}
        self._groups: dict[int, tuple[tuple[Group, ...], tuple[Group, ...]]] = {}

    def span(self, span: Span) -> Span:
        return Span(span.start + self.delta, span.end + self.delta)

    def span_or_none(self, span: Span | None) -> Span | None:
        return None if span is None else Span(span.start + self.delta, span.end + self.delta)

    def expression(self, one: Expr) -> Expr:
        start, end = one.span.start, one.span.end
        return Expr(one.text, Span(start + self.delta, end + self.delta))

    def expression_or_none(self, one: Expr | None) -> Expr | None:
        return None if one is None else self.expression(one)

    def expressions(self, many: Iterable[Expr]) -> tuple[Expr, ...]:
        expression = self.expression
        return tuple([expression(one) for one in many])

    def expressions_or_none(self, many: tuple[Expr, ...] | None) -> tuple[Expr, ...] | None:
        return None if many is None else self.expressions(many)

    def conditions(self, conditions: Conditions) -> Conditions:
        """Conditions may stand in front of the border; what they hold for is behind it."""
        if not conditions:
            return conditions
        known = self._conditions.get(id(conditions))
        if known is None:
            moved = tuple(self._condition(one) for one in conditions)
            known = self._conditions[id(conditions)] = (conditions, moved)
        return known[1]

    def _condition(self, one: Condition) -> Condition:
        group = one.group + self.delta if one.group >= self.border else one.group
        span = self.span(one.span) if one.span.start >= self.border else one.span
        return Condition(one.text, span, group, one.branch)

    def checkpoint(self, one: Checkpoint) -> Checkpoint:
        if not one.groups and not one.conditions:
            return one
        known = self._groups.get(id(one.groups))
        if known is None:
            moved = tuple(
                replace(
                    group,
                    offset=group.offset + self.delta
                    if group.offset >= self.border
                    else group.offset,
                    outer=self.conditions(group.outer),
                )
                for group in one.groups
            )
            known = self._groups[id(one.groups)] = (one.groups, moved)
        return Checkpoint(one.scope, known[1], self.conditions(one.conditions), one.seen_directive)

    def block(self, one: Block) -> Block:
        delta = self.delta
        return Block(
            one.declaration + delta,
            one.opening + delta,
            one.end + delta,
            one.names,
            one.kind,
            one.heads,
        )

    def statement(self, one: Statement) -> Statement:
        return Statement(one.start + self.delta, one.end + self.delta, one.names, one.heads)

    def define(self, one: Define) -> Define:
        return Define(
            one.name,
            one.parameters,
            self.expression(one.body),
            self.conditions(one.conditions),
            one.undefined,
        )

    def include(self, one: Include) -> Include:
        conditions = self.conditions(one.conditions)
        return Include(one.target, one.is_system, self.span(one.span), conditions)

    def kernel(self, one: RawKernel) -> RawKernel:
        return RawKernel(
            one.name,
            self.span(one.name_span),
            one.scope,
            self.span(one.span),
            self.span_or_none(one.body),
            one.parameters,
            one.template_parameters,
            self.expressions_or_none(one.template_arguments),
            one.is_template,
            self.expressions_or_none(one.launch_bounds),
            self.span_or_none(one.launch_bounds_span),
            self.expressions(one.macro_calls),
            self.expression_or_none(one.maxnreg),
            self.expressions_or_none(one.block_size),
            self.expressions_or_none(one.cluster_dims),
            one.in_macro,
            one.from_macro,
            self.conditions(one.conditions),
        )

    def launch(self, one: RawLaunch) -> RawLaunch:
        return RawLaunch(
            one.api,
            self.span(one.span),
            self.expression(one.callee),
            one.callee_name,
            self.expressions(one.template_args),
            self.expressions(one.config),
            self.span(one.config_span),
            self.expressions(one.arguments),
            self.span_or_none(one.statement),
            self._function(one.function),
            one.in_macro,
            self.conditions(one.conditions),
        )

    def call(self, one: RawCall) -> RawCall:
        return RawCall(
            one.name,
            self.span(one.span),
            self.expressions(one.arguments),
            self.span(one.arguments_span),
            self.span_or_none(one.statement),
            self._function(one.function),
            one.in_macro,
            self.conditions(one.conditions),
        )

    def _function(self, index: int | None) -> int | None:
        return None if index is None else index + self.functions

    def function(self, one: Function) -> Function:
        moved = Function(
            one.name,
            one.qualified_name,
            self.span(one.span),
            self.span(one.body),
            self.span(one.listed),
            one.listed_text,
            one.listed_code,
            one.template_heads,
            one.is_template,
            one.is_constexpr,
            one.in_macro,
            self.conditions(one.conditions),
        )
        moved.take_lists(one)
        return moved

    def constant(self, one: Constant) -> Constant:
        return Constant(
            one.name,
            one.scope,
            one.type,
            self.expression_or_none(one.value),
            one.is_constexpr,
            one.template_parameters,
            None if one.previous is None else one.previous + self.constants,
            self.conditions(one.conditions),
        )

    def alias(self, one: TypeAlias) -> TypeAlias:
        return TypeAlias(
            one.name,
            one.scope,
            one.target,
            one.template_parameters,
            self.span(one.span),
            self._function(one.function),
        )

    def shared(self, one: RawShared) -> RawShared:
        return RawShared(
            one.name,
            one.type,
            self.expressions(one.extents),
            one.is_extern,
            self.expression_or_none(one.alignment),
            self.span(one.span),
            self._function(one.function),
            one.in_macro,
            self.conditions(one.conditions),
        )
