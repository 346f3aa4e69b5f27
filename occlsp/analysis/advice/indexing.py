"""Index expressions of a kernel, so that two of them can be told to be the same.

An expression becomes a sum of products, with locals and arguments put in: `i`, where `int i =
blockIdx.x * blockDim.x + threadIdx.x`, is what `threadIdx.x + blockDim.x*blockIdx.x` is. What is
no sum of products (a division, a call) is one factor, by its canonical text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

Product = tuple[str, ...]
"""Its factors, sorted; none for the constant."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+)[uUlLzZ]*(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*(?:(?:\s*(?:::|\.|->)\s*)[A-Za-z_]\w*)*)"
    r"|(?P<sign><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%()<>,&|^?:\[\]~!]))"
)
_TYPE = re.compile(
    r"const|unsigned|signed|int|long|short|char|auto|u?int(8|16|32|64)?_t|(s?size|ptrdiff|index)_t"
)
_CASTS = ("static_cast", "reinterpret_cast")
MOST_TEXT = 400
MOST_TERMS = 64


class NotAnIndex(ValueError):
    """An expression that cannot be compared."""


class Polynomial(Struct, frozen=True):
    """A sum of products with whole coefficients."""

    terms: tuple[tuple[Product, int], ...]
    """Sorted; no zero coefficient."""

    @staticmethod
    def of(table: dict[Product, int]) -> Polynomial:
        """From coefficients by product."""
        if len(table) > MOST_TERMS:
            raise NotAnIndex
        return Polynomial(tuple(sorted((p, c) for p, c in table.items() if c)))

    @staticmethod
    def factor(name: str) -> Polynomial:
        """One name."""
        return Polynomial((((name,), 1),))

    @staticmethod
    def number(value: int) -> Polynomial:
        """A constant."""
        return Polynomial.of({(): value})

    @property
    def constant(self) -> int:
        """What is added whatever the factors are."""
        return dict(self.terms).get((), 0)

    def plus(self, other: Polynomial, sign: int = 1) -> Polynomial:
        """The sum, or the difference."""
        table = dict(self.terms)
        for product, count in other.terms:
            table[product] = table.get(product, 0) + sign * count
        return Polynomial.of(table)

    def times(self, other: Polynomial) -> Polynomial:
        """The product."""
        table: dict[Product, int] = {}
        for left, one in self.terms:
            for right, two in other.terms:
                product = tuple(sorted(left + right))
                table[product] = table.get(product, 0) + one * two
        return Polynomial.of(table)

    def __str__(self) -> str:
        return "+".join(f"{count}*{'*'.join(p)}" if p else str(count) for p, count in self.terms)


Lookup = Callable[[str], Polynomial | None]
"""What a name stands for; None: for itself."""


def polynomial(text: str, lookup: Lookup) -> Polynomial:
    """The expression as a sum of products. Raises `NotAnIndex`."""
    parser = _Parser(text, lookup)
    found = parser.sum()
    parser.end()
    return found


class _Parser:
    def __init__(self, text: str, lookup: Lookup) -> None:
        self.lookup = lookup
        self.tokens: list[tuple[str, str]] = []
        self.depth = 0
        at, end = 0, len(text.rstrip())
        if end > MOST_TEXT:
            raise NotAnIndex
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise NotAnIndex
            kind = match.lastgroup or ""
            self.tokens.append((kind, re.sub(r"\s+", "", match[kind])))
            at = match.end()
        self.tokens.append(("end", ""))
        self.next = 0

    def end(self) -> None:
        if self.tokens[self.next][0] != "end":
            raise NotAnIndex

    def sum(self) -> Polynomial:
        self.depth += 1
        if self.depth > 40:
            raise NotAnIndex
        found = self._product()
        while self._text() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            found = found.plus(self._product(), sign)
        self.depth -= 1
        return found

    def _product(self) -> Polynomial:
        found = self._unary()
        while (sign := self._text()) in ("*", "/", "%", "<<", ">>", "&"):
            self._take()
            right = self._unary()
            if sign == "*":
                found = found.times(right)
            elif sign == "<<" and not right.terms[1:] and 0 <= right.constant < 31:
                found = found.times(Polynomial.number(1 << right.constant))
            else:
                found = Polynomial.factor(f"({found}{sign}{right})")
        return found

    def _unary(self) -> Polynomial:
        if self._text() in ("-", "+"):
            sign = -1 if self._take() == "-" else 1
            return Polynomial.number(sign).times(self._unary())
        if self._is_cast():
            while self._take() != ")":
                pass
            return self._unary()
        return self._primary()

    def _is_cast(self) -> bool:
        """A type in parentheses, before something that it can be a cast of."""
        if self._text() != "(":
            return False
        at = self.next + 1
        while self.tokens[at][0] == "name" and _TYPE.fullmatch(self.tokens[at][1]):
            at += 1
        is_type = at > self.next + 1 and self.tokens[at][1] == ")"
        following = self.tokens[at + 1] if is_type else ("end", "")
        return is_type and (following[0] in ("name", "number") or following[1] in ("(", "-"))

    def _primary(self) -> Polynomial:
        kind, text = self.tokens[self.next]
        if kind == "end":
            raise NotAnIndex
        self.next += 1
        if kind == "number":
            return Polynomial.number(int(text, 0 if text[:2].lower() == "0x" else 10))
        if text == "(":
            found = self.sum()
            self._expect(")")
            return found
        if kind != "name":
            raise NotAnIndex
        if text in _CASTS:
            self._expect("<")
            while self._take() != ">":
                if self.tokens[self.next][0] == "end":
                    raise NotAnIndex
            return self._unary()
        if self._text() == "(":
            return self._call(text)
        found_value = self.lookup(text)
        return found_value if found_value is not None else Polynomial.factor(text)

    def _call(self, name: str) -> Polynomial:
        self._expect("(")
        arguments: list[str] = []
        while self._text() != ")":
            arguments.append(str(self.sum()))
            if self._text() == ",":
                self._take()
        self._expect(")")
        if _TYPE.fullmatch(name) and len(arguments) == 1:
            raise NotAnIndex
        return Polynomial.factor(f"{name}({','.join(arguments)})")

    def _text(self) -> str:
        kind, text = self.tokens[self.next]
        return text if kind == "sign" else ""

    def _take(self) -> str:
        if self.tokens[self.next][0] == "end":
            raise NotAnIndex
        self.next += 1
        return self.tokens[self.next - 1][1]

    def _expect(self, sign: str) -> None:
        if self._text() != sign:
            raise NotAnIndex
        self._take()


class OwnIndex(Struct, frozen=True):
    """An index that no two threads of a grid share: `c·thread + r`, with 0 ≤ r < c."""

    base: Polynomial
    """Without the constant: two accesses with one base are of one thread's own elements."""
    offset: int


GRID_STRIDE = "grid-stride loop:"
"""How the variable of a loop over the grid's threads begins, as a factor."""


def own_index(index: Polynomial) -> OwnIndex | None:
    """The index as one that belongs to its thread alone; None where that is not certain.

    In two dimensions a row's length is taken to hold the columns, as a guard sees to.
    """
    table = dict(index.terms)
    offset = table.pop((), 0)
    counts: list[int] = []
    for axis in "xyz":
        thread, block = f"threadIdx.{axis}", f"blockIdx.{axis}"
        mine = [p for p in table if thread in p]
        blocks = [p for p in table if block in p]
        if len(mine) != len(blocks) or len(mine) > 1:
            return None
        for product in mine:
            rest = list(product)
            rest.remove(thread)
            whole = tuple(sorted([*rest, f"blockDim.{axis}", block]))
            if table.get(whole) != table[product]:
                return None
            counts.append(table[product])
    strided = [p for p in table if any(f.startswith(GRID_STRIDE) for f in p)]
    if len(strided) > 1 or (strided and (counts or len(strided[0]) > 1)):
        return None
    counts += [table[p] for p in strided]
    if not counts or min(counts) <= 0 or not 0 <= offset < min(counts):
        return None
    if not all(_is_common(factor) for product in table for factor in product):
        return None
    return OwnIndex(Polynomial.of(table), offset)


_BUILTIN = re.compile(r"(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]")
_COMMON = re.compile(r"host [^\s()]+|template [^\s()]+|(?:blockDim|gridDim)\.[xyz]")


def _is_common(factor: str) -> bool:
    """Whether a factor is the same for all threads, and in the other kernel: of the host, a
    constant by its capitals, or the thread's own index."""
    if _BUILTIN.fullmatch(factor):
        return True
    rest = _COMMON.sub("", factor.removeprefix(GRID_STRIDE))
    return not any(char.islower() for char in rest)
