"""Function heads: from the first token of a declaration to its `{` or `;`.

One walk over the head's tokens finds template heads, attributes, macros and the declarator.
Real heads hold macros that no parser knows (`FOO_LAUNCH_BOUNDS(N)` before or after the
name, `INSTANTIATE(float)` without a semicolon before it), so that every `name(...)` is a
candidate for the declarator, and the choice is made at the end.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from occlsp.source.brackets import match_angle, match_parenthesis, skip_blanks, strip
from occlsp.source.parameters import spelled
from occlsp.source.text import IDENTIFIER, WORD_BYTES, Span

_TOKEN = re.compile(rb"(" + IDENTIFIER + rb")|::|->|\[\[|[(<:={;\[]|==|[0-9][0-9A-Za-z_.']*|[^\s]")
_OPERATOR = re.compile(
    rb"operator\s*(?:\(\s*\)|\[\s*\]|(?:new|delete)\b\s*(?:\[\s*\])?|[^\s\w(]+|[\w\s:*&<>,]+)"
)
_MACRO_WORD = re.compile(IDENTIFIER)
_MACRO_NAME = re.compile(rb"_*[A-Z][A-Z0-9_]+")

_ANGLES = rb"<[^<>;{}()\[\]\-]*(?:<[^<>;{}()\[\]\-]*>[^<>;{}()\[\]\-]*)*>"
_PLAIN = re.compile(
    rb"\s*(?!\s)(?:(?:public|private|protected)\s*:(?!:)\s*(?!\s))?"
    rb"(?:(template)\s*(" + _ANGLES + rb")(?!=)\s*(?!\s))?"
    rb"([\w\s*&$\x80-\xff]*(?:(?:::(?!\s*[*&])|" + _ANGLES + rb")[\w\s*&$\x80-\xff]*)*)\Z"
)
"""The usual form up to the name: `template<…> words`."""
_LISTED = re.compile(rb"\([^()]*(?:\([^()]*\)[^()]*)*\)")
_PLAIN_END = re.compile(
    rb"\s*(?:(?:const|noexcept|override|final|volatile)\s*)*(?::(?!:)[^={}]*[^={},\s]\s*)?\Z"
)
"""What stands behind them there: `qualifiers : initialisers`."""
_CALLED = re.compile(rb"\(\s*\)\s*(?=\()")
_CALL_OPERATOR = re.compile(rb"operator\s*\(\s*\)\s*\Z")
_QUALIFIER = rb"(" + IDENTIFIER + rb")\s*(?:" + _ANGLES + rb"\s*)?::\s*"
_QUALIFIED = re.compile(rb"(?:" + _QUALIFIER + rb")+\Z")
_EACH_QUALIFIER = re.compile(_QUALIFIER)

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
_NOT_PLAIN_NAMES = _NOT_NAMES | ATTRIBUTES | {b"operator", b"do", b"else", b"try", b"case"}
_NOT_PLAIN = frozenset(
    (
        *(b"class", b"struct", b"union", b"enum", b"namespace"),
        *(b"if", b"for", b"while", b"switch", b"do", b"else", b"try", b"catch", b"return", b"case"),
    )
)


class Plain(Struct, frozen=True):
    """A head of the usual form; all offsets are into the text that it was read from."""

    said: re.Match[bytes]
    """Groups: `template`, its parameters in angles, what stands before the name."""
    name: bytes
    listed: Span
    """Between the parentheses of its own parameters."""

    @property
    def start(self) -> int:
        """Where it begins, behind what is no part of it."""
        return self.said.start(3 if self.said[1] is None else 1)


class Candidate(Struct):
    """A `name(...)` of a head."""

    name: Span
    qualifiers: tuple[str, ...]
    template_arguments: Span | None
    arguments: Span
    """Between the parentheses."""
    parameters: Span | None = None
    """Between the second parentheses of `NAME(a, b)(...)`."""


class Head(Struct):
    """What a head says; all spans are of the text that it was read from."""

    start: int
    """Of the declaration: behind what stands in front of a template head."""
    first: int
    """Where reading began: at the first token."""
    declarator: Candidate | None = None
    angles: list[Span] = field(default_factory=list)
    """Between those of its template heads: their parameters."""
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
        if token == b"~":  # a destructor's
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
            self.qualifiers.append(spelled(code, self.name))
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
                head.angles.append(Span(opening + 1, closing))
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
    plain = plain_head(code, start, end)
    if plain is not None and plain.name not in aliases and b"<" not in plain.said[3]:
        return _of_plain(plain, aliases)
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


def plain_head(code: bytes, start: int, end: int) -> Plain | None:
    """The head `code[start:end]` of a function where it has the usual form; None: it has not, or
    is no function's.

    Most heads have it, and the walk over all tokens costs several times as much.
    """
    listed = _listed(code, start, end)
    if listed is None or _PLAIN_END.match(code, listed.end + 1, end) is None:
        return None
    words, name = _last_name(code[start : listed.start - 1].rstrip())
    match = _PLAIN.match(code, start, start + len(words))
    if match is None or name in _NOT_PLAIN_NAMES or not name or name[:1].isdigit():
        return None
    before = match[3]
    if b"operator" in before or b"template" in before or not _NOT_PLAIN.isdisjoint(before.split()):
        return None
    return Plain(match, name, listed)


def _listed(code: bytes, start: int, end: int) -> Span | None:
    """Between the first parentheses of a head; the second of an `operator()`."""
    opening = code.find(b"(", start, end)
    if opening < 0:
        return None
    if code[start:opening].rstrip().endswith(b"operator"):
        call = _CALLED.match(code, opening, end)
        opening = opening if call is None else call.end()
    closing = code.find(b")", opening, end)
    if code.find(b"(", opening + 1, end if closing < 0 else closing) >= 0:
        match = _LISTED.match(code, opening, end)
        closing = -1 if match is None else match.end() - 1
    return None if closing < 0 else Span(opening + 1, closing)


def _last_name(code: bytes) -> tuple[bytes, bytes]:
    """What stands before the name that a code ends with, and the name."""
    words = code.rstrip(WORD_BYTES)
    if words.endswith(b"~"):
        words = words[:-1]
    elif len(words) == len(code) and (operator := _CALL_OPERATOR.search(code)) is not None:
        words = code[: operator.start()]
    return words, code[len(words) :]


def qualifiers(before: bytes) -> tuple[str, ...]:
    """The namespaces and classes that stand in front of a name, given all in front of it."""
    match = _QUALIFIED.search(before) if b"::" in before else None
    names = () if match is None else _EACH_QUALIFIER.findall(match[0])
    return tuple([name.decode("utf-8", "replace") for name in names])


def _of_plain(plain: Plain, aliases: frozenset[bytes]) -> Head:
    """A head of the usual form."""
    match = plain.said
    before, base = match[3], match.start(3)
    head = Head(plain.start, plain.start)
    if match[1] is not None:
        head.is_template = True
        head.angles.append(Span(match.start(2) + 1, match.end(2) - 1))
    name = Span(match.end(), match.end() + len(plain.name))
    head.declarator = Candidate(name, qualifiers(before), None, plain.listed)
    head.words = set(before.split())
    for word in _MACRO_WORD.finditer(before) if aliases or not before.islower() else ():
        if word[0] in aliases or _MACRO_NAME.fullmatch(word[0]) is not None:
            head.macro_calls.append(Span(base + word.start(), base + word.end()))
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
