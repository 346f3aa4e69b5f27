"""What was found lately in pieces of text, as long as these are not too long together."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Kept(Generic[K, V]):
    """A cache that is bounded by the size of what it holds, and not only by the number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._found: dict[K, tuple[V, int]] = {}
        """What was asked for last is last."""

    def get(self, key: K) -> V | None:
        """What is known of a key; None where nothing is."""
        found = self._found.pop(key, None)
        if found is None:
            return None
        self._found[key] = found
        return found[0]

    def put(self, key: K, value: V, size: int) -> V:
        """Keeps a value, in the place of those that were not asked for the longest."""
        if size > self._most:
            return value
        before = self._found.pop(key, None)
        self._size += size - (before[1] if before is not None else 0)
        self._found[key] = (value, size)
        while self._size > self._most:
            self._size -= self._found.pop(next(iter(self._found)))[1]
        return value
