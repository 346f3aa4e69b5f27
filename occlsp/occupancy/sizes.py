"""Sizes as people write them: `40KiB`, `48k`, `0x400`, and expressions in the block size."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from occlsp.occupancy.checks import LARGEST, InvalidInput, check_integer

DynamicSmem = int | Callable[[int], int]
"""Bytes of dynamic shared memory per block, or a function of the block's threads."""

_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(\d{1,12}|0x[0-9a-f]{1,12})\s*(?:([kmg]?)(?:i?b)?)", re.ASCII | re.IGNORECASE)


def parse_size(text: str, field: str = "size") -> int:
    """Bytes of `40960`, `0xA000`, `40KiB`, `40 KB` or `40k`; a kilobyte is 1024 bytes here.

    Raises `InvalidInput`, naming `field`.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(field, f"{text!r} is not a size like 40960 or 40KiB")
    size = int(match[1], 0 if match[1].lower().startswith("0x") else 10)
    size *= _UNITS[match[2].lower()]
    check_integer(field, size, 0, LARGEST)
    return size


class BlockExpression:
    """A size as an expression in `block`: `4*block`, `(block/32)*128`, `max(block, 64) * 8`.

    Integers (with KiB and the like), `block` (or `blockDim.x`, `block_size`), `+ - * / %`,
    parentheses, `min` and `max`. As in C, a division drops the remainder. Calling it with the
    block's threads gives bytes. Raises `InvalidInput` that names the expression and the place;
    at a call, for a division by zero, or a result below zero or past 32 bits.
    """

    __slots__ = ("_run", "field", "text")

    def __init__(self, text: str, field: str = "dynamic_smem") -> None:
        self.text = text
        self.field = field
        self._run = _Parser(text, field).parse()

    def __call__(self, block: int) -> int:
        try:
            size = self._run(block)
        except ZeroDivisionError:
            raise InvalidInput(
                self.field, f"`{self.text}` divides by zero at block = {block}"
            ) from None
        if not 0 <= size <= LARGEST:
            raise InvalidInput(self.field, f"`{self.text}` is {size} bytes at block = {block}")
        return size

    def __repr__(self) -> str:
        return f"BlockExpression({self.text!r})"


_Run = Callable[[int], int]
_MOST_TEXT = 500
_MOST_DEPTH = 50
_LARGEST_BETWEEN = 2**63
_TOKEN = re.compile(
    r"\s*(?:(?P<size>(?:0x[0-9a-f]+|\d+)(?:[kmg]i?b?|b)?\b)|(?P<name>[a-z_][\w.]*)|(?P<sign>[-+*/%(),]))",
    re.ASCII | re.IGNORECASE,
)
_BLOCK_NAMES = {"block", "block_size", "blocksize", "blockdim.x", "threads"}
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}


class _Parser:
    """Recursive descent; each rule returns a closure, so that nothing is parsed at a call."""

    def __init__(self, text: str, field: str) -> None:
        self.text, self.field = text, field
        self.depth = 0
        if len(text) > _MOST_TEXT:
            raise InvalidInput(field, f"an expression of {len(text)} characters is too long")
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        end = len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                self._refuse(f"{text[at]!r} is not understood", at)
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind], match.start(kind)))
            at = match.end()
        self.tokens.append(("end", "", end))
        self.next = 0

    def parse(self) -> _Run:
        run = self._sum()
        kind, text, at = self.tokens[self.next]
        if kind != "end":
            self._refuse(f"{text!r} is not expected", at)
        return run

    def _sum(self) -> _Run:
        left = self._product()
        while self._sign() in ("+", "-"):
            sign = self._take()
            left = _binary(sign, left, self._product())
        return left

    def _product(self) -> _Run:
        left = self._factor()
        while self._sign() in ("*", "/", "%"):
            sign = self._take()
            left = _binary(sign, left, self._factor())
        return left

    def _factor(self) -> _Run:
        kind, text, at = self.tokens[self.next]
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            self._refuse("nested too deeply", at)
        self.next += kind != "end"
        if kind == "size":
            run = _constant(parse_size(text, self.field))
        elif text == "(":
            run = self._sum()
            self._expect(")")
        elif text in ("-", "+"):
            run = _binary(text, _constant(0), self._factor())
        elif text.lower() in _BLOCK_NAMES:
            run = _block
        elif text.lower() in _FUNCTIONS:
            run = self._call(_FUNCTIONS[text.lower()])
        elif kind == "name":
            self._refuse(f"{text!r} is not known; known are block, min, max", at)
        else:
            self._refuse("a number, `block` or `(` is expected", at)
        self.depth -= 1
        return run

    def _call(self, function: Callable[[int, int], int]) -> _Run:
        self._expect("(")
        run = self._sum()
        while self._sign() == ",":
            self._take()
            run = _both(function, run, self._sum())
        self._expect(")")
        return run

    def _sign(self) -> str:
        kind, text, _ = self.tokens[self.next]
        return text if kind == "sign" else ""

    def _take(self) -> str:
        self.next += 1
        return self.tokens[self.next - 1][1]

    def _expect(self, sign: str) -> None:
        if self._sign() != sign:
            self._refuse(f"{sign!r} is expected", self.tokens[self.next][2])
        self._take()

    def _refuse(self, problem: str, at: int) -> NoReturn:
        raise InvalidInput(self.field, f"`{self.text}`, character {at + 1}: {problem}")


def _block(block: int) -> int:
    return block


def _constant(value: int) -> _Run:
    return lambda _: value


def _both(function: Callable[[int, int], int], left: _Run, right: _Run) -> _Run:
    return lambda block: function(left(block), right(block))


def _binary(sign: str, left: _Run, right: _Run) -> _Run:
    return _both(_ARITHMETIC[sign], left, right)


def _multiply(left: int, right: int) -> int:
    # Bounded, so that a long product of large numbers stays cheap; no size is near it.
    return max(-_LARGEST_BETWEEN, min(_LARGEST_BETWEEN, left * right))


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": _multiply,
    "/": _divide,
    "%": lambda left, right: left - right * _divide(left, right),
}
