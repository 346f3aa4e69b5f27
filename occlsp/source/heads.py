"""Function heads: from the first token of a declaration to its `{` or `;`.

One walk over the head's tokens finds template heads, attributes, macros and the declarator.
Real heads hold macros that no parser knows (`FOO_LAUNCH_BOUNDS(N)` before or after the
name, `INSTANTIATE(float)` without a semicolon before it), so that every `name(...)` is a
candidate for the declarator, and the choice is made at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from occlsp.source.brackets import match_angle, match_parenthesis, skip_blanks, split, strip
from occlsp.source.facts import TemplateParameter
from occlsp.source.text import Span

IDENTIFIER = rb"[A-Za-z_$\x80-\xff][0-9A-Za-z_$\x80-\xff]*"
_TOKEN = re.compile(rb"(" + IDENTIFIER + rb")|::|->|\[\[|[(<:={;\[]|==|[0-9][0-9A-Za-z_.']*|[^\s]")
_OPERATOR = re.compile(
    rb"operator\s*(?:\(\s*\)|\[\s*\]|(?:new|delete)\b\s*(?:\[\s*\])?|[^\s\w(]+|[\w\s:*&<>,]+)"
)
_MACRO_WORD = re.compile(IDENTIFIER)
_MACRO_NAME = re.compile(rb"_*[A-Z][A-Z0-9_]+")
_TYPE_PARAMETER = re.compile(
    rb"\s*(?:typename|class)\b\s*(\.\.\.)?\s*(" + IDENTIFIER + rb")?\s*\Z", re.S
)
_FUNCTION_POINTER = re.compile(rb"(.*\(\s*[*&][\s*&]*)(" + IDENTIFIER + rb")\s*(\).*)\Z", re.S)
_DEFAULT = re.compile(rb"(?<![=!<>+\-*/%&|^])=(?!=)")

_LONGEST_PARAMETER = 2000

WORD_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789" + bytes(
    range(0x80, 0x100)
)
_ELABORATED = frozenset((b"const", b"typename", b"struct", b"class", b"enum", b"volatile"))
_REST = re.compile(rb"\s*(?:(?:const|noexcept|override|final|volatile|&&?)\s*)*(?:\Z|:(?!:)|=|->)")
_PLAIN = re.compile(rb"[\w\s:*&\x80-\xff$]*\Z")
_LABELLED = re.compile(rb"(?<!:):(?!:)|\btemplate\b|\boperator\b|::\s*[*&]")
_QUALIFIED = re.compile(rb"((?:" + IDENTIFIER + rb"\s*::\s*)+)\Z")

ATTRIBUTES = frozenset(
    (
        b"__launch_bounds__",
        b"__cluster_dims__",
        b"__maxnreg__",
        b"__block_size__",
        b"__attribute__",
        b"__declspec",
        b"__align__",
        b"alignas",
    )
)
_NOT_NAMES = frozenset(
    (
        b"decltype",
        b"noexcept",
        b"requires",
        b"explicit",
        b"sizeof",
        b"throw",
        b"if",
        b"for",
        b"while",
        b"switch",
        b"return",
        b"static_assert",
        b"defined",
        b"asm",
        b"catch",
    )
)
_TYPE_WORDS = frozenset(
    (
        *(b"int", b"unsigned", b"signed", b"long", b"short", b"char", b"bool", b"float"),
        *(b"double", b"void", b"const", b"volatile", b"auto", b"typename", b"class", b"struct"),
        b"__restrict__",
    )
)


@dataclass(slots=True)
class Candidate:
    """A `name(...)` of a head."""

    name: Span
    qualifiers: tuple[str, ...]
    template_arguments: Span | None
    arguments: Span
    """Between the parentheses."""
    parameters: Span | None = None
    """Between the second parentheses of `NAME(a, b)(...)`."""


@dataclass(slots=True)
class Head:
    """What a head says; all spans are of the text that it was read from."""

    start: int
    """Of the declaration: behind what stands in front of a template head."""
    first: int
    """Where reading began: at the first token."""
    declarator: Candidate | None = None
    template_parameters: tuple[TemplateParameter, ...] = ()
    is_template: bool = False
    is_instantiation: bool = False
    """`template void f<int>(…)`."""
    attributes: list[tuple[bytes, Span, Span]] = field(default_factory=list)
    """Name, arguments, and all of it."""
    macro_calls: list[Span] = field(default_factory=list)
    words: set[bytes] = field(default_factory=set)
    """The identifiers in front of the declarator."""


class _Walk:
    """One pass over the tokens of a head."""

    def __init__(self, code: bytes, start: int, end: int, aliases: frozenset[bytes]) -> None:
        self.code = code
        self.end = end
        self.aliases = aliases
        first = skip_blanks(code, start, end)
        self.head = Head(first, first)
        self.candidates: list[Candidate] = []
        self.words: list[tuple[bytes, Span]] = []
        self.name: Span | None = None
        self.qualifiers: list[str] = []
        self.template_arguments: Span | None = None
        self.after_scope = False
        self.after_group = False
        self.done = False
        position = start
        while True:
            match = _TOKEN.search(code, position, end)
            if match is None:
                break
            position = self.take(match)

    def take(self, match: re.Match[bytes]) -> int:
        """Uses one token; where the next is looked for."""
        offset, position = match.span()
        if match[1] is not None:
            return self.take_word(match[1], offset, position)
        token = match[0]
        after_group, self.after_group = self.after_group, False
        if token == b"::":
            self.after_scope = True
            return position
        if token == b"(":
            return self.take_group(offset, after_group)
        if token == b"<" and self.name is not None:
            closing = match_angle(self.code, offset, self.end)
            if closing is None:
                self.name = None
                return position
            self.template_arguments = Span(offset + 1, closing)
            return closing + 1
        if token == b"[[":
            closing = self.code.find(b"]]", position, self.end)
            return position if closing < 0 else closing + 2
        if token == b":" and not self.candidates:
            self.head.start = skip_blanks(self.code, position, self.end)
        elif token in (b":", b"->", b"=") and self.candidates:
            self.done = True
        self.name = None
        self.after_scope = False
        return position

    def take_word(self, word: bytes, offset: int, position: int) -> int:
        code = self.code
        self.after_group = False
        if word == b"template" and not self.after_scope:
            return self.take_template(offset, position)
        if self.after_scope and self.name is not None:
            self.qualifiers.append(_text(code, self.name))
        else:
            self.qualifiers = []
        self.after_scope = False
        self.template_arguments = None
        if word == b"operator":
            match = _OPERATOR.match(code, offset, self.end)
            position = match.end() if match is not None else position
        if offset and code[offset - 1] == 0x7E:
            offset -= 1
        self.name = Span(offset, position)
        self.words.append((word, self.name))
        return position

    def take_template(self, offset: int, position: int) -> int:
        head = self.head
        opening = skip_blanks(self.code, position, self.end)
        if not head.is_template and not head.is_instantiation:
            # What stands in front of a template head is a macro without its semicolon.
            head.start = offset
            self.candidates.clear()
            self.words.clear()
            head.attributes.clear()
        if opening < self.end and self.code[opening] == 0x3C:
            closing = match_angle(self.code, opening, self.end)
            if closing is not None:
                head.is_template = True
                parameters = template_parameters(self.code, opening + 1, closing)
                head.template_parameters = (*head.template_parameters, *parameters)
                return closing + 1
        elif not head.is_template:
            head.is_instantiation = True
        return position

    def take_group(self, opening: int, after_group: bool) -> int:
        closing = match_parenthesis(self.code, opening, self.end)
        end = self.end if closing is None else closing
        arguments = Span(opening + 1, end)
        name, self.name = self.name, None
        if name is None:
            if after_group and self.candidates and not self.done:
                self.candidates[-1].parameters = arguments
            return end + 1
        word = self.code[name.start : name.end]
        whole = Span(name.start, min(end + 1, self.end))
        if word in ATTRIBUTES:
            self.head.attributes.append((word, arguments, whole))
        elif word in self.aliases:
            self.head.macro_calls.append(whole)
            following = skip_blanks(self.code, end + 1, self.end)
            if following < self.end and self.code[following] == 0x28:
                self.candidates.append(Candidate(strip(self.code, *arguments), (), None, arguments))
                self.after_group = True
        elif word not in _NOT_NAMES and not self.done:
            self.candidates.append(
                Candidate(name, tuple(self.qualifiers), self.template_arguments, arguments)
            )
            self.after_group = True
        return end + 1


def read_head(code: bytes, start: int, end: int, aliases: frozenset[bytes] = frozenset()) -> Head:
    """Reads the head `code[start:end]` of a function; `aliases` stand for `__global__`."""
    plain = _plain_head(code, start, end, aliases)
    if plain is not None:
        return plain
    walk = _Walk(code, start, end, aliases)
    head = walk.head
    index = _declarator(code, walk.candidates, aliases)
    if index is not None:
        head.declarator = walk.candidates[index]
        for other in walk.candidates[:index] + walk.candidates[index + 1 :]:
            head.macro_calls.append(Span(other.name.start, other.arguments.end + 1))
    limit = end if head.declarator is None else head.declarator.name.start
    head.words = {word for word, span in walk.words if span.start < limit}
    called = {span.start for span in head.macro_calls}
    for word, span in walk.words:
        is_macro = word in aliases or _MACRO_NAME.fullmatch(word) is not None
        if is_macro and span.start < limit and span.start not in called:
            head.macro_calls.append(span)
    head.macro_calls.sort()
    return head


def _plain_head(code: bytes, start: int, end: int, aliases: frozenset[bytes]) -> Head | None:
    """The head where it has the usual form `template<…> words name(…) qualifiers`; else None.

    Most heads have it, and the walk over all tokens costs several times as much.
    """
    first = skip_blanks(code, start, end)
    head = Head(first, first)
    while code.startswith(b"template", first):
        opening = skip_blanks(code, first + len(b"template"), end)
        closing = match_angle(code, opening, end) if code[opening : opening + 1] == b"<" else None
        if closing is None:
            return None
        head.is_template = True
        head.template_parameters = (
            *head.template_parameters,
            *template_parameters(code, opening + 1, closing),
        )
        first = skip_blanks(code, closing + 1, end)
    group = code.find(b"(", first, end)
    before = code[first:group]
    if group < 0 or _PLAIN.match(before) is None or _LABELLED.search(before) is not None:
        return None
    closing = match_parenthesis(code, group, end)
    named = before.rstrip()
    prefix = named.rstrip(WORD_BYTES)
    name = named[len(prefix) :]
    if closing is None or not name or name in _NOT_NAMES or name in ATTRIBUTES or name in aliases:
        return None
    if prefix.rstrip().endswith(b"operator") or name == b"operator":
        return None
    if _REST.match(code, closing + 1, end) is None:
        return None
    qualifiers = _QUALIFIED.search(prefix)
    scope = () if qualifiers is None else tuple(re.findall(IDENTIFIER, qualifiers[1]))
    place = first + len(prefix)
    head.declarator = Candidate(
        Span(place, place + len(name)),
        tuple(one.decode("utf-8", "replace") for one in scope),
        None,
        Span(group + 1, closing),
    )
    head.words = set(prefix.split())
    for match in _MACRO_WORD.finditer(prefix) if aliases or not prefix.islower() else ():
        if match[0] in aliases or _MACRO_NAME.fullmatch(match[0]) is not None:
            head.macro_calls.append(Span(first + match.start(), first + match.end()))
    return head


def _declarator(code: bytes, candidates: list[Candidate], aliases: frozenset[bytes]) -> int | None:
    """Which of the candidates names the function."""
    index = 0
    while index + 1 < len(candidates):
        this, following = candidates[index], candidates[index + 1]
        if this.parameters is not None or this.template_arguments is not None:
            return index
        if _is_macro(code, this) != _is_macro(code, following):
            if not _is_macro(code, this):
                return index
        elif looks_like_parameters(code, this.arguments) and not looks_like_parameters(
            code, following.arguments
        ):
            return index
        index += 1
    return index if candidates else None


def _is_macro(code: bytes, candidate: Candidate) -> bool:
    return _MACRO_NAME.fullmatch(code, *candidate.name) is not None


_ARITHMETIC = re.compile(rb"[^,=\[<(]*[*&+/%-]\s*\d")
"""`WARPS * 32`: no type has a number behind its operator."""


def looks_like_parameters(code: bytes, arguments: Span) -> bool:
    """Whether a parenthesis holds parameters (`int* p, T n`), not values (`256, 2`)."""
    piece = code[arguments.start : arguments.end].strip()
    if not piece or piece == b"void":
        return True
    if _ARITHMETIC.match(piece) is not None:
        return False
    return re.match(IDENTIFIER + rb"[\s*&:<].*?[A-Za-z_)>*&]", piece, re.S) is not None


def template_parameters(code: bytes, start: int, end: int) -> tuple[TemplateParameter, ...]:
    """The parameters between a template head's angles."""
    return tuple(_template_parameter(code, part) for part in split(code, start, end))


def _template_parameter(code: bytes, part: Span) -> TemplateParameter:
    declaration, default = split_default(code, part)
    value = _text(code, default) if default is not None else None
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


def _text(code: bytes, span: Span) -> str:
    return _clean(code[span.start : span.end])
