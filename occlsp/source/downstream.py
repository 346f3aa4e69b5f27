"""Which functions of an edited file may be called with something else than before.

What a function is given is told by the functions that name it, and what these give on by those
that name them. So an edit says something of the functions that are named where it is, or in a
function whose own calls it may change, and so on; all others are called as they were.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING

from occlsp.source.affected import texts
from occlsp.source.fragment import words
from occlsp.source.incremental import Edit, is_same_macros
from occlsp.source.passing import callables
from occlsp.source.syntax import Define, FileSyntax, Function
from occlsp.source.text import Span
from occlsp.source.view import scope_names

if TYPE_CHECKING:
    from occlsp.source.reuse import Memory

_MARKS = (b";", b"{", b"}")
MAX_VALUES = 32
"""Names of values that mean something else: with more, all may do so."""


class Downstream:
    """What an edit that leads from one reading of a file to another may reach by calls."""

    def __init__(
        self,
        before: Memory,
        now: Memory,
        edit: Edit,
        affected: AbstractSet[str],
        classes: Collection[str],
    ) -> None:
        """`classes` are the class templates in view."""
        self._before, self._now = before, now
        self._old, self._new = before.syntax, now.syntax
        self._edit = edit
        self._affected = affected
        self._classes = classes
        self._was: list[Span] = []
        self._is: list[Span] = []
        """What says something else, in the old text and in the new one."""
        self._clean: set[str] = set()
        """Names that nothing leads to from there."""
        self._has_calling = False
        """Whether a template is among it that may call what it is handed."""
        self.is_all = self._changes_more() or not self._look()
        """Whether it may be any of them."""

    def reaches(self, function: Function) -> bool:
        """Whether a function may be given something else."""
        return self.is_all or any(map(self._leads_to, self._names(function)))

    def _names(self, function: Function) -> list[str]:
        """The names that tell what a function is given: its own, and its class templates'."""
        scope = scope_names(function.qualified_name)[:-1]
        return [function.name, *(name for name in scope if name in self._classes)]

    def _leads_to(self, name: str) -> bool:
        """Whether what says something else names a function, or one that hands on to it."""
        pending, seen = [name], {name}
        while pending:
            one = pending.pop()
            if one in self._clean:
                continue
            if _any_in(self._was, self._before.mentions.places(one)):
                return True
            places = self._now.mentions.places(one)
            if _any_in(self._is, places):
                return True
            handed = [place for place in places if self._is_handed(place, len(one))]
            if handed and self._has_calling:
                return True
            more = {name for place in places for name in self._names_around(place)}
            more.update(self._calling if handed else ())
            pending += more - seen
            seen |= more
        self._clean |= seen
        return False

    def _names_around(self, place: int) -> Iterable[str]:
        """What decides what the function around a place is given."""
        index = self._new.function_at(place)
        if index is None or place < self._new.functions[index].body.start:
            return ()
        return self._names(self._new.functions[index])

    def _is_handed(self, place: int, length: int) -> bool:
        """Whether the name at a place may be an argument: it is not called there, for certain."""
        return self._new.code[place + length : place + length + 1] != b"("

    @cached_property
    def _calling(self) -> list[str]:
        """The templates that may call what they are handed."""
        return [one.name for one in self._new.functions if one.is_template and callables(one)]

    def _changes_more(self) -> bool:
        """Whether the edit changes more than what functions say of each other by their names."""
        old, new = self._before.index, self._now.index
        if old.class_templates != new.class_templates or old.specialised != new.specialised:
            return True
        if old.bases != new.bases or old.rebased != new.rebased:
            return True
        if self._changes_macros():
            return True
        if self._may_reach_others():
            return True
        return any(
            one.forwards is not None or one.calls
            for name in self._affected
            for index in (old, new)
            for one in index.functions.get(name, ())
        )

    def _changes_macros(self) -> bool:
        """Whether macros differ that something names, besides what defines them."""
        old, new = self._old.defines, self._new.defines
        if is_same_macros(old, new):
            return False
        was, now = Counter(map(_text_of, old)), Counter(map(_text_of, new))
        names = {text[0] for text in (was - now) + (now - was)}
        alike = [[one for one in defines if one.name not in names] for defines in (old, new)]
        return not is_same_macros(*alike) or any(
            sum(1 for _ in words(syntax.masked, name.encode()))
            > sum(one.name == name for one in syntax.defines)
            for syntax in (self._old, self._new)
            for name in names
        )

    def _may_reach_others(self) -> bool:
        """Whether a header names what was asked for in other files: they may hand on to it."""
        before = self._before
        if before.told is None or not before.told.asks_callers:
            return False
        own = {*before.index.functions, *self._now.index.functions, *self._classes}
        return any(
            memory.mentions.places(name)
            for name in before.asked.names - own
            for memory in (before, self._now)
        )

    def _look(self) -> bool:
        """Finds what says something else; False where that may be anything."""
        front, behind = self._around()
        old = self._old.functions[front : len(self._old.functions) - behind]
        new = self._new.functions[front : len(self._new.functions) - behind]
        self._has_calling = any(one.is_template and callables(one) for one in (*old, *new))
        was, now = _between(self._old, front, behind), _between(self._new, front, behind)
        changed = _template_names(old) ^ _template_names(new)
        if changed:
            functions = self._new.functions
            changed -= _template_names(functions[:front])
            changed -= _template_names(functions[len(functions) - behind :])
        if any(self._is_outside(name, now) for name in changed):
            return False  # a class template may be named with it, as with a parameter
        self._was += _without_heads(was, old, new)
        self._is += _without_heads(now, new, old)
        values = [name for name in self._affected if self._is_value(name)]
        if len(values) > MAX_VALUES:
            return False
        for name in values:
            self._is += self._outside(name)
        for function in self._new.functions if self._affected else ():
            span = self._edit.before(function.span)
            for kept in self._before.calls.get(span, ()):
                if not kept.words.isdisjoint(self._affected):
                    self._is.append(function.body)
        return True

    def _around(self) -> tuple[int, int]:
        """How many functions in front of the edit and behind it are as they were."""
        old, new, edit = self._old.functions, self._new.functions, self._edit
        most = min(len(old), len(new))
        front = 0
        while front < most and new[front].span.end <= edit.start:
            if not _is_same(old[front], new[front], 0):
                break
            front += 1
        behind = 0
        while (
            behind < most - front
            and new[-1 - behind].span.start >= edit.new_end
            and _is_same(old[-1 - behind], new[-1 - behind], edit.delta)
        ):
            behind += 1
        return front, behind

    def _is_outside(self, name: str, span: Span) -> bool:
        """Whether a name stands anywhere but in a piece of the text."""
        places = words(self._new.code, name.encode())
        return any(not span.start <= place < span.end for place in places)

    def _outside(self, name: str) -> Iterator[Span]:
        """The statements outside of functions that name something."""
        code = self._new.code
        for place in words(code, name.encode()):
            index = self._new.function_at(place)
            if index is None or place < self._new.functions[index].body.start:
                start = max(code.rfind(mark, 0, place) for mark in _MARKS)
                ends = [end for mark in _MARKS if (end := code.find(mark, place)) >= 0]
                yield Span(start + 1, min(ends, default=len(code)))

    def _is_value(self, name: str) -> bool:
        """Whether a name may decide what an argument is, now or before."""
        return any(
            name in index.constants
            or name in index.aliases
            or name in index.defines
            or any(one.body is not None for one in index.functions.get(name, ()))
            for index in (self._before.index, self._now.index)
        )


def _text_of(one: Define) -> tuple[str, tuple[str, ...] | None, str]:
    return one.name, one.parameters, one.body.text


def _between(syntax: FileSyntax, front: int, behind: int) -> Span:
    """The text between some functions in front and some behind."""
    functions = syntax.functions
    start = max((one.span.end for one in functions[:front]), default=0)
    last = len(functions) - behind
    return Span(start, functions[last].span.start if behind else len(syntax.code))


def _without_heads(
    span: Span, functions: Sequence[Function], others: Sequence[Function]
) -> Iterator[Span]:
    """A piece of text, but for the heads of functions that say the same in the other text."""
    start = span.start
    for one in functions:
        if any(_is_same_head(one, other) for other in others):
            yield Span(start, one.span.start)
            start = max(one.body.start, start)
    yield Span(start, span.end)


def _any_in(spans: Sequence[Span], places: Sequence[int]) -> bool:
    """Whether any of some places, in their order, is in a piece of text."""
    for start, end in spans:
        index = bisect_left(places, start)
        if index < len(places) and places[index] < end:
            return True
    return False


def _is_same(old: Function, new: Function, delta: int) -> bool:
    """Whether a function stands where another did, but for the edit in front of it, and says so."""
    return old is new or (
        new.span.start - old.span.start == delta == new.span.end - old.span.end
        and new.body.start - old.body.start == delta
        and _is_same_head(old, new)
    )


def _is_same_head(old: Function, new: Function) -> bool:
    return (
        old.name == new.name
        and old.qualified_name == new.qualified_name
        and old.listed_text == new.listed_text
        and old.listed_code == new.listed_code
        and old.template_heads == new.template_heads
        and old.is_constexpr == new.is_constexpr
        and old.in_macro == new.in_macro
        and texts(old.conditions) == texts(new.conditions)
    )


def _template_names(functions: Iterable[Function]) -> set[str]:
    heads = [one for one in functions if one.template_heads]
    return {p.name for one in heads for p in one.template_parameters if p.name}
