"""What names mean outside of function bodies: constants, types, functions, template parameters."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from occlsp.source import expressions as ast
from occlsp.source import types
from occlsp.source.conversion import converted, evaluate_text, named, undefined
from occlsp.source.evaluate import Budget, evaluate
from occlsp.source.facts import TemplateParameter
from occlsp.source.instances import Part, Types, are_many, instances, spelled_parts, whatever
from occlsp.source.lexer import split_arguments, tokenize
from occlsp.source.lookup import base_names, meant, scope_of
from occlsp.source.macros import Place as At
from occlsp.source.members import (
    arguments_of,
    carried,
    is_of_base,
    meant_outside,
    own_arguments,
    with_arguments,
)
from occlsp.source.numbers import Number, binary, known, unknown
from occlsp.source.syntax import Constant, Expr, Parameter
from occlsp.source.text import Span
from occlsp.source.values import (
    Abstract,
    KernelName,
    Kernels,
    Lambda,
    join_values,
    to_number,
)
from occlsp.source.view import Callable_, View, only_return, parts, scope_names

Binding = Abstract | str | Types
"""A template parameter's argument: a value, or a type as text."""

MAX_ALIASES = 8
MAX_CANDIDATES = 12


class StaticScope:
    """The scope of a constant's initialiser, a kernel's head or a function's single return."""

    def __init__(
        self,
        view: View,
        at: At,
        scope: Sequence[str] = (),
        template: dict[str, Binding] | None = None,
        variables: dict[str, Abstract] | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.view = view
        self.at = at
        self.scope = tuple(filter(None, scope))
        self.template = template or {}
        self.variables = variables or {}
        self.budget = budget or Budget()

    def variable(self, name: str) -> Abstract | None:
        """Variables first, then template parameters."""
        value = self.variables.get(name)
        if value is not None:
            return value
        bound = self.template.get(name)
        return bound if bound is not None and not isinstance(bound, str | Types) else None

    def member(self, key: str) -> Abstract | None:
        """Fields of locals."""
        return self.variables.get(key)

    def declared(self, name: str) -> str | None:
        """No locals have types here."""
        return None

    def elements(self, key: str) -> list[Abstract]:
        """The elements of a local array with initial values; none where they are not known."""
        count = self.variables.get(f"{key}[]")
        if not isinstance(count, Number) or count.value is None:
            return []
        found = [self.variables.get(f"{key}[{index}]") for index in range(count.value)]
        return [item for item in found if item is not None] if None not in found else []

    def nodes(self, text: str) -> Sequence[ast.Node]:
        """Trees of a text, macros expanded."""
        return self.view.macros.nodes(text, self.at)

    def told(self, node: ast.Binary, value: Number) -> Number:
        """Conditions say nothing here."""
        return value

    def pin(self, node: ast.Binary, value: Number) -> None:
        """As above."""

    # Constants

    def constant(self, name: str, arguments: tuple[str, ...] | None) -> Abstract | None:
        """A constant, an enumerator, or a kernel's name."""
        qualified = self.resolved_parts(name)
        if self.template and len(qualified) > 1:
            scopes = instances(self, qualified)
            if scopes:
                # Most say the same of any type: that is looked at once.
                value = whatever(self).constant(name, arguments)
                is_told = isinstance(value, Number) and value.values is not None
                if is_told or are_many(self, qualified):
                    return value or unknown("instantiations differ")
                values = [scope.constant(name, arguments) for scope in scopes]
                return _any_of(values, "instantiations differ")
        last = qualified[-1][0] if qualified else name
        if name.startswith("::"):
            found = [one for one in self.view.constants(last) if not scope_of(one[1])]
        else:
            found = meant(self, "constants", last, qualified[:-1])
        if found:
            declared = scope_of(found[0][1])
            if is_of_base(self, qualified[:-1], declared):
                inherited = self.inherited(qualified)
                return inherited or unknown(f"{last} of a base is not known")
            if len(qualified) > 1:
                arguments = qualified[-2][1]
            return self.joined(found, arguments)
        if self.view.is_kernel(last) and (len(qualified) > 1 or last not in self.template):
            return Kernels((KernelName(name.removeprefix("::"), arguments),))
        inherited = self.inherited(qualified) if len(qualified) > 1 else None
        if inherited is not None:
            return inherited
        if len(qualified) > 1 and isinstance(self.template.get(parts(name)[0][0]), str):
            of_type: Abstract | None = self.view.outside.member(spelled_parts(qualified))
            return of_type
        return None

    def inherited(self, qualified: Sequence[Part]) -> Abstract | None:
        """A member of a base that only the arguments of a class say: `struct Traits : Base`."""
        classes = qualified[-2:-1] or [(one, own_arguments(self, one)) for one in self.scope]
        found: Abstract | None = None
        for name, arguments in reversed(classes):
            clause = self.view.base_clause(name)
            if clause is None or found is not None or self.budget.depth > MAX_ALIASES:
                continue
            self.budget.depth += 1
            inner = self.inside(name, arguments)
            members = (f"{base}::{qualified[-1][0]}" for base in base_names(clause))
            values = (inner.constant(member, None) for member in members)
            found = next((value for value in values if value is not None), None)
            self.budget.depth -= 1
        return found

    def outside(self, name: str) -> Abstract | None:
        """What a name means that is none of a constant in view: a variable that nothing changes, or
        what it means to the files that include this one."""
        if name in self.template:
            return None
        variable = self.view.variables(name)
        if variable is not None:
            return self.constant_value(self.view.path, variable, None)
        found: Abstract | None = self.view.outside(name)
        return found

    def joined(
        self,
        found: list[tuple[str, Constant]],
        arguments: tuple[str, ...] | None,
    ) -> Abstract:
        """Several declarations (specialisations, branches of `#if`): any of their values."""
        if len(found) > MAX_CANDIDATES:
            return unknown("declared in many places")
        result: Abstract | None = None
        for path, constant in found:
            value = self.constant_value(path, constant, arguments)
            result = value if result is None else join_values(result, value, "differs")
        assert result is not None
        return result

    def constant_value(
        self, path: str, constant: Constant, arguments: tuple[str, ...] | None
    ) -> Abstract:
        """The value of one declaration."""
        view, budget = self.view, self.budget
        place = (path, constant.value.span.start if constant.value else id(constant))
        parameters = self.template_of(constant)
        value: Abstract | None = None if parameters else view.constant_values.get(place)
        if value is not None:
            return value
        if place in view.evaluating:
            budget.is_cut = True
            return unknown(f"{constant.name} refers to itself")
        outer, budget.is_cut = budget.is_cut, False
        view.evaluating.add(place)
        try:
            given = arguments_of(constant, parameters, arguments, view)
            template = self.bind(parameters, given) if parameters else {}
            is_around = constant.scope[-1] in self.scope if constant.scope else not self.scope
            if is_around and arguments is None:
                template.update(self.template)
            # Else nothing of the template that it is named in is asked for.
            key = (*place, *template.items()) if parameters else place
            value = view.constant_values.get(key)
            if value is None:
                value = self._constant_value(path, constant, template)
                if not budget.is_cut:
                    view.constant_values[key] = value
        finally:
            view.evaluating.discard(place)
        budget.is_cut |= outer
        return value

    def _constant_value(
        self, path: str, constant: Constant, template: dict[str, Binding]
    ) -> Abstract:
        if constant.value is None:
            return self.enumerator(path, constant)
        at = At(path, constant.value.span.start)
        scope = StaticScope(self.view, at, constant.scope, template, budget=self.budget)
        value = evaluate_text(self._initialiser(constant, constant.value, scope), scope, path)
        value = converted(value, constant.type, scope)
        return named(value, path, constant.value.span, constant.name)

    def _initialiser(self, constant: Constant, value: Expr, scope: StaticScope) -> Expr:
        """`const dim3 block(32, 8)` is initialised as `= dim3(32, 8)` is."""
        if "," not in value.text or scope.type_text(constant.type) != "dim3":
            return value
        if len(split_arguments(tokenize(value.text))) < 2:
            return value
        opening = "dim3("
        return Expr(
            f"{opening}{value.text})", Span(value.span.start - len(opening), value.span.end)
        )

    def template_of(self, constant: Constant) -> tuple[TemplateParameter, ...]:
        """The template parameters that a constant's value may name."""
        if constant.template_parameters or not constant.scope:
            return constant.template_parameters
        return self.view.class_templates.get(constant.scope[-1], ())

    def enumerator(self, path: str, constant: Constant) -> Abstract:
        """An enumerator without a value: one more than the last."""
        count = 0
        index = self.view.index_of(path)
        current = constant
        while current.value is None and current.previous is not None and index is not None:
            current = index.all_constants[current.previous]
            count += 1
            if count > 10_000:
                return unknown("a long enumeration")
        if current.value is None:
            return known(count)
        first = self.constant_value(path, current, None)
        return replace(binary("+", to_number(first), known(count)), definition=None)

    # Types and templates

    def resolved_parts(self, name: str) -> list[Part]:
        """The parts of a qualified name, aliases and template parameters in it resolved."""
        found = list(parts(name))
        for _ in range(MAX_ALIASES):
            is_short = len(found) > 2 and self.is_type(found[0][0])
            for length in (len(found) - 1, 1)[: (len(found) > 1) + is_short]:
                prefix = spelled_parts(found[:length])
                target = self.type_text(prefix)
                if target != types.plain(prefix):
                    break
            else:
                return found
            resolved = parts(target)
            is_named_alike = resolved[-1:] == (found[length - 1],)
            found = [*resolved, *found[length:]]
            if is_named_alike:
                return found
        return found

    def is_type(self, name: str) -> bool:
        """Whether a name is another one's for a type."""
        return isinstance(self.template.get(name), str) or bool(self.view.aliases(name))

    def type_text(self, text: str) -> str:
        """A type, with the aliases and template parameters that it is made of resolved."""
        text = types.plain(text)
        for _ in range(MAX_ALIASES):
            stars = text[len(text.rstrip("*")) :]
            bare = text.rstrip("*")
            bound = self.template.get(bare)
            if isinstance(bound, str) and bound != bare:
                text = types.plain(bound) + stars
                continue
            if types.size(bare) is not None:
                return text
            target = self.alias(bare)
            if target is None:
                return text
            text = types.plain(target) + stars
        return text

    def alias(self, name: str) -> str | None:
        """What an alias stands for; None where it is none, or not one thing only."""
        named_parts = parts(name)
        if not named_parts or "(" in name:
            return None
        last = named_parts[-1][0]
        found = meant(self, "aliases", last, named_parts[:-1])
        if len({item.target for _, item in found}) != 1:
            return None
        target, qualifiers = found[0][1], named_parts[:-1]
        declared = scope_of(target)
        is_itself = not declared or qualifiers in ((), ((declared[-1], None),))
        if is_itself and (not declared or declared[-1] in self.scope):
            text = with_arguments(target, named_parts[-1][1])
        else:
            text = meant_outside(self, target, named_parts)
        return text if types.plain(text) != name else None

    def alternatives(self, name: str) -> tuple[str, list[str]]:
        """What branches of `#if` have an alias stand for, where nothing more decides that, and what
        stands for which branch it is."""
        found = meant(self, "aliases", name, ()) if name.isidentifier() else ()
        of_templates = self.view.class_templates.keys()
        of_several = [
            one.template_parameters or of_templates & {*scope_of(one)} for _, one in found
        ]
        if not found or any(of_several):
            return "", []
        return repr([(path, one.span) for path, one in found]), [one.target for _, one in found]

    def inside(self, name: str, arguments: Sequence[str] | None) -> StaticScope:
        """The scope of a class's own text, given its template arguments as seen from here."""
        bound = self.bind(self.view.class_templates.get(name, ()), arguments)
        return StaticScope(self.view, self.at, self.scope, bound, budget=self.budget)

    def bind(
        self,
        parameters: Sequence[TemplateParameter],
        arguments: Sequence[str] | None,
    ) -> dict[str, Binding]:
        """Template parameters with their arguments as seen from here, defaults put in."""
        bound: dict[str, Binding] = {}
        for position, parameter in enumerate(parameters):
            if parameter.is_pack:
                break
            if parameter.name is None:
                continue
            if arguments is not None and position < len(arguments):
                bound[parameter.name] = self.argument(arguments[position], parameter, bound)
            elif arguments is not None and parameter.default is not None:
                # It names the parameters before it, and nothing of who names the template.
                inner = StaticScope(self.view, self.at, self.scope, bound, budget=self.budget)
                bound[parameter.name] = inner.argument(parameter.default, parameter, bound)
            elif parameter.kind not in ("typename", "template", "class"):
                bound[parameter.name] = unknown(f"template parameter {parameter.name}")
        return bound

    def argument(
        self, text: str, parameter: TemplateParameter, bound: dict[str, Binding]
    ) -> Binding:
        """One template argument: the value of an expression, or the text of a type with what it
        names in `bound`, where the template's own text is read."""
        if parameter.kind in ("typename", "template", "class"):
            text = self.type_text(text)
            return text if self.template is bound else carried(text, self, bound)
        return converted(self._evaluated(text), parameter.kind, self)

    def _evaluated(self, text: str) -> Abstract:
        result: Abstract | None = None
        for node in self.nodes(text):
            value = evaluate(node, self)
            result = value if result is None else join_values(result, value, "differs")
        return result if result is not None else unknown("empty")

    # Functions

    def call(
        self, name: str, template_arguments: tuple[str, ...] | None, arguments: list[Abstract]
    ) -> Abstract | None:
        """A call of a function whose body is one `return`."""
        written = parts(name)
        if not written or not self.view.functions(written[-1][0]):
            return None
        qualified = self.resolved_parts(name)
        if qualified[0][0] == "std":
            return None
        if self.template and len(qualified) > 1:
            scopes = instances(self, qualified)
            if scopes and are_many(self, qualified):
                return unknown("instantiations differ")
            if scopes:
                results = [scope.call(name, template_arguments, arguments) for scope in scopes]
                return _any_of(results, "instantiations differ")
        last = qualified[-1][0]
        found = meant(self, "functions", last, qualified[:-1])
        found = [item for item in found if _accepts(item[1].function.parameters, len(arguments))]
        if not found or any(_takes_templates(item[1].function.parameters) for item in found):
            return None
        if len(found) > MAX_CANDIDATES:
            return unknown(f"{last} has many overloads")
        result: Abstract | None = None
        for path, item in found:
            class_ = self.of_class(item, qualified)
            value = self.called(path, item, class_, template_arguments, arguments)
            result = value if result is None else join_values(result, value, "overloads differ")
            if isinstance(result, Number) and result.is_nothing:
                break
        return result

    def of_class(self, item: Callable_, qualified: Sequence[Part]) -> dict[str, Binding]:
        """The parameters of the class templates that a member function is called of."""
        scope = scope_names(item.function.qualified_name)[:-1]
        bound: dict[str, Binding] = {}
        for name, arguments in qualified[:-1]:
            if arguments and name in scope:
                bound |= self.bind(self.view.class_templates.get(name, ()), arguments)
        return bound

    def called(
        self,
        path: str,
        item: Callable_,
        class_: dict[str, Binding],
        template_arguments: tuple[str, ...] | None,
        arguments: list[Abstract],
    ) -> Abstract:
        """One function's result."""
        function = item.function
        if item.body is None or types.is_reference(item.returns):
            return unknown(f"{function.name}() returns nothing that is evaluated")
        expression = only_return(item.body)
        template: dict[str, Binding] = {**class_}
        template.update(self.bind(function.template_parameters, template_arguments))
        deduced = {p.name for p in function.template_parameters if p.name not in template}
        at = At(path, function.body.start)
        scope = StaticScope(
            self.view, at, scope_names(function.qualified_name)[:-1], template, budget=self.budget
        )
        variables: dict[str, Abstract] = {}
        for position, parameter in enumerate(function.parameters):
            if position < len(arguments):
                value = arguments[position]
            elif parameter.default is not None:
                value = evaluate_text(parameter.default, scope, None)
            else:
                value = unknown(f"parameter {parameter.name}")
            if parameter.name:
                is_deduced = types.plain(parameter.type) in deduced
                kind = "auto" if is_deduced else parameter.type
                variables[parameter.name] = converted(value, kind, scope)
        scope.variables = variables
        budget, kept = self.budget, self.view.called
        key = (path, function.body.start, (*template.items(), *variables.items()))
        within = (budget.depth, budget.calls, key)
        result = kept.get(key) or kept.get(within)
        if result is None:
            outer, budget.is_cut = budget.is_cut, False
            if expression is not None:
                result = evaluate_text(Expr(expression, Span(0, 0)), scope, None)
            else:
                from occlsp.source.returns import followed

                result = followed(self.view, path, item, scope)
            returned = "auto" if item.returns in deduced else item.returns
            result = undefined(converted(result, returned, scope))
            kept[within if budget.is_cut else key] = result
            budget.is_cut |= outer
        elif key not in kept:
            budget.is_cut = True
        return result

    def call_lambda(self, function: Lambda, arguments: list[Abstract]) -> Abstract:
        """A local lambda of one `return`."""
        expression = only_return(function.body)
        if expression is None or len(arguments) != len(function.parameters):
            return unknown("the lambda is not a single return")
        scope = StaticScope(
            self.view, self.at, self.scope, self.template, dict(self.variables), self.budget
        )
        for (kind, name), value in zip(function.parameters, arguments, strict=True):
            scope.variables[name] = converted(value, kind, scope)
        return undefined(evaluate_text(Expr(expression, Span(0, 0)), scope, None))


def _any_of(values: Sequence[Abstract | None], why: str) -> Abstract | None:
    result = values[0]
    for value in values[1:]:
        result = join_values(result, value, why)
    return result


def _takes_templates(parameters: Sequence[Parameter]) -> bool:
    """Whether a function takes types of several arguments: no value tells what it makes of them."""
    return any("," in parameter.type for parameter in parameters)


def _accepts(parameters: Sequence[Parameter], count: int) -> bool:
    if parameters and parameters[-1].type.endswith("..."):
        return count >= len(parameters) - 1
    required = sum(1 for parameter in parameters if parameter.default is None)
    return required <= count <= len(parameters)
