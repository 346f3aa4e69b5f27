"""What one statement does to variables: declarations, assignments, and changes in passing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from occlsp.source.lexer import CLOSES, OPENS, Token, matching, spelled, split_arguments
from occlsp.source.type_syntax import BUILTIN_WORDS

SPECIFIERS = frozenset(
    (
        *("const", "constexpr", "static", "volatile", "inline", "register", "thread_local"),
        *("extern", "typename", "struct", "class", "enum", "mutable", "constinit", "auto", "union"),
        *("__shared__", "__device__", "__constant__"),
    )
)
SHORT = 64
"""Tokens of a statement that is remembered."""
NO_TYPE = frozenset(
    [
        "return",
        "delete",
        "new",
        "goto",
        "throw",
        "case",
        "else",
        "using",
        "typedef",
        "namespace",
        "template",
        "friend",
        "public",
        "private",
        "protected",
        "sizeof",
        "if",
        "for",
        "while",
        "do",
        "switch",
        "operator",
        "co_return",
        "co_await",
        "static_assert",
        "asm",
    ]
)
ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])
_SETS = ASSIGNMENTS | {"++", "--"}
_PATH = frozenset((".", "->", "["))


class Declaration(Struct, frozen=True):
    """One declared variable."""

    type: str
    """With qualifiers, `*` and `&`; "auto" as written."""
    name: str
    initial: tuple[Token, ...] | None = None
    form: str = ""
    """How it is initialised: "=", "(", "{", ":" (a range) or "" (not at all)."""
    is_array: bool = False
    is_function_pointer: bool = False


def declarations(tokens: Sequence[Token]) -> tuple[Declaration, ...] | None:
    """The variables that a statement declares; None where it is no declaration."""
    read = _short_declarations if len(tokens) <= SHORT else _declarations
    return read(tuple(tokens))


def _declarations(tokens: tuple[Token, ...]) -> tuple[Declaration, ...] | None:
    index = 0
    prefix: list[Token] = []
    while index < len(tokens) and tokens[index].text in SPECIFIERS:
        prefix.append(tokens[index])
        index += 1
        if prefix[-1].text in ("alignas", "__align__") and index < len(tokens):
            index = matching(tokens, index) + 1
    typed = _type(tokens, index, prefix)
    if typed is None:
        return None
    base, index = typed
    found: list[Declaration] = []
    for position, part in enumerate(_declarators(tokens[index:])):
        declared = _declarator(part, base)
        if declared is None:
            return None if position == 0 else tuple(found)
        found.extend(declared)
    return tuple(found) or None


_short_declarations = lru_cache(maxsize=2048)(_declarations)


def _declarators(tokens: Sequence[Token]) -> list[list[Token]]:
    parts = split_arguments(tokens)
    # `map<int, int> x = f<a, b>(c)`: a part that begins with no declarator belongs to the last.
    joined: list[list[Token]] = []
    for part in parts:
        if joined and _opened(joined[-1]):
            joined[-1].extend([Token("op", ",", -1), *part])
        elif joined and (
            not part or (part[0].kind != "name" and part[0].text not in ("*", "&", "("))
        ):
            joined[-1].extend(part)
        else:
            joined.append(part)
    return joined


def _opened(part: Sequence[Token]) -> bool:
    """Whether template arguments are still open at the end of a part."""
    depth = 0
    for token in part:
        if token.kind == "op":
            depth += (token.text == "<") - (token.text == ">") - 2 * (token.text == ">>")
    return depth > 0


def _type(tokens: Sequence[Token], index: int, prefix: list[Token]) -> tuple[str, int] | None:
    """The type at `index` and where its declarators begin."""
    start = index
    is_auto = any(token.text == "auto" for token in prefix)
    while index < len(tokens) and (
        tokens[index].text in BUILTIN_WORDS or tokens[index].text in SPECIFIERS
    ):
        index += 1
    if index == start and not is_auto:
        index = _qualified(tokens, index)
        if index == start:
            return None
    while index < len(tokens) and tokens[index].text in ("const", "volatile", "constexpr"):
        index += 1
    if index >= len(tokens):
        return None
    return spelled([*prefix, *tokens[start:index]]), index


def _qualified(tokens: Sequence[Token], index: int) -> int:
    """Behind `a::b<c>::d`."""
    if index < len(tokens) and tokens[index].text == "::":
        index += 1
    while index < len(tokens) and tokens[index].kind == "name":
        if tokens[index].text in NO_TYPE:
            return 0
        index += 1
        if tokens[index - 1].text == "decltype" and index < len(tokens):
            return matching(tokens, index) + 1
        found = template_arguments_loose(tokens, index)
        if found is not None:
            index = found
        if index >= len(tokens) or tokens[index].text != "::":
            return index
        index += 1
    return index


def template_arguments_loose(tokens: Sequence[Token], index: int) -> int | None:
    """Behind template arguments at `index`, also where a declared name follows them."""
    if index >= len(tokens) or tokens[index].text != "<":
        return None
    depth = 0
    for at in range(index, min(len(tokens), index + 200)):
        text = tokens[at].text
        if text == "<":
            depth += 1
        elif text in (">", ">>"):
            depth -= len(text)
            if depth <= 0:
                return at + 1
        elif text in (";", "{", "}", "&&", "||", "="):
            return None
    return None


def _declarator(part: list[Token], base: str) -> list[Declaration] | None:
    pointer = ""
    index = 0
    while index < len(part) and part[index].text in ("*", "&", "&&", "const", "__restrict__"):
        pointer += part[index].text if part[index].text in ("*", "&") else ""
        pointer += "&" if part[index].text == "&&" else ""
        index += 1
    if index >= len(part):
        return None
    if part[index].text == "(" and not pointer.endswith("&"):
        return _function_pointer(part, index, base)
    if part[index].text == "[" and "auto" in base:
        close = matching(part, index)
        names = [token.text for token in part[index + 1 : close] if token.kind == "name"]
        # By a reference, they are parts of what it is to.
        shared = tuple(part[close + 1 :]) if pointer else ()
        return [Declaration(f"{base} {pointer}".strip(), name, shared, ":") for name in names]
    if part[index].kind != "name" or part[index].text in NO_TYPE:
        return None
    name = part[index].text
    kind = f"{base} {pointer}".strip()
    rest = part[index + 1 :]
    if not rest:
        return [Declaration(kind, name)]
    opening = rest[0].text
    if opening == "[":
        initial = tuple(rest)
        return [Declaration(kind, name, initial, "=", is_array=True)]
    if opening == "=":
        return [Declaration(kind, name, tuple(rest[1:]), "=")]
    if opening == ":":
        return [Declaration(kind, name, tuple(rest[1:]), ":")]
    if opening in ("(", "{"):
        close = matching(rest, 0)
        if close < len(rest) - 1:
            return None
        return [Declaration(kind, name, tuple(rest[1:close]), opening)]
    return None


def _function_pointer(part: list[Token], index: int, base: str) -> list[Declaration] | None:
    """`void (*name)(int) = &kernel`."""
    close = matching(part, index)
    inside = part[index + 1 : close]
    if len(inside) < 2 or inside[0].text != "*" or inside[1].kind != "name":
        return None
    after = close + 1
    if after >= len(part) or part[after].text != "(":
        return None
    after = matching(part, after) + 1
    initial = tuple(part[after + 1 :]) if after < len(part) and part[after].text == "=" else None
    is_array = len(inside) > 2
    name = inside[1].text
    form = "=" if initial else ""
    return [Declaration(f"{base} (*)", name, initial, form, is_array, is_function_pointer=True)]


class Assignment(Struct, frozen=True):
    """`target op value`."""

    target: tuple[Token, ...]
    op: str
    value: tuple[Token, ...]


def assignment(tokens: Sequence[Token]) -> Assignment | None:
    """The assignment that a statement is; None where it is none."""
    read = _short_assignment if len(tokens) <= SHORT else _assignment
    return read(tuple(tokens))


def _assignment(tokens: tuple[Token, ...]) -> Assignment | None:
    depth = 0
    for index, token in enumerate(tokens):
        text = token.text
        if text in OPENS:
            depth += 1
        elif text in CLOSES:
            depth -= 1
        elif depth == 0 and text in ASSIGNMENTS:
            return Assignment(tuple(tokens[:index]), text, tuple(tokens[index + 1 :]))
        elif depth == 0 and text in (",", "?"):
            return None
    if len(tokens) >= 2 and tokens[0].text in ("++", "--"):
        return _step(tokens[1:], tokens[0].text)
    if len(tokens) >= 2 and tokens[-1].text in ("++", "--"):
        return _step(tokens[:-1], tokens[-1].text)
    return None


_short_assignment = lru_cache(maxsize=1024)(_assignment)


def _step(target: Sequence[Token], op: str) -> Assignment | None:
    if any(token.kind == "op" and token.text not in (".", "->", "[", "]") for token in target):
        return None
    return Assignment(tuple(target), f"{op[0]}=", (Token("number", "1", -1),))


class Change(Struct, frozen=True):
    """A variable that a statement may change other than by an assignment of its own."""

    name: str
    callee: str | None = None
    """The function that it, or a part, is passed to; None where it is changed for certain."""
    position: int = 0
    """Which argument."""
    is_statement: bool = True
    """Nothing takes the call's result: it is called for what it does."""
    is_bare: bool = False
    """Such a call of a function that is named by itself, of no object and no namespace."""
    part: str = ""
    """What of it alone: `.x` of `size.x`, and `[` for any element; all of it if empty."""


def sets_any(tokens: Sequence[Token]) -> bool:
    """Whether anything is assigned or stepped anywhere in `tokens`."""
    return not _SETS.isdisjoint([token.text for token in tokens])


def changes(tokens: Sequence[Token], names: frozenset[str] | set[str]) -> list[Change]:
    """Variables among `names` that are assigned, stepped, shared or passed anywhere in `tokens`."""
    found: list[Change] = []
    among = [index for index, token in enumerate(tokens) if token.text in names]
    count = len(tokens)
    calls: _Calls | None = None
    for index in among:
        token = tokens[index]
        if token.kind != "name":
            continue
        before = tokens[index - 1].text if index else ""
        if before in (".", "->", "::"):
            continue
        after = index + 1
        following = tokens[after].text if after < count else ""
        if following in _PATH:
            after = _behind_path(tokens, after)
            following = tokens[after].text if after < count else ""
        if following in _SETS or before in ("++", "--"):
            found.append(Change(token.text, part=_first_part(tokens, index + 1, after)))
        elif before == "&" and _is_prefix(tokens, index - 1):
            calls = calls or _Calls(tokens)
            if not _in_capture(tokens, index) and not _is_read_only(calls, index - 1):
                found.append(Change(token.text))
        elif before == ">>" and _is_read(tokens, index, after):
            found.append(Change(token.text))
        elif before in ("(", ",") and following in (")", ","):
            calls = calls or _Calls(tokens)
            callee = calls.callee(index)
            if callee is not None:
                position = calls.commas
                part = _first_part(tokens, index + 1, after)
                is_statement = not part and calls.is_statement(callee)
                is_bare = is_statement and tokens[0].text == callee
                found.append(Change(token.text, callee, position, is_statement, is_bare, part))
    return found


_READS_CONFIGURATION = re.compile(r"(?:cuda|cu|hip)LaunchKernelEx\w*")


def _is_read_only(calls: _Calls, index: int) -> bool:
    """Whether the address at `index` goes to a launch, which takes its configuration as const."""
    callee = calls.callee(index)
    is_first = callee is not None and calls.commas == 0
    return is_first and _READS_CONFIGURATION.fullmatch(callee or "") is not None


def _is_statement(tokens: Sequence[Token], callee: str) -> bool:
    """Whether a statement begins with the call, qualified or through an object."""
    start = 0
    while start + 1 < len(tokens) and tokens[start].text in ("if", "else", "while", "for"):
        has_head = tokens[start + 1].text == "("
        start = (matching(tokens, start + 1) if has_head else start) + 1
    for token in tokens[start:]:
        if token.text == callee:
            return True
        if token.kind != "name" and token.text not in (".", "->", "::", "(", "<", ">"):
            return False
    return False


def _first_part(tokens: Sequence[Token], index: int, after: int) -> str:
    """The first part that a path between two indexes names."""
    if index >= after:
        return ""
    is_member = tokens[index].text == "." and index + 1 < len(tokens)
    return f".{tokens[index + 1].text}" if is_member else "["


def _behind_path(tokens: Sequence[Token], index: int) -> int:
    while index < len(tokens):
        if tokens[index].text in (".", "->"):
            index += 2
        elif tokens[index].text == "[":
            index = matching(tokens, index) + 1
        else:
            return index
    return index


def _is_prefix(tokens: Sequence[Token], index: int) -> bool:
    """Whether the operator at `index` takes one operand (an address, not a bitwise and)."""
    if index == 0:
        return True
    previous = tokens[index - 1]
    if previous.kind in ("number", "char") or previous.text in (")", "]"):
        # `(void**)&x` is a cast before an address.
        return previous.text == ")" and _closes_cast(tokens, index - 1)
    return previous.kind != "name" or previous.text == "return"


def _closes_cast(tokens: Sequence[Token], index: int) -> bool:
    inside = tokens[max(0, index - 1)]
    return inside.text in ("*", "const") or inside.text in BUILTIN_WORDS


def _in_capture(tokens: Sequence[Token], index: int) -> bool:
    """`[&x]` captures: what the lambda does to it is seen in the lambda."""
    for at in range(index - 1, max(-1, index - 40), -1):
        text = tokens[at].text
        if text == "[":
            return at == 0 or tokens[at - 1].kind != "name"
        if text not in ("&", ",", "=") and tokens[at].kind != "name":
            return False
    return False


def _is_read(tokens: Sequence[Token], index: int, after: int) -> bool:
    """Whether the variable at `index`, behind a `>>`, is read from a stream and no count of a
    shift: the result of the whole goes nowhere, or is what a condition asks."""
    if after < len(tokens) and tokens[after].text not in (">>", ")", "&&", "||", ",", ";"):
        return False
    depth = 0
    for at in range(index - 2, -1, -1):
        token = tokens[at]
        if token.text in (")", "]"):
            depth += 1
        elif depth and token.text in ("(", "["):
            depth -= 1
        elif depth or token.text in (">>", ".", "->", "::", "*"):
            continue
        elif token.text == "(":
            return at == 0 or tokens[at - 1].text in ("if", "while", "!", "(", "&&", "||")
        elif token.kind != "name" or token.text == "return":
            return token.text in ("&&", "||", "!", ";")
    return True


class _Calls:
    """The calls in a statement, each read once for all of its arguments."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        """As far as brackets are read."""
        self.opening, self.commas = -1, 0
        """The bracket that the token there stands in (-1: none), and behind how many commas."""
        self.outer: list[tuple[int, int]] = []
        self.callees: dict[int, str | None] = {}
        self.statements: dict[str, bool] = {}

    def move(self, index: int) -> None:
        """Reads on to a token."""
        opening, commas, outer = self.opening, self.commas, self.outer
        for at in range(self.at, index):
            text = self.tokens[at].text
            if text in OPENS:
                outer.append((opening, commas))
                opening, commas = at, 0
            elif text in CLOSES:
                opening, commas = outer.pop() if outer else (-1, 0)
            elif text == ",":
                commas += 1
        self.at, self.opening, self.commas = index, opening, commas

    def callee(self, index: int) -> str | None:
        """The function that the token at `index`, behind all that were asked for, is an argument
        of; None in other brackets."""
        self.move(index)
        opening = self.opening
        if opening not in self.callees:
            is_call = opening >= 0 and self.tokens[opening].text == "("
            self.callees[opening] = _called(self.tokens, opening) if is_call else None
        return self.callees[opening]

    def is_statement(self, callee: str) -> bool:
        """Whether the statement begins with a call of this function."""
        found = self.statements.get(callee)
        if found is None:
            found = self.statements[callee] = _is_statement(self.tokens, callee)
        return found


def _called(tokens: Sequence[Token], at: int) -> str | None:
    """The function whose arguments are in the bracket at an index."""
    end = at - 1
    if end >= 0 and tokens[end].text in (">", ">>"):
        if end >= 2 and tokens[end - 1].text == ">>":
            return None  # the arguments of a launch are copied
        depth = 0
        while end >= 0:
            text = tokens[end].text
            if text in (">", ">>"):
                depth += len(text)
            elif text in ("<", "<<"):
                depth -= len(text)
            end -= 1
            if depth <= 0:
                break
    if end < 0 or tokens[end].kind != "name":
        return None
    name = tokens[end].text
    return name if name not in NO_TYPE and name not in BUILTIN_WORDS else None
