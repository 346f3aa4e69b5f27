"""A finding with lines and characters instead of offsets: what every format prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from occlsp.analysis.results import Finding, Fix
from occlsp.source.text import LineIndex, Span


class Region(NamedTuple):
    """Lines are 1-based, characters 0-based in UTF-16 units; the end is exclusive."""

    line: int
    character: int
    end_line: int
    end_character: int


@dataclass(frozen=True, slots=True)
class Located:
    """A finding, where it is for people, and the fixes that resolve it."""

    finding: Finding
    path: str
    """As it is to be shown: relative to the root where it lies below it, with "/"."""
    region: Region
    source: str
    """The text of the line it starts in."""
    fixes: tuple[Fix, ...] = ()


def region(lines: LineIndex, span: Span) -> Region:
    """The region of a span."""
    line, character = lines.position(span.start)
    end_line, end_character = lines.position(span.end)
    return Region(line + 1, character, end_line + 1, end_character)
