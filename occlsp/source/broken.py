"""What tells that braces are missing in a text, or too many, as while it is typed."""

from __future__ import annotations

import re

from occlsp.source.text import IDENTIFIER

_IMPOSSIBLE = re.compile(rb"\n(?:template\s*<|namespace\b[^;={}()]*\{|extern\s+\{)")
_BOUNDARY = re.compile(rb"[;{}]")
_STATEMENT = re.compile(
    rb"(?:if|for|while|switch|do|else|return|break|continue|goto|case|throw)\b"
    rb"|\+\+|--|" + IDENTIFIER + rb"(?![0-9A-Za-z_$\x80-\xff])\s*(?:\.|->|\+\+|--)"
)
"""The beginning of what is no declaration."""


def impossible_in_body(masked: bytes, position: int) -> int:
    """The next place that cannot be in a function body, or the end of the text."""
    match = _IMPOSSIBLE.search(masked, position)
    found = len(masked) if match is None else match.start()
    kernel = position - 1
    while True:
        kernel = masked.find(b"__global__", kernel + 1, found)
        if kernel < 0:
            return found
        following = _BOUNDARY.search(masked, kernel)
        if following is None:
            return found
        if following[0] == b"{":
            return kernel
        kernel = following.start()


def begins_statement(masked: bytes, start: int, end: int) -> bool:
    """Whether a piece of text begins as no declaration does."""
    return _STATEMENT.match(masked[start:end].lstrip()) is not None


def is_statement(masked: bytes, start: int, end: int) -> bool:
    """Whether a piece of text, up to a semicolon or a brace, is a statement and nothing more."""
    return (
        begins_statement(masked, start, end)
        and _IMPOSSIBLE.search(masked, start, end) is None
        and masked.find(b"__global__", start, end) < 0
    )


def begins_anew(head: bytes) -> int | None:
    """Where a declaration begins that stands behind a bracket which is not closed, in the text of
    one up to a brace."""
    for match in _IMPOSSIBLE.finditer(head):
        if head.count(b"(", 0, match.start()) > head.count(b")", 0, match.start()):
            return match.start()
    return None
