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
    """Reads such lines, whose items repeat each other."""

    def __init__(self) -> None:
        self._items: dict[str, tuple[str, int] | None] = {}
        self._banks: dict[str, dict[str, int]] = {}

    def read(self, items: str, *, complete: bool) -> Numbers:
        """The numbers of "32 registers, used 1 barriers, …".

        Absent shared memory is 0 in a whole line. In one that is cut off, or that has something
        unknown in it, what is absent is not known.
        """
        if len(self._items) > _MOST_CACHED:
            self._items.clear()
        values: dict[str, int] = {}
        whole = complete or _LAST_ITEM.search(items) is not None
        for item in items.split(","):
            if item not in self._items:
                self._items[item] = _read_item(item)
            named = self._items[item]
            if named is None:
                whole = False
            else:
                values[named[0]] = named[1]
        return Numbers(
            registers=values.pop("registers"),
            static_smem=values.pop("smem", 0 if whole else None),
            barriers=values.pop("barriers", None),
            stack=values.pop("stack", None),
            cumulative_stack=values.pop("cumulative", None),
            cmem=self._shared(values),
        )

    def _shared(self, values: dict[str, int]) -> dict[str, int]:
        """The constant banks; one object for all kernels with the same, as logs have many."""
        values.pop("", None)
        known = self._banks.setdefault(repr(values), values)
        if len(self._banks) > _MOST_CACHED:
            self._banks.clear()
        return known


def _read_item(text: str) -> tuple[str, int] | None:
    """Name and value of one item; of a constant bank the name is its number, of others ""."""
    match = _ITEM.fullmatch(text.strip())
    if match is None:
        return None
    if match["bank"] is not None:
        return match["bank"], _sum(match["bytes"])
    for name, value in match.groupdict().items():
        if value is not None:
            return name, _sum(value)
    return "", 0


def _sum(text: str) -> int:
    return sum(map(int, text.split("+")))
