"""The lines of a log that can matter, in constant memory: whatever it was wrapped in, taken off.

Logs are megabytes to gigabytes of which little is the compiler's. Lines are cut in bulk, and only
those that hold one of a few words are looked at; the reader's patterns then decide.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

_CHUNK = 1 << 20
_LONGEST = 1 << 20
"""Bytes of a line that is still read; longer ones are no tool's output."""

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LANE = re.compile(r"\s*(\d+)>|#(\d+) |([\w.-]+) +\| ")


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
    number = 0
    rest = b""
    while chunk := file.read(_CHUNK):
        data = rest + (decode(chunk) if decode is not None else chunk)
        if b"\r" in data:
            held = b"\r" if data.endswith(b"\r") else b""
            data = data.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        lines = data.split(b"\n")
        rest = lines.pop()
        for index, raw in _worth_reading(lines):
            yield _clean(number + index + 1, raw, complete=True)
        number += len(lines)
        if len(rest) > _LONGEST:
            rest = rest[-_LONGEST // 2 :]
    for index, raw in _worth_reading(rest.split(b"\r")):
        yield _clean(number + index + 1, raw, complete=False)


def _worth_reading(lines: list[bytes]) -> list[tuple[int, bytes]]:
    return [
        (index, line)
        for index, line in enumerate(lines)
        if b"info" in line
        or b"bytes" in line
        or b"unction" in line
        or b"REG:" in line
        or b"arch = " in line
        or b"arning" in line
        or b".cu" in line
        or b"ptxas" in line
        or b"nvlink" in line
        or b"Resource usage" in line
    ]


def _clean(number: int, raw: bytes, *, complete: bool) -> Line:
    text = raw.decode("utf-8", "backslashreplace")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    lane = _LANE.match(text)
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
