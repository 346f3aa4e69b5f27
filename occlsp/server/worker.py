"""A child process for what would hold the interpreter's lock: scans, logs, discovery.

The parent sends a call (a function by name and its arguments), the child answers with any number
of parts and an end. A cancelled or hanging call costs the child, not the server: it is killed and
the next call starts another. The child ends when its standard input does, so that none is left
behind when the server dies.

Run as ``python -m occlsp.server.worker``; the pipe's other end is always ours, so pickle is safe.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

log = logging.getLogger("occlsp.worker")

_HEADER = struct.Struct("<Q")


class WorkerError(Exception):
    """The call failed in the child, or the child is gone; the message says which."""


class _Lost(WorkerError):
    """The child is gone."""


def _write(stream: IO[bytes], value: object) -> None:
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_HEADER.pack(len(data)) + data)
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise EOFError
    (length,) = _HEADER.unpack(header)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)


class Worker:
    """The parent's side. One call at a time; further calls wait their turn."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = asyncio.Lock()

    async def call(
        self, function: str, *arguments: object, part: Callable[[Any], None] | None = None
    ) -> None:
        """Runs ``module:function`` in the child. It returns an iterable, whose items come to
        `part`, on the event loop, as they are made.

        Raises WorkerError when the function or the child fails. Cancelling the task kills the
        child.
        """
        async with self._turn:
            loop = asyncio.get_running_loop()
            done: asyncio.Future[None] = loop.create_future()
            process = self._start()
            threading.Thread(
                target=_converse,
                args=(process, (function, arguments), loop, part, done),
                name=function,
                daemon=True,
            ).start()
            try:
                await done
            except (asyncio.CancelledError, _Lost):
                self.kill()
                raise

    def kill(self) -> None:
        """Ends the child, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            threading.Thread(target=process.wait, daemon=True).start()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # `-m` looks for modules in the working directory first: never in a workspace.
                cwd=Path(sys.executable).parent,
                env={**os.environ, "PYTHONSAFEPATH": "1"},
            )
        return self._process


def _converse(
    process: subprocess.Popen[bytes],
    request: tuple[str, tuple[object, ...]],
    loop: asyncio.AbstractEventLoop,
    part: Callable[[Any], None] | None,
    done: asyncio.Future[None],
) -> None:
    """Sends a call and passes the answers on, in a thread of its own."""
    assert process.stdin is not None
    assert process.stdout is not None

    def finish(error: WorkerError | None) -> None:
        if not done.done():
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def take(value: Any) -> None:
        if part is not None and not done.done():
            part(value)

    error: WorkerError | None = _Lost("the worker ended")
    try:
        _write(process.stdin, request)
        while True:
            kind, value = _read(process.stdout)
            if kind != "part":
                error = None if value is None else WorkerError(value)
                break
            loop.call_soon_threadsafe(take, value)
    except (OSError, EOFError, ValueError):
        pass
    try:
        loop.call_soon_threadsafe(finish, error)
    except RuntimeError:  # the loop is closed: nobody waits
        log.debug("an answer of the worker came too late")


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    while True:
        try:
            name, arguments = _read(requests)
        except EOFError:
            return
        try:
            module, _, attribute = name.partition(":")
            function = getattr(importlib.import_module(module), attribute)
            items: Iterable[object] = function(*arguments)
            for item in items:
                _write(answers, ("part", item))
            _write(answers, ("end", None))
        except Exception:
            _write(answers, ("end", traceback.format_exc()))


def _end_with(parent: int) -> None:
    """A long call does not look at its standard input: the parent's death is seen here."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main() -> None:
    """The child's side: answers calls until its standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle
    if hasattr(os, "nice"):
        os.nice(5)  # an editor beside us goes first
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    _serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
