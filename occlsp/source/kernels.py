"""Kernels: every `__global__` token, or alias of it, with the declaration around it.

The token is the anchor, not the structure: a head is read between the declaration borders
around its token whatever the rest of the file looks like.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from occlsp.source.brackets import match_parenthesis, skip_blanks, split, strip
from occlsp.source.fragment import Fragment, is_word_at, occurrences
from occlsp.source.heads import Candidate, Head, looks_like_parameters, read_head
from occlsp.source.parameters import parameter, template_parameters
from occlsp.source.syntax import Expr, RawKernel
from occlsp.source.text import Span

_GNU = re.compile(rb"__attribute__\s*\(\(\s*(?:__)?global(?:__)?\s*\)\)")
_LAUNCH_BOUNDS = re.compile(rb"\blaunch_bounds\s*(\()")
_HEAD_END = re.compile(rb"[;{]")
_LOOK_BACK = _LONGEST = 8192
_LONGEST_OPEN = 512
"""Bytes that are read of a head that nothing ends: half-typed."""
_MOST_BRACES = 64


class Tokens(Struct, frozen=True):
    """What stands for `__global__`."""

    aliases: frozenset[bytes]

    @property
    def words(self) -> tuple[str, ...]:
        """What a text holds that has any of the tokens."""
        aliases = [name.decode("utf-8", "replace") for name in self.aliases]
        return "__global__", "__attribute__", *aliases

    def find(self, code: bytes, start: int, end: int) -> list[int]:
        """Offsets of the tokens in `code[start:end]`, ascending."""
        found = [
            offset
            for word in (b"__global__", *self.aliases)
            for offset in occurrences(code, word, start, end)
            if not is_word_at(code, offset - 1) and not is_word_at(code, offset + len(word))
        ]
        attributes = occurrences(code, b"__attribute__", start, end)
        found.extend(offset for offset in attributes if _GNU.match(code, offset, end))
        return sorted(found)

    def first(self, code: bytes, start: int, end: int) -> int | None:
        """The first of the tokens."""
        return next(iter(self.find(code, start, end)), None)


def tokens(aliases: frozenset[str]) -> Tokens:
    """The tokens to look for, given the names of macros that expand to `__global__`."""
    return Tokens(frozenset(name.encode() for name in aliases))


class HeadRange(Struct):
    """Where the head of the kernel at a token begins and ends."""

    start: int
    end: int
    terminator: int | None
    """Offset of its `{` or `;`."""


def head_range(
    fragment: Fragment, token: int, floor: int, following: int | None = None
) -> HeadRange:
    """The borders of the declaration around `token`; `floor` ends the one before, `following` is
    the next token."""
    code = fragment.code
    low = max(fragment.start, floor, token - _LOOK_BACK)
    start = max(code.rfind(border, low, token) for border in (b";", b"{", b"}")) + 1
    if start <= low and low > max(fragment.start, floor):
        low = max(low, token - _LONGEST_OPEN)  # nothing ends the declaration before it
    start = max(start, low)
    limit = min(fragment.end, token + _LONGEST)
    if following is not None and code.find(b"(", token, following) >= 0:
        limit = min(following, limit)
    for count, match in enumerate(_HEAD_END.finditer(code, token, limit)):
        offset = match.start()
        if match[0] == b"{" and count < _MOST_BRACES:
            opened = code.count(b"(", token, offset) - code.count(b")", token, offset)
            if opened > 0:
                continue
        return HeadRange(start, offset, offset)
    return HeadRange(start, min(limit, token + _LONGEST_OPEN), None)


def kernel_at(
    fragment: Fragment,
    token: int,
    borders: HeadRange,
    pattern: Tokens,
    known: Head | None = None,
) -> RawKernel | None:
    """The kernel that a token makes, without scope, body and conditions; None where the
    declaration around it is no kernel's."""
    code = fragment.code
    head = known
    if head is None or head.first != skip_blanks(code, borders.start, borders.end):
        head = read_head(code, borders.start, borders.end, pattern.aliases)
    declarator = head.declarator
    if declarator is None or declarator.arguments.end < token:
        return None
    if declarator.name.start < token and not _is_named_by_alias(head, declarator, token):
        return None
    name = fragment.text[declarator.name.start : declarator.name.end]
    from_macro = None
    arguments = declarator.arguments
    name_span = declarator.name
    if declarator.parameters is not None:
        arguments = declarator.parameters
    if declarator.parameters is not None and declarator.name.start < declarator.arguments.start:
        from_macro = name.decode("utf-8", "replace")
        name_span = Span(declarator.name.start, declarator.arguments.end + 1)
        name = fragment.text[name_span.start : name_span.end]
    template_arguments = declarator.template_arguments
    parameters = [one for span in head.angles for one in template_parameters(code, *span)]
    return RawKernel(
        name=" ".join(name.decode("utf-8", "replace").split()),
        name_span=name_span,
        scope=declarator.qualifiers,
        span=Span(head.start, borders.end),
        body=None,
        parameters=parameter_types(code, arguments),
        template_parameters=tuple(parameters),
        template_arguments=None
        if template_arguments is None
        else fragment.expressions(*template_arguments),
        is_template=head.is_template and bool(parameters),  # `template <>` is a specialisation
        macro_calls=tuple(fragment.expression(*span) for span in head.macro_calls),
        from_macro=from_macro,
        **_attributes(fragment, head),
    )


def _is_named_by_alias(head: Head, declarator: Candidate, token: int) -> bool:
    """`GLOBAL_FUNCTION(name)(int* p)`: the alias's argument is the name."""
    return any(call.start == token and declarator.name.end < call.end for call in head.macro_calls)


def parameter_types(code: bytes, arguments: Span) -> tuple[str, ...]:
    """The types of a parameter list; `(void)` has none."""
    types = tuple(parameter(code, part)[0] for part in split(code, *arguments, declares=True))
    return () if types == ("void",) else types


def _attributes(fragment: Fragment, head: Head) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, arguments, whole in head.attributes:
        if name == b"__launch_bounds__":
            found["launch_bounds"] = fragment.expressions(*arguments)
            found["launch_bounds_span"] = whole
        elif name == b"__maxnreg__":
            found["maxnreg"] = fragment.expression(*arguments)
        elif name == b"__cluster_dims__":
            found["cluster_dims"] = fragment.expressions(*arguments)
        elif name == b"__block_size__":
            found["block_size"] = fragment.expressions(*arguments)
        elif name == b"__attribute__":
            match = _LAUNCH_BOUNDS.search(fragment.code, *arguments)
            if match is not None:
                closing = match_parenthesis(fragment.code, match.start(1), arguments.end)
                if closing is not None:
                    found["launch_bounds"] = fragment.expressions(match.end(1), closing)
                    found["launch_bounds_span"] = whole
    return found


def is_bare(fragment: Fragment, token: int, borders: HeadRange, pattern: Tokens) -> bool:
    """Whether a macro's body says `__global__` and leaves the kernel to where it is used."""
    head = read_head(fragment.code, borders.start, borders.end, pattern.aliases)
    declarator = head.declarator
    if declarator is None or declarator.name.start < token:
        return True
    rest = strip(fragment.code, declarator.arguments.end + 1, fragment.end)
    name = fragment.code[declarator.name.start : declarator.name.end]
    return (
        rest.start == rest.end
        and name.isupper()
        and not looks_like_parameters(fragment.code, declarator.arguments)
    )


def substituted(name: str, parameters: tuple[str, ...], arguments: tuple[Expr, ...]) -> str:
    """A macro's name pattern (`name##_kernel`) with a use's arguments put in."""
    values = dict(zip(parameters, (argument.text for argument in arguments), strict=False))
    parts = re.split(r"(\w+)", name)
    return re.sub(r"\s*##\s*", "", "".join(values.get(part, part) for part in parts))
