"""What files include, as it is written, and which of the system's headers have namesakes."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

SYSTEM = "/usr/include/"
STANDARD = re.compile(
    r"(?:assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|memory|setjmp"
    r"|signal|std\w+|string|tgmath|threads|time|uchar|unistd|wchar|wctype)\.h"
)
"""Headers that are the system's wherever they are included: C's own, and what comes with them."""
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


def included(text: bytes) -> list[str]:
    """What a text includes, in its order."""
    return [name.decode("utf-8", "surrogateescape") for name in _INCLUDE.findall(text)]


def included_by(paths: Iterable[str]) -> dict[str, None]:
    """What files include, in their order; those that cannot be read include nothing."""
    found: dict[str, None] = {}
    for path in paths:
        with contextlib.suppress(OSError):
            found.update(dict.fromkeys(included(Path(path).read_bytes())))
    return found


def namesakes(folder: str, read: Iterable[str]) -> set[str]:
    """The headers of the system among those `read` that `folder` has one of the same name as."""
    names = {name.removeprefix(SYSTEM) for name in read if name.startswith(SYSTEM)}
    return {name for name in names if os.path.isfile(os.path.join(folder, name))}  # noqa: PTH113, PTH118
