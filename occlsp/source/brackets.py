"""Matching of brackets and template angles in blanked text, each in one linear pass."""

from __future__ import annotations

import re
from itertools import pairwise

from occlsp.source.text import Span

_BRACKET = re.compile(rb"[()\[\]{}]")
_PARENTHESIS = re.compile(rb"[()]")
_VISIBLE = re.compile(rb"\S")
_ANGLE = re.compile(rb"->|<<|[<>]=|[<>()\[\]{};]")
_COMMA = re.compile(rb",")
_NESTING = re.compile(rb"[<(\[{]")
_FLAT = rb"[^()\[\]{}<>]*"
_SPLIT = re.compile(rb"\(%b\)|\[%b\]|\{%b\}|->|<<|[<>]=|[,<>()\[\]{}]" % (_FLAT, _FLAT, _FLAT))
"""Brackets with none in them are passed over at once."""
_WORD_END = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
_AFTER_TEMPLATE = re.compile(rb"\s*(?:[(:,){>\]*&}]|\Z|\.\.\.)")
_AFTER_TYPE = re.compile(rb"\s*(?:[(:,){>\]*&}\w]|\Z|\.\.\.)")
_NOT_IN_TEMPLATE = re.compile(rb"&&|\|\|")
_NOT_IN_TYPE = re.compile(rb"&&|\|\||(?<![=!<>])=(?!=)")
_LONGEST_TEMPLATE = 4096
"""Bytes between `<` and `>`: what is further apart are comparisons, and nesting stays linear."""
_CLOSERS = {0x29: 0x28, 0x5D: 0x5B, 0x7D: 0x7B}


def match_all(code: bytes, start: int, end: int) -> dict[int, int]:
    """Opening to closing bracket for all pairs of `code[start:end]`.

    A closer that nothing opened is passed over; a brace closes what is left open inside of
    it, and a parenthesis never closes a brace.
    """
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for match in _BRACKET.finditer(code, start, end):
        offset = match.start()
        character = code[offset]
        opener = _CLOSERS.get(character)
        if opener is None:
            stack.append(offset)
            continue
        if stack and code[stack[-1]] == opener:
            pairs[stack.pop()] = offset
            continue
        depth = len(stack) - 1
        while depth >= 0 and code[stack[depth]] != opener:
            if code[stack[depth]] == 0x7B:
                depth = -1
            depth -= 1
        if depth >= 0:
            pairs[stack[depth]] = offset
            del stack[depth:]
    return pairs


def match_near(code: bytes, opening: int, end: int) -> int | None:
    """Offset of what closes the bracket at `opening`; None where that is not before `end`, or where
    what is between does not pair up: then what stands in front decides (see `match_all`)."""
    open_ = []
    for match in _BRACKET.finditer(code, opening, end):
        offset = match.start()
        opener = _CLOSERS.get(code[offset])
        if opener is None:
            open_.append(code[offset])
        elif open_.pop() != opener:
            return None
        elif not open_:
            return offset
    return None


def match_parenthesis(code: bytes, opening: int, end: int) -> int | None:
    """Offset of the `)` that closes the `(` at `opening`, looked for before `end`."""
    depth = 0
    for match in _PARENTHESIS.finditer(code, opening, end):
        if code[match.start()] == 0x28:
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return match.start()
    return None


def match_angle(code: bytes, opening: int, end: int) -> int | None:
    """Offset of the `>` that closes the template's `<` at `opening`; None where it is none."""
    angles = 0
    nested = 0
    for match in _ANGLE.finditer(code, opening, end):
        token = code[match.start()]
        if match.end() - match.start() > 1:
            continue
        if token in b"([{":
            nested += 1
        elif token in b")]}":
            nested -= 1
            if nested < 0:
                return None
        elif nested:
            continue
        elif token == 0x3C:
            angles += 1
        elif token == 0x3E:
            angles -= 1
            if angles == 0:
                return match.start()
        else:
            return None
    return None


def split(code: bytes, start: int, end: int, *, declares: bool = False) -> list[Span]:
    """The parts of `code[start:end]` between commas outside of brackets and template angles.

    Parts are stripped; nothing but blanks has no parts. A list that `declares` parameters has names
    behind types: `Pair<A, B> pair`, which in another is no template.
    """
    if skip_blanks(code, start, end) == end:
        return []
    parts = split_at_commas(code, start, end, declares=declares)
    return [strip(code, part.start, part.end) for part in parts]


def split_at_commas(code: bytes, start: int, end: int, *, declares: bool = False) -> list[Span]:
    """As `split`, with the blanks around each part: literals are blanks in code."""
    if code.find(b",", start, end) < 0:
        return [Span(start, end)]
    edges = [start - 1, *_top_level_commas(code, start, end, declares=declares), end]
    return [Span(left + 1, right) for left, right in pairwise(edges)]


def skip_blanks(code: bytes, start: int, end: int) -> int:
    """The offset of the first token at or after `start`, or `end`."""
    match = _VISIBLE.search(code, start, end)
    return end if match is None else match.start()


def strip(code: bytes, start: int, end: int) -> Span:
    """`code[start:end]` without the blanks around it; empty stays at `start`."""
    stripped = code[start:end].lstrip()
    if not stripped:
        return Span(start, start)
    left = end - len(stripped) if end <= len(code) else len(code) - len(stripped)
    return Span(left, left + len(stripped.rstrip()))


def _top_level_commas(code: bytes, start: int, end: int, *, declares: bool) -> list[int]:
    if _NESTING.search(code, start, end) is None:
        return [match.start() for match in _COMMA.finditer(code, start, end)]
    # One stack for brackets and angles. An angle counts only once it is closed, so a comma
    # remembers the innermost open entry and is judged at the end.
    stack: list[list[int]] = []  # [offset, is closed template, parent's index in `entries`]
    entries: list[list[int]] = []
    commas: list[tuple[int, int]] = []
    for match in _SPLIT.finditer(code, start, end):
        offset = match.start()
        if match.end() - offset > 1:
            continue
        token = code[offset]
        if token == 0x2C:
            commas.append((offset, _index(stack)))
        elif token == 0x3C:
            if _may_open_template(code, offset, start):
                _push(stack, entries, offset, 0)
        elif token == 0x3E:
            if stack and code[stack[-1][0]] == 0x3C:
                entry = stack.pop()
                if offset - entry[0] < _LONGEST_TEMPLATE and _is_template(
                    code, entry[0], offset, end, declares=declares
                ):
                    entry[1] = 1
        elif token in b"([{":
            _push(stack, entries, offset, 1)
        else:
            opener = _CLOSERS[token]
            depth = len(stack) - 1
            while depth >= 0 and code[stack[depth][0]] != opener:
                depth -= 1
            if depth >= 0:
                del stack[depth:]
    # Entries are in the order of opening: a parent is judged before its children.
    enclosed: list[bool] = []
    for entry in entries:
        enclosed.append(bool(entry[1]) or (entry[2] >= 0 and enclosed[entry[2]]))
    return [offset for offset, index in commas if index < 0 or not enclosed[index]]


def _is_template(code: bytes, opening: int, closing: int, end: int, *, declares: bool) -> bool:
    if declares and _NOT_IN_TYPE.search(code, opening, closing) is None:
        return _AFTER_TYPE.match(code, closing + 1, end) is not None
    if closing + 1 < end and _AFTER_TEMPLATE.match(code, closing + 1, end) is None:
        return False
    return _NOT_IN_TEMPLATE.search(code, opening, closing) is None


def _index(stack: list[list[int]]) -> int:
    return stack[-1][3] if stack else -1


def _push(stack: list[list[int]], entries: list[list[int]], offset: int, closed: int) -> None:
    entry = [offset, closed, _index(stack), len(entries)]
    stack.append(entry)
    entries.append(entry)


def _may_open_template(code: bytes, offset: int, start: int) -> bool:
    before = offset - 1
    while before > start and code[before] in b" \t\n\r":
        before -= 1
    if before < start or code[before] not in _WORD_END:
        return False
    first = before
    while first > start and code[first - 1] in _WORD_END:
        first -= 1
    return code[first] not in b"0123456789"
