"""Numbers as profilers write them: with thousands separators, and in other languages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

_SPACES = str.maketrans("", "", " \u00a0\u202f\u2009'’_")
_NO_VALUE = {"", "n/a", "na", "nan", "-nan", "inf", "-inf", "+inf", "infinity", "-", "null", "none"}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_COMMA_DECIMAL = re.compile(
    r"[-+]?(\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}|0,\d+|\d+,(\d{1,2}|\d{4,})|\d{4,},\d+)",
    re.ASCII,
)
_POINT_DECIMAL = re.compile(
    r"[-+]?(\d{1,3}(,\d{3})+\.\d+|\d{1,3}(,\d{3}){2,}|0\.\d+|\d+\.(\d{1,2}|\d{4,})|\d{4,}\.\d+)",
    re.ASCII,
)


class Style(Struct, frozen=True):
    """How the numbers of one file are written."""

    is_comma_decimal: bool = False
    """ "1.205,00" and not "1,205.00"."""

    def number(self, text: str) -> float | None:
        """The value; None for "n/a", "nan", infinities, and what is no number."""
        bare = text.removeprefix("(!)").translate(_SPACES)
        if bare.lower() in _NO_VALUE:
            return None
        if self.is_comma_decimal:
            bare = bare.replace(".", "").replace(",", ".")
        elif "," in bare:
            if _GROUPED.fullmatch(bare) is None:
                return None
            bare = bare.replace(",", "")
        if _NUMBER.fullmatch(bare) is None:
            return None
        value = float(bare)
        return value if abs(value) < 1e300 else None


def style_of(texts: Iterable[str]) -> Style:
    """How a file writes its numbers, from those that leave no doubt; else with a point."""
    comma = point = 0
    for text in texts:
        bare = text.translate(_SPACES)
        comma += _COMMA_DECIMAL.fullmatch(bare) is not None
        point += _POINT_DECIMAL.fullmatch(bare) is not None
    return Style(is_comma_decimal=comma > point)


_TIME = {
    **dict.fromkeys(("ns", "nsec", "nsecond", "nseconds", "nanosecond", "nanoseconds"), 1.0),
    **dict.fromkeys(
        ("us", "µs", "μs", "usec", "usecond", "useconds", "microsecond", "microseconds"), 1e3
    ),
    **dict.fromkeys(("ms", "msec", "msecond", "mseconds", "millisecond", "milliseconds"), 1e6),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1e9),
    **dict.fromkeys(("min", "minute", "minutes"), 60e9),
}
_PREFIX = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_SCALED = re.compile(r"([kmgtp]?)(i?)(?:bytes?|b|inst|instr?uctions?)?(?:/\w+)?", re.IGNORECASE)


def nanoseconds(value: float, unit: str) -> float | None:
    """A time in nanoseconds; None for a unit that is no time."""
    scale = _TIME.get(unit.strip().lower())
    return value * scale if scale is not None else None


def scaled(value: float, unit: str) -> float | None:
    """An amount without its prefix: bytes of "Mbyte" (10^6) or "KiB", a count of "inst"."""
    match = _SCALED.fullmatch(unit.strip())
    if match is None:
        return None
    prefix, binary = match[1].lower(), match[2]
    base = 1024.0 ** "kmgtp".index(prefix) * 1024 if binary and prefix else _PREFIX[prefix]
    return value * base
