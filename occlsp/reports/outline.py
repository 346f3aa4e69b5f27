"""The shape of preprocessed C++: declarations, functions, statements, by brackets alone.

The device slice needs to know which statement or function a compiler error stands in, in text
that need not parse. So this is no parser: it matches brackets, cuts at `;` and `{…}`, and looks
at the words before a brace to tell what it opens. Nothing here raises on any input.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

Kind = Literal["scope", "class", "function", "declaration", "statement"]

_HIDDEN = re.compile(
    rb'(?:u8|[uUL])?R"([^()\\\s]{0,16})\((?:.|\n)*?\)\1"'
    rb'|"(?:\\.|[^"\\\n])*"'
    rb"|(?<![0-9A-Za-z_])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'"
    rb"|^[ \t]*#[^\n]*",
    re.MULTILINE,
)
_BRACKET = re.compile(rb"[{}()\[\]]")
_STOP = re.compile(rb"[{}()\[\];]")
_CLOSES = {b")": b"(", b"]": b"[", b"}": b"{"}
_LABEL = re.compile(rb"\s*(?:(?:case\b(?:[^:;{}?]|::)*|default\s*|[A-Za-z_]\w*\s*):(?!:)\s*)+")
_ACCESS = re.compile(rb"\s*(?:(?:public|private|protected)\s*:(?!:)\s*)+")
_CONTROL = re.compile(rb"\s*(if|for|while|switch|catch|else|do|try)\b")
_HEADED = re.compile(rb"\s*(?:if(?:\s+constexpr)?|for|while|switch|catch)\s*(?=\()")
_ATTRIBUTE = re.compile(rb"\b(?:__attribute__|__declspec|alignas|__align__|decltype)\s*(?=\()")
_SCOPE_HEAD = re.compile(rb"\s*(?:inline\s+)?namespace\b|\s*extern\s*$")
_CLASS_KEY = re.compile(rb"(?<!enum )\b(?:class|struct|union)\b")
_LAMBDA_END = re.compile(rb"(?:[\])]|\bmutable|\bnoexcept|->[\w\s:<>,*&]{1,80})\s*$")
_EQUALS = re.compile(rb"(?<![=!<>+\-*/%&|^])=(?!=)")
_SUBOBJECT = re.compile(rb"[\w>]\s*$")

MAX_DEPTH = 200
"""Nesting that `chain` follows; deeper text is taken as one item."""


@dataclass(frozen=True, slots=True)
class Item:
    """A declaration, definition or statement: `[start, end)` in the text."""

    start: int
    end: int
    kind: Kind
    head_end: int
    """Where its first body's brace stands; `end` without one."""
    bodies: tuple[tuple[int, int], ...] = ()
    """Inside of its bodies, braces excluded; an `else` part without its braces' word."""


class Outline:
    """Items of `text`, found on demand around the offsets that are asked for."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.masked = mask(text)
        self._partner = _match_brackets(self.masked)
        self._regions: dict[tuple[int, int, str], list[Item]] = {}

    def partner(self, offset: int) -> int | None:
        """The other bracket of the pair that the one at `offset` belongs to."""
        return self._partner.get(offset)

    def chain(self, offset: int) -> list[Item]:
        """The items that hold `offset`, outermost first; empty where none does."""
        found: list[Item] = []
        start, end, inside = 0, len(self.text), "scope"
        while len(found) < MAX_DEPTH:
            item = self._item_at(offset, start, end, inside)
            if item is None:
                break
            found.append(item)
            body = next(((a, b) for a, b in item.bodies if a <= offset < b), None)
            if body is None or body == (start, end):
                break
            start, end = body
            inside = "code" if item.kind in ("function", "statement") else item.kind
        return found

    def _item_at(self, offset: int, start: int, end: int, inside: str) -> Item | None:
        items = self.items(start, end, inside)
        at = bisect_right(items, offset, key=lambda item: item.start) - 1
        return items[at] if at >= 0 and offset < items[at].end else None

    def items(self, start: int, end: int, inside: str) -> list[Item]:
        """The items of a region; `inside` is "scope", "class" or "code"."""
        known = self._regions.get((start, end, inside))
        if known is not None:
            return known
        found: list[Item] = []
        position = start
        while position < end:
            item = self._next(position, end, inside)
            if item is None:
                break
            found.append(item)
            position = max(item.end, position + 1)
        self._regions[start, end, inside] = found
        return found

    def _next(self, position: int, end: int, inside: str) -> Item | None:
        position = self._skip_labels(position, end, inside)
        if position >= end:
            return None
        return (self._statement if inside == "code" else self._declaration)(position, end)

    def _skip_labels(self, position: int, end: int, inside: str) -> int:
        labels = {"code": _LABEL, "class": _ACCESS}.get(inside)
        if labels is not None and (label := labels.match(self.masked, position, end)):
            position = label.end()
        while position < end and self.masked[position : position + 1].isspace():
            position += 1
        return position

    def _stops(self, position: int, end: int) -> tuple[int, bytes]:
        stop = _STOP.search(self.masked, position, end)
        return (end, b"") if stop is None else (stop.start(), stop.group())

    def _past(self, opening: int, end: int) -> int:
        partner = self._partner.get(opening)
        return end if partner is None or partner >= end else partner + 1

    def _declaration(self, start: int, end: int) -> Item:
        position = _past_template_heads(self.masked, start, end)
        head = position
        first_brace: int | None = None
        bodies: list[tuple[int, int]] = []
        kind: Kind = "declaration"
        while True:
            stop, token = self._stops(position, end)
            if token in (b"", b"}"):
                return Item(start, max(stop, start + 1), kind, first_brace or stop, tuple(bodies))
            if token == b";":
                return Item(start, stop + 1, kind, first_brace or stop, tuple(bodies))
            past = self._past(stop, end)
            if token == b"{" and not bodies:
                opens = _opens(self.masked, head, stop, past, end)
                if opens is not None:
                    first_brace, kind = stop, opens
                    bodies.append((stop + 1, max(past - 1, stop + 1)))
                    if kind in ("scope", "function"):
                        return Item(start, past, kind, stop, tuple(bodies))
            position = max(past, stop + 1)

    def _statement(self, start: int, end: int) -> Item:
        stop, token = self._stops(start, end)
        if token == b"{" and not self.masked[start:stop].strip():
            past = self._past(stop, end)
            return Item(start, past, "statement", stop, ((stop + 1, max(past - 1, stop + 1)),))
        control = _CONTROL.match(self.masked, start, end)
        if control is not None:
            return self._controlled(start, control, end)
        return self._simple(start, end)

    def _simple(self, start: int, end: int) -> Item:
        position = start
        bodies: list[tuple[int, int]] = []
        while True:
            stop, token = self._stops(position, end)
            if token in (b"", b"}"):
                past = max(stop, start + 1)
                break
            if token == b";":
                past = stop + 1
                break
            position = max(self._past(stop, end), stop + 1)
            # Of braces in an expression only a lambda's hold statements.
            bodies.extend(self._lambdas(stop, position))
        return Item(start, past, "statement", past, tuple(bodies))

    def _lambdas(self, start: int, end: int) -> list[tuple[int, int]]:
        """Bodies of the lambdas among the arguments between two brackets."""
        found = []
        while (brace := self.masked.find(b"{", start, end)) >= 0:
            past = self._past(brace, end)
            if _LAMBDA_END.search(self.masked, max(0, brace - 90), brace):
                found.append((brace + 1, max(past - 1, brace + 1)))
                start = max(past, brace + 1)
            else:
                start = brace + 1
        return found

    def _controlled(self, start: int, control: re.Match[bytes], end: int) -> Item:
        word = control.group(1)
        headed = _HEADED.match(self.masked, start, end)
        head_end = self._past(headed.end(), end) if headed else control.end()
        if headed is None and word not in (b"else", b"do", b"try"):
            return self._simple(start, end)
        body = self._next(head_end, end, "code")
        if body is None:
            return Item(start, max(head_end, start + 1), "statement", head_end)
        bodies = [(body.start, body.end)]
        past = body.end
        follow = {b"if": b"else", b"try": b"catch", b"catch": b"catch"}.get(word)
        if follow is not None:
            after = re.compile(rb"\s*" + follow + rb"\b").match(self.masked, past, end)
            rest = self._next(after.end() - len(follow), end, "code") if after else None
            if rest is not None:
                bodies.append((rest.start, rest.end))
                past = rest.end
        if word == b"do":
            _, past = self._until_semicolon(past, end)
        return Item(start, past, "statement", head_end, tuple(bodies))

    def _until_semicolon(self, position: int, end: int) -> tuple[int, int]:
        begin = position
        while True:
            stop, token = self._stops(position, end)
            if token in (b"", b"}"):
                return begin, max(stop, begin)
            if token == b";":
                return begin, stop + 1
            position = max(self._past(stop, end), stop + 1)


def mask(text: bytes) -> bytes:
    """`text` with strings, characters and `#` lines blanked; same length, same lines."""
    return _HIDDEN.sub(lambda m: blank(m.group()), text)


def blank(text: bytes) -> bytes:
    """Spaces of the same length, line ends kept."""
    return b"\n".join(b" " * len(line) for line in text.split(b"\n"))


def line_starts(text: bytes) -> list[int]:
    """Offsets at which lines start."""
    return [0, *(m.end() for m in re.finditer(rb"\n", text))]


def line_of(starts: list[int], offset: int) -> int:
    """The 0-based line that `offset` is on."""
    return bisect_right(starts, offset) - 1


def _match_brackets(masked: bytes) -> dict[int, int]:
    partner: dict[int, int] = {}
    stack: list[tuple[bytes, int]] = []
    for found in _BRACKET.finditer(masked):
        token, at = found.group(), found.start()
        opening = _CLOSES.get(token)
        if opening is None:
            stack.append((token, at))
            continue
        # A brace closes whatever was left open inside it; a stray `)` closes nothing.
        if token == b"}" and any(kind == b"{" for kind, _ in stack[-64:]):
            while stack[-1][0] != b"{":
                stack.pop()
        if stack and stack[-1][0] == opening:
            _, begin = stack.pop()
            partner[begin], partner[at] = at, begin
    return partner


def past_angles(masked: bytes, opening: int, end: int) -> int | None:
    """The offset past the `>` that closes the `<` at `opening`; None where none does."""
    depth = parens = 0
    for found in re.compile(rb"[<>(){};\[\]]").finditer(masked, opening, end):
        token = found.group()
        if token in b"([{":
            parens += 1
        elif token in b")]}":
            parens -= 1
            if parens < 0:
                return None
        elif parens:
            continue
        elif token == b";":
            return None
        elif token == b"<":
            depth += 1
        elif masked[found.start() - 1 : found.start()] != b"-":
            depth -= 1
            if depth == 0:
                return found.end()
    return None


def _past_template_heads(masked: bytes, start: int, end: int) -> int:
    head = re.compile(rb"\s*template\s*<")
    position = start
    while found := head.match(masked, position, end):
        past = past_angles(masked, found.end() - 1, end)
        if past is None:
            break
        position = past
    return position


def _opens(masked: bytes, start: int, brace: int, past: int, end: int) -> Kind | None:
    """What the `{` after a declaration's head opens; None for an initialiser."""
    head = _plain(masked[start:brace])
    if _SCOPE_HEAD.match(head):
        return "scope"
    parameters = _parameters_end(head)
    if parameters is None:
        if _EQUALS.search(head):
            return None
        return "class" if _CLASS_KEY.search(head) else None
    initialisers = re.compile(rb"(?<!:):(?!:)").search(head, parameters)
    if initialisers and _SUBOBJECT.search(head):
        following = masked[past : min(end, past + 200)].lstrip()[:1]
        if following in (b",", b"{"):
            return None
    return "function"


def _plain(head: bytes) -> bytes:
    """`head` with attributes' arguments, template arguments and `operator` signs blanked."""
    out = re.sub(rb"\boperator\s*(?:\(\s*\)|[^\s\w(]+)", lambda m: b"o" * len(m.group()), head)
    position = 0
    while found := _ATTRIBUTE.search(out, position):
        past = _past_parens(out, found.end())
        out = out[: found.start()] + blank(out[found.start() : past]) + out[past:]
        position = past
    position = 0
    while (angle := out.find(b"<", position)) >= 0:
        past_angle = past_angles(out, angle, len(out))
        if past_angle is None:
            position = angle + 1
            continue
        out = out[:angle] + b" " * (past_angle - angle) + out[past_angle:]
        position = past_angle
    return out


def _past_parens(text: bytes, opening: int) -> int:
    depth = 0
    for found in re.compile(rb"[()]").finditer(text, opening):
        depth += 1 if found.group() == b"(" else -1
        if depth == 0:
            return found.end()
    return len(text)


def _parameters_end(head: bytes) -> int | None:
    """Where a function's parameter list ends in a head; None where there is none."""
    equals = _EQUALS.search(head)
    opening = head.find(b"(")
    if opening < 0 or (equals is not None and equals.start() < opening):
        return None
    return _past_parens(head, opening)
