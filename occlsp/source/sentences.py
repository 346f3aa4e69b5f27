"""The statements of a body around its names: roughly read, each only where it is asked for."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache

from occlsp.source.effects import NO_TYPE, SPECIFIERS
from occlsp.source.statements import is_marked
from occlsp.source.type_syntax import BUILTIN_WORDS
from occlsp.source.words import cut

_SET = re.compile(
    r"\w+(?:\s*(?:\.|->)\s*\w+|\s*\[[^\];{}]*\])*\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
)
"""A name that is given a value."""
_SETS = frozenset(("++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="))
"""What stands behind a name that is given one there."""
_LITERAL = re.compile(r"=\s*(?:true|false|-?\d+)\s*[;,]")
_FLAG = re.compile(rf"\w+\s*{_LITERAL.pattern}")
"""A name that is given a literal."""
_DECLARATOR_ENDS = frozenset(("", *"({[;,:)]"))
"""What stands behind a name that is declared; nothing at the end of the text."""
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
_FOR = re.compile(r"\bfor\s*\([^()]*\Z")


class Sentence:
    """A statement, roughly: from a semicolon or brace to the next."""

    __slots__ = ("commas", "decides", "end", "has_index", "last_set", "rest", "sets", "start")

    def __init__(self, text: str, start: int, end: int, *, decides: bool) -> None:
        self.start = start
        self.end = end
        self.decides = decides
        """Whether all of it may bear on what any of its names are."""
        self.last_set = _last_set(text, start, end) if end - start <= MOST else -1
        """Where its last assignment stands; -1 for none."""
        self.sets = (
            self.last_set >= 0
            or text.find("++", start, end) >= 0
            or text.find("--", start, end) >= 0
        )
        """Whether it may give any name a value."""
        self.has_index = text.find("[", start, end) >= 0
        self.commas: list[int] | None = None
        """Where it has those that part it; None before that is asked."""
        self.rest: Sentence | None = None
        """What the head of a loop that ends here guards: `a[i] = 0` of `++i) a[i] = 0`."""


class Sentences:
    """The statements of a body around its names, each looked at once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = cut(text)
        self.is_marked = is_marked(text)
        self.bounds = [place for place, mark in self.words.marks if mark in ";{}"]
        self.known: dict[int, Sentence] = {}
        self.variables: dict[str, bool] = {}
        self.arrays: dict[str, bool] = {}
        self.calls: dict[frozenset[str], list[int]] = {}

    def before(self, number: int) -> str:
        """What stands before a word: at most two marks, a letter for a word, nothing at the
        beginning."""
        return self.words.gaps[number].rstrip()[-2:] or ("w" if number else "")

    def behind(self, number: int) -> str:
        """What stands behind a word: at most two marks, a letter for a word, nothing at the end."""
        gaps = self.words.gaps
        return gaps[number + 1].lstrip()[:2] or ("w" if number + 2 < len(gaps) else "")

    def is_variable(self, name: str) -> bool:
        """Whether a name may be a variable of the body's own."""
        found = self.variables.get(name)
        if found is None:
            found = name not in NO_VARIABLES and any(map(self.is_made, self.words.named(name)))
            self.variables[name] = found
        return found

    def is_made(self, number: int) -> bool:
        """Whether the name that stands there is set, stepped or declared, captured or tied."""
        before = self.before(number)
        if before in ("++", "--"):
            return True
        last = before[-1:]
        is_typed = last and (last in "*&>,[" or _is_word(last))
        if is_typed and self.behind(number)[:1] in _DECLARATOR_ENDS:
            return True
        return self.is_set(number, self.behind(number))

    def is_set(self, number: int, behind: str) -> bool:
        """Whether the name that stands there, or a part of it, is assigned or stepped."""
        if behind in _SETS:
            return True
        if behind[:1] == "=":
            return behind != "=="
        is_longer = behind[:1] in (".", "[") or behind in ("->", "<<", ">>")
        return is_longer and _SET.match(self.text, self.words.starts[number]) is not None

    def is_flag(self, name: str) -> bool:
        """Whether nothing but literals sets a variable."""
        if name not in self.flagged:
            return False
        text = self.text
        sets = [place for place in self.words.places_of(name) if _SET.match(text, place)]
        return all(_FLAG.match(text, place) for place in sets)

    @cached_property
    def flagged(self) -> set[str]:
        """The variables that a literal sets anywhere."""
        text, words = self.text, self.words
        found: set[str] = set()
        for match in _LITERAL.finditer(self.text):
            number = bisect_left(words.starts, match.start()) - 1
            behind = words.starts[number] + len(words.all[number]) if number >= 0 else 0
            if number >= 0 and not text[behind : match.start()].strip():
                found.add(words.all[number])
        return found

    def at(self, position: int) -> Sentence:
        """The statement around a position; the head alone of one that guards a block."""
        index = bisect_right(self.bounds, position)
        found = self.known.get(index)
        if found is None:
            found = self.known[index] = self._read(index)
        return found if found.rest is None or position < found.end else found.rest

    def _read(self, index: int) -> Sentence:
        """The statement behind a bound."""
        start = self.bounds[index - 1] + 1 if index else 0
        head = self._head_end(start, index)
        if not head:
            return self._sentence(start, index)
        rest = self._sentence(head, index)
        found = self._sentence(start, index)
        if head < found.end:
            found = Sentence(self.text, start, head, decides=found.decides)
        found.rest = rest
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
        start, end = sentence.start, sentence.end
        commas = sentence.commas
        if commas is None:
            is_whole = sentence.decides or self.text.find(",", start, end) < 0
            commas = sentence.commas = [] if is_whole else self._separators(start, end)
        if not commas:
            return start, end
        index = bisect_right(commas, position)
        first = commas[index - 1] + 1 if index else start
        if _depth(self.text, first, position):
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

    def _sentence(self, start: int, index: int) -> Sentence:
        text = self.text
        brace = self.bounds[index] if index < len(self.bounds) else len(text)
        end = text.find(";", brace)
        end = len(text) if end < 0 else end
        is_head = brace < end and text[brace] == "{"
        if is_head and (_CONTROL.search(text, start, brace) or _is_step(text, start, brace)):
            end = brace  # what the condition guards is a statement of its own
        may_share = (
            self.is_marked or text.find("&", start, end) >= 0 or text.find("[=", start, end) >= 0
        )
        decides = may_share and end - start <= MOST and _SHARES.search(text, start, end) is not None
        return Sentence(text, start, end, decides=decides)

    def may_set(self, sentence: Sentence, number: int, before: str, behind: str) -> bool:
        """Whether a statement may give a name a value that others decide."""
        words, text, start = self.words, self.text, sentence.start
        position = words.starts[number]
        end = position + len(words.all[number])
        if sentence.has_index and (
            text.count("[", start, position) > text.count("]", start, position)
        ):
            # An index is not what is set or compared, but the names of a tuple's parts are set.
            sets = _ASSIGNS.search(text, end, sentence.end)
            if sets is None:
                return False
            is_tied = _TIED.search(text, start, position) is not None
            return is_tied or not text[end : sets.start()].strip()
        if sentence.decides or (sentence.sets and self.is_set(number, behind)):
            return True
        if behind[:1] == ":" and behind != "::" and _FOR.search(text, start, position):
            return True  # `for (int size : sizes)`
        if text.count("(", start, position) > text.count(")", start, position):
            # `(n ? a : b) = 64` sets either.
            return end <= sentence.last_set and text[start:position].lstrip()[:1] == "("
        if end <= sentence.last_set:
            return True
        last = before[-1:]
        if last == "&":
            return before != "&&"
        if not last or not (last.isalnum() or last in "_>*,") or before == "->":
            return False
        return text[end : sentence.end].lstrip()[:1] in ("(", "{", "[")

    def called(self, names: frozenset[str]) -> list[int]:
        """Where any of some names stands before a bracket."""
        if not names:
            return []
        found = self.calls.get(names)
        if found is None:
            found = self.calls[names] = sorted(
                self.words.starts[number]
                for name in names
                for number in self.words.named(name)
                if self.behind(number)[:1] == "("
            )
        return found

    def may_change(self, sentence: Sentence, number: int, before: str, behind: str) -> bool:
        """Whether a name is declared, stepped, read into, or given to a call as it is."""
        if before in ("++", "--", ">>") or behind in ("++", "--"):
            return True
        last, following = before[-1:], behind[:1]
        if last and last in "*&":
            return following in (")", ",", ".", "-", "[", "", ";", ":")
        if not last or last in "(,_>" or last.isalnum():
            is_given = following in (")", ",", "", ";", ":")
            if is_given or (last in ("(", ",") and self._is_part_given(number)):
                return not self.is_launched_with(sentence, self.words.starts[number])
        return following != "[" and self.is_array(self.words.all[number])

    def _is_part_given(self, number: int) -> bool:
        """Whether a call is given a part of a name as it is."""
        words = self.words
        end = words.starts[number] + len(words.all[number])
        return _PART_GIVEN.match(self.text, end) is not None

    def is_array(self, name: str) -> bool:
        """Whether a name may be an array's, which by itself is a pointer to its elements."""
        found = self.arrays.get(name)
        if found is None:
            found = self.arrays[name] = any(map(self._is_array_at, self.words.named(name)))
        return found

    def _is_array_at(self, number: int) -> bool:
        words = self.words
        if words.gaps[number + 1][:2].lstrip()[:1] != "[":
            return False
        start = words.starts[number]
        return _TYPED.search(self.text, max(0, start - 40), start) is not None

    def is_launched_with(self, sentence: Sentence, position: int) -> bool:
        """Whether a name is by itself an argument of a launch or in its configuration: copied."""
        text = self.text
        opening = text.rfind("<<<", sentence.start, position)
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
                numbers = self.words.between(around.start, around.end)
                for number in range(numbers.start, numbers.stop):
                    if self.is_made(number) or self.before(number).endswith("&"):
                        found.add(self.words.all[number])
        return found


def _is_step(text: str, start: int, brace: int) -> bool:
    """Whether the end of a loop's head stands there: `++i) {`."""
    piece = text[start:brace].rstrip()
    return piece.endswith(")") and piece.count(")") > piece.count("(")


def _last_set(text: str, start: int, end: int) -> int:
    """Where the last assignment between two offsets stands; -1 for none."""
    place = text.rfind("=", start, end)
    while place >= 0:
        if text[place - 2 : place] in ("<<", ">>"):
            return place - 2
        if text[place - 1 : place] not in ("=", "!", "<", ">") and not text.startswith(
            "=", place + 1, end
        ):
            return place
        place = text.rfind("=", start, place)
    return -1


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
