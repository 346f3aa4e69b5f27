"""Which names of a body decide the values that are asked for, and where they stand."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from occlsp.source.effects import NO_TYPE, SPECIFIERS
from occlsp.source.type_syntax import BUILTIN_WORDS

_WORD = re.compile(r"\b[A-Za-z_]\w*")
_SET = re.compile(
    r"\b([A-Za-z_]\w*)(?:\s*(?:\.|->)\s*\w+|\s*\[[^\];{}]*\])*\s*"
    r"(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
)
_STEPPED = re.compile(r"(?:\+\+|--)\s*([A-Za-z_]\w*)")
_DECLARED = re.compile(r"(?:\w\s+|[*&>,\[]\s*)([A-Za-z_]\w*)\s*(?=[({\[;,:)\]]|\Z)")
"""What may be a declarator without `=`, a captured or a tied variable."""
_BOUNDS = re.compile(r"[;{}]")
_CONTROL = re.compile(r"\b(?:if|while|for|switch|case|assert)\b|[\x01\x02\x03]")
"""What stands there is read for what it says of a variable."""
_ASKS = re.compile(r"\b(?:if|while|switch)\b")
_FLAG = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(?:true|false|-?\d+)\s*[;,]")
_ASSIGNS = re.compile(r"<<=|>>=|(?<![=!<>])=(?!=)")
_SHARES = re.compile(r"(?<!&)&\s*\w+\s*[=({:]|\[[&=]")
"""A reference that is declared, or a lambda that captures."""
_TIED = re.compile(r"\bauto\s*&*\s*\[")
_CALLED = re.compile(r"[A-Za-z_]\w*(?=\s*\()")
_DEVICE = ("device", "arch", "computecap", "compute_cap", "propert", "occupancy", "sm_", "cc_")
_DEVICE_LAST = ("_sm", "_cc")
_CALL = re.compile(r"\w*\s*\(")
_CALL_NOW = re.compile(r"\s*\(")
_BRACES = re.compile(r"[{}]")
_LAMBDA = re.compile(r"\]\s*(?:\([^{};]*\))?[^{};()=\[\]]*\{")
_MOST = 4000
_NO_VARIABLES = (
    NO_TYPE
    | SPECIFIERS
    | BUILTIN_WORDS
    | {"true", "false", "nullptr", "NULL", "break", "continue", "this", "dim3", "void"}
)


class Sentence(NamedTuple):
    """A statement, roughly: from a semicolon or brace to the next."""

    start: int
    end: int
    decides: bool
    """Whether all of it may bear on what any of its names are."""
    assigned: tuple[int, ...]
    """Where something in it is given a value."""


class Sentences:
    """The statements of a body around its names, each looked at once."""

    def __init__(self, text: str, parameters: frozenset[str], until: int) -> None:
        self.text = text
        self.bounds = [match.start() for match in _BOUNDS.finditer(text)]
        self.known: dict[int, Sentence] = {}
        self.places: dict[str, list[int]] = {}
        """Where what may be a body's own variable stands, by its name."""
        self.sets = Counter(_SET.findall(text))
        """How often each name is set."""
        variables = parameters.union(self.sets, _STEPPED.findall(text), _DECLARED.findall(text))
        variables -= _NO_VARIABLES
        for match in _WORD.finditer(text, 0, until):
            name = match.group()
            if name in variables:
                self.places.setdefault(name, []).append(match.start())

    def at(self, position: int) -> Sentence:
        """The statement around a position; the head alone of one that guards a block."""
        index = bisect_right(self.bounds, position)
        start = self.bounds[index - 1] + 1 if index else 0
        found = self.known.get(start)
        if found is None or not start <= position < found.end:
            found = self._read(start, position, index)
            self.known.setdefault(start, found)
        return found

    def _read(self, start: int, position: int, index: int) -> Sentence:
        text = self.text
        end = text.find(";", position)
        end = len(text) if end < 0 else end
        brace = self.bounds[index] if index < len(self.bounds) else end
        is_head = brace < end and text[brace] == "{"
        if is_head and (_CONTROL.search(text, start, brace) or _is_step(text, start, brace)):
            end = brace  # what the condition guards is a statement of its own
        if end - start > _MOST:
            return Sentence(start, end, decides=False, assigned=())
        decides = bool(_CONTROL.search(text, start, end) or _SHARES.search(text, start, end))
        assigned = tuple(match.start() for match in _ASSIGNS.finditer(text, start, end))
        return Sentence(start, end, decides, assigned)

    def may_set(self, sentence: Sentence, position: int, length: int) -> bool:
        """Whether a statement may give the name at `position` a value."""
        text, start, behind = self.text, sentence.start, position + length
        index = bisect_left(sentence.assigned, behind)
        following = sentence.assigned[index] if index < len(sentence.assigned) else None
        if text.count("[", start, position) > text.count("]", start, position):
            # An index is not what is set or compared, but the names of a tuple's parts are set.
            is_tied = following is not None and _TIED.search(text, start, position) is not None
            return is_tied or (following is not None and not text[behind:following].strip())
        if sentence.decides or following is not None:
            return True
        before = text[max(start, position - 40) : position].rstrip()
        last = before[-1:]
        if last == "&":
            return True
        if not last or not (last.isalnum() or last in "_>*,") or before.endswith("->"):
            return False
        is_outside = text.count("(", start, position) <= text.count(")", start, position)
        return is_outside and text[behind : sentence.end].lstrip()[:1] in ("(", "{", "[")

    def may_change(self, start: int, end: int) -> bool:
        """Whether a name is declared, stepped, read into, or given to a call as it is."""
        before = self.text[max(0, start - 40) : start].rstrip()[-2:]
        behind = self.text[end : end + 40].lstrip()[:2]
        if before in ("++", "--", ">>") or behind in ("++", "--"):
            return True
        last = before[-1:]
        if not last or last in "(,_>*&" or last.isalnum():
            return behind[:1] in (")", ",", ".", "-", "[", "", ";", ":")
        return False

    @cached_property
    def asked(self) -> set[str]:
        """Variables that the device answers or literals alone set, and that a condition asks:
        they guard what follows."""
        text = self.text
        flags = Counter(_FLAG.findall(text))
        found = {name for name in flags if flags[name] == self.sets[name] and self.is_asked(name)}
        for place in _device_calls(text):
            start, end = self.at(place)[:2]
            piece = text[start:end]
            if end - start <= _MOST and ("=" in piece or "&" in piece):
                found.update(word for word in set(_WORD.findall(piece)) if self.is_asked(word))
        return found

    def is_asked(self, name: str) -> bool:
        """Whether a name stands in a condition, or in the statement that one guards."""
        return any(
            _ASKS.search(self.text, *self.at(position)[:2])
            for position in self.places.get(name, ())
        )


def _is_step(text: str, start: int, brace: int) -> bool:
    """Whether the end of a loop's head stands there: `++i) {`."""
    piece = text[start:brace].rstrip()
    return piece.endswith(")") and piece.count(")") > piece.count("(")


_sentences = lru_cache(maxsize=16)(Sentences)


def relevant_positions(
    text: str,
    names: set[str],
    parameters: Iterable[str] = (),
    assigns: Callable[[str], bool] = lambda name: False,
    until: int | None = None,
) -> list[int]:
    """Where any of `names` may change; `names` grows by those that decide their values.

    What stands behind `until` decides nothing. A statement that only uses a variable says nothing
    of it: the names beside it count only where it is set, shared, compared, or handed to a macro
    that `assigns` what it is given.
    """
    sentences = _sentences(text, frozenset(parameters), len(text) if until is None else until)
    places = sentences.places
    names |= sentences.asked
    pending = [name for name in names if name in places]
    seen = set(names)
    positions: list[int] = []
    read: set[int] = set()
    for name in pending:
        length = len(name)
        for position in places[name]:
            sentence = sentences.at(position)
            start, end = sentence.start, sentence.end
            if start in read or end - start > _MOST:
                positions.append(position)
                continue
            if not sentences.may_set(sentence, position, length) and not any(
                assigns(called) for called in _CALLED.findall(text, start, position)
            ):
                if sentences.may_change(position, position + length):
                    positions.append(position)
                continue
            positions.append(position)
            read.add(start)
            for other in _WORD.findall(text, start, end):
                if other not in seen:
                    seen.add(other)
                    if other in places:
                        pending.append(other)
    names |= seen
    positions.sort()
    return positions


def last_that_counts(text: str, event: int) -> int:
    """Behind the statement that holds an offset, and all that may run before it again."""
    if "goto" in text or _LAMBDA.search(text, 0, event):
        return len(text)
    depth = max(0, text.count("{", 0, event) - text.count("}", 0, event))
    position = event
    for match in _BRACES.finditer(text, event) if depth else ():
        depth += 1 if match.group() == "{" else -1
        position = match.end()
        if depth == 0:
            break
    end = text.find(";", position)
    return len(text) if end < 0 or depth else end + 1


def _device_calls(text: str) -> Iterator[int]:
    """Where calls stand whose results say what the device can do."""
    small = text.lower()
    for words, call in ((_DEVICE, _CALL), (_DEVICE_LAST, _CALL_NOW)):
        for word in words:
            place = small.find(word)
            while place >= 0:
                if call.match(text, place + len(word)):
                    yield place
                place = small.find(word, place + len(word))


@lru_cache(maxsize=4096)
def assigns_parameter(parameters: tuple[str, ...], body: str) -> bool:
    """Whether a macro's body gives one of its parameters a value."""
    for parameter in parameters:
        name = parameter.removesuffix("...").strip() or "__VA_ARGS__"
        if re.search(rf"\b{re.escape(name)}\b[^;=!<>]*(?:<<|>>|[-+*/%&|^])?=(?!=)", body):
            return True
    return False
