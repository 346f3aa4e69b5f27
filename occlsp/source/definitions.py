"""What the bodies of `#define`s hold: kernels, launches, calls, and names for `__global__`.

A body is read by itself, as if it were a small file; its facts are then moved to where it
stands. `##` counts as a part of the names that it makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from occlsp.source import declarations, kernels, launches
from occlsp.source.directives import unfold
from occlsp.source.fragment import Fragment, moved
from occlsp.source.mask import mask
from occlsp.source.syntax import Define, FileSyntax, RawCall, RawKernel, RawLaunch, RawShared
from occlsp.source.text import Span

_INTERESTING = ("<<<", "__shared__", "Launch", "FuncSet", "Occupancy")
_PASTE = re.compile(rb"(?<!\s)\s*##\s*")
"""From the first of the blanks in front, so that a long run of them is gone through once."""
_MOST_ROUNDS = 8

Fact = TypeVar("Fact", RawKernel, RawLaunch, RawCall, RawShared)


class BodyFacts(Struct):
    """The facts of the bodies of all `#define`s."""

    kernels: list[RawKernel] = field(default_factory=list)
    launches: list[RawLaunch] = field(default_factory=list)
    calls: list[RawCall] = field(default_factory=list)
    shared: list[RawShared] = field(default_factory=list)


def body_fragment(text: bytes, define: Define) -> Fragment:
    """A macro's body with its continuations blanked."""
    body = unfold(text[define.body.span.start : define.body.span.end])
    code = _PASTE.sub(lambda match: b"$" * len(match[0]), mask(body))
    return Fragment(body, code, 0, len(body))


def alias_names(text: bytes, defines: Sequence[Define], known: frozenset[str]) -> frozenset[str]:
    """The macros whose body says `__global__`, or a name for it, and leaves the kernel open.

    `known` are names for `__global__` from elsewhere; they are not in the answer.
    """
    found: frozenset[str] = frozenset()
    if not defines:
        return found
    for _ in range(_MOST_ROUNDS):
        tokens = kernels.tokens(known | found)
        more = frozenset(
            define.name
            for define in _holding(tokens.words, defines)
            if define.name not in found
            and define.name != "__global__"
            and _is_alias(text, define, tokens)
        )
        if not more:
            break
        found |= more
    return found - known


def _is_alias(text: bytes, define: Define, tokens: kernels.Tokens) -> bool:
    fragment = body_fragment(text, define)
    token = tokens.first(fragment.code, 0, fragment.end)
    if token is None:
        return False
    borders = kernels.head_range(fragment, token, 0)
    return borders.terminator is None and kernels.is_bare(fragment, token, borders, tokens)


def _holding(words: Iterable[str], defines: Sequence[Define]) -> Iterator[Define]:
    """Those of some `#define`s whose bodies hold any of the words, parts of longer ones too."""
    bodies = "\0".join([define.body.text for define in defines])
    found = [word for word in words if word in bodies]
    for define in defines if found else ():
        if any(word in define.body.text for word in found):
            yield define


def read_bodies(text: bytes, defines: Sequence[Define], tokens: kernels.Tokens) -> BodyFacts:
    """The facts in the bodies of some `#define`s."""
    facts = BodyFacts()
    if not defines:
        return facts
    for define in _holding((*tokens.words, *_INTERESTING), defines):
        fragment = body_fragment(text, define)
        if define.name.encode() not in tokens.aliases:
            facts.kernels.extend(_placed(define, _kernels(fragment, tokens)))
        found, calls = _launching(fragment)
        facts.launches.extend(_placed(define, found))
        facts.calls.extend(_placed(define, calls))
        facts.shared.extend(_placed(define, _shared(fragment)))
    return facts


def read_inside(text: bytes) -> FileSyntax:
    """The launches and calls in a text that stands in a function, on one line."""
    code = mask(text)
    found, calls = _launching(Fragment(text, code, 0, len(text)))
    return FileSyntax(text, launches=tuple(found), calls=tuple(calls), masked=code, code=code)


def _launching(fragment: Fragment) -> tuple[list[RawLaunch], list[RawCall]]:
    """The launches in a piece of code, and the calls that set or ask."""
    calls = list(_calls(fragment))
    made = (launches.launch_of_call(fragment, call) for call in calls)
    found = [*_launches(fragment), *(launch for launch in made if launch is not None)]
    others = [call for call in calls if call.name not in launches.LAUNCH_APIS]
    return sorted(found, key=lambda one: one.span), others


def _placed(define: Define, found: Iterable[Fact]) -> Iterator[Fact]:
    for fact in found:
        here = cast(Fact, moved(fact, define.body.span.start))
        yield replace(here, in_macro=define.name, conditions=define.conditions)


def _kernels(fragment: Fragment, tokens: kernels.Tokens) -> Iterator[RawKernel]:
    floor = 0
    found = tokens.find(fragment.code, 0, fragment.end)
    for token, following in zip_longest(found, found[1:]):
        if token < floor:
            continue
        borders = kernels.head_range(fragment, token, floor, following)
        kernel = kernels.kernel_at(fragment, token, borders, tokens)
        if kernel is None:
            continue
        floor = borders.end
        body, end = None, borders.end
        if borders.terminator is not None:
            end += 1
            if fragment.code[borders.terminator] == 0x7B:
                end = (fragment.closed(borders.terminator) or fragment.end - 1) + 1
                body = Span(borders.terminator, end)
        yield replace(kernel, body=body, span=Span(kernel.span.start, end))


def _launches(fragment: Fragment) -> Iterator[RawLaunch]:
    for token in launches.chevrons(fragment.code, 0, fragment.end):
        launch = launches.chevron_launch(fragment, token)
        if launch is not None:
            yield launch


def _calls(fragment: Fragment) -> Iterator[RawCall]:
    for name in launches.api_names(fragment.code, 0, fragment.end):
        call = launches.call_at(fragment, name)
        if call is not None:
            yield call


def _shared(fragment: Fragment) -> Iterator[RawShared]:
    for token in declarations.shared_tokens(fragment.code, 0, fragment.end):
        yield from declarations.shared_variables(fragment, token)
