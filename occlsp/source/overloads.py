"""Functions of one name, of which a call may mean either."""

from __future__ import annotations

from itertools import takewhile

from occlsp.source.facts import TemplateParameter
from occlsp.source.sites import Call
from occlsp.source.syntax import Function


def arity_of(function: Function) -> tuple[int, int]:
    """The least and the most arguments that a function can be called with."""
    parameters = function.parameters
    if parameters and parameters[-1].type.endswith("..."):
        return len(parameters) - 1, 1 << 30
    return sum(1 for p in parameters if p.default is None), len(parameters)


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


def for_any(calls: list[Call], shared: int | None) -> list[Call] | None:
    """Calls that may be of one of several overloads, of which only so many template parameters
    are alike; None where more of them are given."""
    if shared is None:
        return calls
    if any(len(call.template) > shared for call in calls):
        return None
    return [Call(call.template, None) for call in calls]
