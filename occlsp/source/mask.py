"""Comments, strings, characters and raw strings, found in one pass and blanked.

Everything else in the source analysis reads the blanked text, so that a `<<<` in a string
or an apostrophe in a comment is never mistaken for code. Blanks have the length of what
they replace: an offset means the same in both texts. Line ends inside a comment are blanked
too, because a comment does not end a directive's line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE_COMMENT = re.compile(rb"//[^\n\r\\]*(?:\\(?:\r\n|.)?[^\n\r\\]*)*", re.S)
_STRING = re.compile(rb'"[^"\\\n\r]*(?:\\(?:\r\n|.)[^"\\\n\r]*)*"?', re.S)
_CHARACTER = re.compile(rb"'[^'\\\n\r]*(?:\\(?:\r\n|.)[^'\\\n\r]*)*'?", re.S)
_HEX_DIGITS = frozenset(b"0123456789abcdefABCDEF")
_RAW_STRING = re.compile(rb'"([^ ()\\\t\v\f\n\r"]{0,16})\(')
_RAW_PREFIX = re.compile(rb"(?<![0-9A-Za-z_])(?:u8|[uUL])?R\Z")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = b" " * 4096
_CODE = re.compile(rb"\S")
_LOOKS_BACK = 4
"""Bytes in front of a quote that tell what it opens."""


def blank(length: int) -> bytes:
    """So many spaces."""
    return _BLANKS[:length] if length <= len(_BLANKS) else b" " * length


def mask(text: bytes) -> bytes:
    """`text` with comments and literals blanked, of the same length."""
    begin = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
    masked = bytearray(text)
    masked[:begin] = b" " * begin
    for start, end, _ in literals(text, begin):
        masked[start:end] = b" " * (end - start)
    return bytes(masked)


def mask_again(
    text: bytes, old: bytes, old_masked: bytes, start: int, old_end: int, most: int | None = None
) -> bytes | None:
    """`mask(text)`, where `old_masked` is that of `old`, from which `text` differs in what stood
    in `old[start:old_end]` alone: read from the code before until both are in code again; None
    where they are not `most` bytes behind that."""
    delta = len(text) - len(old)
    code = len(old_masked[:start].rstrip()) - 1  # what is not blank is in no literal
    begin = len(old_masked[: max(code - _LOOKS_BACK, 0)].rstrip()) - 1
    if begin < len(_BYTE_ORDER_MARK):
        begin = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
        pieces = [blank(begin)]
    else:
        pieces = [old_masked[:begin]]
    again = old_end + delta + _LOOKS_BACK
    far = len(text) if most is None else again + most
    last = begin
    for opening, end, _ in literals(text, begin):
        in_both = _CODE.search(old_masked, max(last, again) - delta, opening - delta)
        if in_both is not None:
            pieces += (text[last : in_both.start() + delta], old_masked[in_both.start() :])
            return b"".join(pieces)
        if opening > far:
            return None
        pieces += (text[last:opening], blank(end - opening))
        last = end
    pieces.append(text[last:])
    return b"".join(pieces)


def blank_comments(text: bytes) -> bytes:
    """`text`, which starts outside of any literal, with its comments blanked."""
    if b"//" not in text and b"/*" not in text:
        return text
    last = 0
    pieces = []
    for start, end, is_comment in literals(text, 0):
        if is_comment:
            pieces.append(text[last:start])
            pieces.append(blank(end - start))
            last = end
    pieces.append(text[last:])
    return b"".join(pieces)


def literals(text: bytes, position: int) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each comment and literal, and whether it is a comment.

    The next place of each opener is looked for by itself and kept: searching for single bytes
    is several times faster than searching for one of a set.
    """
    find = text.find
    never = len(text)
    is_plain = b"\r" not in text
    comment = block = string = character = -1
    while True:
        if comment < position:
            comment = find(b"//", position)
            comment = never if comment < 0 else comment
        if block < position:
            block = find(b"/*", position)
            block = never if block < 0 else block
        if string < position:
            string = find(b'"', position)
            string = never if string < 0 else string
        if character < position:
            character = find(b"'", position)
            character = never if character < 0 else character
        start = min(comment, block, string, character)
        if start == never:
            return
        if start == block:
            position = find(b"*/", start + 2) + 2
            position = never if position < 2 else position
            yield start, position, True
        elif start == comment:
            position = find(b"\n", start) if is_plain else -1
            if position < 0 or text[position - 1] == 0x5C:
                position = _match_end(_LINE_COMMENT, text, start)
            yield start, position, True
        elif start == string:
            raw = _raw_string(text, start)
            start, position = raw or (start, _match_end(_STRING, text, start))
            yield start, position, False
        elif start and text[start - 1] in _HEX_DIGITS:  # a digit separator: 1'024
            position = start + 1
        else:
            position = _match_end(_CHARACTER, text, start)
            yield start, position, False


def _match_end(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    match = pattern.match(text, start)
    assert match is not None
    return match.end()


def _raw_string(text: bytes, quote: int) -> tuple[int, int] | None:
    """The raw string whose quote is at `quote`, its prefix included; None where it is none.

    One that is never closed goes to the end of the text, as it does for a compiler.
    """
    if not quote or text[quote - 1] != 0x52:  # R
        return None
    low = max(0, quote - 4)
    prefix = _RAW_PREFIX.search(text[low:quote])
    opening = _RAW_STRING.match(text, quote)
    if prefix is None or opening is None:
        return None
    closing = b")" + opening[1] + b'"'
    end = text.find(closing, opening.end())
    return low + prefix.start(), len(text) if end < 0 else end + len(closing)
