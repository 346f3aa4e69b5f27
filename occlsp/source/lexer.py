"""Tokens of C++ expressions and statements: enough to evaluate, never an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from msgspec import Struct

MAX_TOKENS = 20_000
"""A longer text is no expression that anybody wrote: what is beyond is dropped."""

_TOKEN = re.compile(
    r"""(?=\S)(?:(?P<name>[A-Za-z_$]\w*)
    |(?P<op>[(),;{}\[\]?~]|\.\.\.|\.(?!\d)|::?|->\*?|\+\+|--|&&|\|\||\#\#?
        |(?:<<|>>|[-+*/%&|^=!<>])=|<<|>>|[-+*/%&|^=!<>])
    |(?P<number>0[xX][0-9a-fA-F']+[uUlLzZ]*
        |0[bB][01']+[uUlLzZ]*
        |(?:\d(?:'?\d)*)?\.\d+(?:[eE][+-]?\d+)?[fFlL]?
        |\d(?:'?\d)*\.?(?:[eE][+-]?\d+)[fFlL]?
        |\d(?:'?\d)*\.[fFlL]?
        |\d(?:'?\d)*(?:[uUlLzZ]*|[fF]))
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<char>'(?:[^'\\\n]|\\.)+'))
    """,
    re.VERBOSE,
)
"""The most frequent kinds first. Most of some texts is blank, where none need be tried."""


class Token(Struct, frozen=True, gc=False):
    """One token. `kind` is "name", "number", "string", "char" or "op"."""

    kind: str
    text: str
    start: int
    """Where it starts in the text that was lexed; negative where a macro's body made it."""


OPENS, CLOSES = frozenset("([{"), frozenset(")]}")

MAX_CACHED = 160


def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of `text`; characters that start none are skipped."""
    return _short(text) if len(text) <= MAX_CACHED else _long(text)


def _tokenize(text: str) -> tuple[Token, ...]:
    matches = islice(_TOKEN.finditer(text), MAX_TOKENS)
    return tuple([Token(one.lastgroup or "", one.group(), one.start()) for one in matches])


_short = lru_cache(maxsize=2048)(_tokenize)
_long = lru_cache(maxsize=16)(_tokenize)


def spelled(tokens: Sequence[Token]) -> str:
    """The tokens as text, with spaces only where two would grow together."""
    parts: list[str] = []
    previous = ""
    for token in tokens:
        if previous and _glues(previous, token.text):
            parts.append(" ")
        parts.append(token.text)
        previous = token.text
    return "".join(parts)


def _glues(left: str, right: str) -> bool:
    word_left = left[-1].isalnum() or left[-1] in "_$"
    word_right = right[0].isalnum() or right[0] in "_$"
    if word_left or word_right:
        return word_left and word_right
    return left[-1] in "+-<>&|:=!*/#." and right[0] in "+-<>&|:=*/#."


def matching(tokens: Sequence[Token], start: int) -> int:
    """Index of the bracket that closes the one at `start`; the end where there is none."""
    depth = 0
    for index in range(start, len(tokens)):
        text = tokens[index].text
        if text in OPENS:
            depth += 1
        elif text in CLOSES:
            depth -= 1
            if depth == 0:
                return index
    return len(tokens)


def split_arguments(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens between commas that stand in no bracket."""
    part: list[Token] = []
    parts = [part]
    depth = 0
    for token in tokens:
        text = token.text
        if text in OPENS:
            depth += 1
        elif text in CLOSES:
            depth -= 1
        elif text == "," and depth == 0:
            part = []
            parts.append(part)
            continue
        part.append(token)
    return parts if len(parts) > 1 or parts[0] else []
