"""A function's body as text to read: `#if` branches decided, or marked where they are not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from occlsp.source.macros import Macros, Place
from occlsp.source.statements import ELSE, END, IF
from occlsp.source.syntax import Condition
from occlsp.source.text import Span

MOST_BODY = 128_000
"""Characters of a body that is read: one that is longer is a function that is not closed yet, with
all that follows."""
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:[^\n\\]|\\[ \t]*\r?\n|\\.)*)", re.M)

_WRITTEN = re.compile(r"[^\r\n]")


def between_braces(masked: bytes, body: Span) -> str:
    """The text of a body without its braces. One that is never closed has but one: nothing closes
    it at the end of the file but what closes another."""
    start, end = body.start, body.end
    is_closed = end < len(masked) or masked.count(b"{", start) == masked.count(b"}", start)
    return masked[start + 1 : max(start + 1, end - is_closed)].decode("latin-1")


def readable(
    text: str, path: str, base: int, macros: Macros, chosen: Sequence[Condition] = ()
) -> str:
    """`text` with directives and inactive branches blanked, line ends and offsets kept. Branches
    that are `chosen` are read, whatever their conditions say."""
    forced = [condition.span.start - base for condition in chosen]
    if "#" not in text or len(text) > MOST_BODY:
        return text
    result = list(text)
    stack: list[_Branches] = []
    for match in _DIRECTIVE.finditer(text):
        word = match[1]
        _blank(result, match.start(), match.end())
        at = Place(path, base + match.start())
        if word in ("if", "ifdef", "ifndef"):
            condition = _condition(word, match[2])
            stack.append(_Branches(match.start(), match.end(), condition, macros, at))
        elif word in ("elif", "else", "elifdef", "elifndef") and stack:
            condition = "1" if word == "else" else _condition(word.removeprefix("el"), match[2])
            stack[-1].next(match.start(), match.end(), condition, macros, at, last=word == "else")
        elif word == "endif" and stack:
            stack.pop().close(result, match.start(), forced)
    for branches in stack:
        branches.close(result, len(text), forced)
    return "".join(result)


def _condition(word: str, rest: str) -> str:
    name = rest.strip().split(" ")[0]
    if word == "ifdef":
        return f"defined({name})"
    if word == "ifndef":
        return f"!defined({name})"
    return rest.replace("\\\n", "  ").replace("\\\r\n", "   ")


def _blank(result: list[str], start: int, end: int) -> None:
    end = min(end, len(result))
    result[start:end] = _WRITTEN.sub(" ", "".join(result[start:end]))


class _Branches:
    """The branches of one `#if`, up to the current one."""

    def __init__(self, start: int, end: int, condition: str, macros: Macros, at: Place) -> None:
        self.decided = False
        self.marks: list[tuple[int, int, bool | None, bool]] = []
        self.next(start, end, condition, macros, at, last=False)

    def next(
        self, start: int, end: int, condition: str, macros: Macros, at: Place, *, last: bool
    ) -> None:
        """Begins a branch: its directive stands from `start` to `end`."""
        holds: bool | None = False if self.decided else macros.holds(condition, at)
        if holds:
            self.decided = True
        self.marks.append((start, end, holds, last or holds is True))

    def close(self, result: list[str], end: int, forced: Sequence[int]) -> None:
        """Blanks what is inactive; marks the branches where several may be active. That with a
        directive at one of the offsets that are `forced` is the one."""
        chosen = [any(start <= at < begin for at in forced) for start, begin, *_ in self.marks]
        if any(chosen):
            pairs = zip(self.marks, chosen, strict=True)
            self.marks = [(start, begin, is_it, is_it) for (start, begin, *_), is_it in pairs]
        open_branches = [mark for mark in self.marks if mark[2] is not False]
        for position, (_, begin, holds, _) in enumerate(self.marks):
            stop = self.marks[position + 1][0] if position + 1 < len(self.marks) else end
            if holds is False:
                _blank(result, begin, stop)
        if all(mark[2] is True for mark in open_branches):
            return
        for position, (start, _, _, complete) in enumerate(open_branches):
            mark = IF if position == 0 else ELSE
            _put(result, start, mark + "!" if position and complete else mark)
        if end < len(result):
            _put(result, end, END)
            if len(open_branches) == 1:
                _rotate(result, open_branches[0][0], end)
        else:
            result.append(END)


def _put(result: list[str], at: int, mark: str) -> None:
    for offset, char in enumerate(mark):
        if at + offset < len(result):
            result[at + offset] = char


def _rotate(result: list[str], start: int, end: int) -> None:
    """Takes `}` out of a branch in whose place the text behind it has one: what is compiled is the
    same, and `} else if (…) {` is an `else` then."""
    first, following = _next(result, start), _next(result, end)
    if first < end and following < len(result) and result[first] == result[following] == "}":
        for mark, brace in ((start, first), (end, following)):
            result[mark], result[brace] = result[brace], result[mark]


def _next(result: list[str], at: int) -> int:
    """Where the next character behind one is that is no blank."""
    at += 1
    while at < len(result) and result[at].isspace():
        at += 1
    return at
