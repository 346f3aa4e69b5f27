"""C++ expressions as trees: a precedence parser over tokens, bounded in size and depth.

What it cannot read becomes `Opaque` with the reason; nothing raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from occlsp.source.lexer import Token, matching, spelled, split_arguments, tokenize
from occlsp.source.type_syntax import BUILTIN_WORDS, TYPE_WORDS, may_be_type, template_arguments

MAX_DEPTH = 200
MAX_EXPRESSION = 4_000
"""Tokens: what is longer is not read."""


CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"})


class Node(Struct, frozen=True, kw_only=True):
    """An expression; `start` and `end` are offsets in the text (-1 where a macro made it)."""

    start: int = -1
    end: int = -1


class Literal(Node, frozen=True):
    """A number, character or boolean literal, as written."""

    text: str


class Name(Node, frozen=True):
    """`a::b<args>::c`: `text` as written without template arguments' inside changed."""

    text: str
    """Without the template arguments of the last part."""
    arguments: tuple[str, ...] | None = None
    """Template arguments of the last part."""


class Unary(Node, frozen=True):
    """Prefix operators, `&` and `*` included."""

    op: str
    operand: Node


class Binary(Node, frozen=True):
    """Infix operators, comma and assignments excluded."""

    op: str
    left: Node
    right: Node


class Ternary(Node, frozen=True):
    """`condition ? yes : no`."""

    condition: Node
    yes: Node
    no: Node


class Call(Node, frozen=True):
    """`callee(arguments)`: a function, a constructor or a functional cast."""

    callee: Node
    arguments: tuple[Node, ...]


class Braces(Node, frozen=True):
    """`{a, b}`, or `T{a, b}` with its type."""

    items: tuple[Node, ...]
    type: str | None = None


class Cast(Node, frozen=True):
    """`(type)operand`, `static_cast<type>(operand)`."""

    type: str
    operand: Node
    certain: bool = True
    """False for `(name)(operand)`, which is a call where the name is no type."""


class Member(Node, frozen=True):
    """`object.name` or `object->name`."""

    object: Node
    name: str


class Index(Node, frozen=True):
    """`object[index]`."""

    object: Node
    index: Node


class Sizeof(Node, frozen=True):
    """`sizeof(text)` or `alignof(text)`: a type or an expression."""

    text: str
    operator: str = "sizeof"


class Opaque(Node, frozen=True):
    """What was not understood."""

    why: str


_AFTER_NAME = frozenset({"(", "[", "{", ".", "->", "::", "<", "++", "--"})
_NO_NAMES = (
    BUILTIN_WORDS
    | CASTS
    | {"true", "false", "nullptr", "sizeof", "alignof", "template", "typename"}
    | {"const", "unsigned", "signed"}
)
_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    ">": 7,
    "<=": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
}


def parse(source: str | Sequence[Token]) -> Node:
    """The expression in a text or in tokens."""
    return _parse_text(source) if isinstance(source, str) else _parse(tuple(source))


@lru_cache(maxsize=1024)
def _parse_text(text: str) -> Node:
    return _parse(tokenize(text))


@lru_cache(maxsize=1024)
def _parse(tokens: tuple[Token, ...]) -> Node:
    if not tokens:
        return Opaque("empty")
    if len(tokens) > MAX_EXPRESSION:
        return Opaque("the expression is too long")
    parser = _Parser(tokens)
    try:
        return parser.whole(0)
    except _TooDeep:
        return Opaque("the expression is nested too deeply")


class _TooDeep(Exception):
    pass


class _Parser:
    def __init__(self, tokens: list[Token] | tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.at = 0
        self.why: str | None = None
        """Why the rest was given up, where it was."""

    def whole(self, depth: int) -> Node:
        """All tokens as one expression: nothing is told of a part of it."""
        node = self.ternary(depth)
        if self.why is not None:
            return Opaque(self.why)
        if self.at < len(self.tokens):
            return Opaque("not an expression that is evaluated")
        return node

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        if index < len(self.tokens):
            token = self.tokens[index]
            return token.text if token.kind in ("op", "name") else "\0" + token.kind
        return ""

    def span(self, start: int) -> tuple[int, int]:
        first, last = self.tokens[min(start, len(self.tokens) - 1)], self.tokens[self.at - 1]
        if first.start < 0 or last.start < 0:
            return -1, -1
        return first.start, last.start + len(last.text)

    def ternary(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise _TooDeep
        begin = self.at
        condition = self.binary(1, depth + 1)
        if self.peek() != "?":
            return condition
        self.at += 1
        yes = self.ternary(depth + 1)
        if self.peek() != ":":
            return self.opaque("not an expression that is evaluated")
        self.at += 1
        no = self.ternary(depth + 1)
        start, end = self.span(begin)
        return Ternary(condition, yes, no, start=start, end=end)

    def binary(self, level: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise _TooDeep
        begin = self.at
        left = self.unary(depth + 1)
        while True:
            op = self.peek()
            precedence = _PRECEDENCE.get(op, 0)
            if precedence < level:
                return left
            self.at += 1
            right = self.binary(precedence + 1, depth + 1)
            start, end = self.span(begin)
            left = Binary(op, left, right, start=start, end=end)

    def unary(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise _TooDeep
        begin = self.at
        leaf = self.leaf()
        if leaf is not None:
            return leaf
        op = self.peek()
        if op in ("+", "-", "!", "~", "&", "*", "++", "--") and op:
            self.at += 1
            operand = self.unary(depth + 1)
            start, end = self.span(begin)
            return Unary(op, operand, start=start, end=end)
        if op in ("sizeof", "alignof"):
            return self.sizeof(op)
        if op == "(":
            cast = self.cast(depth)
            if cast is not None:
                return cast
        return self.postfix(self.primary(depth), begin, depth)

    def leaf(self) -> Node | None:
        """A number or a plain name that nothing belongs to: what most operands are."""
        if self.at >= len(self.tokens) or self.peek(1) in _AFTER_NAME:
            return None
        token = self.tokens[self.at]
        kind, text, start = token.kind, token.text, token.start
        end = start + len(text) if start >= 0 else -1
        if kind == "number":
            self.at += 1
            return Literal(text, start=start, end=end)
        if kind == "name" and text not in _NO_NAMES:
            self.at += 1
            return Name(text, start=start, end=end)
        return None

    def sizeof(self, operator: str) -> Node:
        begin = self.at
        self.at += 1
        if self.peek() == "...":
            return self.opaque("sizeof... is not evaluated")
        if self.peek() == "(":
            close = matching(self.tokens, self.at)
            text = spelled(self.tokens[self.at + 1 : close])
            self.at = min(close + 1, len(self.tokens))
        else:
            inner = self.at
            self.unary(1)
            text = spelled(self.tokens[inner : self.at])
        start, end = self.span(begin)
        return Sizeof(text, operator, start=start, end=end)

    def cast(self, depth: int) -> Node | None:
        """`(type) operand` at an opening bracket; None where it is a bracketed expression."""
        begin = self.at
        close = matching(self.tokens, begin)
        inside = self.tokens[begin + 1 : close]
        if close >= len(self.tokens) - 1 or not may_be_type(inside):
            return None
        certain = any(t.text in TYPE_WORDS for t in inside) or inside[-1].text in ("*", "&")
        following = self.tokens[close + 1]
        starts_operand = following.kind in ("name", "number", "char") or following.text == "("
        if not (starts_operand or (certain and following.text in ("-", "+", "~", "!", "&", "*"))):
            return None
        self.at = close + 1
        operand = self.unary(depth + 1)
        start, end = self.span(begin)
        return Cast(spelled(inside), operand, certain, start=start, end=end)

    def primary(self, depth: int) -> Node:
        if self.at >= len(self.tokens):
            return Opaque("empty")
        token = self.tokens[self.at]
        begin = self.at
        if token.kind in ("number", "char", "string") or token.text in ("true", "false", "nullptr"):
            self.at += 1
            start, end = self.span(begin)
            if token.kind == "string":
                return Opaque("a string")
            return Literal(token.text, start=start, end=end)
        if token.text == "(":
            return self.bracketed(depth)
        if token.text == "{":
            return Braces(self.items("{", depth), start=token.start, end=self.span(begin)[1])
        if token.kind == "name" or token.text == "::":
            return self.name(depth)
        return self.opaque("not an expression that is evaluated")

    def bracketed(self, depth: int) -> Node:
        begin = self.at
        self.at += 1
        inner = self.ternary(depth + 1)
        if self.peek() != ")":
            return self.opaque("not an expression that is evaluated")
        self.at += 1
        start, end = self.span(begin)
        if isinstance(inner, Literal | Name) and start >= 0:
            return inner
        return inner if start < 0 else _respan(inner, start, end)

    def items(self, opening: str, depth: int) -> tuple[Node, ...]:
        close = matching(self.tokens, self.at)
        parts = split_arguments(self.tokens[self.at + 1 : close])
        self.at = min(close + 1, len(self.tokens))
        nodes = []
        for part in parts:
            if len(part) > 3 and part[0].text == "." and part[2].text == "=":
                part = part[3:]
            nodes.append(_Parser(part).whole(depth + 1) if part else Opaque("empty"))
        return tuple(nodes)

    def name(self, depth: int) -> Node:
        begin = self.at
        word = self.peek()
        if word in CASTS and self.peek(1) == "<":
            return self.named_cast(depth)
        if word in BUILTIN_WORDS or word in ("const", "unsigned", "signed"):
            return self.builtin_type(depth)
        if word == "typename":
            self.at += 1
        text: list[str] = []
        arguments: tuple[str, ...] | None = None
        is_global = self.peek() == "::"
        self.at += is_global
        while self.at < len(self.tokens) and self.tokens[self.at].kind == "name":
            if self.peek() == "template":
                self.at += 1
                continue
            if arguments is not None:
                text[-1] += f"<{','.join(arguments)}>"
            text.append(self.peek())
            self.at += 1
            arguments = self.template_arguments()
            if self.peek() != "::":
                break
            self.at += 1
        if not text:
            return self.opaque("not an expression that is evaluated")
        start, end = self.span(begin)
        is_variable = is_global and len(text) == 1 and arguments is None and self.peek() != "("
        prefix = "::" if is_variable else ""
        return Name(prefix + "::".join(text), arguments, start=start, end=end)

    def builtin_type(self, depth: int) -> Node:
        """`unsigned int(x)`, `int{x}`."""
        begin = self.at
        while self.peek() in BUILTIN_WORDS or self.peek() in ("const", "unsigned", "signed"):
            self.at += 1
        text = spelled(self.tokens[begin : self.at])
        if self.peek() == "(":
            arguments = self.items("(", depth)
        elif self.peek() == "{":
            arguments = self.items("{", depth)
        else:
            return self.opaque("a type")
        start, end = self.span(begin)
        if len(arguments) > 1:
            return Opaque("not an expression that is evaluated")
        operand = arguments[0] if arguments else Literal("0")
        return Cast(text, operand, start=start, end=end)

    def named_cast(self, depth: int) -> Node:
        begin = self.at
        self.at += 1
        arguments = self.template_arguments()
        if arguments is None or len(arguments) != 1 or self.peek() != "(":
            return self.opaque("not an expression that is evaluated")
        operands = self.items("(", depth)
        start, end = self.span(begin)
        if len(operands) != 1:
            return Opaque("not an expression that is evaluated")
        return Cast(arguments[0], operands[0], start=start, end=end)

    def template_arguments(self) -> tuple[str, ...] | None:
        """The template arguments at `<`, where it is no comparison; moves behind them."""
        found = template_arguments(self.tokens, self.at)
        if found is None:
            return None
        arguments, self.at = found
        return arguments

    def postfix(self, node: Node, begin: int, depth: int) -> Node:
        while self.at < len(self.tokens):
            op = self.peek()
            if op == "(":
                arguments = self.items("(", depth)
                start, end = self.span(begin)
                node = Call(node, arguments, start=start, end=end)
            elif op == "[":
                close = matching(self.tokens, self.at)
                index = parse(list(self.tokens[self.at + 1 : close]))
                self.at = min(close + 1, len(self.tokens))
                start, end = self.span(begin)
                node = Index(node, index, start=start, end=end)
            elif op in (".", "->"):
                self.at += 1
                if self.peek() == "template":
                    self.at += 1
                if self.at >= len(self.tokens) or self.tokens[self.at].kind != "name":
                    return self.opaque("not an expression that is evaluated")
                name = self.tokens[self.at].text
                self.at += 1
                self.template_arguments()
                start, end = self.span(begin)
                node = Member(node, name, start=start, end=end)
            elif op == "{" and isinstance(node, Name):
                items = self.items("{", depth)
                start, end = self.span(begin)
                written = node.text
                if node.arguments is not None:
                    written += f"<{','.join(node.arguments)}>"
                node = Braces(items, written, start=start, end=end)
            elif op in ("++", "--"):
                return self.opaque("changes its operand")
            else:
                return node
        return node

    def opaque(self, why: str) -> Node:
        """Gives up on the rest."""
        self.at = len(self.tokens)
        self.why = why
        return Opaque(why)


def _respan(node: Node, start: int, end: int) -> Node:
    return replace(node, start=start, end=end)


def last_name(array: Node) -> str:
    """What an array is called: `ne` of `tensor->ne`."""
    match array:
        case Name():
            return array.text
        case Member():
            return array.name
        case _:
            return "an array"


def bare(node: Node) -> Node:
    """The node without its place, to compare."""
    match node:
        case Binary():
            return Binary(node.op, bare(node.left), bare(node.right))
        case Unary():
            return Unary(node.op, bare(node.operand))
        case Cast():
            return Cast(node.type, bare(node.operand), node.certain)
        case Member():
            return Member(bare(node.object), node.name)
        case Call():
            return Call(bare(node.callee), tuple(bare(item) for item in node.arguments))
        case _:
            return replace(node, start=-1, end=-1)
