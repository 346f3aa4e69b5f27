"""Uses of macros that launch something, as text that can be read like any other.

A use is expanded, the expansion is parsed, and what stands in it is placed back: at the source's
own tokens where it was made of arguments, at the macro's name where its body made it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from occlsp.source.definitions import read_inside
from occlsp.source.facts import Definition
from occlsp.source.fragment import words
from occlsp.source.lexer import Token, tokenize
from occlsp.source.macros import Place, in_body
from occlsp.source.parse import parse
from occlsp.source.syntax import FileSyntax, RawCall, RawLaunch
from occlsp.source.text import Span
from occlsp.source.view import View

MAX_USES = 2_000
MAX_TEXT = 60_000
MAX_VARIANTS = 4
MAX_ALIASES = 4


class Use(Struct, frozen=True):
    """One use of a macro in the text of a file."""

    name: str
    span: Span
    """The macro's name."""
    end: int
    """Behind its arguments."""


class Offsets(Struct, frozen=True):
    """The file's offset of each character of an expanded text; negative where a body made it."""

    ends: Sequence[int]
    """Of its tokens, in the expanded text."""
    starts: Sequence[int]
    """Of its tokens, in the file; negative where a body made them."""
    sizes: Sequence[int]

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def __getitem__(self, index: int) -> int:
        token = bisect_right(self.ends, index)
        inside = index - self.ends[token] + self.sizes[token]
        start = self.starts[token]
        if inside < 0:
            return -1  # the blank before it
        return start + inside if start >= 0 else start


class Expansion(Struct, frozen=True):
    """The text that a use expands to."""

    use: Use
    syntax: FileSyntax
    offsets: Offsets

    @property
    def items(self) -> list[RawLaunch | RawCall]:
        """The launches and calls in it."""
        return [*self.syntax.launches, *self.syntax.calls]

    @property
    def text(self) -> str:
        """Its text, comments and literals blanked."""
        return self.syntax.masked.decode("latin-1")

    def placed(self, span: Span) -> Span:
        """Where a span of the expanded text stands in the file."""
        offsets = self.offsets
        if 0 <= span.start < span.end <= len(offsets):
            start, end = offsets[span.start], offsets[span.end - 1]
            if start >= 0 and end >= start:
                return Span(start, end + 1)
        return self.use.span

    def is_written(self, offset: int) -> bool:
        """Whether the character at an offset of the expanded text stands in the file."""
        return 0 <= offset < len(self.offsets) and self.offsets[offset] >= 0

    def made_by(self, span: Span) -> Span | None:
        """Where the launch at a span of the expanded text stands in the body that makes it; None
        where it is no body of the same file."""
        offset = self.offsets[span.start] if 0 <= span.start < len(self.offsets) else -1
        start = in_body(offset)
        return Span(start, start + span.end - span.start) if offset < -1 else None


def uses(syntax: FileSyntax, names: Iterable[str]) -> list[Use]:
    """The uses of some macros in a file, outside of `#define`s, not one inside of another."""
    wanted = sorted(name.encode() for name in names)
    if not wanted:
        return []
    code = syntax.code or syntax.text
    found: list[Use] = []
    last = 0
    for start, name in sorted((at, macro) for macro in wanted for at in words(code, macro)):
        if start < last:
            continue
        end = start + len(name)
        last = arguments_end(code, end)
        found.append(Use(name.decode(), Span(start, end), last))
        if len(found) >= MAX_USES:
            break
    return found


def arguments_end(code: bytes, position: int) -> int:
    """Behind the bracketed arguments that follow a name; the name's end where there are none."""
    opening = re.compile(rb"\s*\(").match(code, position)
    if opening is None:
        return position
    depth = 0
    for match in re.compile(rb"[()]").finditer(code, opening.end() - 1, position + MAX_TEXT):
        depth += 1 if match.group() == b"(" else -1
        if depth == 0:
            return match.end()
    return position


def expand(use: Use, text: str, view: View, *, is_inside: bool) -> list[Expansion]:
    """What a use can expand to, in a function or outside; `text` is the use with its arguments."""
    tokens = tokenize(text)
    found = []
    for variant in view.macros.variants(tokens, Place(view.path, use.span.start))[:MAX_VARIANTS]:
        if len(variant) == len(tokens):
            continue
        expanded, offsets = _spelled(variant, use.span.start)
        if len(expanded) > MAX_TEXT:
            continue
        syntax = _inside(expanded + b";") if is_inside else _parsed(expanded)
        found.append(Expansion(use, syntax, offsets))
    return found


def is_lost(use: Use, expansions: Sequence[Expansion], view: View) -> bool:
    """Whether a macro is used of which it is not read what it expands to."""
    at = Place(view.path, use.span.start)
    return not expansions and bool(view.macros.alternatives(use.name, at).definitions)


_parsed = lru_cache(maxsize=64)(parse)
_inside = lru_cache(maxsize=64)(read_inside)
"""What an expansion says: a function is followed again with what its callers give."""


def _spelled(tokens: Sequence[Token], base: int) -> tuple[bytes, Offsets]:
    """Tokens as text, and where each character of it comes from."""
    parts: list[str] = []
    ends: list[int] = []
    starts: list[int] = []
    end = 0
    previous = ""
    for token in tokens:
        text, start = token.text, token.start
        if parts and (previous, text) not in _JOINED:
            parts.append(" ")
            end += 1
        parts.append(text)
        end += len(text)
        ends.append(end)
        starts.append(base + start if start >= 0 else start)
        previous = text
    sizes = [len(token.text) for token in tokens]
    return "".join(parts).encode("latin-1", "replace"), Offsets(ends, starts, sizes)


_JOINED = (("<<", "<"), (">>", ">"))


def placed(fact: Any, convert: Callable[[Span], Span]) -> Any:
    """A fact with all its spans put to other places; definitions elsewhere stay."""
    if isinstance(fact, Span):
        return convert(fact)
    if isinstance(fact, tuple):
        if not fact or isinstance(fact[0], str) or _PLAIN.issuperset(map(type, fact)):
            return fact
        return tuple([placed(item, convert) for item in fact])
    kind: Any = type(fact)
    names = _fields(kind)
    if not names:
        return fact
    changes = {}
    for name in names:
        value = getattr(fact, name)
        if type(value) in _PLAIN:
            continue
        moved = placed(value, convert)
        if moved is not value:
            changes[name] = moved
    return replace(fact, **changes) if changes else fact


_PLAIN = frozenset((str, int, bool, type(None)))
"""The types of what holds no places: most."""


@cache
def _fields(kind: Hashable) -> tuple[str, ...]:
    """The fields of a fact's type that may hold places."""
    if kind is Definition or not (isinstance(kind, type) and issubclass(kind, Struct)):
        return ()
    return kind.__struct_fields__


def dispatching_macros(view: View, names: Iterable[str]) -> frozenset[str]:
    """Those of some names that are macros in view which make blocks or constants."""
    return frozenset(name for name in names if _dispatches(view, name, MAX_ALIASES))


def _dispatches(view: View, name: str, depth: int) -> bool:
    for one in view.defines(name):
        define = one.define
        body = define.body.text
        if define.parameters:
            if "{" in body or _passes(body):
                return True
        elif (
            depth > 0 and body.strip().isidentifier() and _dispatches(view, body.strip(), depth - 1)
        ):
            return True  # `#define EVEN_SWITCH BOOL_SWITCH`
    return False


def _passes(body: str) -> bool:
    """Whether a body hands what it is given to another macro."""
    return "__VA_ARGS__" in body and "(" in body
