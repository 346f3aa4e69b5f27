"""Turns raw launches and calls into facts, each in the scope that it stands in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace

from occlsp.source import shown, types
from occlsp.source.attribute_calls import ATTRIBUTE_CALLS, attribute_kind, cache_value
from occlsp.source.configured import Configured
from occlsp.source.conversion import evaluate_text
from occlsp.source.evaluate import Budget, evaluate
from occlsp.source.expansion import Expansion, Use, expand, is_lost, placed
from occlsp.source.facts import Attribute, Launch, Value, Value3
from occlsp.source.flow import Interpreter
from occlsp.source.launched import WORDS, Callee, is_name, of_kernels, resolved_arguments
from occlsp.source.macros import Place as At
from occlsp.source.names import Binding, StaticScope
from occlsp.source.numbers import Number, unknown
from occlsp.source.relevance import Relevance
from occlsp.source.selected import mark_selected
from occlsp.source.setting_macros import Setting
from occlsp.source.state import Body, FlowScope, State
from occlsp.source.syntax import (
    Condition,
    Expr,
    FileSyntax,
    Function,
    RawCall,
    RawKernel,
    RawLaunch,
)
from occlsp.source.text import Span
from occlsp.source.values import Abstract, KernelName, Kernels, Place
from occlsp.source.view import View, scope_names

ABSENT = Expr("", Span(0, 0))
_ZERO = Number(types.integer("int"), (0,), 0, 0)
_CONFIGURED = frozenset(
    {
        "cudaLaunchKernelEx",
        "cudaLaunchKernelExC",
        "cudaLaunchKernelExC_ptsz",
        "cuLaunchKernelEx",
        "hipLaunchKernelExC",
    }
)
Item = RawLaunch | RawCall | Use


class Expanded(NamedTuple):
    """A use of a macro."""

    expansions: list[Expansion]
    names: set[str]
    """Those that decide what it launches."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the text of a function stands: in its file, or expanded from a macro's use in it."""

    path: str
    syntax: FileSyntax
    view: View
    expansion: Expansion | None = None
    expanded: dict[int, Expanded] = field(default_factory=dict, compare=False)
    """What uses of macros that were asked for expand to, by where they stand."""

    def place(self, offset: int) -> At:
        """Where an offset stands, for what macros are seen there."""
        expansion = self.expansion
        return At(self.path, offset if expansion is None else expansion.use.span.start)


@dataclass(slots=True)
class FunctionFacts:
    """What one function contributes."""

    launches: list[Launch] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """The names in its body that decide them."""
    is_complete: bool = True
    """Whether all that uses of macros in it launch is here."""

    def add(self, other: FunctionFacts) -> None:
        """Takes in what another function contributes."""
        self.launches += other.launches
        self.attributes += other.attributes
        self.is_complete &= other.is_complete


class Collector:
    """Turns raw launches and calls into facts, each in the scope that it stands in."""

    def __init__(
        self,
        origin: Origin,
        function: Function | None,
        written: dict[int, RawLaunch] | None = None,
    ) -> None:
        self.origin = origin
        self.function = function
        self.written = written or {}
        """Launches as the file has them, by offset: for those that stand in a macro's arguments."""
        self.facts = FunctionFacts()
        self.seen: set[int] = set()
        """Offsets in the file of what was collected."""
        self.added: set[int] = set()
        """The items collected by this collector itself, by identity."""

    def has(self, item: Item) -> bool:
        """Whether an item was collected."""
        return id(item) in self.added or (
            self.origin.expansion is None and item.span.start in self.seen
        )

    def add(self, item: RawLaunch | RawCall, scope: StaticScope, *, guarded: bool) -> None:
        """One item with what is known where it stands."""
        expansion = self.origin.expansion
        self.added.add(id(item))
        if expansion is None:
            self.seen.add(item.span.start)
        elif expansion.is_written(item.span.start):
            self.seen.add(expansion.offsets[item.span.start])
        if isinstance(item, RawLaunch):
            launch = self.placed(self.launch(item, scope, guarded=guarded))
            if expansion is not None:
                launch = replace(launch, made_by=expansion.made_by(item.span))
            original = None
            if expansion is not None and expansion.is_written(item.span.start):
                original = self.written.get(launch.span.start)
            self.facts.launches.append(as_written(launch, original))
        elif item.name in ATTRIBUTE_CALLS:
            attribute = self.attribute(item, scope, guarded=guarded)
            if attribute is not None:
                self.facts.attributes.append(self.placed(attribute))

    def placed(self, fact: Any) -> Any:
        """A fact of expanded text at its place in the file."""
        expansion = self.origin.expansion
        return fact if expansion is None else placed(fact, expansion.placed)

    def expand(self, use: Use, scope: FlowScope, state: State, body: Body) -> None:
        """What a macro's use launches, in the state that it is used in."""
        if self.origin.expansion is not None:
            self.facts.is_complete = False
            return
        view = self.origin.view
        self.added.add(id(use))
        expansions = self.expanded(use, body).expansions
        self.facts.is_complete &= not is_lost(use, expansions, view)
        for expansion in expansions:
            items = [item for item in expansion.items if item.in_macro is None]
            if not items:
                continue
            origin = Origin(self.origin.path, expansion.syntax, view, expansion)
            inner = Collector(origin, self.function, self.written)
            made = Body(expansion.text, body.path, 0, use.span.start)
            local_types = scope.interpreter.local_types
            follow(inner, made, scope.scope, scope.template, {}, items, state, local_types)
            self.facts.add(inner.facts)
            self.facts.is_complete &= all(inner.has(item) for item in items)
            self.seen |= inner.seen

    def expanded(self, use: Use, body: Body) -> Expanded:
        """What a use expands to, expanded once."""
        found = self.origin.expanded.get(use.span.start)
        if found is None:
            view = self.origin.view
            text = body.text[use.span.start - body.base : use.end - body.base]
            made = expand(use, text, view, is_inside=True)
            names = [_deciding(expansion, view.setting) for expansion in made]
            found = self.origin.expanded[use.span.start] = Expanded(made, set().union(*names))
        return found

    def asked(self, items: Sequence[Item], body: Body) -> set[str]:
        """The names that items of a body ask for."""
        names: set[str] = set()
        for item in items:
            names |= self.expanded(item, body).names if isinstance(item, Use) else _names(item)
        return names

    def outside(self, item: RawLaunch | RawCall) -> None:
        """An item in the body of a `#define`, or outside of any function."""
        scope = self.scope_at(item.span.start)
        if item.in_macro is not None:
            for name in self.macro_parameters(item):
                scope.variables[name] = unknown(
                    f"{name} is a parameter of the macro {item.in_macro}"
                )
        self.add(item, scope, guarded=False)

    def macro_parameters(self, item: RawLaunch | RawCall) -> tuple[str, ...]:
        for define in self.origin.syntax.defines:
            body = define.body.span
            if define.name == item.in_macro and body.start <= item.span.start < body.end:
                return define.parameters or ()
        return ()

    def lost(
        self, item: RawLaunch | RawCall, names: set[str], template: Mapping[str, Binding]
    ) -> None:
        """An item that was not come by: nothing that its function may set is known."""
        scope = self.scope_at(item.span.start)
        scope.template.update(template)  # which nothing may hide
        for name in names:
            if not self.origin.view.constants(name):
                scope.variables[name] = unknown("the function's structure could not be read")
        self.add(item, scope, guarded=False)

    def scope_at(self, offset: int) -> StaticScope:
        function = self.function
        names: Sequence[str] = ()
        template: dict[str, Binding] = {}
        if function is not None:
            names = scope_names(function.qualified_name)[:-1]
        scope = StaticScope(self.origin.view, self.origin.place(offset), names, template, {})
        if function is not None:
            scope.template = scope.bind(function.template_parameters, None)
        return scope

    # Launches

    def launch(self, raw: RawLaunch, scope: StaticScope, *, guarded: bool) -> Launch:
        grid_expr, block_expr, memory_expr, stream = self.configuration(raw)
        cluster: Value3 | None = None
        cooperative = "Cooperative" in raw.api
        if raw.api in _CONFIGURED:
            config = Configured(raw, scope)
            grid_what, block_what, memory_what = config.grid, config.block, config.memory
            cluster, cooperative = config.cluster, cooperative or config.cooperative
        else:
            grid_what = self.evaluated(grid_expr, scope)
            block_what = self.evaluated(block_expr, scope)
            memory_what = self.evaluated(memory_expr, scope) if memory_expr.text.strip() else _ZERO
        block = shown.value3(block_expr, block_what, self.parts(block_expr))
        memory = shown.value(memory_expr, memory_what, "size_t")
        expression = shown.block_expression(block_what, memory_what)
        if expression is not None:
            memory = replace(memory, block_expression=expression)
        callee = self.callee(raw, scope)
        inside = self.origin.expansion is not None
        return Launch(
            callee.name,
            raw.callee.span,
            raw.span,
            raw.config_span,
            raw.api,
            shown.value3(grid_expr, grid_what, self.parts(grid_expr)),
            block,
            memory,
            kernel_known=callee.known,
            candidates=callee.candidates,
            template_args=callee.arguments,
            template_args_known=self.known_arguments(callee, scope),
            function=self.function.qualified_name if self.function else None,
            function_span=self.function.span if self.function and not inside else None,
            statement_span=raw.statement,
            cluster=cluster,
            cooperative=cooperative,
            in_macro=raw.in_macro is not None,
            inactive=self.inactive(raw.conditions),
            guarded=guarded,
            hip_only=raw.api.startswith("hip"),
            follows_occupancy_api=shown.from_occupancy(block_what),
            stream=stream.text.strip(),
            arguments=tuple(e.text for e in raw.arguments) if raw.api == "<<<>>>" else (),
        )

    def configuration(self, raw: RawLaunch) -> tuple[Expr, Expr, Expr, Expr]:
        if raw.api in _CONFIGURED:
            first = raw.arguments[0] if raw.arguments else ABSENT
            return first, first, replace(first), ABSENT
        config = [*raw.config, ABSENT, ABSENT, ABSENT, ABSENT]
        return config[0], config[1], config[2], config[3]

    def evaluated(self, expr: Expr, scope: StaticScope) -> Abstract:
        if not expr.text.strip():
            return unknown("not given")
        where = self.origin.path if self.is_written(expr) else None
        scope.budget = Budget()
        return evaluate_text(expr, scope, where)

    def parts(self, expr: Expr) -> tuple[Expr, ...]:
        """The components of a `dim3` as they are written."""
        return shown.written_parts(expr) if self.is_written(expr) else ()

    def is_written(self, expr: Expr) -> bool:
        """Whether an expression stands in the file as it is: one put together has no place."""
        if self.origin.expansion is not None:
            return False
        source = self.origin.syntax.text[expr.span.start : expr.span.end]
        return len(source) == len(expr.text) and source[:4] == expr.text[:4].encode(
            "latin-1", "replace"
        )

    def inactive(self, conditions: Sequence[Condition]) -> bool:
        return self.origin.view.macros.active(conditions, self.origin.path) is False

    # The callee

    def callee(self, raw: RawLaunch, scope: StaticScope) -> Callee:
        written = tuple(e.text.strip() for e in raw.template_args)
        name = raw.callee_name.strip()
        plain = name.isidentifier()
        if raw.in_macro is not None and plain and isinstance(scope.variables.get(name), Number):
            return Callee(name, written, known=False)
        what: Abstract | None = None
        if plain and not written:
            what = scope.variable(name)
        if what is None and not is_name(name):
            nodes = scope.nodes(raw.callee.text)
            what = evaluate(nodes[0], scope) if len(nodes) == 1 else None
            if not isinstance(what, Kernels):
                return Callee(raw.callee.text.strip(), written, known=False)
        if isinstance(what, Kernels):
            return of_kernels(what, written)
        if what is not None:
            return Callee(name, written, known=False)
        if plain and name in scope.template:
            return Callee(name, written, known=False)
        if isinstance(scope, FlowScope) and name in scope.types:
            return Callee(name, written, known=False)
        define = self.origin.view.macros.simple(name, scope.at) if plain else None
        if define is not None:
            value = evaluate_text(Expr(name, raw.callee.span), scope, None)
            if isinstance(value, Kernels):
                return of_kernels(value, written)
        return Callee(name.removeprefix("::"), written, known=True)

    def known_arguments(self, callee: Callee, scope: StaticScope) -> tuple[str, ...] | None:
        """Template arguments with constants put in and types resolved."""
        if not callee.known:
            return None
        raw = self.kernel(callee.name)
        return resolved_arguments(callee.arguments, raw, scope, self.function)

    def kernel(self, name: str) -> RawKernel | None:
        last = name.rsplit("::", 1)[-1]
        found = self.origin.view.kernels(last)
        return found[-1][1] if found else None

    # Attributes

    def attribute(self, raw: RawCall, scope: StaticScope, *, guarded: bool) -> Attribute | None:
        kind, expr = attribute_kind(raw)
        if kind is None or expr is None:
            return None
        if kind == "cache_config":
            value = cache_value(expr)
        elif kind == "carveout" and "cudaSharedmemCarveoutMax" in expr.text:
            percent = {"L1": 0, "Shared": 100}
            known = next((v for k, v in percent.items() if f"Max{k}" in expr.text), None)
            value = Value(
                expr.text.strip(),
                None if known is None else (known,),
                known,
                known,
                None if known is not None else "the driver's default",
                expr.span,
            )
        else:
            value = shown.value(expr, self.evaluated(expr, scope), "int")
        callee = self.function_argument(raw, scope)
        name = callee.name if callee.known else None
        inside = self.origin.expansion is not None
        return Attribute(
            name,
            callee.arguments if callee.known else (),
            self.known_arguments(callee, scope),
            raw.span,
            kind,
            value,
            function=self.function.qualified_name if self.function else None,
            function_span=self.function.span if self.function and not inside else None,
            in_macro=raw.in_macro is not None,
            inactive=self.inactive(raw.conditions),
            guarded=guarded,
        )

    def function_argument(self, raw: RawCall, scope: StaticScope) -> Callee:
        expr = raw.arguments[0]
        nodes = scope.nodes(expr.text)
        value: Abstract | None = None
        if len(nodes) == 1:
            value = evaluate(nodes[0], scope)
        if isinstance(value, Place) or value is None or isinstance(value, Number):
            value = self.named_kernel(expr, scope) or value
        if isinstance(value, Kernels) and len(value.names) == 1:
            return of_kernels(value, ())
        return Callee(expr.text.strip(), (), known=False)

    def named_kernel(self, expr: Expr, scope: StaticScope) -> Kernels | None:
        """A kernel that is named but not in view, with no variable of that name about."""
        from occlsp.source import expressions as ast

        nodes = scope.nodes(expr.text)
        node = nodes[0] if len(nodes) == 1 else None
        while isinstance(node, ast.Cast | ast.Unary):
            node = node.operand
        if not isinstance(node, ast.Name):
            return None
        local = "::" not in node.text and (
            scope.variable(node.text) is not None
            or node.text in scope.template
            or (isinstance(scope, FlowScope) and node.text in scope.types)
        )
        if local:
            return None
        return Kernels((KernelName(node.text, node.arguments),))


def as_written(launch: Launch, raw: RawLaunch | None) -> Launch:
    """A launch read in expanded text, with the texts that its file has."""
    if raw is None:
        return launch
    grid, block, memory = (*raw.config, ABSENT, ABSENT, ABSENT)[:3]
    return replace(
        launch,
        callee_span=raw.callee.span,
        span=raw.span,
        config_span=raw.config_span,
        grid=replace(launch.grid, text=grid.text, span=grid.span),
        block=replace(launch.block, text=block.text, span=block.span),
        dynamic_smem=replace(launch.dynamic_smem, text=memory.text, span=memory.span),
        template_args=tuple(e.text.strip() for e in raw.template_args) or launch.template_args,
        statement_span=raw.statement,
        arguments=tuple(e.text for e in raw.arguments) if raw.api == "<<<>>>" else (),
    )


def _names(item: RawLaunch | RawCall) -> set[str]:
    """The names that decide what an item is: of its configuration, callee and arguments."""
    texts = [e.text for e in item.arguments] if isinstance(item, RawCall) else []
    if isinstance(item, RawLaunch):
        texts = [item.callee.text, *(e.text for e in item.config[:3])]
        texts += [e.text for e in item.template_args]
        if item.api in _CONFIGURED:
            texts += [e.text for e in item.arguments[:1]]
    return {word for text in texts for word in WORDS.findall(text)}


def _deciding(expansion: Expansion, setting: Setting) -> set[str]:
    """The names that decide what an expansion launches."""
    if not expansion.items:
        return set()
    relevance = Relevance(expansion.text, (), setting)
    relevance.add(set().union(*map(_names, expansion.items)))
    return relevance.names


def follow(
    collector: Collector,
    body: Body,
    scope: Sequence[str],
    template: dict[str, Binding],
    parameters: dict[str, tuple[str, Abstract]],
    items: Sequence[Item],
    state: State | None = None,
    local_types: Mapping[str, str] | None = None,
) -> None:
    """Follows a body and collects its items; `state` is what is known where it begins, and
    `local_types` are those that are named there."""
    events: dict[int, list[Item]] = {}
    for item in items:
        events.setdefault(item.span.start - body.base, []).append(item)

    def handle(event: int, inner: FlowScope, at: State) -> None:
        first = len(collector.facts.launches)
        for item in events[event]:
            if isinstance(item, Use):
                collector.expand(item, inner, at, body)
            else:
                collector.add(item, inner, guarded=at.guarded)
        # Not the interpreter itself, which holds this: a circle waits for the collector.
        mark_selected(collector.facts.launches, first, inner.interpreter.text, event)

    interpreter = Interpreter(
        collector.origin.view,
        body,
        scope,
        template,
        parameters,
        list(events),
        collector.asked(items, body),
        handle,
    )
    interpreter.local_types.update(local_types or {})
    if state is not None:
        interpreter.state.variables.update(state.variables)
        interpreter.state.types.update(state.types)
        interpreter.state.guarded = state.guarded
    interpreter.run()
    collector.facts.names |= interpreter.names
