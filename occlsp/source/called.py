"""What the calls in one function give, where they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from occlsp.source.collect import Origin
from occlsp.source.conversion import evaluate_text
from occlsp.source.deciding import (
    MAX_BODY,
    asked_arguments,
    asked_names,
    asked_texts,
    body_text,
)
from occlsp.source.flow import Interpreter
from occlsp.source.instances import binding
from occlsp.source.macros import Place as At
from occlsp.source.moving import Given
from occlsp.source.names import StaticScope
from occlsp.source.numbers import unknown
from occlsp.source.resolve import parameter_values
from occlsp.source.sites import Call, Site
from occlsp.source.slicing import plan
from occlsp.source.state import Body, FlowScope, State
from occlsp.source.syntax import Function
from occlsp.source.view import kernel_bindings, scope_names

NOT_ASKED = unknown("it decides nothing")
_WORD = re.compile(r"[A-Za-z_]\w*")

Asked = dict[int, list[bool]]
"""By where a call stands, which of its arguments may decide a launch."""
Found = tuple[dict[int, Call] | None, AbstractSet[str]]
"""Calls by where they stand, and the names that decide what they give; None where they are not
known."""


def depends_on_callers(origin: Origin, function: Function, names: AbstractSet[str]) -> bool:
    """Whether any of the names that decide something is given by a function's callers, or by the
    uses of the class template that it is a member of."""
    scope = scope_names(function.qualified_name)[:-1]
    of_class = origin.view.class_templates.get(scope[-1], ()) if scope else ()
    of_templates = (*function.template_parameters, *of_class)
    given = (*(p.name for p in function.parameters), *(p.name for p in of_templates))
    if any(name in names for name in given):
        return True
    # What the class calls a type may follow from its parameters, too.
    aliases = (one for name in names for _, one in origin.view.aliases(name)) if of_class else ()
    return any(one.scope[-1:] == scope[-1:] for one in aliases)


def calls_within(
    origin: Origin,
    function: Function,
    sites: Sequence[Site],
    asked: Asked,
    given: Callable[[], Given | None],
) -> Found:
    """The calls in one function, each with what is known where it stands; `given` is what its
    own callers give, where that decides any of it."""
    if function.body.end - function.body.start > MAX_BODY:
        return None, frozenset()
    text = body_text(origin, function)
    base = function.body.start + 1
    names: AbstractSet[str] = asked_names(sites, asked)
    is_local = _is_local(names, text, function, sites, asked)
    if is_local:
        found = plan(
            text,
            tuple(sorted(site.start - base for site in sites)),
            frozenset(names),
            frozenset(p.name for p in function.parameters if p.name),
            origin.view.setting,
            is_whole=False,
        )
        names = found.slice.names
    of_callers = given() if depends_on_callers(origin, function, names) else None
    of_callers = of_callers or ({**kernel_bindings(function.template_parameters)}, {})
    if not is_local:
        active = [site for site in sites if text[site.start - base].strip()]
        return _as_written(origin, function, active, asked, of_callers), names
    return _followed(origin, function, text, sites, asked, of_callers)


def _is_local(
    names: AbstractSet[str], text: str, function: Function, sites: Sequence[Site], asked: Asked
) -> bool:
    """Whether names in calls may be a function's own: they stand anywhere else in it, too."""
    if any(parameter.name in names for parameter in function.parameters):
        return True
    in_calls = Counter(_WORD.findall(" ".join(asked_texts(sites, asked))))
    in_body = Counter(word for word in _WORD.findall(text) if word in names)
    return any(in_body[name] > in_calls[name] for name in names)


def _own(origin: Origin, function: Function) -> set[str]:
    """The template parameters that a function's text may name: its own, and those of its class."""
    scope = scope_names(function.qualified_name)[:-1]
    of_class = origin.view.class_templates.get(scope[-1], ()) if scope else ()
    return {one.name for one in (*function.template_parameters, *of_class) if one.name}


def _as_written(
    origin: Origin, function: Function, sites: Sequence[Site], asked: Asked, given: Given
) -> dict[int, Call]:
    """Calls in which nothing is the function's own: it need not be followed up to them."""
    scopes = scope_names(function.qualified_name)[:-1]
    own = _own(origin, function)
    return {
        site.start: _call(
            site,
            asked,
            StaticScope(origin.view, At(origin.path, site.start), scopes, given[0]),
            own,
            origin.path,
        )
        for site in sites
    }


def _followed(
    origin: Origin,
    function: Function,
    text: str,
    sites: Sequence[Site],
    asked: Asked,
    given: Given,
) -> Found:
    base = function.body.start + 1
    template, values = given
    parameters = parameter_values(function, values, origin.path)
    events = {site.start - base: site for site in sites}
    found: dict[int, Call] = {}
    own = _own(origin, function)

    def handle(event: int, scope: FlowScope, state: State) -> None:
        site = events[event]
        found[site.start] = _call(site, asked, scope, own, origin.path)

    interpreter = Interpreter(
        origin.view,
        Body(text, origin.path, base),
        scope_names(function.qualified_name)[:-1],
        template,
        parameters,
        list(events),
        asked_names(sites, asked),
        handle,
    )
    interpreter.run()
    return None if interpreter.failed else found, interpreter.names


def _call(site: Site, asked: Asked, scope: StaticScope, own: AbstractSet[str], path: str) -> Call:
    arguments = tuple(binding(argument, scope, own) for argument in site.template)
    if site.is_address:
        return Call(arguments, None)
    values = tuple(
        evaluate_text(one, scope, path) if is_asked else NOT_ASKED
        for one, is_asked in zip(site.arguments, asked[site.start], strict=True)
    )
    return Call(arguments, values)


def as_asked(call: Call, site: Site, decides: Sequence[bool] | None) -> Call:
    """A call without the arguments that decide nothing, as they did when it was read."""
    asked = asked_arguments(site, decides)
    if call.arguments is None or all(asked):
        return call
    values = zip(call.arguments, asked, strict=True)
    return replace(call, arguments=tuple([one if is_ else NOT_ASKED for one, is_ in values]))
