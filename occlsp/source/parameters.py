"""Parameters of functions and templates, read from between their brackets."""

from __future__ import annotations

import re
from functools import lru_cache

from occlsp.source.brackets import split, strip
from occlsp.source.facts import TemplateParameter
from occlsp.source.text import IDENTIFIER, WORD_BYTES, Span

_TYPE_PARAMETER = re.compile(
    rb"\s*(?:typename|class)\b\s*(\.\.\.)?\s*(" + IDENTIFIER + rb")?\s*\Z", re.S
)
_FUNCTION_POINTER = re.compile(rb"(.*\(\s*[*&][\s*&]*)(" + IDENTIFIER + rb")\s*(\).*)\Z", re.S)
_DEFAULT = re.compile(rb"(?<![=!<>+\-*/%&|^])=(?!=)")
_LONGEST_PARAMETER = 2000
_ELABORATED = frozenset((b"const", b"typename", b"struct", b"class", b"enum", b"volatile"))
_TYPE_WORDS = frozenset(
    (
        *(b"int", b"unsigned", b"signed", b"long", b"short", b"char", b"bool", b"float"),
        *(b"double", b"void", b"const", b"volatile", b"auto", b"typename", b"class", b"struct"),
        b"__restrict__",
    )
)


def template_parameters(code: bytes, start: int, end: int) -> tuple[TemplateParameter, ...]:
    """The parameters between a template head's angles."""
    return tuple(_template_parameter(code, part) for part in split(code, start, end, declares=True))


def _template_parameter(code: bytes, part: Span) -> TemplateParameter:
    declaration, default = split_default(code, part)
    value = spelled(code, default) if default is not None else None
    piece = code[declaration.start : declaration.end]
    match = _TYPE_PARAMETER.match(piece)
    if match is not None:
        name = match[2].decode("utf-8", "replace") if match[2] else None
        return TemplateParameter("typename", name, value, match[1] is not None)
    kind, name, is_pack = _type_and_name(piece)
    return TemplateParameter(
        "template" if piece.startswith(b"template") else kind, name, value, is_pack
    )


def split_default(code: bytes, part: Span) -> tuple[Span, Span | None]:
    """Splits `int n = 4` at its `=`."""
    if code.find(b"=", part.start, part.end) < 0:
        return part, None
    for match in _DEFAULT.finditer(code, part.start, part.end):
        opened = code.count(b"(", part.start, match.start())
        if opened == code.count(b")", part.start, match.start()):
            return strip(code, part.start, match.start()), strip(code, match.end(), part.end)
        break
    return part, None


def parameter(code: bytes, part: Span) -> tuple[str, str | None, Span | None]:
    """Type, name and default's span of one function parameter."""
    declaration, default = split_default(code, part)
    kind, name, is_pack = _type_and_name(code[declaration.start : declaration.end])
    return (f"{kind}..." if is_pack else kind), name, default


@lru_cache(maxsize=2048)  # the same few stand in most lists
def _type_and_name(piece: bytes) -> tuple[str, str | None, bool]:
    if len(piece) > _LONGEST_PARAMETER:
        return _clean(piece[:_LONGEST_PARAMETER]), None, False
    if b"(" in piece:
        pointer = _FUNCTION_POINTER.match(piece)
        if pointer is not None:
            return _clean(pointer[1] + pointer[3]), pointer[2].decode("utf-8", "replace"), False
    declared = piece.rstrip()
    extents = b""
    if declared.endswith(b"]") and b"[" in declared:
        opening = declared.index(b"[")
        declared, extents = declared[:opening].rstrip(), declared[opening:]
    before = declared.rstrip(WORD_BYTES)
    name = declared[len(before) :]
    before = before.rstrip()
    is_pack = before.endswith(b"...")
    before = before.removesuffix(b"...").rstrip()
    is_named = name and before and not name[:1].isdigit() and name not in _TYPE_WORDS
    if is_named and not before.endswith(b"::") and before not in _ELABORATED:
        return _clean(before + extents), name.decode("utf-8", "replace"), is_pack
    is_pack = declared.endswith(b"...")
    return _clean(declared.removesuffix(b"...") + extents), None, is_pack


def _clean(piece: bytes) -> str:
    return " ".join(piece.decode("utf-8", "replace").split())


def spelled(code: bytes, span: Span) -> str:
    """The code of a span with single blanks."""
    return _clean(code[span.start : span.end])
