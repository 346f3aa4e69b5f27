"""What the callers of a function give for its parameters and template parameters.

Only where all callers are in view: the function is internal to its file, a template, or part of
a program that is one file or one folder. One argument that is not known makes the parameter not
known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, partial
from math import inf
from time import perf_counter
from typing import NamedTuple

from msgspec.structs import replace

from occlsp.source.affected import function_head
from occlsp.source.called import as_asked, calls_within, depends_on_callers
from occlsp.source.class_instances import class_bindings
from occlsp.source.collect import Origin
from occlsp.source.deciding import (
    Deciding,
    Names,
    asked_arguments,
    called_in,
    is_asked,
)
from occlsp.source.given import given_by
from occlsp.source.includes import UNITS
from occlsp.source.instances import binding
from occlsp.source.internal import is_internal
from occlsp.source.macro_calls import calls_by_macros, sees_uses
from occlsp.source.macros import Place as At
from occlsp.source.mentions import Mentions
from occlsp.source.moving import Given
from occlsp.source.names import Binding, StaticScope
from occlsp.source.naming import Naming, naming_of
from occlsp.source.overloads import (
    arity_of,
    for_any,
    hands_on,
    may_call,
    overlaps,
    shared_parameters,
)
from occlsp.source.passing import callables
from occlsp.source.reuse import Asked, KeptCalls, Reuse
from occlsp.source.sites import (
    Call,
    Site,
    calls_of_parameter,
    handed_to,
    is_launched,
    read_site,
)
from occlsp.source.syntax import Function
from occlsp.source.view import kernel_bindings

MAX_DEPTH = 3
"""Callers of callers that are asked."""
MAX_CALLS = 256
MAX_SEEING, MAX_SEEING_TEMPLATE = 10, 3
"""Files that call a class template's function, of many that call one of this name."""

Decides = tuple[bool, ...] | None
"""Which parameters of a function may decide a launch; None: any may."""
_NONE_DECIDES = (False,) * 64
"""For calls whose arguments may be of either of several functions."""
Told = Mapping[str, Decides]
"""What decides of functions that are asked for from elsewhere, by name."""
Mains = dict[tuple[str, int, str, Decides], dict[int, Call] | None]
"""Calls by the file, the function that they are in, and the name that was asked for; with what
decides of its parameters, where the file does not say it."""


class Paused(Exception):
    """It has taken long: who asks again goes on with what is known by then, and is not paused again
    before there is more."""


class Elsewhere(NamedTuple):
    """Another file that may call a function; it is read only where that is not known."""

    path: str
    key: bytes
    """Changes with what the calls in it follow from."""
    origin: Callable[[], Origin | None]


@dataclass
class Callers:
    """Finds and evaluates the calls of functions.

    `elsewhere` gives other files by a name: where many call one of it, those that see a file, and
    None where these are more than some. `beside` gives those of a program that is one folder, by
    the path of a unit and a name.
    """

    elsewhere: Callable[[str, str, int], Sequence[Elsewhere] | None]
    reuse: Reuse | None = None
    beside: Callable[[str, str], Sequence[Elsewhere] | None] = lambda path, name: None
    mains: Mains = field(default_factory=dict)
    """The calls in `main` of other files: the same whichever file asks for its functions'."""
    uncalled: set[tuple[str, int]] = field(default_factory=set)
    """Functions that all of what may call them is in view of, and nothing does."""
    deciding: Deciding = field(default_factory=Deciding)
    """The parameters that decide what functions launch: arguments for others are not evaluated."""
    active: set[tuple[str, int]] = field(default_factory=set)
    evaluations: Mains = field(default_factory=dict)
    by_file: dict[str, Names] = field(default_factory=dict)
    by_name: dict[tuple[str, str], list[tuple[int, Site | None]]] = field(default_factory=dict)
    """Where names stand in files."""
    classes: dict[tuple[str, str], dict[str, Binding]] = field(default_factory=dict)
    """The parameters of class templates, by file and name."""
    asked: set[str] = field(default_factory=set)
    """Functions whose calls were looked for."""
    read: set[tuple[str, int]] = field(default_factory=set)
    """Functions whose bodies said something of others and are not kept: their files and braces."""
    is_alone: bool = True
    """Whether no other file was asked."""
    until: float = inf
    """On the clock of `time.perf_counter`: from then on, `Paused` is raised."""

    def names(self, origin: Origin) -> Names:
        """What one file says of its functions by name."""
        found = self.by_file.get(origin.path)
        if found is None:
            found = self.by_file[origin.path] = Names(origin, self.mentions(origin.syntax.code))
        return found

    def mentions(self, code: bytes) -> Mentions:
        """Where names stand in a file: in the one that is read, much is known of it."""
        if self.reuse is not None and self.reuse.memory.syntax.code is code:
            return self.reuse.memory.mentions
        return Mentions(code)

    def bindings(self, origin: Origin, index: int) -> Given | None:
        """What all callers give, and all uses of its class where that is a template; None where
        nothing is known of them."""
        given = self.of_calls(origin, index)
        function = origin.syntax.functions[index]
        of_class = class_bindings(self, origin, function)
        if not of_class:
            return given
        template, values = given or ({**kernel_bindings(function.template_parameters)}, {})
        return {**template, **of_class}, values

    def of_calls(self, origin: Origin, index: int) -> Given | None:
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
        return given_by(origin, function, calls)

    def calls(self, origin: Origin, function: Function) -> list[Call] | None:
        """All calls of a function; None where some are not in view or not understood."""
        others = self.others(origin, function)
        if others is None:
            return None
        decides, naming = self.decides(origin, function.name), naming_of(origin, function)
        found = self.calls_in(origin, function, decides, naming)
        if found is None or len(found) > MAX_CALLS:
            return None
        for other in others:
            here = self.calls_elsewhere(other, function, origin.path, decides, naming)
            if here is None or len(found) + len(here) > MAX_CALLS:
                return None
            found = found + here
        if sees_uses(origin, function):
            made = calls_by_macros(self, origin, function)
            if made is None or len(found) + len(made) > MAX_CALLS:
                return None
            found = found + made
        # What nobody instantiates calls nothing, but it may say what is meant to be called.
        return [call for call in found if not call.is_idle] or found

    def others(self, origin: Origin, function: Function) -> Sequence[Elsewhere] | None:
        """The other files that may call a function; None where these are not all in view."""
        is_unit = origin.path.endswith(UNITS)
        if not self.all_in_view(origin, function):
            decides = self.decides(origin, function.name) if is_unit else ()
            says_nothing = decides is not None and not any(decides)
            return None if says_nothing else self.beyond(self.beside(origin.path, function.name))
        # Members of other classes are called the same: files that do not see this one call those.
        most = MAX_SEEING_TEMPLATE if function.is_template else MAX_SEEING
        calling = () if is_unit else self.elsewhere(function.name, origin.path, most)
        return calling and self.beyond([one for one in calling if one.path != origin.path])

    def beyond(self, others: Sequence[Elsewhere] | None) -> Sequence[Elsewhere] | None:
        """Other files that are asked, of which is taken note."""
        self.is_alone &= not others
        return others

    def files_naming(self, origin: Origin, name: str) -> list[Origin] | None:
        """A file and the others that may name what it declares; None where they are many."""
        others = () if origin.path.endswith(UNITS) else self.elsewhere(name, origin.path, 0)
        if others is None:
            return None
        beyond = [other for other in others if other.path != origin.path]
        found = [other.origin() for other in self.beyond(beyond) or ()]
        return [origin, *(file for file in found if file is not None)]

    def named_in(self, origin: Origin, index: int, sites: Sequence[Site]) -> dict[int, Call] | None:
        """The instances of templates that one function names, by where they stand; None where it
        cannot be followed."""
        function = origin.syntax.functions[index]
        self.read.add((origin.path, function.body.start))
        asked: dict[int, list[bool]] = {site.start: [] for site in sites}
        given = partial(self.bindings, origin, index)
        calls, _ = calls_within(origin, function, sites, asked, given)
        return None if calls is None or not asked.keys() <= calls.keys() else calls

    def all_in_view(self, origin: Origin, function: Function) -> bool:
        """Whether nobody can call the function but who is in view."""
        return is_internal(origin, function) or "main" in self.names(origin).functions

    def calls_elsewhere(
        self, other: Elsewhere, function: Function, path: str, decides: Decides, naming: Naming
    ) -> list[Call] | None:
        """The calls in another file: kept from one edit to the next where it stands alone."""
        reuse = self.reuse if other.path.endswith(UNITS) else None
        asked = (other.path, function.name, arity_of(function), naming, decides, len(self.active))
        known = reuse.calls_elsewhere(asked, other.key) if reuse is not None else False
        if reuse is not None and known is not False:
            reuse.memory.elsewhere[asked] = (other.key, known)
            return known
        origin = other.origin()
        if origin is None:
            return None
        found: list[Call] | None = []
        is_own = function.name in self.names(origin).functions
        if not is_own or origin.view.index_of(path) is not None:
            found = self.calls_in(origin, function, decides, naming)
        if reuse is not None:
            reuse.memory.elsewhere[asked] = (other.key, found)
        return found

    def calls_in(
        self, origin: Origin, function: Function, decides: Decides, naming: Naming
    ) -> list[Call] | None:
        """The calls in one file."""
        syntax, names = origin.syntax, self.names(origin)
        self.asked.add(function.name)
        is_own = function in names.functions.get(function.name, ())
        if function.name in names.in_macros and not (is_own and sees_uses(origin, function)):
            return None
        named = naming.places(syntax, function.name, self.sites(origin, function.name))
        if not named:
            return []
        kernels = {kernel.body for kernel in syntax.kernels if kernel.name == function.name}
        rivals = [
            f
            for f in names.functions.get(function.name, ())
            if f != function and (function.body in kernels or f.body not in kernels)
        ]
        has_packs = any(site.is_pack for _, site in named if site)
        shared = [
            shared_parameters(other, function)
            for other in rivals
            if has_packs or overlaps(other, function)
        ]
        if 0 in shared or (has_packs and None in shared):
            return None  # which is meant is not known
        begin_alike = min(filter(None, shared), default=None)
        if begin_alike is not None:
            decides = _NONE_DECIDES
        sites: dict[int, list[Site]] = {}
        found: list[Call] = []
        is_recursive = False
        for start, site in named:
            if kernels and is_launched(syntax.code, start + len(function.name)):
                if function.body not in kernels:
                    continue  # a kernel of the same name
                if site is None:
                    return None
            inside = syntax.function_at(start)
            if inside is None or start < syntax.functions[inside].body.start:
                given = self.instantiation(origin, start, site)
                if given is not None:
                    found.append(given)
                continue
            called = (inside, [site]) if site is not None else None
            if site is None or site.is_address:
                called = self.handed(origin, start)
                if called is None and site is not None:
                    sites.setdefault(inside, []).append(site)
                    continue
            if called is None or any(one.is_address for one in called[1]):
                return None  # its address is taken: anybody may call it
            sites.setdefault(called[0], []).extend(
                one
                for one in called[1]
                if (one.is_pack or may_call(function, len(one.arguments), origin.view))
                and one not in sites[called[0]]
            )
        for inside, together in sites.items():
            if not together:
                continue
            if syntax.functions[inside] is function:
                if not all(hands_on(one, function, begin_alike) for one in together):
                    return None
                is_recursive = True
                continue
            calls = self.evaluated(origin, inside, function.name, decides)
            if calls is None:
                return None
            for one in together:
                if one.start in calls:
                    is_named = syntax.code.startswith(function.name.encode(), one.start)
                    call = calls[one.start]
                    if one.is_pack:
                        call = replace(call, arguments=None)
                    found.append(as_asked(call, one, decides) if is_named else call)
                elif syntax.code[one.start : one.start + 1].strip():
                    return None  # in text that is active, but was not come by
        if is_recursive:
            found = [replace(one, arguments=None) for one in found]
        return for_any(found, begin_alike, function)

    def sites(self, origin: Origin, name: str) -> list[tuple[int, Site | None]]:
        """Where a name stands in a file, each with the call that it is."""
        key = (origin.path, name)
        if key not in self.by_name:
            self.by_name[key] = [
                (start, self.site(origin, start, start + len(name)))
                for start in self.names(origin).mentions.places(name)
            ]
        return self.by_name[key]

    def site(self, origin: Origin, start: int, end: int) -> Site | None:
        """The call whose name stands there."""
        syntax = origin.syntax
        inside = syntax.function_at(start)
        function = None if inside is None else syntax.functions[inside]
        return read_site(syntax.code, start, end, origin.view, function)

    def handed(self, origin: Origin, start: int) -> tuple[int, list[Site]] | None:
        """The calls by a template that the function whose name stands there is handed to."""
        handed = handed_to(origin.syntax.code, start)
        if handed is None:
            return None
        named = self.names(origin).functions.get(handed.callee, ())
        found = calls_of_parameter(origin.syntax.code, named, handed)
        return None if found is None else (origin.syntax.functions.index(found[0]), found[1])

    def evaluated(
        self, origin: Origin, index: int, name: str, decides: Decides
    ) -> dict[int, Call] | None:
        """The calls in one function by where they stand; None where it cannot be followed."""
        reuse = self.reuse if self.reuse and self.reuse.path == origin.path else None
        names = self.names(origin)
        # What is asked comes to `main` by way of one function after another: each is followed once
        # for all that it calls.
        together = frozenset(names.functions)
        if reuse is not None:
            together = names.reaching(origin)
        is_own = name in names.functions and decides is not _NONE_DECIDES
        told = {} if is_own else {name: decides}
        is_together = is_own and name in together
        key = (origin.path, index, "" if is_together else name, told.get(name))
        is_main = reuse is None and origin.syntax.functions[index].name == "main"
        evaluations = self.mains if is_main else self.evaluations
        if key not in evaluations:
            wanted = together if is_together or reuse is not None else frozenset()
            wanted |= {name} | callables(origin.syntax.functions[index])
            given = cache(partial(self.bindings, origin, index))
            kept = None
            if reuse is not None:
                kept = self.known_calls(origin, index, wanted, given, told)
            if kept is None:
                kept = self.read_calls(origin, index, wanted, given, told)
            evaluations[key] = kept.calls
            if reuse is not None:
                span = origin.syntax.functions[index].span
                reuse.memory.calls.setdefault(span, []).append(kept)
            if perf_counter() >= self.until:
                raise Paused
        return evaluations[key]

    def known_calls(
        self,
        origin: Origin,
        index: int,
        wanted: frozenset[str],
        given: Callable[[], Given | None],
        told: Told,
    ) -> KeptCalls | None:
        """What an earlier reading of this file found of the calls in a function."""
        function = origin.syntax.functions[index]
        text = origin.syntax.code[function.body.start : function.body.end]
        for kept in self.reuse.calls(function, function_head(function)) if self.reuse else ():
            if (
                kept.given == self.of_callers(origin, function, kept.names, given)
                and kept.is_idle == self.is_idle(origin, index, kept.names)
                and not any(one.encode() in text for one in kept.wanted ^ wanted)
                and all(
                    is_asked(self.asked_for(origin, name, told), asked)
                    for name, asked in kept.decides.items()
                )
            ):
                return replace(kept, wanted=wanted)
        return None

    def read_calls(
        self,
        origin: Origin,
        index: int,
        wanted: frozenset[str],
        given: Callable[[], Given | None],
        told: Told,
    ) -> KeptCalls:
        """Follows a function up to its calls of some functions."""
        syntax = origin.syntax
        function = syntax.functions[index]
        sites: list[Site] = []
        asked: dict[int, list[bool]] = {}
        decides: dict[str, Decides] = {}
        for start, end, callee in called_in(origin, function, wanted):
            site = read_site(syntax.code, start, end, origin.view, function)
            if site is not None:
                decides[callee] = parameters = self.asked_for(origin, callee, told)
                asked[site.start] = asked_arguments(site, parameters)
                sites.append(site)
        head = function_head(function)
        calls, names = calls_within(origin, function, sites, asked, given)
        words: frozenset[str] = frozenset()
        if self.reuse is not None and self.reuse.path == origin.path:
            words = self.reuse.words(function, head, names | wanted)
        of_callers = self.of_callers(origin, function, names, given)
        is_idle = self.is_idle(origin, index, names)
        if is_idle and calls is not None:
            calls = {start: replace(call, is_idle=True) for start, call in calls.items()}
        return KeptCalls(head, words, wanted, decides, of_callers, names, calls, is_idle)

    def is_idle(self, origin: Origin, index: int, names: AbstractSet[str]) -> bool:
        """Whether a function, whose callers were asked for what they give some names, is a template
        of which no instance is in view."""
        function = origin.syntax.functions[index]
        is_asked = function.is_template and depends_on_callers(origin, function, names)
        return is_asked and (origin.path, index) in self.uncalled

    def asked_of(self, path: str) -> Asked:
        """What of a file's text says something of its functions besides what is kept of each."""
        names = {name for file, name in self.classes if file == path} | self.asked
        if path in self.by_file:
            names |= self.by_file[path].reached
        read = {start for file, start in (*self.read, *self.deciding.read) if file == path}
        return Asked(frozenset(names), frozenset(read))

    def of_callers(
        self,
        origin: Origin,
        function: Function,
        names: AbstractSet[str],
        given: Callable[[], Given | None],
    ) -> Given | None:
        """What a function's callers give, where they decide any of some names."""
        return given() if depends_on_callers(origin, function, names) else None

    def asked_for(self, origin: Origin, name: str, told: Told) -> Decides:
        """Which arguments of the calls of a function are asked for."""
        return told.get(name) or self.decides(origin, name)

    def decides(self, origin: Origin, name: str) -> Decides:
        """Which parameters of a function may decide a launch; None: any may."""
        return self.deciding.parameters(origin, self.names(origin), name)

    def instantiation(self, origin: Origin, offset: int, site: Site | None) -> Call | None:
        """`template void f<64>(…);` says what one instantiation is, as a table of them does."""
        code = origin.syntax.code
        start = max(code.rfind(b";", 0, offset), code.rfind(b"}", 0, offset)) + 1
        if site is None or not (
            site.is_address or re.match(rb"\s*template\s+(?!<)", code[start:offset])
        ):
            return None
        scope = StaticScope(origin.view, At(origin.path, offset))
        return Call(tuple(binding(text, scope, ()) for text in site.template), None)
