"""Which names of a body decide the values that are asked for, and where they stand."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z_]\w*")


def relevant_positions(text: str, names: set[str]) -> list[int]:
    """Where any of `names` stands; `names` grows by those that decide their values."""
    by_name: dict[str, list[int]] = {}
    for match in _WORD.finditer(text):
        by_name.setdefault(match.group(), []).append(match.start())
    pending = [name for name in names if name in by_name]
    seen = set(names)
    positions: list[int] = []
    while pending:
        name = pending.pop()
        for position in by_name[name]:
            positions.append(position)
            start, end = _sentence(text, position)
            if end - start > 4000:
                continue
            for match in _WORD.finditer(text, start, end):
                other = match.group()
                if other not in seen:
                    seen.add(other)
                    if other in by_name:
                        pending.append(other)
    names |= seen
    positions.sort()
    return positions


def _sentence(text: str, position: int) -> tuple[int, int]:
    """The statement around a position, roughly: from a semicolon or brace to the next."""
    start = (
        max(
            text.rfind(";", 0, position), text.rfind("{", 0, position), text.rfind("}", 0, position)
        )
        + 1
    )
    end = text.find(";", position)
    return start, len(text) if end < 0 else end
