"""Uses of macros around launches: `DISPATCH(type, T, { kernel<T><<<grid, block>>>(p); })`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from occlsp.source.collect import Collector, Origin
from occlsp.source.expansion import Expansion, Use, arguments_end, dispatching_macros, is_lost
from occlsp.source.state import Body
from occlsp.source.syntax import RawCall, RawLaunch
from occlsp.source.text import Span

_BRACKETS = re.compile(rb"[()]")
_LAST = re.compile(rb"\b([A-Za-z_]\w*)\s*\Z")


def with_outer(
    origin: Origin, index: int, launches: list[RawLaunch], within: list[Use]
) -> list[Use]:
    """Uses of macros in a function, and those in whose arguments its launches stand."""
    positions = [launch.span.start for launch in launches if launch.in_macro is None]
    found = list(within)
    if positions:
        for outer in around(origin, origin.syntax.functions[index].body, positions):
            _take(found, outer)
    return found


def around(origin: Origin, body: Span, positions: list[int]) -> list[Use]:
    """The outermost macros of the view in whose arguments the launches of a body stand."""
    code = origin.syntax.code
    pending = sorted(positions, reverse=True)
    if _in_no_bracket(code, body.start, pending):
        return []
    opened: list[int] = []
    found: dict[int, Use | None] = {}
    for match in _BRACKETS.finditer(code, body.start, pending[0]):
        while pending and pending[-1] < match.start():
            pending.pop()
            for opening in opened:
                if opening not in found:
                    found[opening] = _use_at(origin, opening, body.start)
        if match.group() == b"(":
            opened.append(match.start())
        elif opened:
            opened.pop()
    for opening in opened if pending else ():
        if opening not in found:
            found[opening] = _use_at(origin, opening, body.start)
    return [use for _, use in sorted(found.items()) if use is not None]


def _in_no_bracket(code: bytes, start: int, positions: list[int]) -> bool:
    """Whether all that opens before some positions, the last first, is closed there: it is for
    most launches. Branches of an `#if` may close what they did not open."""
    if code.find(b"#", start, positions[0]) >= 0:
        return False
    for end in reversed(positions):
        if code.count(b"(", start, end) != code.count(b")", start, end):
            return False
        start = end
    return True


def _use_at(origin: Origin, opening: int, start: int) -> Use | None:
    """The use of a macro that makes blocks or constants, whose bracket opens here."""
    code = origin.syntax.code
    word = _LAST.search(code, max(start, opening - 80), opening)
    if word is None or not dispatching_macros(origin.view, [word[1].decode()]):
        return None
    return Use(word[1].decode(), Span(*word.span(1)), arguments_end(code, word.end(1)))


def _take(taken: list[Use], use: Use) -> None:
    """Adds a use, in place of those that stand inside of it."""
    if any(other.span.start <= use.span.start < other.end for other in taken):
        return
    taken[:] = [u for u in taken if not use.span.start <= u.span.start < use.end]
    taken.append(use)


def unfolded(
    collector: Collector, uses: Sequence[Use], items: Sequence[RawLaunch | RawCall], body: Body
) -> list[Use]:
    """The uses that can be expanded: where one expands to more than is read, or leaves out what it
    is given, those inside of it. What stands in no other is read as it is written."""
    found: list[Use] = []
    pending = list(uses)
    while pending:
        use = pending.pop()
        inside = [
            item.span.start
            for item in items
            if item.in_macro is None and use.span.end < item.span.start < use.end
        ]
        made = collector.expanded(use, body).expansions
        is_read = bool(made) or not is_lost(use, made, collector.origin.view)
        if is_read and (not inside or any(_holds(one, inside) for one in made)):
            _take(found, use)
        elif inside:
            collector.facts.is_complete = False
            inner: list[Use] = []
            for other in around(collector.origin, Span(use.span.end, use.end), inside):
                _take(inner, other)
            pending += inner
        else:
            found.append(use)  # what it launches is its own
    return sorted(found, key=lambda use: use.span)


def _holds(expansion: Expansion, places: Sequence[int]) -> bool:
    """Whether anything that is written at some places is in an expansion."""
    return any(expansion.offsets[item.span.start] in places for item in expansion.items)
