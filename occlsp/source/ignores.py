"""Comments that silence findings: `// occlsp: ignore[code, code]`, or without codes: all."""

from __future__ import annotations

import re

from occlsp.source.text import LineIndex

_IGNORE = re.compile(rb"(?://|/\*)\s*occlsp:\s*ignore\b(?:\[([\w\s,-]*)\])?")


def ignores(text: bytes) -> dict[int, frozenset[str]]:
    """0-based line → the codes ignored there; empty for all. A comment that has a line for
    itself counts for the next line too."""
    if b"occlsp:" not in text:
        return {}
    lines = LineIndex(text)
    found: dict[int, frozenset[str]] = {}
    for match in _IGNORE.finditer(text):
        codes = frozenset(
            code.strip().decode("ascii", "replace")
            for code in (match[1] or b"").split(b",")
            if code.strip()
        )
        line = lines.line_of(match.start())
        alone = not text[lines.starts[line] : match.start()].strip()
        for target in (line, line + 1) if alone else (line,):
            before = found.get(target)
            found[target] = codes if before is None else _both(before, codes)
    return found


def _both(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    return left | right if left and right else frozenset()
