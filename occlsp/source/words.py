"""A body's text cut into its words and what stands between them, once for all that look into it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import accumulate

_WORD = re.compile(r"([A-Za-z_](?<!\w.)\w*)")
"""The first letter is found before it is asked whether a word begins with it: that is faster."""
_MARK = re.compile("[(){}\\[\\];\x01\x02\x03]")


class Words:
    """The words of a text. One is told by its number: that of the first is 0."""

    def __init__(self, text: str) -> None:
        parts = _WORD.split(text)
        self.all = parts[1::2]
        self.gaps = parts[::2]
        """What stands before each word, and behind the last."""
        self.starts = list(accumulate(map(len, parts)))[::2]
        """Where each word stands, and the end of the text."""
        self.marks = [(match.start(), match[0]) for match in _MARK.finditer(text)]
        """Brackets, semicolons and marks of branches, with their places."""
        self._numbers: dict[str, list[int]] = {}
        numbers = self._numbers
        for number, word in enumerate(self.all):
            if word in numbers:
                numbers[word].append(number)
            else:
                numbers[word] = [number]

    def named(self, name: str) -> Sequence[int]:
        """The numbers of the words that are a name."""
        return self._numbers.get(name, ())

    def places_of(self, name: str) -> list[int]:
        """Where a name stands."""
        starts = self.starts
        return [starts[number] for number in self._numbers.get(name, ())]

    def placed(self, names: AbstractSet[str]) -> list[tuple[int, str]]:
        """Where any of some names stand, in no order."""
        numbers, starts = self._numbers, self.starts
        return [
            (starts[number], name) for name in numbers.keys() & names for number in numbers[name]
        ]

    def between(self, start: int, end: int) -> slice:
        """The numbers of the words between two offsets."""
        starts = self.starts
        first = bisect_left(starts, start)
        return slice(first, bisect_left(starts, end, first))

    def bare(self, start: int, end: int) -> set[str]:
        """The words between two offsets that are no members of what stands before them: that
        counts, and its parts with it."""
        numbers = self.between(start, end)
        return {
            word
            for word, gap in zip(self.all[numbers], self.gaps[numbers], strict=False)
            if not gap.endswith((".", "->"))
        }


cut = lru_cache(maxsize=16)(Words)
