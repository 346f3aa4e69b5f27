"""Lines and positions of a text, independent of the protocol.

All offsets in this code base are byte offsets into the UTF-8 text of a file. Lines
end at ``\\n``, ``\\r\\n`` or ``\\r`` and nowhere else: form feed, NEL and U+2028 are
ordinary characters, as they are to compilers and to the protocol.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

from msgspec import Struct

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]

IDENTIFIER = rb"[A-Za-z_$\x80-\xff][0-9A-Za-z_$\x80-\xff]*"
WORD_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789" + bytes(
    range(0x80, 0x100)
)


class Span(Struct, frozen=True, order=True, gc=False):
    """A half-open range of byte offsets."""

    start: int
    end: int

    def __iter__(self) -> Iterator[int]:
        return iter((self.start, self.end))


def places_of(text: str, name: str) -> Iterator[int]:
    """Where a name stands in a text as a word of its own."""
    length = len(name)
    place = text.find(name)
    while place >= 0:
        end = place + length
        before, behind = text[place - 1 : place], text[end : end + 1]
        if not (behind.isalnum() or before.isalnum() or behind == "_" or before == "_"):
            yield place
        place = text.find(name, end)


class LineIndex:
    """Where the lines of a text start, and conversion of offsets to positions and back.

    Lines and characters are 0-based. Bytes that are not UTF-8 count as one character
    each, so that a position exists for every offset of every file.
    """

    __slots__ = ("starts", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        # Of bytes, unlike of strings, `splitlines` knows these three line ends alone.
        self.starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
        if text and not text.endswith((b"\n", b"\r")):
            self.starts.pop()

    def spliced(self, start: int, end: int, new: bytes) -> LineIndex:
        """That of the text with `new` in the place of its bytes from `start` to `end`."""
        text = self.text[:start] + new + self.text[end:]
        first = max(self.line_of(start) - 1, 0)
        behind = self.line_of(end) + 2
        if behind >= len(self.starts):
            return LineIndex(text)
        delta = len(text) - len(self.text)
        begin = self.starts[first]
        between = LineIndex(text[begin : self.starts[behind] + delta]).starts
        made = LineIndex.__new__(LineIndex)
        made.text = text
        made.starts = [
            *self.starts[:first],
            *[begin + offset for offset in between[:-1]],
            *[offset + delta for offset in self.starts[behind:]],
        ]
        return made

    def line_of(self, offset: int) -> int:
        """The 0-based line that holds the byte at `offset` (clamped to the text)."""
        return bisect_right(self.starts, max(0, min(offset, len(self.text)))) - 1

    def line_span(self, line: int) -> Span:
        """The bytes of a line without its line end; `line` is clamped to the text."""
        line = max(0, min(line, len(self.starts) - 1))
        start = self.starts[line]
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        while end > start and self.text[end - 1] in b"\r\n":
            end -= 1
        return Span(start, end)

    def position(self, offset: int, encoding: PositionEncoding = "utf-16") -> tuple[int, int]:
        """The 0-based line and character, in units of `encoding`, of a byte offset."""
        offset = max(0, min(offset, len(self.text)))
        line = self.line_of(offset)
        prefix = self.text[self.starts[line] : offset]
        return line, _units(prefix, encoding)

    def offset(self, line: int, character: int, encoding: PositionEncoding = "utf-16") -> int:
        """The byte offset of a position; past the end of a line is the line's end."""
        if line >= len(self.starts):
            return len(self.text)
        start, end = self.line_span(line)
        content = self.text[start:end]
        if encoding == "utf-8" or content.isascii():
            return start + min(max(character, 0), len(content))
        units = 0
        characters = content.decode("utf-8", "surrogateescape")
        for index, char in enumerate(characters):
            if units >= character:
                return start + len(characters[:index].encode("utf-8", "surrogateescape"))
            units += 2 if encoding == "utf-16" and ord(char) > 0xFFFF else 1
        return end


def _units(prefix: bytes, encoding: PositionEncoding) -> int:
    if encoding == "utf-8" or prefix.isascii():
        return len(prefix)
    characters = prefix.decode("utf-8", "surrogateescape")
    if encoding == "utf-32":
        return len(characters)
    return len(characters) + sum(ord(char) > 0xFFFF for char in characters)


def common_prefix(left: bytes, right: bytes) -> int:
    """How many bytes both begin with; a few comparisons of long pieces, not one of each byte."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(left: bytes, right: bytes, longest: int) -> int:
    """How many bytes both end with, at most `longest`."""
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        mine = left[len(left) - middle : len(left) - low]
        if mine == right[len(right) - middle : len(right) - low]:
            low = middle
        else:
            high = middle - 1
    return low
