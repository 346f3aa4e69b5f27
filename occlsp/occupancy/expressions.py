"""Integer expressions as people write them: one small language, parsed once, nothing evaluated
but what stands here.

Integers (with KiB and the like), names, `+ - * / %`, parentheses, `min`, `max`, `ceil_div`,
`round_up`, `log2`. As in C, a division drops the remainder; `log2` is rounded down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Generic, NoReturn, TypeVar

from occlsp.occupancy.checks import LARGEST, InvalidInput, check_integer

T = TypeVar("T")
Getter = Callable[[T], int]
"""The value of a name, or of a whole expression, from whatever holds the names' values."""

MOST_TEXT = 500
MOST_DEPTH = 50
LARGEST_BETWEEN = 2**63
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(\d{1,12}|0x[0-9a-f]{1,12})\s*(?:([kmg]?)(?:i?b)?)", re.ASCII | re.IGNORECASE)
_TOKEN = re.compile(
    r"\s*(?:(?P<size>(?:0x[0-9a-f]+|\d+)(?:[kmg]i?b?|b)?\b)|(?P<name>[a-z_][\w.]*)"
    r"|(?P<sign>[<>=!]=|[-+*/%(),<>]))",
    re.ASCII | re.IGNORECASE,
)


class NoValue(ValueError):
    """An expression that has no value at these numbers; the message says why."""


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


def parse_expression(text: str, names: Mapping[str, Getter[T]], field: str) -> Getter[T]:
    """The expression as a function of what holds the values of `names` (in lower case or not).

    Raises `InvalidInput` that names `field`, the expression and the place; the function raises
    `NoValue` for a division by zero and the logarithm of nothing.
    """
    parser = _Parser(text, names, field)
    run = parser.sum()
    parser.end()
    return run


def parse_comparison(text: str, names: Mapping[str, Getter[T]], field: str) -> Callable[[T], bool]:
    """Two expressions with one of `<= < >= > == !=` between them; errors as for an expression."""
    parser = _Parser(text, names, field)
    test = parser.comparison()
    parser.end()
    return test


class _Parser(Generic[T]):
    """Recursive descent; each rule returns a closure, so that nothing is parsed at a call."""

    def __init__(self, text: str, names: Mapping[str, Getter[T]], field: str) -> None:
        self.text, self.names, self.field = text, names, field
        self.depth = 0
        if len(text) > MOST_TEXT:
            raise InvalidInput(field, f"an expression of {len(text)} characters is too long")
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        end = len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                self.refuse(f"{text[at]!r} is not understood", at)
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind], match.start(kind)))
            at = match.end()
        self.tokens.append(("end", "", end))
        self.next = 0

    def end(self) -> None:
        """Nothing may follow."""
        kind, text, at = self.tokens[self.next]
        if kind != "end":
            self.refuse(f"{text!r} is not expected", at)

    def comparison(self) -> Callable[[T], bool]:
        """`sum <= sum`."""
        left = self.sum()
        sign, at = self.sign(), self.tokens[self.next][2]
        if sign not in _COMPARISONS:
            self.refuse("a comparison like <= is expected", at)
        self.take()
        right = self.sum()
        holds = _COMPARISONS[sign]
        return lambda values: holds(left(values), right(values))

    def sum(self) -> Getter[T]:
        """Products added and subtracted."""
        left = self._product()
        while self.sign() in ("+", "-"):
            sign = self.take()
            left = _both(_ARITHMETIC[sign], left, self._product())
        return left

    def _product(self) -> Getter[T]:
        left = self._factor()
        while self.sign() in ("*", "/", "%"):
            sign = self.take()
            left = _both(_ARITHMETIC[sign], left, self._factor())
        return left

    def _factor(self) -> Getter[T]:
        kind, text, at = self.tokens[self.next]
        self.depth += 1
        if self.depth > MOST_DEPTH:
            self.refuse("nested too deeply", at)
        self.next += kind != "end"
        run: Getter[T]
        if kind == "size":
            run = _constant(parse_size(text, self.field))
        elif text == "(":
            run = self.sum()
            self._expect(")")
        elif text in ("-", "+"):
            run = _both(_ARITHMETIC[text], _constant(0), self._factor())
        elif kind == "name":
            run = self._named(text, at)
        else:
            self.refuse(f"a number, `{next(iter(self.names), 'min')}` or `(` is expected", at)
        self.depth -= 1
        return run

    def _named(self, text: str, at: int) -> Getter[T]:
        getter = self.names.get(text) or self.names.get(text.lower())
        if getter is None and text.lower() not in FUNCTIONS:
            known = ", ".join(dict.fromkeys([*_shown(self.names), *FUNCTIONS]))
            self.refuse(f"{text!r} is not known; known are {known}", at)
        return getter if getter is not None else self._call(text, at)

    def _call(self, name: str, at: int) -> Getter[T]:
        count, function = FUNCTIONS[name.lower()]
        self._expect("(")
        arguments = [self.sum()]
        while self.sign() == ",":
            self.take()
            arguments.append(self.sum())
        self._expect(")")
        if count is not None and len(arguments) != count:
            wanted = "one value" if count == 1 else f"{count} values"
            self.refuse(f"{name} takes {wanted}, not {len(arguments)}", at)
        return lambda values: function([argument(values) for argument in arguments])

    def sign(self) -> str:
        """The sign that is next; empty for anything else."""
        kind, text, _ = self.tokens[self.next]
        return text if kind == "sign" else ""

    def take(self) -> str:
        """The text of the next token, and past it."""
        self.next += 1
        return self.tokens[self.next - 1][1]

    def _expect(self, sign: str) -> None:
        if self.sign() != sign:
            self.refuse(f"{sign!r} is expected", self.tokens[self.next][2])
        self.take()

    def refuse(self, problem: str, at: int) -> NoReturn:
        """Says what is wrong, and where."""
        raise InvalidInput(self.field, f"`{self.text}`, character {at + 1}: {problem}")


def _shown(names: Mapping[str, Getter[T]]) -> list[str]:
    """One name for each value: the others mean the same."""
    first: dict[int, str] = {}
    for name, getter in names.items():
        first.setdefault(id(getter), name)
    return list(first.values())


def _constant(value: int) -> Callable[[object], int]:
    return lambda _: value


def _both(function: Callable[[int, int], int], left: Getter[T], right: Getter[T]) -> Getter[T]:
    return lambda values: function(left(values), right(values))


def _multiply(left: int, right: int) -> int:
    # Bounded, so that a long product of large numbers stays cheap; no size is near it.
    return max(-LARGEST_BETWEEN, min(LARGEST_BETWEEN, left * right))


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise NoValue("divides by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _ceil_div(left: int, right: int) -> int:
    if right == 0:
        raise NoValue("divides by zero")
    return -(-left // right)


def _log2(value: int) -> int:
    if value <= 0:
        raise NoValue(f"takes the logarithm of {value}")
    return value.bit_length() - 1


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": _multiply,
    "/": _divide,
    "%": lambda left, right: left - right * _divide(left, right),
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<=": lambda left, right: left <= right,
    "<": lambda left, right: left < right,
    ">=": lambda left, right: left >= right,
    ">": lambda left, right: left > right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}
FUNCTIONS: dict[str, tuple[int | None, Callable[[list[int]], int]]] = {
    "min": (None, min),
    "max": (None, max),
    "ceil_div": (2, lambda values: _ceil_div(*values)),
    "round_up": (2, lambda values: _multiply(_ceil_div(*values), values[1])),
    "log2": (1, lambda values: _log2(*values)),
}
"""Name → how many values it takes (None: any number) and what it makes of them."""
