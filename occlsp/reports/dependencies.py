"""Reads the dependency list (a Makefile rule) that a preprocessor writes; gathers such lists."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

_WORD = re.compile(r"(?:[^\s\\]|\\[^\n\r]|\\(?!\r?\n))+")
_ESCAPED = re.compile(r"\\([ #\\:])|\$(\$)")


@dataclass
class Reads:
    """What all the runs for one unit read, and what they looked for."""

    files: set[str] = field(default_factory=set)
    """What was read, of all whose content counts."""
    absent: set[str] = field(default_factory=set)
    """Paths that were tried and are not there."""
    missing: set[str] = field(default_factory=set)
    """Headers that were found nowhere, as they were written."""


def read_dependencies(path: Path, scratch: Path) -> tuple[str, ...] | None:
    """The files of the rule, without its target and what lies in `scratch`; None without a rule."""
    names = _names(path)
    if names is None:
        return None
    inside = str(scratch) + os.sep
    found = (os.path.join(scratch, name) for name in names)  # noqa: PTH118
    return tuple(dict.fromkeys(name for name in found if not name.startswith(inside)))


def read_scan(path: Path) -> tuple[list[str], list[str]]:
    """The headers that are there, by their absolute paths, and those that are not, as they were
    written, of a rule made with `-MG`. Both are empty without a rule."""
    names = list(dict.fromkeys(_names(path) or ()))
    found = [name for name in names if os.path.isabs(name)]  # noqa: PTH117
    return found, [name for name in names if not os.path.isabs(name)]  # noqa: PTH117


def _names(path: Path) -> list[str] | None:
    try:
        text = os.fsdecode(path.read_bytes())
    except OSError:
        return None
    _, colon, files = text.partition(": ")
    if not colon:
        return None
    return [_ESCAPED.sub(lambda m: m[1] or m[2], word) for word in _WORD.findall(files)]
