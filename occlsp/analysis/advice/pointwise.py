"""Simple pointwise bodies: what comes first, one guard or loop around the rest, and the rest.

{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { y[i] = a * x[i]; } }
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from occlsp.analysis.advice.indexing import GRID_STRIDE, Lookup, NotAnIndex, Polynomial, polynomial

_NOT_SIMPLE = re.compile(
    r"\b(?:__syncthreads\w*|__syncwarp|__shared__|__shfl\w*|atomic\w+|asm|goto|switch|do|while"
    r"|extern|return|break|continue)\b"
)
_COMPARISON = re.compile(r"([^<>=!&|]+?)(<=|>=|<|>)([^<>=!&|]+)")
_FOR = re.compile(r"\bfor\s*\(\s*[\w\s]*?([A-Za-z_]\w*)\s*=")


class Shape(Struct, frozen=True):
    """A body in its three parts."""

    prefix: str
    """Statements before the guard or loop."""
    kind: Literal["none", "return", "if", "for"]
    head: str
    """The condition, or what is between the parentheses of the loop."""
    inner: str

    @property
    def opening(self) -> str:
        """What opens the scope of `inner`."""
        return {
            "none": "{",
            "return": f"if ({self.head}) return; {{",
            "if": f"if ({self.head}) {{",
            "for": f"for ({self.head}) {{",
        }[self.kind]

    @property
    def variable(self) -> str | None:
        """Of a loop."""
        match = _FOR.search(f"for ({self.head}") if self.kind == "for" else None
        return match[1] if match is not None else None


def shape_of(text: str) -> Shape | None:
    """The parts of a body (from brace to brace); None for what is not that simple."""
    statements = list(_statements(text.strip()[1:-1]))
    if any(one is None for one in statements):
        return None
    known = [one for one in statements if one is not None]
    at = next((n for n, one in enumerate(known) if _is_head(one)), len(known))
    prefix = " ".join(known[:at])
    if at == len(known):
        return _simple(Shape("", "none", "", prefix))
    head, body = _head(known[at])
    rest = " ".join(known[at + 1 :])
    if known[at].startswith("for"):
        return _simple(Shape(prefix, "for", head, body)) if not rest else None
    if re.fullmatch(r"\{?\s*return\s*;\s*\}?", body.strip()):
        return _simple(Shape(prefix, "return", head, rest))
    return _simple(Shape(prefix, "if", head, body)) if not rest else None


def _simple(shape: Shape) -> Shape | None:
    text = f"{shape.prefix} {shape.inner}"
    return None if _NOT_SIMPLE.search(text) or not shape.inner.strip() else shape


def _is_head(statement: str) -> bool:
    return re.match(r"(?:if|for)\s*\(", statement) is not None


def _head(statement: str) -> tuple[str, str]:
    opening = statement.index("(")
    closing = _past(statement, opening) - 1
    return statement[opening + 1 : closing], statement[closing + 1 :].strip()


def _statements(text: str) -> Iterator[str | None]:
    """Statements one after the other; None where one is not followed."""
    at = 0
    while at < len(text):
        if text[at].isspace() or text[at] == ";":
            at += 1
            continue
        end = _end(text, at)
        if end is None:
            yield None
            return
        yield text[at:end].strip()
        at = end


def _end(text: str, at: int) -> int | None:
    """Past the statement at an offset."""
    if text[at] == "{":
        return _past(text, at)
    match = re.compile(r"(?:if|for)\s*\(").match(text, at)
    if match is not None:
        after = _past(text, match.end() - 1)
        while after < len(text) and text[after].isspace():
            after += 1
        end = _end(text, after) if after < len(text) else None
        following = text[end:].lstrip() if end is not None else ""
        return None if re.match(r"else\b", following) else end
    depth = 0
    for position in range(at, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if text[position] == ";" and depth == 0:
            return position + 1
    return None


def _past(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0:
            return position + 1
    return len(text)


def guard_of(shape: Shape, lookup: Lookup) -> frozenset[str] | None:
    """The guard or the loop, so that two that mean the same are equal; None: not understood."""
    if shape.kind == "none":
        return frozenset()
    if shape.kind == "for":
        variable = lookup(shape.variable or "")
        told = str(variable) if variable is not None else ""
        return frozenset({told}) if GRID_STRIDE in told else None
    joint, negated = ("&&", False) if shape.kind == "if" else ("||", True)
    try:
        return frozenset(
            _condition(part, lookup, negated=negated) for part in shape.head.split(joint)
        )
    except NotAnIndex:
        return None


def _condition(text: str, lookup: Lookup, *, negated: bool) -> str:
    """A comparison of integers as `difference ≥ 0`."""
    bare = text.strip()
    while bare.startswith("(") and _past(bare, 0) == len(bare):
        bare = bare[1:-1].strip()
    match = _COMPARISON.fullmatch(bare)
    if match is None:
        raise NotAnIndex
    left, right = polynomial(match[1], lookup), polynomial(match[3], lookup)
    sign = match[2]
    if negated:
        sign = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[sign]
    if sign in (">", ">="):
        left, right = right, left
    strict = Polynomial.number(1 if sign in ("<", ">") else 0)
    return str(right.plus(left, -1).plus(strict, -1))
