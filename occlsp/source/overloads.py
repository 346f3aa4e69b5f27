"""Functions of one name, of which a call may mean either."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from msgspec.structs import replace

from occlsp.source.facts import TemplateParameter
from occlsp.source.instances import NOT_KNOWN
from occlsp.source.names import Binding
from occlsp.source.numbers import unknown
from occlsp.source.sites import Call, Site
from occlsp.source.syntax import Function
from occlsp.source.view import View


def arity_of(function: Function) -> tuple[int, int]:
    """The least and the most arguments that a function can be called with."""
    parameters = function.parameters
    if parameters and parameters[-1].type.endswith("..."):
        return len(parameters) - 1, 1 << 30
    return sum(1 for p in parameters if p.default is None), len(parameters)


def may_call(function: Function, count: int, view: View) -> bool:
    """Whether a call with so many arguments may be one of a function: with less than it takes where
    no other takes those, as a declaration may give the rest."""
    least, most = arity_of(function)
    if least <= count <= most:
        return True
    if count > most or function.is_template:
        return False
    others = [item.function for _, item in view.functions(function.name)]
    return all(count < arity_of(other)[0] for other in others)


def overlaps(one: Function, other: Function) -> bool:
    """Whether there are calls that two functions can both take."""
    least, most = arity_of(other)
    return arity_of(one)[1] >= least and arity_of(one)[0] <= most


def shared_parameters(one: Function, other: Function) -> int | None:
    """How many template parameters two overloads begin with that are alike, by name or by being
    types: what calls give for these may be for either. None: all, and so are other parameters."""
    given, others = one.template_parameters, other.template_parameters
    if given and [p.name for p in given] == [p.name for p in others]:
        return None
    pairs = zip(given, others, strict=False)
    return len(list(takewhile(lambda pair: _is_alike(*pair), pairs)))


def _is_alike(one: TemplateParameter, other: TemplateParameter) -> bool:
    is_type = one.kind == other.kind == "typename"
    return is_type or (one.name is not None and one.name == other.name)


def hands_on(site: Site, function: Function, shared: int | None) -> bool:
    """Whether a function calls itself as a template alone, with the arguments that it has: for so
    many of its parameters that says nothing new."""
    names = [parameter.name for parameter in function.template_parameters[:shared]]
    is_alone = site.is_pack or site.is_address
    own = any(parameter.name for parameter in function.parameters) and not is_alone
    return bool(names) and not own and list(site.template[: len(names)]) == names


def for_any(calls: list[Call], shared: int | None, function: Function) -> list[Call]:
    """Calls that may be of one of several overloads, of which only so many template parameters
    are alike: what they give for the others is not known."""
    if shared is None:
        return calls
    parameters = function.template_parameters
    others = [not_known(parameters, place) for place in range(shared, len(parameters))]
    many = [
        (*call.template[:shared], *others) if len(call.template) > shared else call.template
        for call in calls
    ]
    return [
        replace(call, template=template, arguments=None)
        for call, template in zip(calls, many, strict=True)
    ]


def not_known(parameters: Sequence[TemplateParameter], place: int) -> Binding:
    """What stands for an argument of which nothing is known."""
    parameter = parameters[min(place, len(parameters) - 1)]
    is_type = parameter.kind in ("typename", "class", "template")
    return NOT_KNOWN if is_type else unknown(f"template parameter {parameter.name}")
