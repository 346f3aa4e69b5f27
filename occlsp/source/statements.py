"""The statements of a function body, read sparsely: structure only, expressions stay text.

Offsets are into the body's text, in which comments and strings are blanked. Preprocessor
branches that cannot be active are blanked too; where it is not known which branch is active,
the branches stay, marked by the characters IF, ELSE and END.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from occlsp.source.words import cut

MAX_NESTING = 150

IF, ELSE, END = "\x01", "\x02", "\x03"
MARKS = re.compile("[\x01\x02\x03]")

Range = tuple[int, int]


class Statement(Struct, frozen=True):
    """Any statement: where it stands."""

    start: int
    end: int


class LambdaBody(Struct, frozen=True):
    """A lambda, or a block that a macro takes, inside of a statement."""

    head: Range
    """From `[` to the opening brace; empty for a block without a head."""
    body: Block


class Simple(Statement, frozen=True):
    """An expression or a declaration, up to its semicolon."""

    lambdas: tuple[LambdaBody, ...] = ()
    jump: str | None = None
    """ "return", "throw", "goto", "break" or "continue"."""


class Block(Statement, frozen=True):
    """`{ … }`."""

    statements: tuple[Statement, ...] = ()


class If(Statement, frozen=True):
    """`if (…) … else …`."""

    condition: Range
    yes: Statement
    no: Statement | None


class Loop(Statement, frozen=True):
    """`for`, `while`, `do`, `catch`, and a macro followed by a block, which may be a loop."""

    kind: str
    head: Range
    """Of `catch`, what was tried."""
    body: Statement


class Switch(Statement, frozen=True):
    """`switch (…) …`."""

    condition: Range
    body: Statement


class Case(Statement, frozen=True):
    """`case …:`; an empty range is `default:`."""

    value: Range


class Choice(Statement, frozen=True):
    """`#if` branches of which any may be active."""

    branches: tuple[tuple[Statement, ...], ...]
    has_else: bool


_WORDS_OF_STRUCTURE = frozenset(
    (
        *("if", "else", "for", "while", "do", "switch", "case", "default", "try", "catch"),
        *("return", "goto", "break", "continue", "throw", "co_return"),
        *("struct", "class", "union", "enum"),
    )
)
_JUMPS = frozenset({"return", "goto", "break", "continue", "throw", "co_return"})
_CONTROL = frozenset({"if", "for", "while", "do", "switch", "try"})
_LAMBDA = re.compile(
    r"\[[^\[\]{};]*\]\s*(?:<[^<>{};]*>\s*)?(?P<parameters>\((?:[^(){};]|\([^(){};]*\))*\))?\s*"
    r"(?:mutable|constexpr|noexcept|__device__|__host__|\s)*(?:->\s*[\w:<>,*&\s]+)?\s*$"
)


class Unreadable(Exception):
    """Brackets that do not match, or nesting without end."""


@lru_cache(maxsize=32)
def read(text: str) -> tuple[Statement, ...]:
    """The statements of a body's text, without its braces. Raises `Unreadable`."""
    reader = _Reader(text)
    statements = reader.sequence(0, stop=None)
    return tuple(statements)


def is_marked(text: str) -> bool:
    """Whether any branches of a text are marked."""
    return IF in text or ELSE in text or END in text


def is_unbalanced(text: str) -> bool:
    """Whether brackets do not match for certain: such a text need not be read to know it."""
    return text.count("{") != text.count("}") or (
        text.count("(") + text.count("[") != text.count(")") + text.count("]")
    )


def is_whole(text: str, end: int) -> bool:
    """Whether a body's text up to an offset reads as it does in all of it: nothing is open there,
    as `else {` is behind a block."""
    pairs = (("(", ")"), ("[", "]"), ("{", "}"))
    return not is_marked(text) and all(
        text.count(opening, 0, end) == text.count(closing, 0, end) for opening, closing in pairs
    )


def _tokens(text: str) -> list[tuple[int, str]]:
    """What a text is structured by, and an empty token at its end."""
    words = cut(text)
    found = words.marks + words.placed(_WORDS_OF_STRUCTURE)
    found.sort()
    found.append((len(text), ""))
    return found


def _either(chain: Statement, last: Statement) -> If:
    """Ifs that may not be compiled, and what else is done: any of them, as their conditions hold
    where they are compiled alone."""
    if not isinstance(chain, If):
        raise Unreadable("an else behind an else")
    otherwise = last if chain.no is None else _either(chain.no, last)
    return If(chain.start, last.end, (chain.start, chain.start), chain.yes, otherwise)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.offset, self.token = self.tokens[0]
        self.position = 0
        self.tried: Range = (0, 0)
        """The last block that was tried."""

    def advance(self) -> None:
        self.position = self.offset + len(self.token)
        if self.token:  # the last one is empty
            self.at += 1
            self.offset, self.token = self.tokens[self.at]

    def sequence(self, depth: int, stop: str | None) -> list[Statement]:
        """Statements up to the closing brace, a mark, or the end."""
        if depth > MAX_NESTING:
            raise Unreadable("nested too deeply")
        found: list[Statement] = []
        while True:
            blank = not self.text[self.position : self.offset].strip()
            if blank and (self.token == "" or self.token in (ELSE, END)):
                if self.token == "" and stop is not None:
                    raise Unreadable("a brace is not closed")
                if self.token and stop != END:
                    raise Unreadable("a preprocessor branch splits a block")
                return found
            if blank and self.token == "}":
                if stop != "}":
                    raise Unreadable("a brace closes nothing")
                return found
            found.append(self.statement(depth + 1))

    def statement(self, depth: int) -> Statement:
        if depth > MAX_NESTING:
            raise Unreadable("nested too deeply")
        begin = self.position
        if self.text[begin : self.offset].strip():
            return self.simple(begin, depth, None)
        word = self.token
        match word:
            case ";":
                self.advance()
                return Simple(begin, self.position)
            case "{":
                return self.block(depth)
            case "if":
                return self.branch(begin, depth)
            case "for" | "while" | "switch":
                self.advance()
                head = self.head()
                body = self.statement(depth + 1)
                if word == "switch" and isinstance(body, Case):
                    raise Unreadable("a switch without a block")
                if word == "switch":
                    return Switch(begin, self.position, head, body)
                return Loop(begin, self.position, word, head, body)
            case "do":
                return self.do(begin, depth)
            case "case" | "default":
                return self.label(begin)
            case "try":
                self.advance()
                tried = self.statement(depth + 1)
                self.tried = tried.start, tried.end
                return tried
            case "catch":
                tried_before = self.tried
                self.advance()
                self.head()
                body = self.statement(depth + 1)
                return Loop(begin, self.position, "catch", tried_before, body)
            case "else":
                raise Unreadable("an else without an if")
            case _ if word == IF:
                return self.choice(begin, depth)
            case _ if word in _JUMPS:
                return self.simple(begin, depth, word)
            case _ if word in (")", "]"):
                raise Unreadable("a bracket closes nothing")
            case _:
                return self.simple(begin, depth, None)

    def head(self) -> Range:
        """The bracketed head of a control statement."""
        if self.token != "(":
            raise Unreadable("a control statement without brackets")
        start = self.offset + 1
        depth = 0
        while self.token:
            if self.token in ("(", "{", "["):
                depth += 1
            elif self.token in (")", "}", "]"):
                depth -= 1
            if depth == 0:
                end = self.offset
                self.advance()
                return start, end
            self.advance()
        raise Unreadable("a bracket is not closed")

    def block(self, depth: int) -> Block:
        begin = self.offset
        self.advance()
        statements = self.sequence(depth + 1, "}")
        self.advance()
        return Block(begin, self.position, tuple(statements))

    def branch(self, begin: int, depth: int) -> If:
        """An if with all of its else-ifs: chains may be long, so they do not nest here."""
        chain: list[tuple[int, Range, Statement]] = []
        last: Statement | None = None
        while True:
            start = begin if not chain else self.offset
            self.advance()
            if self.text[self.position : self.offset].strip() and self.token == "(":
                self.position = self.offset  # `if constexpr (`
            condition = self.head()
            chain.append((start, condition, self.statement(depth + 1)))
            if self.token == IF and self.is_alternative():
                last = self.alternative(depth)
                break
            if self.token != "else" or self.text[self.position : self.offset].strip():
                break
            self.advance()
            if self.token != "if" or self.text[self.position : self.offset].strip():
                last = self.statement(depth + 1)
                break
        for start, condition, yes in reversed(chain):
            last = If(start, self.position, condition, yes, last)
        assert isinstance(last, If)
        return last

    def is_alternative(self) -> bool:
        """Whether the `#if` that stands here begins with the `else` of what is before it."""
        following, word = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        between = self.text[self.position : self.offset] + self.text[self.offset + 1 : following]
        return word == "else" and not between.strip()

    def alternative(self, depth: int) -> Statement:
        """`#if` branches behind an if: each is its `else`, or none."""
        begin = self.offset
        branches: list[tuple[Statement, ...]] = []
        has_else = False
        while self.token != END:
            is_last = self.text[self.offset : self.offset + 2] == ELSE + "!"
            has_else = has_else or is_last
            self.advance()
            self.position += is_last
            found: tuple[Statement, ...] = ()
            if self.token == "else" and not self.text[self.position : self.offset].strip():
                self.advance()
                found = (self.statement(depth + 1),)
            branches.append(found)
            if self.token not in (ELSE, END) or self.text[self.position : self.offset].strip():
                raise Unreadable("a preprocessor branch splits a block")
        self.advance()
        if self.token == "else" and not self.text[self.position : self.offset].strip():
            self.advance()
            last = self.statement(depth + 1)
        elif self.token == IF and self.is_alternative():
            last = self.alternative(depth)
        else:
            return Choice(begin, self.position, tuple(branches), has_else)
        if len(branches) > 1 or not branches[0]:
            raise Unreadable("an else of which the if is not known")
        return _either(branches[0][0], last)

    def do(self, begin: int, depth: int) -> Loop:
        self.advance()
        body = self.statement(depth + 1)
        if self.token != "while":
            raise Unreadable("a do without a while")
        self.advance()
        head = self.head()
        if self.token == ";" and not self.text[self.position : self.offset].strip():
            self.advance()
        return Loop(begin, self.position, "do", head, body)

    def label(self, begin: int) -> Case:
        is_case = self.token == "case"
        start = self.offset + len(self.token)
        end = start
        while end < len(self.text):
            end = self.text.find(":", end)
            if end < 0:
                raise Unreadable("a case without a colon")
            if self.text[end : end + 2] == "::":
                end += 2
                continue
            break
        while self.offset < end:
            self.advance()
        self.position = end + 1
        return Case(begin, end + 1, (start, end) if is_case else (start, start))

    def choice(self, begin: int, depth: int) -> Choice:
        branches = []
        has_else = False
        while True:
            marked = self.text[self.offset : self.offset + 2]
            has_else = has_else or marked == ELSE + "!"
            self.advance()
            if marked == ELSE + "!":
                self.position += 1
            branches.append(tuple(self.sequence(depth + 1, END)))
            if self.token == END:
                self.advance()
                return Choice(begin, self.position, tuple(branches), has_else)
            if self.token != ELSE:
                raise Unreadable("a preprocessor branch is not closed")

    def simple(self, begin: int, depth: int, jump: str | None) -> Statement:
        lambdas: list[LambdaBody] = []
        nesting = 0
        record = False
        while True:
            word = self.token
            if word == "":
                if nesting:
                    raise Unreadable("a bracket is not closed")
                self.position = self.offset
                break
            if word in ("(", "["):
                nesting += 1
            elif word in (")", "]"):
                nesting -= 1
                if nesting < 0:
                    raise Unreadable("a bracket closes nothing")
            elif word == ";" and nesting <= 0:
                self.advance()
                break
            elif word == "}":
                if nesting > 0:
                    raise Unreadable("a bracket is not closed")
                self.position = self.offset
                break
            elif word == "{":
                ended = self.brace(begin, depth, nesting, lambdas, record=record)
                if ended is not None:
                    return ended
                continue
            elif word in ("struct", "class", "union", "enum"):
                record = True
            elif nesting == 0 and self.interrupts(begin, word):
                self.position = self.offset
                break
            self.advance()
        return Simple(begin, self.position, tuple(lambdas), jump)

    def interrupts(self, begin: int, word: str) -> bool:
        """A keyword or mark that begins a new statement: the last one has no semicolon."""
        if word in (IF, ELSE, END):
            return bool(self.text[begin : self.offset].strip())
        return (word in _CONTROL or word in _JUMPS or word in ("case", "default", "else")) and bool(
            self.text[begin : self.offset].strip()
        )

    def brace(
        self, begin: int, depth: int, nesting: int, lambdas: list[LambdaBody], *, record: bool
    ) -> Statement | None:
        """An opening brace in a statement: a lambda, a macro's block, a type, or values."""
        before = self.text[max(begin, self.offset - 600) : self.offset]
        head = _LAMBDA.search(before)
        if head is not None:
            start = self.offset - len(before) + head.start()
            lambdas.append(LambdaBody((start, self.offset), self.block(depth)))
            return None
        last = before.rstrip()[-1:]
        if nesting > 0 and last in ("(", ","):
            if self.holds_statements():
                lambdas.append(LambdaBody((self.offset, self.offset), self.block(depth)))
            else:
                self.skip()
            return None
        if nesting == 0 and last == ")" and not record:
            body = self.block(depth)
            return Loop(begin, self.position, "macro", (begin, begin), body)
        self.skip()
        return None

    def holds_statements(self) -> bool:
        """Whether the braces here hold statements rather than values."""
        level = 0
        for index in range(self.at, len(self.tokens)):
            word = self.tokens[index][1]
            if word == "{":
                level += 1
            elif word == "}":
                level -= 1
                if level == 0:
                    return False
            elif word == ";":
                return True
        return False

    def skip(self) -> None:
        level = 0
        while self.token:
            if self.token == "{":
                level += 1
            elif self.token == "}":
                level -= 1
            self.advance()
            if level == 0:
                return
        raise Unreadable("a brace is not closed")
