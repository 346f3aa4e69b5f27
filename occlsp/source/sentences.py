"""The statements of a body around its names: roughly read, each only where it is asked for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache

from occlsp.source.effects import NO_TYPE, SPECIFIERS
from occlsp.source.statements import MARKS
from occlsp.source.text import places_of
from occlsp.source.type_syntax import BUILTIN_WORDS

_WORD = re.compile(r"\b[A-Za-z_]\w*")
_SET = re.compile(
    r"\w+(?:\s*(?:\.|->)\s*\w+|\s*\[[^\];{}]*\])*\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
)
"""A name that is given a value."""
_ENDS = frozenset(("", *",;:?(){}]~!"))
"""What may stand behind a name that is given none there."""
_FLAG = re.compile(r"\w+\s*=\s*(?:true|false|-?\d+)\s*[;,]")
"""One that is given a literal."""
_DECLARATOR_END = re.compile(r"\s*(?:[({\[;,:)\]]|\Z)")
_BOUNDS = re.compile(r"[;{}]")
_BRACKETS = re.compile(r"[()]")
_SEPARATORS = re.compile(r"[()\[\]{},]")
_CONTROL = re.compile(r"\b(?:if|while|for|switch|case)\b|[\x01\x02\x03]")
_ASSIGNS = re.compile(r"<<=|>>=|(?<![=!<>])=(?!=)")
_SHARES = re.compile(
    r"(?:(?<!&)&|\bauto\s*&&)\s*[A-Za-z_]\w*\s*(?:[({:]|=(?!=))|"
    r"\bauto\s*&+\s*\[|\[[&=]|[\x01\x02\x03]"
)
"""A reference that is declared, a lambda that captures, or branches of which any may be active."""
_TIED = re.compile(r"\bauto\s*&*\s*\[")
_DEVICE = ("device", "arch", "computecap", "compute_cap", "propert", "occupancy", "sm_", "cc_")
_DEVICE_LAST = ("_sm", "_cc")
_CALL = re.compile(r"\w*\s*\(")
_CALL_NOW = re.compile(r"\s*\(")
MOST = 4000
"""Characters: no more of a statement is looked at."""
NO_VARIABLES = (
    NO_TYPE
    | SPECIFIERS
    | BUILTIN_WORDS
    | {"true", "false", "nullptr", "NULL", "break", "continue", "this", "dim3", "void"}
)
"""Words that no statement changes, whatever it does."""
_PART_GIVEN = re.compile(r"(?:\.\w+|->\w+|\[[^\[\]]*\])+\s*[,)]")
"""The rest of a name's part that a call is given."""
_TYPED = re.compile(r"(?<!return)[\w>]\s+\Z|[*,]\s*\Z")
"""What may stand before the name of an array that is declared."""
_OVER = re.compile(r"\s*:(?!:)")
_FOR = re.compile(r"\bfor\s*\([^()]*\Z")


class Sentence:
    """A statement, roughly: from a semicolon or brace to the next."""

    __slots__ = ("decides", "end", "has_index", "last_set", "sets", "start")

    def __init__(self, text: str, start: int, end: int, *, decides: bool) -> None:
        self.start = start
        self.end = end
        self.decides = decides
        """Whether all of it may bear on what any of its names are."""
        self.last_set = -1
        """Where its last assignment stands; -1 for none."""
        if text.find("=", start, end) >= 0 and end - start <= MOST:
            for match in _ASSIGNS.finditer(text, start, end):
                self.last_set = match.start()
        self.sets = (
            self.last_set >= 0
            or text.find("++", start, end) >= 0
            or text.find("--", start, end) >= 0
        )
        """Whether it may give any name a value."""
        self.has_index = text.find("[", start, end) >= 0


class Sentences:
    """The statements of a body around its names, each looked at once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_marked = MARKS.search(text) is not None
        self.bounds = [match.start() for match in _BOUNDS.finditer(text)]
        self.known: dict[int, Sentence] = {}
        self.heads: dict[int, int] = {}
        self.commas: dict[int, list[int]] = {}
        self.places: dict[str, list[int]] = {}
        self.variables: dict[str, bool] = {}
        self.flags: dict[str, bool] = {}
        self.arrays: dict[str, bool] = {}
        self.calls: dict[frozenset[str], list[int]] = {}

    def places_of(self, name: str) -> list[int]:
        """Where a name stands."""
        found = self.places.get(name)
        if found is None:
            found = self.places[name] = list(places_of(self.text, name))
        return found

    def is_variable(self, name: str) -> bool:
        """Whether a name may be a variable of the body's own."""
        found = self.variables.get(name)
        if found is None:
            found = name not in NO_VARIABLES and any(
                self.is_made(place, place + len(name)) for place in self.places_of(name)
            )
            self.variables[name] = found
        return found

    def is_made(self, start: int, end: int) -> bool:
        """Whether the name that stands there is set, stepped or declared, captured or tied."""
        text = self.text
        before = text[max(0, start - 40) : start]
        bare = before.rstrip()
        if bare.endswith(("++", "--")):
            return True
        last = bare[-1:]
        is_typed = last and (last in "*&>,[" or (len(bare) < len(before) and _is_word(last)))
        if is_typed and _DECLARATOR_END.match(text, end) is not None:
            return True
        return self.is_set(start, end)

    def is_set(self, start: int, end: int) -> bool:
        """Whether the name that stands there, or a part of it, is assigned or stepped."""
        return self.text[end : end + 1] not in _ENDS and _SET.match(self.text, start) is not None

    def is_flag(self, name: str) -> bool:
        """Whether nothing but literals sets a variable."""
        found = self.flags.get(name)
        if found is None:
            text = self.text
            sets = [place for place in self.places_of(name) if _SET.match(text, place)]
            found = bool(sets) and all(_FLAG.match(text, place) for place in sets)
            self.flags[name] = found
        return found

    def is_flag_once(self, name: str) -> bool:
        """Whether a literal sets a variable anywhere."""
        return any(_FLAG.match(self.text, place) for place in self.places_of(name))

    def at(self, position: int) -> Sentence:
        """The statement around a position; the head alone of one that guards a block."""
        index = bisect_right(self.bounds, position)
        start = self.bounds[index - 1] + 1 if index else 0
        head = self.heads.get(start)
        if head is None:
            head = self.heads[start] = self._head_end(start, index)
        if head and position >= head:
            start = head
        found = self.known.get(start)
        if found is None or not start <= position < found.end:
            found = self._read(start, position, index)
            if position < head < found.end:
                found = Sentence(self.text, start, head, decides=found.decides)
            self.known.setdefault(start, found)
        return found

    def _head_end(self, start: int, index: int) -> int:
        """Behind the head of a loop that ends in a piece of text: `++i) a[i] = 0`; 0 for none."""
        text = self.text
        end = self.bounds[index] if index < len(self.bounds) else len(text)
        if text[start - 1 : start] != ";" or text.count(")", start, end) <= text.count(
            "(", start, end
        ):
            return 0
        depth = 0
        for match in _BRACKETS.finditer(text, start, end):
            depth += 1 if match.group() == "(" else -1
            if depth < 0:
                return match.end()
        return 0

    def part(self, sentence: Sentence, position: int) -> tuple[int, int]:
        """What of a statement is about the name that stands there: of several declarators or
        expressions with commas between them, its own."""
        start, end, text = sentence.start, sentence.end, self.text
        if sentence.decides or text.find(",", start, end) < 0:
            return start, end
        commas = self.commas.get(start)
        if commas is None:
            commas = self.commas[start] = self._separators(start, end)
        index = bisect_right(commas, position)
        first = commas[index - 1] + 1 if index else start
        if not commas or _depth(text, first, position):
            return start, end
        return first, commas[index] if index < len(commas) else end

    def _separators(self, start: int, end: int) -> list[int]:
        """The commas of a statement that stand in no bracket."""
        if self.text.find("<", start, end) >= 0:
            return []  # it may hold template arguments
        found = []
        depth = 0
        for match in _SEPARATORS.finditer(self.text, start, end):
            mark = match.group()
            if mark != ",":
                depth += 1 if mark in "([{" else -1
            elif depth == 0:
                found.append(match.start())
        return found

    def around(self, position: int) -> tuple[int, int]:
        """Between the semicolons or braces around a position."""
        index = bisect_right(self.bounds, position)
        start = self.bounds[index - 1] + 1 if index else 0
        return start, self.bounds[index] if index < len(self.bounds) else len(self.text)

    def _read(self, start: int, position: int, index: int) -> Sentence:
        text = self.text
        end = text.find(";", position)
        end = len(text) if end < 0 else end
        brace = self.bounds[index] if index < len(self.bounds) else end
        is_head = brace < end and text[brace] == "{"
        if is_head and (_CONTROL.search(text, start, brace) or _is_step(text, start, brace)):
            end = brace  # what the condition guards is a statement of its own
        may_share = (
            self.is_marked or text.find("&", start, end) >= 0 or text.find("[=", start, end) >= 0
        )
        decides = may_share and end - start <= MOST and _SHARES.search(text, start, end) is not None
        return Sentence(text, start, end, decides=decides)

    def may_set(self, sentence: Sentence, position: int, length: int) -> bool:
        """Whether a statement may give the name at `position` a value that others decide."""
        text, start, behind = self.text, sentence.start, position + length
        if sentence.has_index and (
            text.count("[", start, position) > text.count("]", start, position)
        ):
            # An index is not what is set or compared, but the names of a tuple's parts are set.
            following = _ASSIGNS.search(text, behind, sentence.end)
            if following is None:
                return False
            is_tied = _TIED.search(text, start, position) is not None
            return is_tied or not text[behind : following.start()].strip()
        if sentence.decides or (sentence.sets and self.is_set(position, behind)):
            return True
        if _OVER.match(text, behind) and _FOR.search(text, start, position):
            return True  # `for (int size : sizes)`
        if text.count("(", start, position) > text.count(")", start, position):
            # `(n ? a : b) = 64` sets either.
            return behind <= sentence.last_set and text[start:position].lstrip()[:1] == "("
        if behind <= sentence.last_set:
            return True
        before = text[max(start, position - 40) : position].rstrip()
        last = before[-1:]
        if last == "&":
            return not before.endswith("&&")
        if not last or not (last.isalnum() or last in "_>*,") or before.endswith("->"):
            return False
        return text[behind : sentence.end].lstrip()[:1] in ("(", "{", "[")

    def called(self, names: frozenset[str]) -> list[int]:
        """Where any of some names stands before a bracket."""
        if not names:
            return []
        found = self.calls.get(names)
        if found is None:
            found = self.calls[names] = sorted(
                place
                for name in names
                if name in self.text
                for place in self.places_of(name)
                if _CALL_NOW.match(self.text, place + len(name))
            )
        return found

    def may_change(self, start: int, end: int) -> bool:
        """Whether a name is declared, stepped, read into, or given to a call as it is."""
        before = self.text[max(0, start - 40) : start].rstrip()[-2:]
        behind = self.text[end : end + 40].lstrip()[:2]
        if before in ("++", "--", ">>") or behind in ("++", "--"):
            return True
        last, following = before[-1:], behind[:1]
        if last and last in "*&":
            return following in (")", ",", ".", "-", "[", "", ";", ":")
        if not last or last in "(,_>" or last.isalnum():
            is_given = following in (")", ",", "", ";", ":")
            if is_given or (last in "(," and _PART_GIVEN.match(self.text, end)):
                return not self.is_launched_with(start)
        return following != "[" and self.is_array(self.text[start:end])

    def is_array(self, name: str) -> bool:
        """Whether a name may be an array's, which by itself is a pointer to its elements."""
        found = self.arrays.get(name)
        if found is None:
            found = self.arrays[name] = any(
                self.text[place + len(name) :][:2].lstrip()[:1] == "["
                and _TYPED.search(self.text, max(0, place - 40), place) is not None
                for place in self.places_of(name)
            )
        return found

    def is_launched_with(self, position: int) -> bool:
        """Whether a name is by itself an argument of a launch or in its configuration: copied."""
        text = self.text
        start = self.at(position).start
        opening = text.rfind("<<<", start, position)
        if opening < 0:
            return False
        closing = text.find(">>>", opening, position)
        inside = max(opening, closing)
        depth = text.count("(", inside, position) - text.count(")", inside, position)
        return depth == (closing >= 0)

    @cached_property
    def answers(self) -> set[str]:
        """The names that calls set which say what the device can do."""
        found: set[str] = set()
        for place in _device_calls(self.text):
            around = self.at(place)
            if around.end - around.start <= MOST:
                for match in _WORD.finditer(self.text, around.start, around.end):
                    if self.is_made(*match.span()) or self.is_given(match.start()):
                        found.add(match.group())
        return found

    def is_given(self, position: int) -> bool:
        """Whether the address of a name is taken."""
        return self.text[max(0, position - 40) : position].rstrip().endswith("&")


def _is_step(text: str, start: int, brace: int) -> bool:
    """Whether the end of a loop's head stands there: `++i) {`."""
    piece = text[start:brace].rstrip()
    return piece.endswith(")") and piece.count(")") > piece.count("(")


def _depth(text: str, start: int, end: int) -> int:
    """How many more brackets are opened than closed between two offsets."""
    opened = text.count("(", start, end) + text.count("[", start, end) + text.count("{", start, end)
    closed = text.count(")", start, end) + text.count("]", start, end) + text.count("}", start, end)
    return opened - closed


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


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


sentences_of = lru_cache(maxsize=16)(Sentences)
