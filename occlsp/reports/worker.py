"""A child process that runs our own functions, one at a time, so that the caller never waits.

Parsing holds the interpreter's lock and compiling takes seconds: neither belongs on an event
loop or in a thread beside it. The parent speaks with the child in frames on its standard
streams. A call that is cancelled tells the child, which ends what it runs; a child that does
not answer is killed with all that it started. A child whose parent is gone ends itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_type_hints

import msgspec

from occlsp.reports.priority import step_back
from occlsp.reports.run import kill_tree

log = logging.getLogger("occlsp.worker")

CANCEL_SECONDS = 0.5
"""How long a cancelled child may take to answer before it is killed."""
T = TypeVar("T")
_BROKEN = (OSError, asyncio.IncompleteReadError, msgspec.MsgspecError)


class WorkerError(Exception):
    """The function raised, or the child died; the message says which and how."""


class Control:
    """What a function in the child may do beside its work."""

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._say = say or (lambda text: None)
        self._cancelled = threading.Event()

    def cancelled(self) -> bool:
        """Whether the caller no longer wants the answer; to be asked often."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        self._cancelled.set()

    def say(self, text: str) -> None:
        """Tells the caller how far it is."""
        self._say(text)


@dataclass(frozen=True, slots=True)
class _Call:
    function: str
    request: msgspec.Raw


@dataclass(frozen=True, slots=True)
class _Answer:
    kind: str
    """"result", "error", "say" or "log"."""
    value: msgspec.Raw


class Worker:
    """The parent's side. The child starts with the first call and stays until `close`."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The child's process id, while there is one."""
        return self._process.pid if self._process is not None else None

    async def call(
        self,
        function: str,
        request: object,
        kind: type[T],
        say: Callable[[str], None] | None = None,
    ) -> T:
        """Runs `function` ("module:name", taking the request and a `Control`) in the child.

        Raises WorkerError; when cancelled, what the child runs is ended before this returns.
        """
        async with self._lock:
            process = self._process
            if process is None or process.returncode is not None:
                process = await self._start()
            call = _Call(function, msgspec.Raw(msgspec.msgpack.encode(request)))
            # Shielded, since a read that is cancelled half way loses its place in the stream.
            answering = asyncio.ensure_future(self._ask(process, call, say))
            try:
                answer = await asyncio.shield(answering)
            except asyncio.CancelledError:
                await self._cancel(process, answering)
                raise
            except _BROKEN as error:
                await self._kill()
                raise WorkerError(f"the worker process ended ({error or 'no answer'})") from error
        if answer.kind == "error":
            raise WorkerError(msgspec.msgpack.decode(answer.value, type=str))
        return msgspec.msgpack.decode(answer.value, type=kind)

    async def close(self) -> None:
        """Ends the child and all that it runs."""
        await self._kill()

    async def _start(self) -> asyncio.subprocess.Process:
        options: dict[str, Any] = {}
        if os.name == "nt":
            options["creationflags"] = getattr(subprocess, "CREATE_NO_WINDOW", 0)
        else:
            options["start_new_session"] = True
        # Isolated, with our own module path: nothing is imported from a workspace's folder.
        folders = [entry for entry in sys.path if entry and Path(entry).is_absolute()]
        code = (
            f"import sys; sys.path[:] = {folders!r}; from occlsp.reports.worker import main; main()"
        )
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-c",
            code,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(sys.executable).anchor,
            **options,
        )
        return self._process

    async def _ask(
        self,
        process: asyncio.subprocess.Process,
        call: _Call,
        say: Callable[[str], None] | None,
    ) -> _Answer:
        await _send(process, call)
        assert process.stdout is not None
        while True:
            (size,) = struct.unpack("!I", await process.stdout.readexactly(4))
            answer = msgspec.msgpack.decode(await process.stdout.readexactly(size), type=_Answer)
            if answer.kind in ("result", "error"):
                return answer
            if answer.kind == "log":
                name, level, text = msgspec.msgpack.decode(answer.value, type=tuple[str, int, str])
                logging.getLogger(name).log(level, "%s", text)
            elif say is not None:
                say(msgspec.msgpack.decode(answer.value, type=str))

    async def _cancel(
        self, process: asyncio.subprocess.Process, answering: asyncio.Future[_Answer]
    ) -> None:
        try:
            await _send(process, None)
            await asyncio.wait_for(answering, CANCEL_SECONDS)
        except (asyncio.TimeoutError, asyncio.CancelledError, *_BROKEN):
            await self._kill()

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # Looking through all processes takes a while, so not on the loop.
        await asyncio.to_thread(kill_tree, process.pid, thorough=True)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), 1.0)


async def _send(process: asyncio.subprocess.Process, call: _Call | None) -> None:
    assert process.stdin is not None
    data = msgspec.msgpack.encode(call)
    process.stdin.write(struct.pack("!I", len(data)) + data)
    await process.stdin.drain()


def main() -> None:
    """The child: answers calls from standard input until it ends."""
    step_back()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the frames
    lock = threading.Lock()

    def send(kind: str, value: object) -> None:
        data = msgspec.msgpack.encode(_Answer(kind, msgspec.Raw(msgspec.msgpack.encode(value))))
        with lock:
            out.write(struct.pack("!I", len(data)) + data)
            out.flush()

    logging.basicConfig(level=logging.INFO, handlers=[_Forward(send)])
    calls = _Calls(sys.stdin.buffer, lambda text: send("say", text))
    while True:
        call, control = calls.next()
        try:
            module, _, name = call.function.partition(":")
            function = getattr(importlib.import_module(module), name)
            kind = next(iter(get_type_hints(function).values()))
            result = function(msgspec.msgpack.decode(call.request, type=kind), control)
        except Exception as error:
            log.exception("%s failed", call.function)
            send("error", f"{type(error).__name__}: {error}")
        else:
            send("result", result)


class _Calls:
    """Reads calls in a thread, so that a cancel and the parent's end are seen while one runs."""

    def __init__(self, stream: BinaryIO, say: Callable[[str], None]) -> None:
        self._stream = stream
        self._say = say
        self._calls: list[tuple[_Call, Control]] = []
        self._came = threading.Semaphore(0)
        self._current: Control | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> tuple[_Call, Control]:
        self._came.acquire()
        return self._calls.pop(0)

    def _read(self) -> None:
        while len(head := self._stream.read(4)) == 4:
            data = self._stream.read(struct.unpack("!I", head)[0])
            call = msgspec.msgpack.decode(data, type=_Call | None)
            if call is not None:
                self._current = Control(self._say)
                self._calls.append((call, self._current))
                self._came.release()
            elif self._current is not None:
                self._current.cancel()
        if self._current is not None:
            self._current.cancel()
        # The parent is gone: end what runs, and then us.
        threading.Timer(CANCEL_SECONDS, lambda: kill_tree(os.getpid(), thorough=True)).start()


class _Forward(logging.Handler):
    """Sends log records to the parent's log."""

    def __init__(self, send: Callable[[str, object], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._send("log", (record.name, record.levelno, self.format(record)))
