"""Reads the dependency list (a Makefile rule) that a preprocessor writes."""

from __future__ import annotations

import os
import re
from pathlib import Path

_WORD = re.compile(r"(?:[^\s\\]|\\[^\n\r]|\\(?!\r?\n))+")
_ESCAPED = re.compile(r"\\([ #\\:])|\$(\$)")


def read_dependencies(path: Path, scratch: Path) -> tuple[str, ...] | None:
    """The files of the rule, without its target and what lies in `scratch`; None without a rule."""
    names = _names(path)
    if names is None:
        return None
    inside = str(scratch) + os.sep
    found = (os.path.join(scratch, name) for name in names)  # noqa: PTH118
    return tuple(dict.fromkeys(name for name in found if not name.startswith(inside)))


def read_missing(path: Path) -> tuple[str, ...] | None:
    """The headers that are not there, as they were written, of a rule made with `-MG`.

    What is there is listed by its absolute path. None without a rule.
    """
    names = _names(path)
    if names is None:
        return None
    return tuple(dict.fromkeys(name for name in names if not os.path.isabs(name)))  # noqa: PTH117


def _names(path: Path) -> list[str] | None:
    try:
        text = os.fsdecode(path.read_bytes())
    except OSError:
        return None
    _, colon, files = text.partition(": ")
    if not colon:
        return None
    return [_ESCAPED.sub(lambda m: m[1] or m[2], word) for word in _WORD.findall(files)]
