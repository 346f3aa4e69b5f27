"""Macros whose uses set variables: those that they are given, and those that their bodies name.

#define SETUP(sms, threads) cudaLaunchConfig_t cfg = {sms, threads, 0, stream};
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from occlsp.source.syntax import Define

_WORD = re.compile(r"[A-Za-z_]\w*")
_DECLARED = re.compile(
    r"(?:^|;)\s*(?:(?:const|constexpr|static|unsigned|alignas\s*\([^()]*\))\s+)*"
    r"(?!return\b|else\b|goto\b|using\b|typedef\b)[A-Za-z_][\w:]*(?:<[^<>;{}]*>)?[\s*&]+"
    r"([A-Za-z_]\w*)\s*(?=[=({\[;]|$)"
)
_SET = re.compile(
    r"(?<![\w.>])([A-Za-z_]\w*)(?:\s*(?:\.|->)\s*\w+|\s*\[[^\[\]]*\])*\s*"
    r"(?:(?:<<|>>|[-+*/%&|^])?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
_ASSIGNED = re.compile(r"(?:<<|>>|[-+*/%&|^])?=(?!=)")
_TYPED = re.compile(r"[\w>][\s*&]+([A-Za-z_]\w*)\s*[=({\[;,:)]")
_NONE: frozenset[str] = frozenset()


class Own(NamedTuple):
    """A variable that the body of a macro declares or sets."""

    name: str
    macro: str
    words: tuple[str, ...]
    """All that the body names."""


class Setting(NamedTuple):
    """The macros in view that set variables."""

    given: frozenset[str] = _NONE
    """Those that give what they are handed a value."""
    own: frozenset[Own] = frozenset()

    def joined(self, others: Iterable[Setting]) -> Setting:
        """These and some others."""
        others = tuple(others)
        return Setting(
            self.given.union(*(one.given for one in others)),
            self.own.union(*(one.own for one in others)),
        )


NO_SETTING = Setting()


def setting_macros(defines: Iterable[Define]) -> Setting:
    """Those of some macros that set variables."""
    given: set[str] = set()
    own: set[Own] = set()
    for define in defines:
        body = define.body.text
        if define.parameters and "=" in body and _sets_parameter(define.parameters, body):
            given.add(define.name)
        if ";" in body or "=" in body or "dim3" in body or "++" in body or "--" in body:
            own.update(_own(define.name, define.parameters or (), body))
    return Setting(frozenset(given), frozenset(own))


@lru_cache(maxsize=1024)
def _own(macro: str, parameters: tuple[str, ...], body: str) -> tuple[Own, ...]:
    names = set(_own_names(body)) - set(parameters) - {macro}
    words = tuple(dict.fromkeys(_WORD.findall(body))) if names else ()
    return tuple(Own(name, macro, words) for name in sorted(names))


def _own_names(body: str) -> Iterator[str]:
    """The variables outside of a body's braces that it declares, or that it sets anywhere."""
    for match in _DECLARED.finditer(body):
        if body.count("{", 0, match.start(1)) == body.count("}", 0, match.start(1)):
            yield match[1]
    sets = {match[1] or match[2] for match in _SET.finditer(body)}
    yield from sets.difference(_TYPED.findall(body)) if sets else ()


@lru_cache(maxsize=1024)
def _sets_parameter(parameters: tuple[str, ...], body: str) -> bool:
    """Whether a macro's body gives one of its parameters a value."""
    names = {one.removesuffix("...").strip() or "__VA_ARGS__" for one in parameters}
    for match in _ASSIGNED.finditer(body):
        begin = max(body.rfind(border, 0, match.start()) for border in ";=!<>") + 1
        if not names.isdisjoint(_WORD.findall(body, begin, match.start())):
            return True
    return False


@lru_cache(maxsize=64)
def macros_by_variable(own: frozenset[Own]) -> dict[str, list[Own]]:
    """Which macros set a variable on their own."""
    found: dict[str, list[Own]] = {}
    for one in own:
        found.setdefault(one.name, []).append(one)
    return found
