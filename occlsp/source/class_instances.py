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
ITSELF = "__occlsp_itself"
"""What a class gives another instance of itself in the place of a parameter, where that is what
it was given."""
_DECLARED = re.compile(rb"\btemplate\s*<[^;{}]*>\s*(?:struct|class)\s+\Z")
_REFERS = re.compile(rb"\s*(?:const\s*)?[&*]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NEAR = 400


def class_bindings(callers: Callers, origin: Origin, function: Function) -> dict[str, Binding]:
    """The parameters of the class template that a function is a member of, as all uses of the
    class give them; without those that are not known."""
    scope = _scope(function)
    parameters = origin.view.class_templates.get(scope[-1], ()) if scope else ()
    names = [parameter.name for parameter in parameters]
    if not parameters or not _keeps_order(function, names):
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


def _keeps_order(function: Function, names: Sequence[str | None]) -> bool:
    """Whether a member that is defined outside of its class names its parameters in their order."""
    own = [parameter.name for parameter in function.template_parameters]
    return set(own).isdisjoint(names) or own[: len(names)] == [*names]


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
        others = [use for use in uses if use.template[position : position + 1] != (ITSELF,)]
        given = template_argument(others, position, parameter, scope)
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
    inside: dict[tuple[int, bool], list[Site]] = {}
    for start in callers.names(origin).mentions.places(name):
        end = start + len(name)
        if not has_arguments(syntax.code, end):
            continue
        site = template_site(syntax.code, start, end)
        if site is None:
            return None
        index = syntax.function_at(start)
        around = syntax.functions[index] if index is not None else None
        if around is not None and _is_handed_over(syntax.code, site, around):
            continue  # an object of a type that is named where it is made
        if around is not None and start <= around.body.start:
            around = None
        is_own = around is not None and name in _scope(around) and _keeps_order(around, names)
        if site.template == names and (around is None or is_own):
            continue  # the class itself, as its own functions name it
        if _DECLARED.search(syntax.code, max(0, start - _NEAR), start):
            if not _is_same_order(site.template, names):
                return None
            continue
        if index is not None and around is not None:
            inside.setdefault((index, is_own), []).append(site)
        else:
            scope = StaticScope(origin.view, At(origin.path, start))
            found.append(Call(tuple(binding(text, scope, own) for text in site.template), None))
    for (index, is_own), sites in inside.items():
        calls = callers.named_in(origin, index, sites)
        if calls is None:
            return None
        for site in sites:
            use = calls[site.start]
            found.append(_but_itself(site, use, names) if is_own else use)
    return found


def _is_handed_over(code: bytes, site: Site, function: Function) -> bool:
    """Whether a type is that of what a parameter of a function refers to."""
    listed = function.listed
    is_listed = listed.start <= site.start < listed.end
    return is_listed and _REFERS.match(code, site.span.end) is not None


def _but_itself(site: Site, use: Call, names: Sequence[str | None]) -> Call:
    """A use of a class by its own functions, without the parameters that it hands on."""
    given = zip(site.template, use.template, names, strict=False)
    return Call(tuple(ITSELF if text == own else one for text, one, own in given), None)


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
    """Whether a specialisation's parameters stand where those of the template do, and by
    themselves: in `Of<Shape<N>>`, N is not what the uses give."""
    return all(
        argument == names[position : position + 1][0] or not set(_WORD.findall(argument)) & {*names}
        for position, argument in enumerate(arguments[: len(names)])
    )
