"""Constants, enumerators, `__shared__` variables and type aliases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from occlsp.source.brackets import (
    match_all,
    match_angle,
    match_parenthesis,
    skip_blanks,
    split,
    strip,
)
from occlsp.source.facts import TemplateParameter
from occlsp.source.fragment import (
    Fragment,
    is_word_at,
    matches,
    occurrences,
    text_before,
    written,
)
from occlsp.source.heads import ATTRIBUTES, looks_like_parameters
from occlsp.source.parameters import template_parameters
from occlsp.source.syntax import Condition, Constant, Expr, RawShared, TypeAlias
from occlsp.source.text import IDENTIFIER, Span

_TOKEN = re.compile(rb"(" + IDENTIFIER + rb")|::|\[\[|\S")
_SPECIFIERS = frozenset(
    (
        *(b"static", b"constexpr", b"constinit", b"inline", b"extern", b"volatile", b"register"),
        *(b"thread_local", b"__shared__", b"__device__", b"__host__", b"__constant__"),
        *(b"__managed__", b"mutable", b"const"),
    )
)
_TEMPLATE = re.compile(rb"\btemplate\s*(<)")
_LABEL = re.compile(rb"\s*(?:public|private|protected)\s*:(?!:)")
_MACRO_USE = re.compile(rb"\s*(" + IDENTIFIER + rb")[ \t]*(?:(\()|(?=\n|\r))")
"""A macro's use with nothing before it: what stands on a line behind it is no part of it."""
_LINE_END = re.compile(rb"[ \t]*[\n\r]")
_LONE_MACRO = re.compile(rb"[A-Z][A-Z0-9_]*_[A-Z0-9_]*")
_USING = re.compile(
    rb"(?<![\w$\x80-\xff])using\s+(?P<name>" + IDENTIFIER + rb")\s*(?:\[\[[^\]]*\]\]\s*)?"
    rb"=\s*(?P<target>[^;{}]+);"
)
_TYPEDEF = re.compile(
    rb"(?<![\w$\x80-\xff])typedef\s+(?P<target>[^;{}()]+[\s*&>])(?P<name>" + IDENTIFIER + rb")\s*;"
)
_DECLARATOR = re.compile(rb"[\s*&]*(" + IDENTIFIER + rb")\s*")
_ENUMERATOR = re.compile(rb"\s*(" + IDENTIFIER + rb")\s*(?:\[\[[^\]]*\]\]\s*)?(=)?")
_UNDERLYING = re.compile(rb"(?<!:):(?!:)\s*([^{]+)\Z")
_LOOK_BACK = 4096
_LONGEST = 16384
"""Bytes of a declaration: what is longer is a table or is not closed."""


class Declaration:
    """`specifiers type name[extents] = value, …;`, read from a fragment."""

    def __init__(self, fragment: Fragment, start: int, end: int) -> None:
        self.fragment = fragment
        self.end = end
        self.specifiers: set[bytes] = set()
        self.alignment: Span | None = None
        self.template_head: Span | None = None
        self.type = ""
        self.first: int | None = None
        """Where the first declarator's name begins."""
        self._read(start)

    def _read(self, start: int) -> None:
        code, end = self.fragment.code, self.end
        words: list[tuple[bytes, int, int]] = []
        position = start
        while (match := _TOKEN.search(code, position, end)) is not None:
            offset, position = match.span()
            token = match[0]
            if match[1] is None:
                if token in (b"=", b"(", b"[", b",", b"{"):
                    break
                if token == b"<" and words:
                    closing = match_angle(code, offset, end)
                    if closing is None:
                        return
                    position = closing + 1
                elif token == b"[[":
                    position = max(code.find(b"]]", position, end) + 2, position)
                elif token not in (b"::", b":", b"*", b"&"):
                    return
                continue
            opening = skip_blanks(code, position, end)
            if token in ATTRIBUTES and opening < end and code[opening] == 0x28:
                closing = match_parenthesis(code, opening, end)
                if closing is None:
                    return
                if token in (b"__align__", b"alignas"):
                    self.alignment = Span(opening + 1, closing)
                position = closing + 1
            elif token == b"template" and opening < end and code[opening] == 0x3C:
                closing = match_angle(code, opening, end)
                if closing is None:
                    return
                self.template_head = Span(opening + 1, closing)
                position = closing + 1
                words.clear()
            else:
                words.append((token, offset, position))
        self._settle(words)

    def _settle(self, words: list[tuple[bytes, int, int]]) -> None:
        code = self.fragment.code
        self.specifiers = {word for word, _, _ in words if word in _SPECIFIERS}
        typed = [word for word in words if word[0] not in _SPECIFIERS or word[0] == b"volatile"]
        if len(typed) < 2 and not (typed and self.specifiers & {b"constexpr"}):
            return
        self.first = typed[-1][1]
        left = typed[0][1]
        piece = code[left : self.first]
        for word in _SPECIFIERS & self.specifiers:
            piece = re.sub(rb"\b" + word + rb"\b", b" ", piece)
        if self.alignment is not None:
            piece = re.sub(rb"\b(?:__align__|alignas)\s*\([^()]*\)", b" ", piece)
        self.type = " ".join(piece.decode("utf-8", "replace").split())

    def declarators(self) -> Iterator[tuple[Span, tuple[Expr, ...], Span | None]]:
        """Name, extents and initialiser (braces or parentheses left out) of each."""
        if self.first is None:
            return
        code = self.fragment.code
        for part in split(code, self.first, self.end):
            match = _DECLARATOR.match(code, *part)
            if match is None:
                continue
            extents: list[Expr] = []
            position = match.end()
            while position < part.end and code[position] == 0x5B:
                closing = match_all(code, position, part.end).get(position)
                if closing is None:
                    break
                extents.append(self.fragment.expression(position + 1, closing))
                position = strip(code, closing + 1, part.end).start
            yield Span(*match.span(1)), tuple(extents), self._value(position, part.end)

    def _value(self, position: int, end: int) -> Span | None:
        code = self.fragment.code
        if position >= end:
            return None
        if code[position] == 0x3D:
            value = strip(code, position + 1, end)
            return value if value.end > value.start else None
        if code[position] in b"{(":
            closing = match_all(code, position, end).get(position)
            if closing is not None:
                inside = Span(position + 1, closing)
                if code[position] == 0x28 and looks_like_parameters(code, inside):
                    return None
                return strip(code, *inside)
        return None


def constants(
    fragment: Fragment,
    scope: tuple[str, ...],
    heads: tuple[bytes, ...],
    conditions: tuple[Condition, ...],
) -> Iterator[tuple[int, Constant]]:
    """The constants that a declaration makes, each with its offset.

    `heads` are those of the class templates that it is in.
    """
    start, end = fragment.start, fragment.end
    if end - start > _LONGEST:
        return
    while (label := _LABEL.match(fragment.code, start, end)) is not None:
        start = label.end()
    declaration = Declaration(fragment, behind_macros(fragment.code, start, end), end)
    if not declaration.specifiers & {b"const", b"constexpr"}:
        return
    parameters = class_parameters(heads)
    if declaration.template_head is not None:
        parameters += template_parameters(fragment.code, *declaration.template_head)
    for name, extents, value in declaration.declarators():
        if value is None or extents:
            continue
        constant = Constant(
            fragment.words(*name),
            scope,
            declaration.type,
            fragment.expression(*value),
            b"constexpr" in declaration.specifiers,
            parameters,
            conditions=conditions,
        )
        yield name.start, constant


def behind_macros(code: bytes, start: int, end: int) -> int:
    """Behind the uses of macros, with no semicolons, that stand on lines before a declaration."""
    while (use := _MACRO_USE.match(code, start, end)) is not None:
        behind = use.end()
        if use[2] is None:
            if _LONE_MACRO.fullmatch(use[1]) is None:
                break
        elif use[1] in ATTRIBUTES or (closing := match_parenthesis(code, behind - 1, end)) is None:
            break
        else:
            behind = closing + 1
        if _LINE_END.match(code, behind, end) is None:
            break
        start = behind
    return start


@lru_cache(maxsize=1024)
def class_parameters(heads: tuple[bytes, ...]) -> tuple[TemplateParameter, ...]:
    """The template parameters of class heads, outermost first."""
    found: tuple[TemplateParameter, ...] = ()
    for head in heads:
        position = 0
        while (template := _TEMPLATE.search(head, position)) is not None:
            closing = match_angle(head, template.start(1), len(head))
            if closing is None:
                break
            found += template_parameters(head, template.end(1), closing)
            position = closing
    return found


def enumerators(
    fragment: Fragment,
    opening: int,
    scope: tuple[str, ...],
    heads: tuple[bytes, ...],
    conditions: tuple[Condition, ...],
) -> Iterator[tuple[int, Constant]]:
    """The enumerators from the brace at `opening` to the fragment's end, each with its offset.

    All but the first have 0 as `previous`, until their places in the file are known.
    """
    code, end = fragment.code, fragment.end
    underlying = _UNDERLYING.search(code, fragment.start, opening)
    kind = fragment.words(*underlying.span(1)) if underlying is not None else "int"
    last = end - 1 if code[end - 1 : end] == b"}" else end
    previous = None
    parameters = class_parameters(heads)
    for part in split(code, opening + 1, last):
        match = _ENUMERATOR.match(code, *part)
        if match is None:
            continue
        value = fragment.expression(match.end(), part.end) if match[2] else None
        name = fragment.words(*match.span(1))
        yield (
            match.start(1),
            Constant(
                name,
                scope,
                kind,
                value,
                is_constexpr=True,
                template_parameters=parameters,
                previous=previous,
                conditions=conditions,
            ),
        )
        previous = 0


def shared_tokens(code: bytes, start: int, end: int) -> Iterator[int]:
    """Offsets of the `__shared__` in `code[start:end]`."""
    for offset in occurrences(code, b"__shared__", start, end):
        if not is_word_at(code, offset - 1) and not is_word_at(code, offset + len(b"__shared__")):
            yield offset


def shared_variables(fragment: Fragment, token: int) -> Iterator[RawShared]:
    """The variables of the declaration that holds the `__shared__` at `token`."""
    code = fragment.code
    low = max(fragment.start, token - _LOOK_BACK)
    start = max(max(code.rfind(mark, low, token) for mark in (b";", b"{", b"}")) + 1, low)
    if code.count(b"(", start, token) > code.count(b")", start, token):
        return  # a parameter
    end = code.find(b";", token, min(fragment.end, token + _LONGEST))
    if end < 0:
        return
    brace = code.find(b"{", token, end)
    kind = None
    if brace >= 0 and re.search(rb"\b(?:struct|union|class)\b", code[token:brace]):
        closing = fragment.closed(brace)
        if closing is None:
            return
        end = code.find(b";", closing, min(fragment.end, closing + _LONGEST))
        if end < 0:
            return
        kind = fragment.words(token + len(b"__shared__"), closing + 1)
        declaration = Declaration(fragment, token, brace)
        declaration.first, declaration.end = strip(code, closing + 1, end)
    else:
        declaration = Declaration(fragment, start, end)
    alignment = declaration.alignment
    before = code[start:token]
    for name, extents, _ in declaration.declarators():
        yield RawShared(
            fragment.words(*name),
            kind or declaration.type,
            extents,
            re.search(rb"\bextern\b", before) is not None or b"extern" in declaration.specifiers,
            None if alignment is None else fragment.expression(*alignment),
            Span(token, end),
        )


def alias_matches(code: bytes, start: int, end: int) -> list[re.Match[bytes]]:
    """The type aliases in `code[start:end]`, ascending: their groups are `name` and `target`."""
    found = [*matches(_USING, b"using", code, start, end)]
    found += matches(_TYPEDEF, b"typedef", code, start, end)
    return sorted(found, key=re.Match.start)


def alias_of(
    code: bytes,
    start: int,
    match: re.Match[bytes],
    scope: tuple[str, ...],
    function: int | None,
) -> TypeAlias:
    """The alias that was matched; its template head stands behind `start`."""
    token, end = match.span()
    name, target = match.group("name", "target")
    before = text_before(code, start, token)
    parameters: tuple[TemplateParameter, ...] = ()
    if before > start and code[before - 1] == 0x3E:
        low = max(start, before - _LOOK_BACK)
        for head in _TEMPLATE.finditer(code, low, before):
            if match_angle(code, head.start(1), before) == before - 1:
                parameters = template_parameters(code, head.end(1), before - 1)
    named = name.decode("utf-8", "replace")
    return TypeAlias(named, scope, written(target), parameters, Span(token, end), function)
