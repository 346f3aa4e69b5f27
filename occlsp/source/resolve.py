"""Joins what one file says with what it sees: syntax in, facts out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from occlsp.source import shown, types
from occlsp.source.bodies import readable
from occlsp.source.conditions import device_guard
from occlsp.source.evaluate import Budget, evaluate, place
from occlsp.source.expansion import WRAPPER, Expansion, Use, expand, placed
from occlsp.source.facts import Attribute, Launch, Value, Value3
from occlsp.source.flow import Body, FlowScope, Interpreter, State, relevant_positions
from occlsp.source.macros import Place as At
from occlsp.source.names import Binding, StaticScope, evaluate_text
from occlsp.source.numbers import Number, convert, unknown
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
from occlsp.source.values import (
    Abstract,
    Dim,
    KernelName,
    Kernels,
    Place,
    to_dim,
    to_number,
    unknown_dim,
)
from occlsp.source.view import View, scope_names

ATTRIBUTE_CALLS = frozenset(
    f"{prefix}{name}"
    for prefix in ("cuda", "cu", "hip")
    for name in ("FuncSetAttribute", "FuncSetCacheConfig", "FuncSetSharedMemConfig")
)
_OPT_IN = ("MaxDynamicSharedMemorySize", "MAX_DYNAMIC_SHARED_SIZE_BYTES")
_CARVEOUT = ("PreferredSharedMemoryCarveout", "PREFERRED_SHARED_MEMORY_CARVEOUT")
CACHE_CONFIG = {
    "PreferShared": 100,
    "PREFER_SHARED": 100,
    "PreferL1": 0,
    "PREFER_L1": 0,
    "PreferEqual": 50,
    "PREFER_EQUAL": 50,
}
"""What share of the carveout a cache preference asks for, in percent."""

_CONFIGURED = frozenset(
    {
        "cudaLaunchKernelEx",
        "cudaLaunchKernelExC",
        "cudaLaunchKernelExC_ptsz",
        "cuLaunchKernelEx",
        "hipLaunchKernelExC",
    }
)
_ABSENT = Expr("", Span(0, 0))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the text of a function stands: in its file, or expanded from a macro's use in it."""

    path: str
    syntax: FileSyntax
    view: View
    expansion: Expansion | None = None

    def place(self, offset: int) -> At:
        """Where an offset stands, for what macros are seen there."""
        expansion = self.expansion
        return At(self.path, offset if expansion is None else expansion.use.span.start)


@dataclass(slots=True)
class FunctionFacts:
    """What one function contributes."""

    launches: list[Launch] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)

    def add(self, other: FunctionFacts) -> None:
        """Takes in what another function contributes."""
        self.launches += other.launches
        self.attributes += other.attributes


Item = RawLaunch | RawCall | Use

Bindings = Callable[[Function], tuple[dict[str, Binding], dict[str, Abstract]]]
"""What callers give for a function's template parameters and its parameters."""


def function_facts(
    origin: Origin,
    index: int | None,
    launches: Sequence[RawLaunch],
    calls: Sequence[RawCall],
    bindings: Bindings,
    uses: Sequence[Use] = (),
) -> FunctionFacts:
    """The launches and attribute calls of one function, in the order of the text.

    `uses` are uses of macros in it to be expanded: what stands in their arguments is found there.
    """
    syntax = origin.syntax
    function = syntax.functions[index] if index is not None else None
    collector = Collector(origin, function, {item.span.start: item for item in launches})
    items: list[RawLaunch | RawCall] = [*launches, *calls]
    for item in items:
        if item.in_macro is None and function is None:
            collector.outside(item)
    in_macros(collector, [item for item in items if item.in_macro is not None])
    bodies: list[Item] = [
        item
        for item in items
        if item.in_macro is None
        and not any(use.span.start <= item.span.start < use.end for use in uses)
    ]
    bodies += uses
    if function is None or not bodies:
        return collector.facts
    base = function.body.start + 1
    masked = syntax.masked or syntax.text
    raw = masked[base : max(base, function.body.end - 1)].decode("latin-1")
    text = raw if origin.expansion else readable(raw, origin.path, base, origin.view.macros)
    template, given = bindings(function)
    parameters = {}
    for parameter in function.parameters:
        if parameter.name is not None:
            value = given.get(parameter.name)
            if value is None:
                value = parameter_value(function, parameter.name, parameter.type, origin.path)
            parameters[parameter.name] = (parameter.type, value)
    seen_from = origin.expansion.use.span.start if origin.expansion else None
    follow(
        collector,
        Body(text, origin.path, base, seen_from),
        scope_names(function.qualified_name)[:-1],
        template,
        parameters,
        bodies,
    )
    written = {id(item) for item in items if item.in_macro is None}
    for item in items:
        if id(item) in written and not collector.has(item):
            # Where the reader of statements lost it: what the function's locals are is unknown.
            collector.lost(item, _declared(text))
    return collector.facts


def in_macros(collector: Collector, items: Sequence[RawLaunch | RawCall]) -> None:
    """Items in bodies of `#define`s: each body is followed with its parameters unknown."""
    bodies: dict[int, list[Item]] = {}
    defines = collector.origin.syntax.defines
    for item in items:
        for index, define in enumerate(defines):
            span = define.body.span
            if define.name == item.in_macro and span.start <= item.span.start < span.end:
                bodies.setdefault(index, []).append(item)
                break
        else:
            collector.outside(item)
    for index, inside in bodies.items():
        define = defines[index]
        state = State()
        for name in define.parameters or ():
            why = f"{name} is a parameter of the macro {define.name}"
            state.variables[name] = unknown(why)
            state.types[name] = "auto"
        text = define.body.text.replace("\\\n", "  ").replace("\\\r\n", "   ")
        body = Body(text, collector.origin.path, define.body.span.start)
        follow(collector, body, (), {}, {}, inside, state)
        for lost in inside:
            if not isinstance(lost, Use) and not collector.has(lost):
                collector.outside(lost)


def follow(
    collector: Collector,
    body: Body,
    scope: Sequence[str],
    template: dict[str, Binding],
    parameters: dict[str, tuple[str, Abstract]],
    items: Sequence[Item],
    state: State | None = None,
) -> None:
    """Follows a body and collects its items; `state` is what is known where it begins."""
    events: dict[int, list[Item]] = {}
    names: set[str] = set()
    for item in items:
        events.setdefault(item.span.start - body.base, []).append(item)
        if isinstance(item, Use):
            names |= collector.expansion_names(item, body)
        else:
            names |= _names(item)

    def handle(event: int, inner: FlowScope, at: State) -> None:
        for item in events[event]:
            if isinstance(item, Use):
                collector.expand(item, inner, at, body)
            else:
                collector.add(item, inner, guarded=at.guarded)

    interpreter = Interpreter(
        collector.origin.view, body, scope, template, parameters, list(events), names, handle
    )
    if state is not None:
        interpreter.state.variables.update(state.variables)
        interpreter.state.types.update(state.types)
        interpreter.state.guarded = state.guarded
    interpreter.run()


def _declared(text: str) -> set[str]:
    """Names that a body may declare or assign."""
    return set(_ASSIGNED.findall(text))


def parameter_value(function: Function, name: str, kind: str, path: str) -> Abstract:
    """A parameter of which no caller is known."""
    why = f"{name} is a parameter of {function.name}()"
    if types.plain(kind) == "dim3":
        return unknown_dim(why)
    symbol = (f"{path}:{name}", function.span.start)
    return replace(unknown(why, types.integer(kind)), linear=((symbol, 1, 0),))


_WORDS = re.compile(r"[A-Za-z_]\w*")


_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*(?=[=({;,)])")


def _names(item: RawLaunch | RawCall) -> set[str]:
    """The names that decide what an item is: of its configuration, callee and arguments."""
    texts = [e.text for e in item.arguments] if isinstance(item, RawCall) else []
    if isinstance(item, RawLaunch):
        texts = [item.callee.text, *(e.text for e in item.config)]
        if item.api != "<<<>>>":
            texts += [e.text for e in item.arguments]
    return {word for text in texts for word in _WORDS.findall(text)}


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
        self.depth = 0
        self.expanded: dict[int, list[Expansion]] = {}

    def has(self, item: RawLaunch | RawCall) -> bool:
        """Whether an item was collected."""
        return item.span.start in self.seen

    def add(self, item: RawLaunch | RawCall, scope: StaticScope, *, guarded: bool) -> None:
        """One item with what is known where it stands."""
        expansion = self.origin.expansion
        if expansion is None:
            self.seen.add(item.span.start)
        elif expansion.is_written(item.span.start):
            self.seen.add(expansion.offsets[item.span.start])
        if isinstance(item, RawLaunch):
            launch = self.placed(self.launch(item, scope, guarded=guarded))
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
        if self.depth > 4 or self.origin.expansion is not None:
            return
        view = self.origin.view
        for expansion in self.expansions(use, body):
            syntax = expansion.syntax
            raw: list[RawLaunch | RawCall] = [*syntax.launches, *syntax.calls]
            items = [item for item in raw if item.in_macro is None]
            if not items:
                continue
            origin = Origin(self.origin.path, syntax, view, expansion)
            inner = Collector(origin, self.function, self.written)
            text = syntax.masked[len(WRAPPER) : -1].decode("latin-1")
            made = Body(text, body.path, len(WRAPPER), use.span.start)
            follow(inner, made, scope.scope, scope.template, {}, items, state)
            self.facts.launches += inner.facts.launches
            self.facts.attributes += inner.facts.attributes
            self.seen |= inner.seen

    def expansions(self, use: Use, body: Body) -> list[Expansion]:
        """What a use expands to, expanded once."""
        key = use.span.start
        if key not in self.expanded:
            text = body.text[use.span.start - body.base : use.end - body.base]
            self.expanded[key] = expand(use, text, self.origin.view, wrapped=True)
        return self.expanded[key]

    def expansion_names(self, use: Use, body: Body) -> set[str]:
        """The names that decide what a macro's use launches."""
        names: set[str] = set()
        for expansion in self.expansions(use, body):
            syntax = expansion.syntax
            items: list[RawLaunch | RawCall] = [*syntax.launches, *syntax.calls]
            if items:
                text = syntax.masked[len(WRAPPER) : -1].decode("latin-1")
                inner = set().union(*(_names(item) for item in items))
                relevant_positions(text, inner)
                names |= inner
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

    def lost(self, item: RawLaunch | RawCall, names: set[str]) -> None:
        """An item that was not come by: nothing that its function may set is known."""
        scope = self.scope_at(item.span.start)
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
            config = _Configured(raw, scope)
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
            guarded=guarded or self.device_condition(raw.conditions),
            hip_only=raw.api.startswith("hip"),
            follows_occupancy_api=_from_occupancy(block_what),
            stream=stream.text.strip(),
            arguments=tuple(e.text for e in raw.arguments) if raw.api == "<<<>>>" else (),
        )

    def configuration(self, raw: RawLaunch) -> tuple[Expr, Expr, Expr, Expr]:
        if raw.api in _CONFIGURED:
            first = raw.arguments[0] if raw.arguments else _ABSENT
            return first, first, replace(first), _ABSENT
        config = [*raw.config, _ABSENT, _ABSENT, _ABSENT, _ABSENT]
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
        source = self.origin.syntax.text[slice(*expr.span)]
        return len(source) == len(expr.text) and source[:4] == expr.text[:4].encode(
            "latin-1", "replace"
        )

    def inactive(self, conditions: Sequence[Condition]) -> bool:
        return self.origin.view.macros.active(conditions, self.origin.path) is False

    def device_condition(self, conditions: Sequence[Condition]) -> bool:
        return False

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
        if what is None and not _is_name(name):
            nodes = scope.nodes(raw.callee.text)
            what = evaluate(nodes[0], scope) if len(nodes) == 1 else None
            if not isinstance(what, Kernels):
                return Callee(raw.callee.text.strip(), written, known=False)
        if isinstance(what, Kernels):
            return _of_kernels(what, written)
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
                return _of_kernels(value, written)
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
        kind, expr = _attribute_kind(raw)
        if kind is None or expr is None:
            return None
        if kind == "cache_config":
            value = _cache_value(expr)
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
        return Attribute(
            name,
            callee.arguments if callee.known else (),
            self.known_arguments(callee, scope),
            raw.span,
            kind,
            value,
            function=self.function.qualified_name if self.function else None,
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
            return _of_kernels(value, ())
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


@dataclass(frozen=True, slots=True)
class Callee:
    """What is launched."""

    name: str
    arguments: tuple[str, ...] = ()
    known: bool = True
    candidates: tuple[str, ...] = ()


def as_written(launch: Launch, raw: RawLaunch | None) -> Launch:
    """A launch read in expanded text, with the texts that its file has."""
    if raw is None:
        return launch
    grid, block, memory = (*raw.config, _ABSENT, _ABSENT, _ABSENT)[:3]
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


def _of_kernels(value: Kernels, written: tuple[str, ...]) -> Callee:
    first = value.names[0]
    if len(value.names) == 1:
        return Callee(first.name.removeprefix("::"), first.arguments or written, known=True)
    names = tuple(dict.fromkeys(item.name.removeprefix("::") for item in value.names))
    same = names[0] if len(names) == 1 else None
    return Callee(same or names[0], (), known=False, candidates=names)


def _is_name(name: str) -> bool:
    return all(part.isidentifier() for part in name.removeprefix("::").split("::"))


_ZERO = Number(types.integer("int"), (0,), 0, 0)


def _from_occupancy(block: Abstract) -> bool:
    if isinstance(block, Dim):
        return any(number.occupancy for alternative in block.alternatives for number in alternative)
    return isinstance(block, Number) and block.occupancy


def _attribute_kind(
    raw: RawCall,
) -> tuple[Literal["max_dynamic_smem", "carveout", "cache_config"] | None, Expr | None]:
    arguments = raw.arguments
    if raw.name.endswith("CacheConfig") and len(arguments) >= 2:
        return "cache_config", arguments[1]
    if raw.name.endswith("SetAttribute") and len(arguments) >= 3:
        if any(word in arguments[1].text for word in _OPT_IN):
            return "max_dynamic_smem", arguments[2]
        if any(word in arguments[1].text for word in _CARVEOUT):
            return "carveout", arguments[2]
    return None, None


def _cache_value(expr: Expr) -> Value:
    for name, percent in CACHE_CONFIG.items():
        if name in expr.text:
            return Value(expr.text.strip(), (percent,), percent, percent, None, expr.span)
    return Value(expr.text.strip(), why="not a known preference", span=expr.span)


def resolved_arguments(
    arguments: Sequence[str],
    kernel: RawKernel | None,
    scope: StaticScope,
    function: Function | None,
) -> tuple[str, ...] | None:
    """Template arguments as one instantiation has them; None where any is not known."""
    open_types = _open_types(function, scope)
    found: list[str] = []
    for position, text in enumerate(arguments):
        parameters = kernel.template_parameters if kernel is not None else ()
        parameter = parameters[position] if position < len(parameters) else None
        known = _resolved_argument(text, parameter.kind if parameter else None, scope)
        if known is None or open_types & set(_WORDS.findall(known)):
            return None
        found.append(known)
    return tuple(found)


def _open_types(function: Function | None, scope: StaticScope) -> set[str]:
    """Names of types that differ by instantiation of the enclosing function."""
    names = {"scalar_t"}
    if function is not None:
        names |= {p.name for p in function.template_parameters if p.name}
    return {name for name in names if not isinstance(scope.template.get(name), str)}


def _resolved_argument(text: str, kind: str | None, scope: StaticScope) -> str | None:
    if kind in ("typename", "class", "template"):
        return scope.type_text(text)
    if kind is None and types.size(scope.type_text(text)) is not None:
        return scope.type_text(text)
    values = {to_number(evaluate(node, scope)).value for node in scope.nodes(text)}
    value = values.pop() if len(values) == 1 else None
    if value is not None:
        return ("true" if value else "false") if kind == "bool" else str(value)
    if kind is None and not any(char.isdigit() for char in text[:1]):
        resolved = scope.type_text(text)
        return resolved if resolved != types.plain(text) or "<" in text else None
    return None


class _Configured:
    """A launch whose configuration was built field by field."""

    def __init__(self, raw: RawLaunch, scope: StaticScope) -> None:
        self.scope = scope
        why = "the configuration is not built in this function"
        self.grid: Abstract = unknown_dim(why)
        self.block: Abstract = unknown_dim(why)
        self.memory: Abstract = unknown(why)
        self.cluster: Value3 | None = None
        self.cooperative = False
        key = self.key(raw.arguments[0]) if raw.arguments else None
        if key is None:
            return
        self.grid = self.field(key, ("gridDim",), ("gridDimX", "gridDimY", "gridDimZ"), why)
        self.block = self.field(key, ("blockDim",), ("blockDimX", "blockDimY", "blockDimZ"), why)
        for name in ("dynamicSmemBytes", "sharedMemBytes"):
            value = scope.member(f"{key}.{name}")
            if value is not None:
                self.memory = value
        self.attributes(key)

    def key(self, expr: Expr) -> str | None:
        nodes = self.scope.nodes(expr.text)
        if len(nodes) != 1:
            return None
        value = evaluate(nodes[0], self.scope)
        if isinstance(value, Place):
            return value.key
        return place(nodes[0], self.scope)

    def field(
        self, key: str, whole: tuple[str, ...], single: tuple[str, ...], why: str
    ) -> Abstract:
        for name in whole:
            value = self.scope.member(f"{key}.{name}")
            if value is not None:
                return to_dim(value)
        parts = [self.scope.member(f"{key}.{name}") for name in single]
        if all(part is not None for part in parts):
            unsigned = types.integer("unsigned")
            x, y, z = (convert(to_number(part), unsigned) for part in parts)
            return Dim(((x, y, z),))
        return unknown_dim(why)

    def attributes(self, key: str) -> None:
        scope = self.scope
        array = scope.member(f"{key}.attrs")
        count = scope.member(f"{key}.numAttrs")
        if not isinstance(array, Place):
            return
        total = to_number(count).high
        for index in range(min(total if total is not None else 4, 16)):
            prefix = f"{array.key}[{index}]" if "[" not in array.key else array.key
            name = scope.variables.get(f"{prefix}.id")
            if name is None and index == 0 and f"{array.key}.id" in scope.variables:
                prefix = array.key
                name = scope.variables[f"{prefix}.id"]
            why = name.why if isinstance(name, Number) and name.why else ""
            if "ClusterDimension" in why or "CLUSTER_DIMENSION" in why:
                self.cluster = self.cluster_of(prefix)
            elif "Cooperative" in why or "COOPERATIVE" in why:
                value = scope.variables.get(f"{prefix}.val.cooperative")
                self.cooperative = to_number(value).value != 0

    def cluster_of(self, prefix: str) -> Value3:
        unsigned = types.integer("unsigned")
        parts = []
        for name in "xyz":
            for holder in ("val", "value"):
                value = self.scope.variables.get(f"{prefix}.{holder}.clusterDim.{name}")
                if value is not None:
                    break
            parts.append(convert(to_number(value, "not set"), unsigned))
        return shown.value3(_ABSENT, Dim(((parts[0], parts[1], parts[2]),)))


def guarded_text(text: str) -> bool:
    """Whether a condition's text asks what the device can do."""
    return device_guard(text)
