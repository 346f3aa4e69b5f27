"""Comments, strings, characters and raw strings, found in one pass and blanked.

Everything else in the source analysis reads the blanked text, so that a `<<<` in a string
or an apostrophe in a comment is never mistaken for code. Blanks have the length of what
they replace: an offset means the same in both texts. Line ends inside a comment are blanked
too, because a comment does not end a directive's line.
"""

from __future__ import annotations

import re

_LITERAL = re.compile(
    rb"""//[^\n\r\\]*(?:\\(?:\r\n|.)?[^\n\r\\]*)*"""
    rb"""|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/|\Z)"""
    rb"""|"[^"\\\n\r]*(?:\\(?:\r\n|.)[^"\\\n\r]*)*"?"""
    rb"""|(?<![0-9A-Fa-f])'[^'\\\n\r]*(?:\\(?:\r\n|.)[^'\\\n\r]*)*'?""",
    re.S,
)
"""The look-behind keeps digit separators (`1'024`) from opening a character."""

_RAW_STRING = re.compile(rb'"([^ ()\\\t\v\f\n\r"]{0,16})\(')
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = b" " * 4096


def blank(length: int) -> bytes:
    """So many spaces."""
    return _BLANKS[:length] if length <= len(_BLANKS) else b" " * length


def mask(text: bytes) -> bytes:
    """`text` with comments and literals blanked, of the same length."""
    last = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
    pieces = [blank(last)]
    position: int | None = last
    while position is not None:
        restart = None
        for match in _LITERAL.finditer(text, position):
            start, end = match.span()
            if start and text[start] == 0x22 and text[start - 1] == 0x52:  # R"
                raw_end = _raw_string_end(text, start)
                if raw_end is not None:
                    end = restart = raw_end
            pieces.append(text[last:start])
            pieces.append(blank(end - start))
            last = end
            if restart is not None:
                break
        position = restart
    pieces.append(text[last:])
    return b"".join(pieces)


def blank_comments(text: bytes) -> bytes:
    """`text`, which starts outside of any literal, with its comments blanked."""
    if b"//" not in text and b"/*" not in text:
        return text
    return _LITERAL.sub(
        lambda match: blank(match.end() - match.start()) if match[0][:1] == b"/" else match[0],
        text,
    )


def _raw_string_end(text: bytes, quote: int) -> int | None:
    """Where the raw string ends whose quote is at `quote`; None where it is none.

    One that is never closed goes to the end of the text, as it does for a compiler.
    """
    before = text[max(0, quote - 4) : quote]
    if re.search(rb"(?<![0-9A-Za-z_])(?:u8|[uUL])?R\Z", before) is None:
        return None
    opening = _RAW_STRING.match(text, quote)
    if opening is None:
        return None
    closing = b")" + opening[1] + b'"'
    end = text.find(closing, opening.end())
    return len(text) if end < 0 else end + len(closing)
