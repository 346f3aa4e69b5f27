"""Where names stand in the code of a file that is edited: looked for around the edit alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence

from occlsp.source.fragment import words
from occlsp.source.incremental import Edit, difference


class Mentions:
    """The places of names in one text, each looked for once, or moved from where it stood."""

    def __init__(self, code: bytes, before: Mentions | None = None) -> None:
        self._code = code
        self._known: dict[str, Sequence[int]] = {}
        self._before = before
        self._edit: Edit | None = None

    def places(self, name: str) -> Sequence[int]:
        """Where a name stands as a word of its own."""
        found = self._known.get(name)
        if found is None:
            earlier = self._before._known.get(name) if self._before is not None else None
            found = self._moved(name, earlier) if earlier is not None else self._all(name)
            self._known[name] = found
        return found

    def settle(self, names: Collection[str]) -> None:
        """Takes over the places of some names that nobody asked for; lets the text before go."""
        if self._before is not None:
            for name in self._before._known.keys() & names:
                self.places(name)
            self._before = None

    def _all(self, name: str) -> Sequence[int]:
        return list(words(self._code, name.encode()))

    def _moved(self, name: str, earlier: Sequence[int]) -> Sequence[int]:
        assert self._before is not None
        edit = self._edit
        if edit is None:
            edit = self._edit = difference([(self._before._code, self._code)])
        length = len(name)
        first = bisect_left(earlier, edit.start - length)
        last = bisect_left(earlier, edit.old_end + 1)
        start, end = max(edit.start - length, 0), edit.new_end + 1
        # With a byte around it, so that what begins or ends there is told from longer words.
        low = max(start - 1, 0)
        around = [low + at for at in words(self._code[low : end + length], name.encode())]
        inside = [at for at in around if start <= at < end]
        return [*earlier[:first], *inside, *[at + edit.delta for at in earlier[last:]]]
