"""Which parameters of a file's functions decide what is launched: other arguments tell nothing.

Those do whose names decide the launches of the function itself, or an argument of the same kind
in its calls of other functions that launch something, by way of others again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import zip_longest

from occlsp.source.bodies import between_braces, readable
from occlsp.source.collect import Origin
from occlsp.source.fragment import words
from occlsp.source.kept import Kept
from occlsp.source.mentions import Mentions
from occlsp.source.passing import callables
from occlsp.source.sites import Site, read_site
from occlsp.source.slicing import plan
from occlsp.source.syntax import Function

MAX_BODY = 100_000
"""Bytes of a body that calls are evaluated in: nobody writes it longer, but a brace that is not
closed yet makes one of all that follows."""
_WORD = re.compile(r"[A-Za-z_]\w*")


class Names:
    """The functions of one file by name, and what of its text says something of them."""

    def __init__(self, origin: Origin, mentions: Mentions) -> None:
        syntax = origin.syntax
        self.mentions = mentions
        self.functions: dict[str, list[Function]] = {}
        for function in syntax.functions:
            self.functions.setdefault(function.name, []).append(function)
        indexes = {launch.function for launch in syntax.launches}
        indexes.update(call.function for call in syntax.calls)
        self.launching = frozenset(syntax.functions[i].name for i in indexes if i is not None)
        """Functions whose callers may be asked for: those that launch something."""
        self.in_macros: set[str] = set()
        """Words of the bodies of its macros."""
        for define in syntax.defines:
            self.in_macros.update(_WORD.findall(define.body.text))
        self._reaching: frozenset[str] | None = None

    @property
    def reached(self) -> frozenset[str]:
        """What `reaching` gave; nothing where nobody asked."""
        return self._reaching or frozenset()

    def reaching(self, origin: Origin) -> frozenset[str]:
        """Functions that launch something, or name one that does, by way of others too."""
        if self._reaching is None:
            syntax = origin.syntax
            kernels = {kernel.body for kernel in syntax.kernels}
            found = set(self.launching)
            pending = list(found)
            while pending:
                for start in self.mentions.places(pending.pop()):
                    index = syntax.function_at(start)
                    inside = None if index is None else syntax.functions[index]
                    if inside is None or inside.body in kernels or start < inside.body.start:
                        continue
                    if inside.name not in found:
                        found.add(inside.name)
                        pending.append(inside.name)
            self._reaching = frozenset(found)
        return self._reaching


class Deciding:
    """The names of one file's functions that decide launches; of others nothing is known."""

    def __init__(self) -> None:
        self._own: dict[tuple[str, str], frozenset[str]] = {}
        self._all: dict[tuple[str, int], frozenset[str] | None] = {}

    @property
    def read(self) -> Iterable[tuple[str, int]]:
        """The functions whose bodies were read: their files and where their braces open."""
        return self._all.keys()

    def take(self, origin: Origin, function: Function, names: AbstractSet[str]) -> None:
        """Takes in which names decide what a function launches by itself."""
        key = (origin.path, function.name)
        self._own[key] = self._own.get(key, frozenset()) | names

    def parameters(self, origin: Origin, names: Names, name: str) -> tuple[bool, ...] | None:
        """Which parameters of the functions of a name may decide a launch; None: any may."""
        functions = names.functions.get(name, ())
        decides: list[bool] = []
        for function in functions:
            found = self._names(origin, names, function)
            if found is None:
                return None
            own = [p.name is None or p.name in found for p in function.parameters]
            decides = [any(of) for of in zip_longest(decides, own, fillvalue=False)]
        return tuple(decides) if functions else None

    def _names(self, origin: Origin, names: Names, function: Function) -> frozenset[str] | None:
        """The names in a function's body that decide launches; None where that is not known."""
        if not any(path == origin.path for path, _ in self._own):
            return None
        key = (origin.path, function.body.start)
        if key not in self._all:
            self._all[key] = None  # a function that comes to call itself
            self._all[key] = self._read(origin, names, function)
        return self._all[key]

    def _read(self, origin: Origin, names: Names, function: Function) -> frozenset[str] | None:
        own = self._own.get((origin.path, function.name))
        if own is None and function.name in names.launching:
            return None
        sites: list[Site] = []
        asked: dict[int, list[bool]] = {}
        for start, end, callee in called_in(origin, function, names.reaching(origin)):
            site = read_site(origin.syntax.code, start, end, origin.view, function)
            decides = None if callee == function.name else self.parameters(origin, names, callee)
            if site is None or decides is None:
                return None
            sites.append(site)
            asked[start] = asked_arguments(site, decides)
        if callables(function) or function.body.end - function.body.start > MAX_BODY:
            return None
        found = own or frozenset()
        return found | self._passed(origin, function, sites, asked) if sites else found

    def _passed(
        self,
        origin: Origin,
        function: Function,
        sites: Sequence[Site],
        asked: dict[int, list[bool]],
    ) -> frozenset[str]:
        """The names that decide what a function hands on."""
        base = function.body.start + 1
        parameters = frozenset(p.name for p in function.parameters if p.name)
        found = plan(
            body_text(origin, function),
            tuple(sorted(site.start - base for site in sites)),
            frozenset(asked_names(sites, asked)),
            parameters,
            origin.view.setting,
            is_whole=False,
        )
        # Where a body cannot be read, nothing is known of what it hands on, whatever it is given.
        return frozenset() if found.statements is None else frozenset(found.slice.names)


def called_in(
    origin: Origin, function: Function, wanted: Iterable[str]
) -> Iterable[tuple[int, int, str]]:
    """Where a function's body names some others."""
    start, end = function.body.start, function.body.end
    for place, callee in _named(origin.syntax.code[start:end], frozenset(wanted)):
        yield start + place, start + place + len(callee), callee


def _named(body: bytes, wanted: frozenset[str]) -> list[tuple[int, str]]:
    """Where a body names some functions: an edit leaves most bodies as they were."""
    found = _NAMED.get((body, wanted))
    if found is None:
        there = [(name, word) for name in wanted if (word := name.encode()) in body]
        found = sorted((place, name) for name, word in there for place in words(body, word))
        _NAMED.put((body, wanted), found, len(body))
    return found


_NAMED: Kept[tuple[bytes, frozenset[str]], list[tuple[int, str]]] = Kept(1_000_000)


def asked_arguments(site: Site, decides: Sequence[bool] | None) -> list[bool]:
    """Which of a call's arguments may decide a launch."""
    every = [True] * len(site.arguments)
    return every if decides is None else [*decides, *every][: len(every)]


def asked_texts(sites: Sequence[Site], asked: dict[int, list[bool]]) -> list[str]:
    """The texts that decide what calls give, as far as that is asked for."""
    texts: list[str] = []
    for site in sites:
        texts += [
            one.text for one, is_ in zip(site.arguments, asked[site.start], strict=True) if is_
        ]
        texts += site.template
    return texts


def asked_names(sites: Sequence[Site], asked: dict[int, list[bool]]) -> set[str]:
    """The names in these texts."""
    return set(_WORD.findall(" ".join(asked_texts(sites, asked))))


def body_text(origin: Origin, function: Function) -> str:
    """A function's body without its braces, its `#if` branches decided."""
    base = function.body.start + 1
    raw = between_braces(origin.syntax.masked, function.body)
    return readable(raw, origin.path, base, origin.view.macros)


def is_asked(decides: tuple[bool, ...] | None, asked: tuple[bool, ...] | None) -> bool:
    """Whether all of what decides a launch now was asked for."""
    if asked is None:
        return True
    return decides is not None and all(
        was or not now for now, was in zip(decides, asked, strict=False)
    )
