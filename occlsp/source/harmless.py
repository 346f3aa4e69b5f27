"""Whether an edit inside of a function leaves alone what the function launches.

It does where it changes plain statements only, none of whose names decides anything: then they
are skipped in the new text as they were in the old one. Anything unusual counts as harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from itertools import pairwise

from occlsp.source.incremental import Edit
from occlsp.source.sentences import NO_VARIABLES, sentences_of
from occlsp.source.syntax import Function
from occlsp.source.text import Span

_MARKS = (b";", b"{", b"}")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_STRUCTURE = re.compile(
    rb"[#{}\\]|<<<|(?<!:):(?!:)|\b(?:if|else|for|while|do|switch|case|default|return|goto|break|"
    rb"continue|throw|try|catch|co_return|co_await|co_yield|using|typedef|struct|class|union|enum|"
    rb"template|namespace|operator|asm|\w*exit|abort|terminate|\w*assert)\b|Launch|FuncSet|Occupancy"
)
"""What may decide how the function goes on, or what its names mean."""
_TOLD = re.compile(rb"<<<|Launch|FuncSet")
"""What makes a statement one whose own text is told."""
_BLOCK = re.compile(rb"(?:^|[;{}])\s*(?:(?:if|for|while|switch|else|do|try)\b[^;{}]*)?\Z")
"""The end of a text behind which `{` begins statements, not values."""
_JOINS = re.compile(rb"\s*(?:else|while|catch)\b")
"""What goes on with the statement before it, between which nothing may stand."""
_ASKS = re.compile(rb"\b(?:if|while|switch|for)\b|[?#]")


_SAYS = re.compile(
    rb"[#{}\\]|<<<|\b(?:using|typedef|struct|class|union|enum|template|namespace|operator|extern|"
    rb"__shared__)\b|Launch|FuncSet|Occupancy"
)
"""What says something of a file even in a function that nobody follows."""


class _Piece:
    """The statements around an edit in one of its texts."""

    def __init__(self, text: bytes, body: Span, start: int, end: int, *, ends: bool) -> None:
        before = max(text.rfind(mark, body.start, start) for mark in _MARKS)
        after = end - 1
        if not ends:
            found = [text.find(mark, end, body.end) for mark in _MARKS]
            after = min((place for place in found if place >= 0), default=-1)
        self.body = body
        self.all = text
        self.before, self.after = before, after
        self.is_known = body.start <= before and after >= 0
        self.text = text[before + 1 : after + 1] if self.is_known else text[start:end]

    def is_plain(self) -> bool:
        """Whether it holds whole statements that only declare, assign or call."""
        text, body = self.all, self.body
        if not self.is_known or _STRUCTURE.search(self.text.removesuffix(b"}")):
            return False
        if _JOINS.match(text, self.after + 1):
            return False
        if any(not _is_balanced(self.text, *pair) for pair in ((b"(", b")"), (b"[", b"]"))):
            return False
        if self._is_bracketed():
            return False
        statements = self.text.rstrip(b"}").strip()
        if self.text.endswith(b"}") and statements and not statements.endswith(b";"):
            return False
        opener = text[self.before : self.before + 1]
        if opener == b"{" and self.before != body.start:
            start = max(text.rfind(m, body.start, self.before) for m in _MARKS)
            return _BLOCK.search(text[start : self.before]) is not None
        return opener != b"}" or not statements or _WORD.match(statements) is not None

    def _is_bracketed(self) -> bool:
        """Whether it begins inside of brackets."""
        inside = (self.body.start, self.before)
        return self.all.count(b"(", *inside) != self.all.count(b")", *inside)

    def lines(self) -> list[bytes]:
        """What it says, line by line, however it is laid out."""
        lines = [b" ".join(line.split()) for line in self.text.splitlines()]
        # A directive begins a line: whether one stands in front of it is no matter of layout.
        first = lines[:1] if b"#" in self.text else []
        return first + [line for line in lines[len(first) :] if line]

    def tells(self, edit: Edit) -> bool:
        """Whether an edit lays out anew what is told as it is written: a launch."""
        if self._is_bracketed() and _TOLD.search(self.all, self.body.start, self.before):
            return True  # its arguments may go on behind a semicolon that is too much
        if _TOLD.search(self.text) is None:
            return False
        bounds = (self.before + 1, edit.start, edit.old_end, self.after)
        pieces = [self.all[start:end].strip() for start, end in pairwise(bounds)]
        front, inside, behind = map(bool, pieces)
        return inside or (front and behind)

    def words(self) -> set[bytes]:
        return set(_WORD.findall(self.text))

    def asks(self, names: Iterable[str]) -> bool:
        """Whether a condition elsewhere in the body holds one of some names."""
        for word in map(str.encode, names):
            start = self.all.find(word, *self.body)
            while start >= 0:
                if not self.before < start <= self.after and self._is_asked(start):
                    return True
                start = self.all.find(word, start + len(word), self.body.end)
        return False

    def _is_asked(self, place: int) -> bool:
        start = max(self.all.rfind(mark, self.body.start, place) for mark in _MARKS)
        ends = [self.all.find(mark, place, self.body.end) for mark in _MARKS]
        end = min((one for one in ends if one >= 0), default=self.body.end)
        return _ASKS.search(self.all, start + 1, end) is not None


class _Variables:
    """What the names around an edit are to a body, before and after it."""

    def __init__(self, was: _Piece, now: _Piece, parameters: AbstractSet[str]) -> None:
        self._pieces = was, now
        self._parameters = parameters
        bodies = [piece.all[piece.body.start + 1 : piece.body.end - 1] for piece in (was, now)]
        self._is_open = any(b"#" in body for body in bodies)
        """Whether parts of a body may not be active: then nothing is said of it."""
        self._bodies = [body.decode("latin-1") for body in bodies]

    def leaves_alone(self, name: str) -> bool:
        """Whether a name that decides something decides as much after the edit, whatever it does:
        it is no variable, as a type is none, and stands in the same way as often."""
        if self._may_vary(name):
            return False
        uses = re.compile(rb"\b%b\b\s*(.?)" % name.encode())
        was, now = (sorted(uses.findall(piece.text)) for piece in self._pieces)
        return was == now

    def may_be_asked(self, name: str) -> bool:
        """Whether a condition may count for holding a name: the device says what that is, or a
        literal."""
        return self._may_vary(name) and (
            self._is_open
            or any(
                name in (found := sentences_of(body)).answers or name in found.flagged
                for body in self._bodies
            )
        )

    def _may_vary(self, name: str) -> bool:
        return (
            self._is_open
            or name in self._parameters
            or any(sentences_of(body).is_variable(name) for body in self._bodies)
        )


def _is_balanced(text: bytes, opening: bytes, closing: bytes) -> bool:
    if text.count(opening) != text.count(closing):
        return False
    depth = 0
    for part in text.split(closing)[:-1]:
        depth += part.count(opening) - 1
        if depth < 0:
            return False
    return True


def harmless_words(
    old: bytes,
    new: bytes,
    old_body: Span,
    new_body: Span,
    edit: Edit,
    deciding: AbstractSet[str],
    telling: AbstractSet[str] = frozenset(),
    parameters: AbstractSet[str] = frozenset(),
) -> frozenset[str] | None:
    """The words around an edit of a body that decides nothing there; None where it may.

    `old` and `new` are texts without comments and literals, `deciding` the names on which the
    facts of the body depend, and `telling` those that say something wherever they stand.
    """
    edit = _behind_a_statement(old, new, edit, old_body.start)
    if edit.start <= old_body.start or edit.old_end >= old_body.end:
        return None
    ends = all(
        text[end - 1 : end] in _MARKS for text, end in ((old, edit.old_end), (new, edit.new_end))
    )
    was = _Piece(old, old_body, edit.start, edit.old_end, ends=ends)
    now = _Piece(new, new_body, edit.start, edit.new_end, ends=ends)
    if was.lines() == now.lines():
        return None if was.tells(edit) else frozenset()
    names = frozenset([word.decode("latin-1") for word in was.words() | now.words()])
    changing = names - NO_VARIABLES
    if not changing.isdisjoint(telling) or not was.is_plain() or not now.is_plain():
        return None
    variables = _Variables(was, now, parameters)
    if any(not variables.leaves_alone(name) for name in changing & deciding):
        return None
    return None if not names or now.asks(filter(variables.may_be_asked, changing)) else names


def parameters_of(function: Function) -> frozenset[str]:
    """The names that a function's callers give values."""
    return frozenset([one.name for one in function.parameters if one.name])


def idle_words(
    old: bytes, new: bytes, old_body: Span, new_body: Span, edit: Edit
) -> frozenset[str] | None:
    """The words of the statements around an edit of a body that nobody follows; None where the edit
    may say something all the same."""
    if edit.start <= old_body.start or edit.old_end >= old_body.end:
        return None
    pieces = (
        _Piece(old, old_body, edit.start, edit.old_end, ends=False),
        _Piece(new, new_body, edit.start, edit.new_end, ends=False),
    )
    for piece in pieces:
        if not piece.is_known or _SAYS.search(piece.text, 0, len(piece.text) - 1):
            return None
    return frozenset([word.decode("latin-1") for piece in pieces for word in piece.words()])


def _behind_a_statement(old: bytes, new: bytes, edit: Edit, least: int) -> Edit:
    """The same edit, begun behind a statement's end where it can be seen so: of two lines that
    begin alike the first may be the new one."""
    start, old_end, new_end = edit.start, edit.old_end, edit.new_end
    if min(old_end, new_end) != start:
        return edit
    text, end = (new, new_end) if old_end == start else (old, old_end)
    while start > least and text[start - 1 : start] not in _MARKS:
        if text[start - 1] != text[end - 1]:
            return edit
        start, end = start - 1, end - 1
    moved = edit.start - start
    return Edit(start, old_end - moved, new_end - moved)
