"""What the callers of a function give for its parameters and template parameters.

Only where all callers are in view: the function is internal to its file, a template, or part of
a program that is one file. One argument that is not known makes the parameter not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from occlsp.source.bodies import readable
from occlsp.source.collect import Origin
from occlsp.source.conversion import converted, evaluate_text
from occlsp.source.expansion import arguments_end
from occlsp.source.flow import Interpreter
from occlsp.source.lexer import split_arguments, tokenize
from occlsp.source.macros import Place as At
from occlsp.source.names import Binding, StaticScope
from occlsp.source.numbers import Number, unknown
from occlsp.source.resolve import parameter_value
from occlsp.source.state import Body, FlowScope, State
from occlsp.source.syntax import Expr, Function
from occlsp.source.text import Span
from occlsp.source.type_syntax import template_arguments
from occlsp.source.values import Abstract, join_values
from occlsp.source.view import kernel_bindings, scope_names

MAX_DEPTH = 3
MAX_CALLS = 64

Given = tuple[dict[str, Binding], dict[str, Abstract]]
_UNITS = (".cu", ".cpp", ".cc", ".cxx", ".c")
"""Translation units: nobody includes them, so that what is internal to one is called there."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT_ASKED = unknown("it decides nothing")
_INTERNAL = re.compile(rb"\bstatic\b")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its template arguments, and what its arguments can be (None: instantiation)."""

    template: tuple[Binding, ...]
    arguments: tuple[Abstract, ...] | None


class Callers:
    """Finds and evaluates the calls of functions; `elsewhere` gives other files by a name."""

    def __init__(self, elsewhere: Callable[[str], Sequence[Origin] | None]) -> None:
        self.elsewhere = elsewhere
        self.active: set[tuple[str, int]] = set()
        self.uncalled: set[tuple[str, int]] = set()
        """Functions that all of what may call them is in view of, and nothing does."""
        self.evaluations: dict[tuple[str, int], dict[int, Call] | None] = {}
        self.wanted: dict[str, frozenset[str]] = {}
        self.deciding: dict[tuple[str, str], frozenset[str]] = {}
        """The names that decide what a function launches, by its file and name: arguments of
        other names are not evaluated. Without an entry, all are."""

    def bindings(self, origin: Origin, index: int) -> Given | None:
        """What all callers give; None where they are not all known, or there are none."""
        key = (origin.path, index)
        function = origin.syntax.functions[index]
        if key in self.active or len(self.active) >= MAX_DEPTH or function.name == "main":
            return None
        self.active.add(key)
        try:
            calls = self.calls(origin, function)
        finally:
            self.active.discard(key)
        if not calls:
            if calls is not None:
                self.uncalled.add(key)
            return None
        return self.joined(origin, function, calls)

    def calls(self, origin: Origin, function: Function) -> list[Call] | None:
        """All calls of a function; None where some are not in view or not understood."""
        if not _all_in_view(origin, function):
            return None
        others: list[Origin] = []
        if not origin.path.endswith(_UNITS):
            calling = self.elsewhere(function.name)
            if calling is None:
                return None
            others = [other for other in calling if other.path != origin.path]
        found: list[Call] = []
        for where in (origin, *others):
            named = [f for f in where.syntax.functions if f.name == function.name]
            if where is not origin and named:
                return None  # another function of this name: which is meant is not known
            here = self.calls_in(where, function)
            if here is None:
                return None
            found += here
            if len(found) > MAX_CALLS:
                return None
        return found

    def calls_in(self, origin: Origin, function: Function) -> list[Call] | None:
        syntax = origin.syntax
        name = function.name.encode()
        if any(re.search(rf"\b{re.escape(function.name)}\b", d.body.text) for d in syntax.defines):
            return None
        arity = _arity(function)
        rivals = [f for f in syntax.functions if f.name == function.name and f != function]
        if any(_arity(other)[1] >= arity[0] and _arity(other)[0] <= arity[1] for other in rivals):
            return None
        sites: dict[int, list[Site]] = {}
        found: list[Call] = []
        for match in re.finditer(rb"\b" + re.escape(name) + rb"\b", syntax.code):
            site = read_site(syntax.code, match.start(), match.end())
            inside = syntax.function_at(match.start())
            if inside is None or match.start() < syntax.functions[inside].body.start:
                given = self.instantiation(origin, match.start(), site)
                if given is not None:
                    found.append(given)
                continue
            if site is None:
                return None  # its address is taken: anybody may call it
            if not arity[0] <= len(site.arguments) <= arity[1]:
                continue
            sites.setdefault(inside, []).append(site)
        for inside, together in sites.items():
            if syntax.functions[inside] is function:
                return None
            calls = self.evaluated(origin, inside, function.name)
            if calls is None:
                return None
            for site in together:
                if site.start in calls:
                    found.append(calls[site.start])
                elif syntax.code[site.start : site.start + 1].strip():
                    return None  # in text that is active, but was not come by
        return found

    def names(self, origin: Origin) -> frozenset[str]:
        """Functions of a file whose callers may be asked for: those that launch something."""
        if origin.path not in self.wanted:
            syntax = origin.syntax
            indexes = {item.function for item in syntax.launches}
            indexes |= {item.function for item in syntax.calls}
            self.wanted[origin.path] = frozenset(
                syntax.functions[i].name for i in indexes if i is not None
            )
        return self.wanted[origin.path]

    def evaluated(self, origin: Origin, index: int, name: str) -> dict[int, Call] | None:
        """The calls in one function by where they stand; None where it cannot be followed."""
        key = (origin.path, index)
        if key not in self.evaluations:
            body = origin.syntax.functions[index].body
            names = self.names(origin) | {name}
            pattern = b"|".join(re.escape(item.encode()) for item in sorted(names))
            found = re.compile(rb"\b(?:" + pattern + rb")\b").finditer(origin.syntax.code, *body)
            read = (read_site(origin.syntax.code, m.start(), m.end()) for m in found)
            sites = [site for site in read if site is not None]
            self.evaluations[key] = self.followed(origin, index, sites)
        return self.evaluations[key]

    def followed_names(self, origin: Origin, function: Function, names: set[str]) -> None:
        """Takes in which names decide what a function launches."""
        key = (origin.path, function.name)
        self.deciding[key] = self.deciding.get(key, frozenset()) | names

    def decided_by(self, origin: Origin, site: Site) -> list[bool]:
        """Which arguments of a call may decide a launch."""
        name = origin.syntax.code[site.start : site.span.end].split(b"(")[0].split(b"<")[0].strip()
        names = self.deciding.get((origin.path, name.decode("latin-1")))
        functions = [f for f in origin.syntax.functions if f.name.encode() == name]
        if names is None or len(functions) != 1 or self.passes_on(origin, functions[0]):
            return [True] * len(site.arguments)
        parameters = [p.name for p in functions[0].parameters]
        parameters += [None] * (len(site.arguments) - len(parameters))
        return [name is None or name in names for name in parameters[: len(site.arguments)]]

    def passes_on(self, origin: Origin, function: Function) -> bool:
        """Whether a function's parameters may decide what others launch, which it calls."""
        others = self.names(origin) - {function.name}
        words = set(_WORD.findall(origin.syntax.code[slice(*function.body)].decode("latin-1")))
        return not others.isdisjoint(words)

    def instantiation(self, origin: Origin, offset: int, site: Site | None) -> Call | None:
        """`template void f<64>(…);` says what one instantiation is."""
        code = origin.syntax.code
        start = max(code.rfind(b";", 0, offset), code.rfind(b"}", 0, offset)) + 1
        if site is None or not re.match(rb"\s*template\s+(?!<)", code[start:offset]):
            return None
        scope = StaticScope(origin.view, At(origin.path, offset))
        return Call(tuple(_binding(text, scope) for text in site.template), None)

    def followed(self, origin: Origin, index: int, sites: Sequence[Site]) -> dict[int, Call] | None:
        """The calls in one function, each with what is known where it stands."""
        function = origin.syntax.functions[index]
        base = function.body.start + 1
        raw = origin.syntax.masked[base : max(base, function.body.end - 1)].decode("latin-1")
        text = readable(raw, origin.path, base, origin.view.macros)
        given = self.bindings(origin, index) or (
            {**kernel_bindings(function.template_parameters)},
            {},
        )
        parameters = {}
        for parameter in function.parameters:
            if parameter.name is not None:
                value = given[1].get(parameter.name)
                if value is None:
                    value = parameter_value(function, parameter.name, parameter.type, origin.path)
                parameters[parameter.name] = (parameter.type, value)
        events = {site.start - base: site for site in sites}
        names: set[str] = set()
        decided: dict[int, list[bool]] = {}
        for site in sites:
            asked = decided[site.start] = self.decided_by(origin, site)
            texts = [
                one.text for one, is_asked in zip(site.arguments, asked, strict=True) if is_asked
            ]
            names.update(_WORD.findall(" ".join((*texts, *site.template))))
        found: dict[int, Call] = {}

        def handle(event: int, scope: FlowScope, state: State) -> None:
            site = events[event]
            template = tuple(_binding(argument, scope) for argument in site.template)
            values = tuple(
                evaluate_text(one, scope, origin.path) if is_asked else _NOT_ASKED
                for one, is_asked in zip(site.arguments, decided[site.start], strict=True)
            )
            found[site.start] = Call(template, values)

        interpreter = Interpreter(
            origin.view,
            Body(text, origin.path, base),
            scope_names(function.qualified_name)[:-1],
            given[0],
            parameters,
            list(events),
            names,
            handle,
        )
        interpreter.run()
        return None if interpreter.failed else found

    def joined(self, origin: Origin, function: Function, calls: Sequence[Call]) -> Given:
        """Each parameter as any of the calls gives it."""
        template: dict[str, Binding] = {**kernel_bindings(function.template_parameters)}
        scope = StaticScope(origin.view, At(origin.path, function.span.start))
        for position, parameter in enumerate(function.template_parameters):
            if parameter.name is None or parameter.is_pack:
                break
            bound = [_template_argument(call, position) for call in calls]
            value = _one_binding(bound)
            if value is not None:
                is_value = not isinstance(value, str)
                template[parameter.name] = (
                    converted(value, parameter.kind, scope) if is_value else value  # type: ignore[arg-type]
                )
        scope.template = template
        values: dict[str, Abstract] = {}
        for position, given in enumerate(function.parameters):
            if given.name is None or (
                given.type.rstrip().endswith("&") and "const" not in given.type
            ):
                continue
            result: Abstract | None = None
            for call in calls:
                if call.arguments is None:
                    result = unknown(f"{given.name} is a parameter of {function.name}()")
                    break
                value = _argument(call, position, given.default, scope)
                result = value if result is None else join_values(result, value, "callers differ")
            if result is not None and _is_told(result):
                values[given.name] = converted(result, given.type, scope)
        return template, values


@dataclass(frozen=True, slots=True)
class Site:
    """The text of one call."""

    start: int
    span: Span
    template: tuple[str, ...]
    arguments: tuple[Expr, ...]


def read_site(code: bytes, start: int, end: int) -> Site | None:
    """The call whose name stands from `start` to `end`; None where it is not called there."""
    ahead = code[end : end + 2000].decode("latin-1")
    template: tuple[str, ...] = ()
    position = end
    if ahead.lstrip().startswith("<"):
        tokens = tokenize(ahead)
        found = template_arguments(tokens, 0)
        if found is None:
            return None
        template = found[0]
        if found[1] >= len(tokens):
            return None
        position = end + tokens[found[1]].start
    close = arguments_end(code, position)
    if close == position:
        return None
    opening = code.index(b"(", position) + 1
    inside = code[opening : close - 1].decode("latin-1")
    arguments = []
    for part in split_arguments(tokenize(inside)):
        if part:
            first, last = part[0].start, part[-1].start + len(part[-1].text)
            span = Span(opening + first, opening + last)
            arguments.append(Expr(inside[first:last], span))
    return Site(start, Span(start, close), template, tuple(arguments))


def _all_in_view(origin: Origin, function: Function) -> bool:
    """Whether nobody can call the function but who is in view."""
    if function.is_template or "(anonymous namespace)" in function.qualified_name:
        return True
    code = origin.syntax.code
    head = code[function.span.start : function.body.start]
    if _INTERNAL.search(head) and "::" not in function.qualified_name:
        return True
    return any(f.name == "main" for f in origin.syntax.functions)


def _arity(function: Function) -> tuple[int, int]:
    parameters = function.parameters
    if parameters and parameters[-1].type.endswith("..."):
        return len(parameters) - 1, 1 << 30
    return sum(1 for p in parameters if p.default is None), len(parameters)


def _binding(text: str, scope: StaticScope) -> Binding:
    """A template argument as a value where it is one, else as a type's text."""
    value = evaluate_text(Expr(text, Span(0, 0)), scope, None)
    if isinstance(value, Number) and value.values is None:
        return scope.type_text(text)
    return value


def _template_argument(call: Call, position: int) -> Binding | None:
    return call.template[position] if position < len(call.template) else None


def _one_binding(bound: Sequence[Binding | None]) -> Binding | None:
    """What all calls give for a template parameter; None where one gives nothing."""
    if not bound or any(item is None for item in bound):
        return None
    texts = {item for item in bound if isinstance(item, str)}
    if texts:
        return texts.pop() if len(texts) == 1 and all(isinstance(b, str) for b in bound) else None
    result: Abstract | None = None
    for item in bound:
        assert item is not None and not isinstance(item, str)
        result = item if result is None else join_values(result, item, "instantiations differ")
    return result


def _argument(call: Call, position: int, default: Expr | None, scope: StaticScope) -> Abstract:
    assert call.arguments is not None
    if position < len(call.arguments):
        value = call.arguments[position]
        return replace(value, linear=()) if isinstance(value, Number) else value
    if default is not None:
        return evaluate_text(default, scope, None)
    return unknown("not given")


def _is_told(value: Abstract) -> bool:
    """Whether there is more to say than the parameter's own reason."""
    return not isinstance(value, Number) or value.values is not None or value.high is not None
