"""Reads the dependency list (a Makefile rule) that a preprocessor writes."""

from __future__ import annotations

import os
import re
from pathlib import Path

_WORD = re.compile(r"(?:[^\s\\]|\\[^\n\r]|\\(?!\r?\n))+")
_ESCAPED = re.compile(r"\\([ #\\:])|\$(\$)")


def read_dependencies(path: Path, scratch: Path) -> tuple[str, ...] | None:
    """The files of the rule, without its target and what lies in `scratch`; None without a rule."""
    try:
        text = os.fsdecode(path.read_bytes())
    except OSError:
        return None
    _, colon, files = text.partition(": ")
    if not colon:
        return None
    inside = str(scratch) + os.sep
    found = (
        os.path.join(scratch, _ESCAPED.sub(lambda m: m[1] or m[2], word))  # noqa: PTH118
        for word in _WORD.findall(files)
    )
    return tuple(dict.fromkeys(name for name in found if not name.startswith(inside)))
