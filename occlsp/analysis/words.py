"""Numbers and names as people read them: one wording for hints, hovers, findings and fixes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache

from occlsp.reports.facts import Entry
from occlsp.reports.names import demangle
from occlsp.source.facts import Triple

KIB = 1024
SHORT = {
    "warps": "warps",
    "registers": "regs",
    "shared_memory": "smem",
    "blocks": "blocks",
    "barriers": "barriers",
    "threads_per_block": "threads",
}
"""Limiters in hints."""
LONG = {
    "warps": "warps",
    "registers": "registers",
    "shared_memory": "shared memory",
    "blocks": "blocks",
    "barriers": "barriers",
    "threads_per_block": "threads per block",
}
"""Limiters in sentences."""


def number_of_percent(share: float) -> str:
    """Like "37.5", for 0.375; at most one decimal, none where it is zero. Halves go up (31.3
    for 31.25), as profilers print it."""
    return f"{math.floor(share * 1000 + 0.5) / 10:.1f}".removesuffix(".0")


def percent(share: float) -> str:
    """Like "37.5%", for 0.375."""
    return number_of_percent(share) + "%"


def percent_range(shares: Iterable[float]) -> str:
    """Like "25–50%", or "50%" where all are the same."""
    known = sorted(set(shares))
    low, high = number_of_percent(known[0]), number_of_percent(known[-1])
    return f"{low}%" if low == high else f"{low}–{high}%"


def number_range(numbers: Iterable[int]) -> str:
    """Like "64–96", or "64"."""
    known = sorted(set(numbers))
    return str(known[0]) if known[0] == known[-1] else f"{known[0]}–{known[-1]}"


def size(count: int) -> str:
    """Bytes: "40 KiB" where that is exact, else "1000 B"."""
    if count and count % KIB == 0:
        return f"{count // KIB} KiB"
    return f"{count} B"


def plural(count: int, noun: str) -> str:
    """Like "1 block", "3 blocks"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def block_text(block: Triple) -> str:
    """Like "256", or "32 × 8" where it has several dimensions."""
    x, y, z = block
    if z != 1:
        return f"{x} × {y} × {z}"
    return f"{x} × {y}" if y != 1 else str(x)


def listing(names: Iterable[str], last: str = "and") -> str:
    """Like "a, b and c"."""
    *rest, final = names
    return f"{', '.join(rest)} {last} {final}" if rest else final


def entry_name(entry: Entry) -> str:
    """The demangled name, with its parameters."""
    return entry.name or demangle(entry.entry)


def instance_name(entry: Entry) -> str:
    """The entry as its source calls it: "heavy<64>"."""
    return _instance(entry_name(entry))


@lru_cache(maxsize=4096)
def _instance(demangled: str) -> str:
    head = _before_parameters(demangled.removeprefix("void ").strip())
    return head.split("::")[-1] if "<" not in head else re.sub(r"^(?:\w+::)+", "", head)


def _before_parameters(name: str) -> str:
    """`name` without its parameter list: up to the last parenthesis opened outside of `<>`."""
    depth = 0
    for index in range(len(name) - 1, -1, -1):
        if name[index] == ")":
            depth += 1
        elif name[index] == "(":
            depth -= 1
            if depth == 0:
                return name[:index].strip() or name
    return name
