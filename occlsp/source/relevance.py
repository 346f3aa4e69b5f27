"""Which names of a body decide the values that are asked for, and where they stand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable

from occlsp.source.sentences import MOST, sentences_of
from occlsp.source.setting_macros import NO_SETTING, Setting, macros_by_variable

_BRACES = re.compile(r"[{}]")
_LAMBDA = re.compile(r"\]\s*(?:\([^{};]*\))?[^{};()=\[\]]*\{")


class Relevance:
    """The names that decide some others' values, and where any of them may change.

    What stands behind `until` decides nothing. A statement that only uses a variable says nothing
    of it: the names beside it count only where it is set, shared, compared, or handed to a macro
    that assigns what it is given. Nor need it be named where a macro sets it: see `Setting`.
    """

    def __init__(
        self,
        text: str,
        parameters: Collection[str] = (),
        setting: Setting = NO_SETTING,
        until: int | None = None,
    ) -> None:
        self.sentences = sentences_of(text)
        self.parameters = parameters
        self.macros = self.sentences.called(setting.given)
        self.own = macros_by_variable(setting.own) if setting.own else {}
        self.until = len(text) if until is None else until
        self.names: set[str] = set()
        self.positions: list[int] = []
        self.read: set[int] = set()

    def add(self, names: Iterable[str]) -> None:
        """Takes in more names, and those that decide their values."""
        pending = [name for name in names if name not in self.names]
        self.names.update(pending)
        sentences, parameters = self.sentences, self.parameters
        starts = sentences.words.starts
        for name in pending:
            if name in parameters or sentences.is_variable(name):
                for number in sentences.words.named(name):
                    position = starts[number]
                    if position >= self.until:
                        break
                    pending += self.beside(number, position)
            if name in self.own:
                pending += self.set_by_macros(name)
        self.positions.sort()

    def set_by_macros(self, name: str) -> set[str]:
        """The names that count since macros set one: all that they and their uses name."""
        sentences = self.sentences
        found: set[str] = set()
        for macro in self.own[name]:
            found.add(macro.macro)
            for position in sentences.words.places_of(macro.macro):
                if position >= self.until:
                    break
                found |= sentences.words.bare(*sentences.around(position))
                found.update(macro.words)
                self.positions.append(position)
        found -= self.names
        self.names |= found
        return found

    def beside(self, number: int, position: int) -> Iterable[str]:
        """The names that count where a word at a position does, which counts if it may change."""
        sentences = self.sentences
        sentence = sentences.at(position)
        start, end = sentence.start, sentence.end
        first, last = sentences.part(sentence, position)
        if first in self.read or end - start > MOST:
            self.positions.append(position)
            return ()
        before, behind = sentences.before(number), sentences.behind(number)
        if not sentences.may_set(sentence, number, before, behind) and not (
            self.macros and position > self.assigning(start, end)
        ):
            if sentences.may_change(sentence, number, before, behind):
                self.positions.append(position)
            return ()
        self.positions.append(position)
        self.read.add(first)
        found = sentences.words.bare(first, last) - self.names
        self.names |= found
        return found

    def assigning(self, start: int, end: int) -> int:
        """Where the first macro of a statement stands that assigns what it is given; or its end."""
        index = bisect_left(self.macros, start)
        return min(self.macros[index], end) if index < len(self.macros) else end

    def asked(self, conditions: Iterable[tuple[int, int]]) -> set[str]:
        """More names that some conditions make count: all of one that asks for a name that counts,
        and the variables that the device answers or literals alone set."""
        sentences = self.sentences
        found: set[str] = set()
        for start, end in conditions:
            words = sentences.words.bare(start, end)
            new = words - self.names
            if len(new) < len(words):
                found |= new
                continue
            found.update(
                word
                for word in new
                if (word in sentences.answers or sentences.is_flag(word))
                and (word in self.parameters or sentences.is_variable(word))
            )
        return found


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
