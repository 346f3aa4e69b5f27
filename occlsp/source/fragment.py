"""A piece of a file with what is needed to read facts in it, and facts moved to another place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from msgspec.structs import replace

from occlsp.source.brackets import match_all, match_near, split_at_commas
from occlsp.source.syntax import Expr, expression
from occlsp.source.text import Span

_WORD = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789" + bytes(range(0x80, 0x100))
)
_NEAR = 4096
"""Bytes behind a bracket in which most are closed."""
_LONGEST = 16384
"""Bytes of a declaration: what is longer is a table or is not closed."""


class Fragment:
    """Text and code of the same length; facts read in it have offsets into it.

    `start` and `end` bound what may be looked at.
    """

    def __init__(self, text: bytes, code: bytes, start: int, end: int) -> None:
        self.text = text
        self.code = code
        self.start = start
        self.end = end

    @cached_property
    def closing(self) -> dict[int, int]:
        """Opening to closing bracket."""
        return match_all(self.code, self.start, self.end)

    @cached_property
    def opening(self) -> dict[int, int]:
        """Closing to opening bracket."""
        return {closing: opening for opening, closing in self.closing.items()}

    def closed(self, opening: int) -> int | None:
        """Where the bracket at an offset is closed; None: nowhere."""
        if "closing" not in self.__dict__:
            found = match_near(self.code, opening, min(opening + _NEAR, self.end))
            if found is not None:
                return found
        return self.closing.get(opening)

    def expression(self, start: int, end: int) -> Expr:
        """The text between two offsets without the blanks around it."""
        return expression(self.text, self.code, start, end)

    def expressions(self, start: int, end: int) -> tuple[Expr, ...]:
        """The parts between the commas of an argument list."""
        parts = split_at_commas(self.code, start, end)
        found = tuple([expression(self.text, self.code, one.start, one.end) for one in parts])
        return found if len(found) > 1 or found[0].text else ()

    def words(self, start: int, end: int) -> str:
        """The code between two offsets with single blanks."""
        return written(self.code[start:end])

    def text_before(self, offset: int) -> int:
        """The end of the last token before `offset`, or the fragment's start."""
        return text_before(self.code, self.start, offset)


def text_before(code: bytes, start: int, offset: int) -> int:
    """The end of the last token in `code[start:offset]`; `start` for none."""
    while offset > start:
        low = max(start, offset - 256)
        piece = code[low:offset].rstrip()
        if piece:
            return low + len(piece)
        offset = low
    return start


def written(code: bytes) -> str:
    """Code with single blanks."""
    return " ".join(code.decode("utf-8", "replace").split()).replace("$$", "##")


def occurrences(code: bytes, word: bytes, start: int, end: int) -> Iterator[int]:
    """Offsets of `word` in `code[start:end]`, as part of longer words too.

    Several times faster than a regular expression with alternatives.
    """
    offset = code.find(word, start, end)
    while offset >= 0:
        yield offset
        offset = code.find(word, offset + len(word), end)


def matches(
    pattern: re.Pattern[bytes], word: bytes, code: bytes, start: int = 0, end: int | None = None
) -> Iterator[re.Match[bytes]]:
    """As `pattern.finditer(code, start, end)`, of a pattern that begins with a word: in a fraction
    of the time, where the word is rare. What is longer than a declaration is none."""
    end = len(code) if end is None else end
    offset = code.find(word, start, end)
    while offset >= 0:
        match = pattern.match(code, offset, min(offset + _LONGEST, end))
        if match is not None:
            yield match
        offset = code.find(word, offset + len(word) if match is None else match.end(), end)


def words(code: bytes, name: bytes) -> Iterator[int]:
    """Where a text holds a name as a word of its own."""
    for offset in occurrences(code, name, 0, len(code)):
        if not is_word_at(code, offset - 1) and not is_word_at(code, offset + len(name)):
            yield offset


def is_word_at(code: bytes, offset: int) -> bool:
    """Whether the byte at an offset can be part of an identifier; False outside of the code."""
    return 0 <= offset < len(code) and code[offset] in _WORD


def moved(fact: object, delta: int) -> object:
    """The same fact with its offsets (conditions' excepted) moved by `delta`."""
    if isinstance(fact, Span):
        return Span(fact.start + delta, fact.end + delta)
    if isinstance(fact, Expr):
        return Expr(fact.text, Span(fact.span.start + delta, fact.span.end + delta))
    if isinstance(fact, tuple):
        return tuple(moved(one, delta) for one in fact) if fact else fact
    fields = getattr(fact, "__struct_fields__", None)
    if fields is None:
        return fact
    changes = {}
    for name in fields:
        value = getattr(fact, name)
        if isinstance(value, tuple | Expr | Span) and value and name != "conditions":
            changes[name] = moved(value, delta)
    return replace(fact, **changes)  # type: ignore[type-var]
