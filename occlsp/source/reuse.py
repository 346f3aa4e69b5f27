"""Facts of functions that an edit left alone: kept, with their offsets moved."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

from occlsp.source.collect import FunctionFacts
from occlsp.source.facts import Definition, Kernel
from occlsp.source.syntax import Condition, FileSyntax
from occlsp.source.text import Span, common_prefix, common_suffix

Fact = TypeVar("Fact")

_WORD = re.compile(rb"[A-Za-z_]\w*")


@dataclass(slots=True)
class Kept:
    """One function's facts, or one kernel's, and what they depend on besides its text."""

    facts: FunctionFacts | Kernel
    conditions: tuple[str, ...]
    name: str = ""
    asked_callers: bool = False


@dataclass(slots=True)
class Memory:
    """What is kept of one reading of a file."""

    environment: bytes
    """Digest of all that the file sees."""
    syntax: FileSyntax
    functions: dict[Span, Kept] = field(default_factory=dict)
    kernels: dict[Span, Kept] = field(default_factory=dict)


def texts(conditions: tuple[Condition, ...]) -> tuple[str, ...]:
    """What conditions say, wherever they stand."""
    return tuple(condition.text for condition in conditions)


class Reuse:
    """Looks up what is still true after an edit."""

    def __init__(
        self, path: str, before: Memory | None, environment: bytes, syntax: FileSyntax
    ) -> None:
        self.path = path
        self.before = before if before and before.environment == environment else None
        self.touched: set[bytes] = set()
        if self.before is None:
            return
        old, new = self.before.syntax.text, syntax.text
        self.start = common_prefix(old, new)
        longest = min(len(old), len(new)) - self.start
        behind = common_suffix(old, new, longest)
        self.end = len(new) - behind
        self.delta = len(new) - len(old)
        for read, end in ((self.before.syntax, len(old) - behind), (syntax, self.end)):
            self.touched |= _words_around(read, self.start, end)

    def find(self, table: str, span: Span, conditions: tuple[str, ...]) -> Kept | None:
        """What was kept for a piece of text that did not change, moved to where it is now."""
        if self.before is None or not (span.end <= self.start or span.start >= self.end):
            return None
        delta = 0 if span.end <= self.start else self.delta
        old = Span(span.start - delta, span.end - delta)
        kept: Kept | None = getattr(self.before, table).get(old)
        if kept is None or kept.conditions != conditions:
            return None
        if kept.asked_callers and kept.name.encode() in self.touched:
            return None
        if self.delta == 0:
            return kept
        return replace(kept, facts=self.moved(kept.facts))

    def moved(self, fact: Any) -> Any:
        """A fact with its offsets in this file as they are after the edit."""
        if isinstance(fact, Span):
            if fact.start < self.start:
                return fact
            return Span(fact.start + self.delta, fact.end + self.delta)
        if isinstance(fact, Definition):
            return replace(fact, span=self.moved(fact.span)) if fact.path == self.path else fact
        if isinstance(fact, list | tuple):
            found = [self.moved(item) for item in fact]
            if all(mine is its for mine, its in zip(found, fact, strict=True)):
                return fact
            return found if isinstance(fact, list) else tuple(found)
        changes = {}
        for name in _placed(fact.__class__):
            value = getattr(fact, name)
            if value:
                changed = self.moved(value)
                if changed is not value:
                    changes[name] = changed
        return replace(fact, **changes) if changes else fact


@lru_cache(maxsize=64)
def _placed(kind: type) -> tuple[str, ...]:
    """The fields of a fact that hold offsets, or facts that do."""
    if not is_dataclass(kind):
        return ()
    return tuple(item.name for item in fields(kind) if _PLACED.search(str(item.type)))


_PLACED = re.compile(r"Span|Definition|Value|Bounds|Launch|Attribute")


def _words_around(syntax: FileSyntax, start: int, end: int) -> set[bytes]:
    """The words of the functions that an edit touches, and of its own lines."""
    text = syntax.code or syntax.text
    found: set[bytes] = set()
    low = text.rfind(b"\n", 0, start) + 1
    high = text.find(b"\n", end)
    pieces = [(low, len(text) if high < 0 else high)]
    for offset in (start, end):
        index = syntax.function_at(min(offset, max(len(text) - 1, 0)))
        if index is not None:
            pieces.append((syntax.functions[index].span.start, syntax.functions[index].span.end))
    for piece in pieces:
        found.update(_WORD.findall(text, *piece))
    return found
