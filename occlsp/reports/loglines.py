"""The lines of a log that can matter, in constant memory: whatever it was wrapped in, taken off.

Logs are megabytes to gigabytes of which little is the compiler's. They are searched for a few
words, at the speed of that; only the lines around those are cut out and looked at.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, NamedTuple

_CHUNK = 1 << 20
_LONGEST = 1 << 20
"""Bytes of a line that is still read; longer ones are no tool's output."""

_WORDS: Final = (
    b"info",
    b"bytes stack frame",
    b"ptxas",
    b"nvlink",
    b".cu",
    b"Resource usage",
)
_DUMP_WORDS: Final = (b"Function ", b"REG:", b"arch = ")
"""What every line that matters has one of; the latter where there is a "Resource usage"."""
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LANE = re.compile(r"(\d+)>|#(\d+) |([\w.-]+) +\| ")

_LANE_STARTS = frozenset("0123456789#")


class Line(NamedTuple):
    """A line that can matter."""

    number: int
    """1-based; carriage returns count as ends of lines."""
    text: str
    """Without colour codes and the end of line; prefixes are still there."""
    lane: str
    """What a parallel build puts before the lines of one job: MSBuild's `2>`, docker's `#7`."""
    complete: bool
    """False for a last line without an end: it may be cut off."""


def read_lines(file: BinaryIO, head: bytes) -> Iterator[Line]:
    """The lines of `file` (at its start; `head` are its first bytes) that can matter."""
    decode = _recode(head)
    number = 1
    rest = b""
    while chunk := file.read(_CHUNK):
        data = rest + (decode(chunk) if decode is not None else chunk)
        if b"\r" in data:
            held = b"\r" if data.endswith(b"\r") else b""
            data = data.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        end = data.rfind(b"\n") + 1
        yield from _worth_reading(data[:end], number, complete=True)
        number += data.count(b"\n", 0, end)
        rest = data[end:]
        if len(rest) > _LONGEST:
            rest = rest[-_LONGEST // 2 :]
    yield from _worth_reading(rest.replace(b"\r", b"\n"), number, complete=False)


def _worth_reading(data: bytes, number: int, *, complete: bool) -> Iterator[Line]:
    """The lines of `data`, whose first is line `number`, that have one of the words."""
    starts: set[int] = set()
    has_dump = b"Resource usage" in data or b"REG:" in data
    for word in _WORDS + _DUMP_WORDS if has_dump else _WORDS:
        at = data.find(word)
        while at >= 0:
            starts.add(data.rfind(b"\n", 0, at) + 1)
            end = data.find(b"\n", at)
            at = data.find(word, end) if end >= 0 else -1
    counted = 0
    for start in sorted(starts):
        number += data.count(b"\n", counted, start)
        counted = start
        end = data.find(b"\n", start)
        line = data[start:end] if end >= 0 else data[start:]
        yield _clean(number, line, complete=complete or end >= 0)


def _clean(number: int, raw: bytes, *, complete: bool) -> Line:
    text = raw.decode("utf-8", "backslashreplace")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    may_have_lane = text[:1] in _LANE_STARTS or " | " in text
    lane = _LANE.match(text) if may_have_lane else None
    return Line(number, text.rstrip(), lane.group().strip() if lane else "", complete)


def _recode(head: bytes) -> Callable[[bytes], bytes] | None:
    """To UTF-8, where the file is UTF-16 (PowerShell's `>`): by its mark, else by its zeros."""
    encoding = None
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif len(head) >= 4 and head[1:64:2].count(0) > len(head[1:64:2]) * 3 // 4:
        encoding = "utf-16-le"
    elif len(head) >= 4 and head[:64:2].count(0) > len(head[:64:2]) * 3 // 4:
        encoding = "utf-16-be"
    if encoding is None:
        return None
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    return lambda chunk: decoder.decode(chunk).encode("utf-8", "replace")
