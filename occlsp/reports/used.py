"""The line of numbers of ptxas (`Used 32 registers, …`) and nvlink (`used 46 registers, …`)."""

from __future__ import annotations

import re

from occlsp.reports.attribution import Numbers

_ITEM = re.compile(
    r"(?P<registers>\d+) registers"
    r"|used (?P<barriers>\d+) barriers"
    r"|(?P<stack>\d+) stack"
    r"|(?P<cumulative>\d+) bytes cumulative stack size"
    r"|(?P<smem>\d+(?:\+\d+)?) bytes smem"
    r"|(?P<bytes>\d+(?:\+\d+)?) bytes cmem\[(?P<bank>\d+)\]"
    r"|\d+(?:\+\d+)? bytes (?:lmem|gmem)"
    r"|\d+ (?:textures?|surfaces?|samplers?)"
)
"""Every item that a toolkit lists. The old form "200+16" is the sum of two."""
_LAST_ITEM = re.compile(r"(?:cmem\[\d+\]|lmem|textures?|surfaces?|samplers?)$")
_MOST_CACHED = 4096


class UsedReader:
    """Reads such lines, most of which repeat each other."""

    def __init__(self) -> None:
        self._cache: dict[tuple[str, bool], Numbers] = {}

    def read(self, items: str, *, complete: bool) -> Numbers:
        """The numbers of "32 registers, used 1 barriers, …".

        Absent shared memory is 0 in a whole line. In one that is cut off, or that has something
        unknown in it, what is absent is not known.
        """
        key = (items, complete)
        numbers = self._cache.get(key)
        if numbers is None:
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            numbers = self._cache[key] = _read(items, complete=complete)
        return numbers


def _read(text: str, *, complete: bool) -> Numbers:
    values: dict[str, int] = {}
    cmem: dict[str, int] = {}
    whole = complete or _LAST_ITEM.search(text) is not None
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            whole = False
            continue
        for name, value in match.groupdict().items():
            if value is not None:
                values[name] = sum(map(int, value.split("+")))
        if match["bank"] is not None:
            cmem[match["bank"]] = values["bytes"]
    return Numbers(
        registers=values["registers"],
        static_smem=values.get("smem", 0 if whole else None),
        barriers=values.get("barriers"),
        stack=values.get("stack"),
        cumulative_stack=values.get("cumulative"),
        cmem=cmem,
    )
