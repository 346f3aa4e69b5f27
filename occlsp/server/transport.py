"""Bytes in and out: framing that survives broken input, and pipes that never block the loop.

A thread reads standard input and another writes standard output, so that neither a silent nor
a slow client holds up the event loop. The end of the input ends the process within a second,
even if the loop is busy.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

MAX_BODY = 256 * 1024 * 1024
"""Bytes of the largest message that is read; a longer one is skipped."""
_MAX_HEADER = 64 * 1024
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?(?:\n|$)", re.IGNORECASE)
_EXIT_GRACE = 0.8


@dataclass(frozen=True, slots=True)
class FramingError:
    """Why some bytes of the stream are no message; reading goes on after them."""

    message: str


class Framer:
    """Splits a stream into message bodies. Header names are matched in any case."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None

    def feed(self, data: bytes) -> None:
        """Takes bytes as they come."""
        self._buffer += data

    def unread(self, body: bytes) -> None:
        """Puts back what follows the first header inside a body that is no JSON.

        A client that announced too long a body has lost the messages in it otherwise. The header
        may be cut anywhere; what is put back too much is passed over as a header of its own.
        """
        lower, name = body.lower(), b"content-length"
        start = lower.find(name)
        if start < 0:
            cut = next((n for n in range(len(name), 0, -1) if lower.endswith(name[:n])), 0)
            start = len(body) - cut
        self._buffer[:0] = body[start:]

    def next(self) -> bytes | FramingError | None:
        """The next body, or an error for a header without a length; None until there is more."""
        if self._length is None:
            end = _HEADER_END.search(self._buffer)
            if end is None:
                return self._too_long()
            header = bytes(self._buffer[: end.start()]) + b"\n"
            del self._buffer[: end.end()]
            match = _LENGTH.search(header)
            if match is None:
                return FramingError("a header without Content-Length")
            length = int(match.group(1))
            if length > MAX_BODY:
                return FramingError(f"a message of {length} bytes; at most {MAX_BODY} are read")
            self._length = length
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body

    def _too_long(self) -> FramingError | None:
        if len(self._buffer) <= _MAX_HEADER:
            return None
        del self._buffer[: -len("content-length: ") - 20]
        return FramingError("no header in the last 64 KiB")


class PipeReader:
    """Reads a pipe in a thread until its end."""

    def __init__(
        self,
        stream: BinaryIO,
        receive: Callable[[bytes], None],
        closed: Callable[[], None],
        finished: threading.Event,
    ) -> None:
        """`receive` and `closed` are called in the thread; `finished` is set by the owner when
        the process is about to end by itself: else it is ended a moment after the input."""
        self._stream = stream
        self._receive = receive
        self._closed = closed
        self._finished = finished
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def _run(self) -> None:
        descriptor = self._stream.fileno()
        try:
            while data := os.read(descriptor, 1 << 16):
                self._receive(data)
        except OSError:
            pass
        self._closed()
        if not self._finished.wait(_EXIT_GRACE):
            os._exit(1)


class PipeWriter:
    """Writes to a pipe in a thread, in order. What the client does not read waits in memory."""

    def __init__(self, stream: BinaryIO, broken: Callable[[], None]) -> None:
        """`broken` is called in the thread when the pipe cannot be written to."""
        self._stream = stream
        self._broken = broken
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="stdout", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queues `data`."""
        self._queue.put(data)

    def close(self, timeout: float = 0.5) -> None:
        """Waits up to `timeout` seconds until all is written."""
        self._queue.put(None)
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            while (data := self._queue.get()) is not None:
                self._stream.write(data)
                self._stream.flush()
        except (OSError, ValueError):
            self._broken()
