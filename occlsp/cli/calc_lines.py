"""`occlsp calc --jsonl`: one JSON object a line in, one a line out, in the same order.

Input is taken as it comes and answered at once, so that a program can ask through a pipe; what
is held in memory is one chunk. A bad line costs only itself.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from occlsp.cli.calc_answer import Answer, Failure, Question, answer, words

CHUNK = 1 << 16
LONGEST = 1 << 20
"""A line above this many bytes is no question; it is dropped unread and answered as bad."""

_AT = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)


def answer_lines(source: BinaryIO, sink: BinaryIO, *, best: bool = False) -> None:
    """Answers every line of `source` on `sink`."""
    decode = msgspec.json.Decoder(Question).decode
    encode = msgspec.json.Encoder().encode_lines
    for lines in _chunks(source):
        answers: list[Answer | Failure] = []
        for line in lines:
            if not line or line.isspace():
                continue
            try:
                answers.append(answer(decode(line), best=best))
            except (ValueError, RecursionError) as error:
                answers.append(Failure(_id(line), _words(error, line)))
        sink.write(encode(answers))
        sink.flush()


def _chunks(source: BinaryIO) -> Iterator[list[bytes]]:
    """The lines that have arrived, as they arrive."""
    read = getattr(source, "read1", source.read)
    rest = b""
    too_long = False
    first = True
    while chunk := read(CHUNK):
        if first:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)  # some shells' pipes begin with it
            first = False
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if too_long and lines:
            lines[0] = _TOO_LONG
            too_long = False
        if too_long or len(rest) > LONGEST:
            too_long, rest = True, b""
        if lines:
            yield lines
    if too_long or rest:
        yield [_TOO_LONG if too_long else rest]


_TOO_LONG = b"\0"
"""Stands for a line that was dropped: no JSON text begins so."""


def _id(line: bytes) -> Any:
    """The line's id, as far as the line can be read."""
    try:
        value = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return None
    return value.get("id") if isinstance(value, dict) else None


def _words(error: Exception, line: bytes) -> str:
    """The message for a user, the field first."""
    if line is _TOO_LONG:
        return f"a line above {LONGEST} bytes"
    if isinstance(error, RecursionError):
        return "not a configuration: nested too deeply"
    text = str(error)
    if isinstance(error, msgspec.ValidationError):
        match = _AT.fullmatch(text)
        problem, field = (match[1], match[2]) if match else (text, "")
        problem = problem[:1].lower() + problem[1:]
        return f"{field}: {problem}" if field else problem
    if isinstance(error, (msgspec.DecodeError, UnicodeDecodeError)):
        return f"not JSON: {text}"
    return words(error)
