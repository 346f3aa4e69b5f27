"""Files that are copies of others, as of a header that each of many programs brings along.

They are parsed once, as they follow one another: the largest are first, and copies are of one size.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

from occlsp.source.entries import Entry, calls_of, parsed_entry
from occlsp.source.parse import parse

MOST_KEPT = 16
"""Files of one size."""


class Copies:
    """The files of the size of the last one, as they were parsed."""

    def __init__(self) -> None:
        self._size = -1
        self._parsed: dict[tuple[bytes, frozenset[str]], Entry] = {}

    def entry(self, path: str, text: bytes, aliases: frozenset[str] = frozenset()) -> Entry:
        """What to keep of a file that sees these macros for `__global__`."""
        if len(text) != self._size or len(self._parsed) >= MOST_KEPT:
            self._size = len(text)
            self._parsed.clear()
        digest = blake2b(text, digest_size=16).digest()
        known = self._parsed.get((digest, aliases))
        if known is None:
            syntax = parse(text, aliases=aliases)
            known = self._parsed[digest, aliases] = parsed_entry(path, syntax, digest, aliases)
        index = known.index if known.index.path == path else replace(known.index, path=path)
        return Entry(
            digest,
            index,
            known.targets,
            known.alias_names,
            known.syntax,
            aliases=aliases,
            calls=calls_of(known),
        )
