"""What a launch launches: the expression in front of `<<<`, and the name in an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator

from occlsp.source.brackets import match_angle, match_parenthesis, skip_blanks, split, strip
from occlsp.source.fragment import Fragment
from occlsp.source.text import IDENTIFIER, WORD_BYTES, Span

_KEYWORDS = frozenset(
    (b"return", b"else", b"do", b"case", b"goto", b"co_return", b"co_yield", b"throw", b"new")
)
_STATEMENTS = frozenset((b"if", b"for", b"while", b"switch", *_KEYWORDS))
_CAST = re.compile(
    rb"\(\s*(?:const\s+)?(?:unsigned\s+)?" + IDENTIFIER + rb"(?:\s+const)?\s*[*&]+\s*\)"
)
_FUNCTION_CAST = re.compile(rb"\(\s*[\w:<>\s]+\(\s*\*\s*\)\s*\([^()]*\)\s*\)")
_NAMED_CAST = re.compile(rb"(?:reinterpret|static|const)_cast\s*(<)")
_WRAPPER = re.compile(rb"(?:HIP_KERNEL_NAME|std\s*::\s*(?:move|addressof))\s*(\()")
_MARKS = re.compile(rb"[<>()\[\]{};]")
_ENDING = WORD_BYTES.replace(b"$", b">")
"""What a name may end with, template arguments included."""
_LONGEST_WORD = 256
_PIECE = 256
"""Bytes in which marks are looked for at once."""


def callee_before(fragment: Fragment, offset: int) -> Span | None:
    """The postfix expression that ends in front of `offset`."""
    code = fragment.code
    end = position = fragment.text_before(offset)
    start = position
    while position > fragment.start:
        last = code[position - 1]
        if last == 0x3E:  # >
            opening = _template_opening(fragment, position - 1)
            if opening is None:
                break
            position = fragment.text_before(opening)
            continue
        if last in b")]":
            opening = fragment.opening.get(position - 1)
            if opening is None:
                break
            start = opening
            position = fragment.text_before(opening)
            if last == 0x29 and not _is_called(fragment, position):
                break
            continue
        word = _word_before(code, position)
        if not word or word in _KEYWORDS:
            break
        start = position - len(word)
        position = fragment.text_before(start)
        connector = code[max(position - 2, fragment.start) : position]
        if connector in (b"::", b"->"):
            position = fragment.text_before(position - 2)
            if connector == b"::":
                start = min(start, _scope_start(fragment, start))
                if position == fragment.start or not _ends_name(code[position - 1]):
                    break
        elif connector.endswith(b".") and not connector.endswith(b".."):
            position = fragment.text_before(position - 1)
        elif connector.endswith(b"template"[-2:]) and _word_before(code, position) == b"template":
            position = fragment.text_before(position - len(b"template"))
            if code[max(position - 2, 0) : position] not in (b"->", b"::"):
                position -= 1
            else:
                position -= 2
            position = fragment.text_before(position)
        else:
            break
    return Span(start, end) if start < end else None


def _scope_start(fragment: Fragment, word: int) -> int:
    return fragment.code.rfind(b"::", fragment.start, word)


def _ends_name(character: int) -> bool:
    return character in _ENDING


def _word_before(code: bytes, position: int) -> bytes:
    piece = code[max(0, position - _LONGEST_WORD) : position]
    return piece[len(piece.rstrip(WORD_BYTES)) :]


def _is_called(fragment: Fragment, position: int) -> bool:
    """Whether what ends at `position` is called by the parenthesis after it."""
    if position <= fragment.start:
        return False
    last = fragment.code[position - 1]
    if last == 0x29:  # `if (n) (*fp)<<<…`: the first parenthesis is the statement's
        opening = fragment.opening.get(position - 1)
        if opening is None:
            return False
        word = _word_before(fragment.code, fragment.text_before(opening))
        return word not in _STATEMENTS
    if last in b"]>":
        return True
    return _ends_name(last) and _word_before(fragment.code, position) not in _STATEMENTS


def _template_opening(fragment: Fragment, closing: int) -> int | None:
    """The `<` of the template argument list that ends with the `>` at `closing`."""
    code, low = fragment.code, fragment.start
    depth = 0
    behind = closing + 1
    for position in _marks_before(code, low, behind):
        if position >= behind:
            continue  # in brackets, or the first half of `<<`
        behind = position
        character = code[position]
        if character == 0x3E:
            depth += position == low or code[position - 1] != 0x2D
        elif character == 0x3C:
            if position > low and code[position - 1] == 0x3C:
                behind -= 1
            else:
                before = fragment.text_before(position)
                if before > low and _ends_name(code[before - 1]) and not _is_number(code, before):
                    depth -= 1
                    if depth == 0:
                        return position
        elif character in b")]}":
            opening = fragment.opening.get(position)
            if opening is None:
                return None
            behind = opening
        elif character in b"({;":
            return None
    return None


def _marks_before(code: bytes, start: int, end: int) -> Iterator[int]:
    """The angles, brackets and semicolons in `code[start:end]`, the last one first."""
    while end > start:
        begin = max(start, end - _PIECE)
        yield from reversed([match.start() for match in _MARKS.finditer(code, begin, end)])
        end = begin


def _is_number(code: bytes, end: int) -> bool:
    piece = code[max(0, end - 64) : end]
    return piece[len(piece.rstrip(_ENDING)) :][:1].isdigit()


def callee_name(fragment: Fragment, callee: Span) -> tuple[Span, tuple[Span, ...]]:
    """The name in a callee, without casts, `&`, parentheses and template arguments, which
    come second."""
    code = fragment.code
    span = _bare(code, strip(code, callee.start, callee.end))
    if span.end > span.start and code[span.end - 1] == 0x3E:
        inner = Fragment(fragment.text, code, span.start, span.end)
        opening = _template_opening(inner, span.end - 1)
        if opening is not None:
            name = strip(code, span.start, opening)
            return _without_scope(code, name), tuple(split(code, opening + 1, span.end - 1))
    return _without_scope(code, span), ()


def _without_scope(code: bytes, name: Span) -> Span:
    if code.startswith(b"::", name.start):
        return strip(code, name.start + 2, name.end)
    return name


def _bare(code: bytes, span: Span) -> Span:
    for _ in range(8):
        start, end = span.start, span.end
        if start >= end:
            return span
        if code[start] in b"&*":
            span = strip(code, start + 1, end)
            continue
        cast = _CAST.match(code, start, end) or _FUNCTION_CAST.match(code, start, end)
        if cast is not None and cast.end() < end:
            span = strip(code, cast.end(), end)
            continue
        opening = start if code[start] == 0x28 else _wrapped(code, start, end)
        if opening is None or match_parenthesis(code, opening, end) != end - 1:
            return span
        span = strip(code, opening + 1, end - 1)
    return span


def _wrapped(code: bytes, start: int, end: int) -> int | None:
    """The `(` of a named cast or of a macro that passes its argument through."""
    wrapper = _WRAPPER.match(code, start, end)
    if wrapper is not None:
        return wrapper.start(1)
    cast = _NAMED_CAST.match(code, start, end)
    if cast is None:
        return None
    closing = match_angle(code, cast.start(1), end)
    if closing is None:
        return None
    opening = skip_blanks(code, closing + 1, end)
    return opening if opening < end and code[opening] == 0x28 else None
