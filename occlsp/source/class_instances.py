"""What the uses of a class template give for its parameters, in the functions of the class.

template <int N> struct Sorter { void run(int* p) { kernel<<<1, N>>>(p); } };
void sort(int* p) { Sorter<128> sorter; sorter.run(p); }
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from occlsp.source.collect import Origin
from occlsp.source.conversion import converted
from occlsp.source.facts import TemplateParameter
from occlsp.source.instances import Types, any_binding, binding
from occlsp.source.macros import Place as At
from occlsp.source.names import Binding, StaticScope
from occlsp.source.sites import Call, Site, has_arguments, template_site
from occlsp.source.syntax import Function
from occlsp.source.view import scope_names

if TYPE_CHECKING:
    from occlsp.source.callers import Callers

MAX_USES = 64
_DECLARED = re.compile(rb"\btemplate\s*<[^;{}]*>\s*(?:struct|class)\s+\Z")
_NEAR = 400


def class_bindings(callers: Callers, origin: Origin, function: Function) -> dict[str, Binding]:
    """The parameters of the class template that a function is a member of, as all uses of the
    class give them; without those that are not known."""
    scope = _scope(function)
    parameters = origin.view.class_templates.get(scope[-1], ()) if scope else ()
    names = [parameter.name for parameter in parameters]
    own = [parameter.name for parameter in function.template_parameters]
    if not parameters or (not set(own).isdisjoint(names) and own[: len(names)] != names):
        return {}  # defined outside of the class, with its parameters in another order
    key = (origin.path, scope[-1])
    if key not in callers.classes:
        callers.classes[key] = {}  # for who asks in between
        found = None
        try:
            found = _bindings(callers, origin, scope[-1], parameters)
        finally:
            if found is None:
                del callers.classes[key]  # who asks again is not in between
        callers.classes[key] = found
    return callers.classes[key]


def _scope(function: Function) -> tuple[str, ...]:
    return scope_names(function.qualified_name)[:-1]


def _bindings(
    callers: Callers, origin: Origin, name: str, parameters: Sequence[TemplateParameter]
) -> dict[str, Binding]:
    files = callers.files_naming(origin, name)
    uses: list[Call] = []
    for file in files or ():
        if file.path != origin.path and file.view.index_of(origin.path) is None:
            continue  # it means another class
        found = _uses_in(callers, file, name, parameters)
        if found is None or len(uses) + len(found) > MAX_USES:
            return {}
        uses += found
    if not uses:
        return {}
    scope = StaticScope(origin.view, At(origin.path, len(origin.syntax.code)))
    bound: dict[str, Binding] = {}
    for position, parameter in enumerate(parameters):
        if parameter.is_pack:
            break
        given = template_argument(uses, position, parameter, scope)
        if given is not None and parameter.name is not None:
            bound[parameter.name] = given
    return bound


def _uses_in(
    callers: Callers, origin: Origin, name: str, parameters: Sequence[TemplateParameter]
) -> list[Call] | None:
    """The uses of a class template in one file; None where one is not understood."""
    syntax = origin.syntax
    if name in callers.names(origin).in_macros:
        return None
    own = {p.name for found in origin.view.class_templates.values() for p in found if p.name}
    own.update(p.name for f in syntax.functions for p in f.template_parameters if p.name)
    names = tuple(parameter.name for parameter in parameters)
    found: list[Call] = []
    inside: dict[int, list[Site]] = {}
    for start in callers.names(origin).mentions.places(name):
        end = start + len(name)
        if not has_arguments(syntax.code, end):
            continue
        site = template_site(syntax.code, start, end)
        if site is None:
            return None
        index = syntax.function_at(start)
        around = syntax.functions[index] if index is not None else None
        if around is not None and start <= around.body.start:
            around = None
        if site.template == names and (around is None or name in _scope(around)):
            continue  # the class itself, as its own functions name it
        if _DECLARED.search(syntax.code, max(0, start - _NEAR), start):
            if not _is_same_order(site.template, names):
                return None
            continue
        if index is not None and around is not None:
            inside.setdefault(index, []).append(site)
        else:
            scope = StaticScope(origin.view, At(origin.path, start))
            found.append(Call(tuple(binding(text, scope, own) for text in site.template), None))
    for index, sites in inside.items():
        calls = callers.named_in(origin, index, sites)
        if calls is None:
            return None
        found += calls
    return found


def template_argument(
    calls: Sequence[Call], position: int, parameter: TemplateParameter, scope: StaticScope
) -> Binding | None:
    """What a template parameter is in any of some instances; None where that is not known."""
    return any_binding(template_arguments(calls, position, parameter, scope))


def template_arguments(
    calls: Sequence[Call], position: int, parameter: TemplateParameter, scope: StaticScope
) -> list[Binding | None]:
    """What a template parameter is in each of some instances."""
    default = None
    if parameter.default is not None:
        default = binding(parameter.default, scope, ())
    found = [
        call.template[position] if position < len(call.template) else default for call in calls
    ]
    return [
        one
        if one is None or isinstance(one, str | Types)
        else converted(one, parameter.kind, scope)
        for one in found
    ]


def _is_same_order(arguments: Sequence[str], names: Sequence[str | None]) -> bool:
    """Whether a specialisation's parameters stand where those of the template do."""
    return all(
        argument not in names or names.index(argument) == position
        for position, argument in enumerate(arguments)
    )
