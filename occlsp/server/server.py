"""The server object: one client, one event loop, and what keeps them apart from slow work.

Threads: the event loop handles one message at a time. A thread reads standard input and puts
messages into the inbox, another writes standard output. Disk access beyond a small file goes to
a thread; what computes (scans, logs) to a child process. Nothing else touches the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, BinaryIO

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from occlsp import __version__
from occlsp.server import garbage
from occlsp.server.client import Client, offered
from occlsp.server.lifetime import watch
from occlsp.server.progress import Works
from occlsp.server.protocol import Inbox, OcclspProtocol
from occlsp.server.transport import PipeReader, PipeWriter
from occlsp.server.turns import Turns, new_loop

if TYPE_CHECKING:
    from occlsp.server.session import Session

log = logging.getLogger("occlsp.server")

SWITCH = 0.001
"""Seconds that a thread keeps the interpreter while another waits: a message passes three threads,
and may meet one that takes a scan in."""


class Server(LanguageServer):
    """One connection to one client."""

    protocol: OcclspProtocol
    loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        super().__init__(
            "occlsp",
            __version__,
            protocol_cls=OcclspProtocol,
            converter_factory=default_converter,
        )
        self.client = Client()
        self.works = Works(self)
        self.turns = Turns()
        self._silence = garbage.Silence(
            lambda delay, act: self.loop.call_later(delay, act), self._collect
        )
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asked: tuple[types.InitializeParams, str] | None = None
        self._session: Session | None = None
        self._code = 1
        self._inbox: Inbox | None = None
        self._unfinished: Callable[[], bool] | None = None
        self._taken: tuple[Any, bool] | None = None
        """A message that waits for that."""
        self._is_next_due = False
        self._stopping = False

    @property
    def session(self) -> Session:
        """The state of the connection, made after `initialize` is answered: what it imports takes
        as long as everything before."""
        if self._session is None:
            assert self._asked is not None, "no session before `initialize`"
            from occlsp.server.session import Session

            self.turns.allow()
            self._session = Session(self, *self._asked)
            garbage.begin()
        return self._session

    def _collect(self) -> None:
        self.turns.label = "collecting garbage"
        gc.collect()

    # -- what the session uses -----------------------------------------------------------------

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs `work` on the loop; a fault in it is logged and costs nothing else."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a fault in %s", task.get_coro(), exc_info=error)

    async def request(self, method: str, params: Any) -> Any:
        """Asks the client; its answer, or the exception that stands for its error."""
        return await self.protocol.send_request_async(method, params)

    def tell(self, method: str, params: Any) -> bool:
        """Notifies the client, from any thread; False, and nothing, where none is connected."""
        if self._asked is None or self._stopping:
            return False
        try:
            self.protocol.notify(method, params)
        except (OSError, ValueError, RuntimeError):
            self._stopping = True
        return not self._stopping

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A fault in a handler: to the log, never a popup."""
        if isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError):
            log.info("a request is refused: %s", error)
            return
        log.error("a fault: %s", error, exc_info=error)

    # -- the lifecycle -------------------------------------------------------------------------

    def initialize(self, params: types.InitializeParams, encoding: str) -> types.ServerCapabilities:
        """Takes the client's word and says what it may ask for."""
        self.turns.allow()
        self.client = Client.of(params)
        self._asked = params, encoding
        self.loop.call_soon(lambda: self.session)
        capabilities = ServerCapabilitiesBuilder(
            params.capabilities,
            {*self.protocol.fm.features, *self.protocol.fm.builtin_features},
            self.protocol.fm.feature_options,
            list(self.protocol.fm.commands),
            types.TextDocumentSyncKind.Incremental,
            None,
            encoding,
        ).build()  # type: ignore[no-untyped-call]
        if params.process_id is not None:
            self.spawn(watch(params.process_id, lambda: self.stop(1)))
        return offered(capabilities, self.client, params.capabilities)

    def stop(self, code: int) -> None:
        """Ends the loop; the process exits with `code`. On the loop's thread."""
        if not self._stopping:
            self._stopping = True
            self._code = code
            self.loop.call_soon(self.loop.stop)

    # -- running -------------------------------------------------------------------------------

    def run_stdio(self, stdin: BinaryIO, stdout: BinaryIO) -> int:
        """Serves a client on two pipes until it goes; the exit status."""
        self.loop = new_loop(self.turns)
        finished = threading.Event()
        inbox = Inbox(lambda: self._wake(inbox))
        writer = PipeWriter(stdout, lambda: self._from_thread(self.stop, 1))
        self.protocol.set_writer(writer)
        PipeReader(stdin, inbox.feed, lambda: self._from_thread(self._closed), finished)
        self._run_loop()
        writer.close()
        finished.set()
        return self._code

    def run_tcp(self, host: str, port: int) -> int:
        """Serves one client on a socket until it goes; the exit status."""
        self.loop = new_loop(self.turns)
        self.loop.run_until_complete(self._listen(host, port))
        self._run_loop()
        return self._code

    async def _listen(self, host: str, port: int) -> None:
        listener: asyncio.Server

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            listener.close()  # one client a process
            self.protocol.set_writer(writer)
            inbox = Inbox(lambda: self._wake(inbox))
            try:
                while data := await reader.read(1 << 16):
                    inbox.feed(data)
            except OSError as error:
                log.info("the connection broke: %s", error)
            self._closed()

        listener = await asyncio.start_server(connected, host, port)
        for socket in listener.sockets:
            address = socket.getsockname()
            print(f"occlsp listens on {address[0]}:{address[1]}", file=sys.stderr, flush=True)

    def _run_loop(self) -> None:
        sys.setswitchinterval(SWITCH)
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        except KeyboardInterrupt:
            pass
        finally:
            self._stopping = True
            for task in self._tasks:
                task.cancel()
            if self._session is not None:
                self.loop.run_until_complete(self._close())

    async def _close(self) -> None:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.session.close(), 0.5)

    def _wake(self, inbox: Inbox) -> None:
        self._from_thread(self._arrived, inbox)

    def _from_thread(self, function: Any, *arguments: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            log.debug("the loop is closed")

    def resume(self) -> None:
        """Handles what waited for the settings."""
        if not self._is_next_due:
            self._is_next_due = True
            self.loop.call_soon(self._next)

    def go_on(self, work: Callable[[], bool]) -> None:
        """Does what the message that is handled leaves to do, in turns of its own, before the next
        message is handled: `work` does a piece, and says whether there is more."""
        self._unfinished = work
        self.resume()

    def _arrived(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._silence.broken()
        self.resume()

    def _next(self) -> None:
        """Handles one message, or does a piece of work: one turn of the loop."""
        self._is_next_due = False
        if self._stopping:
            return
        if self._unfinished is not None:
            left, self._unfinished = self._unfinished, None
            self.turns.label = "reading an edited file"
            self.resume()
            if left():
                self._unfinished = left
            return
        taken, self._taken = self._taken or self._take(), None
        if taken is None:
            return
        message, cancelled = taken
        self.resume()
        work = self._session.unsettled(message) if self._session is not None else None
        if work is not None and not cancelled:
            self._taken, self._unfinished = taken, work
        else:
            self.protocol.handle(message, cancelled=cancelled)

    def _take(self) -> tuple[Any, bool] | None:
        session = self._session
        is_starting = session is not None and session.is_starting
        return self._inbox.take(only_responses=is_starting) if self._inbox is not None else None

    def _closed(self) -> None:
        """The client's end of the connection is closed."""
        self.stop(0 if self.protocol.is_shut_down else 1)


def protected_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for the protocol alone: whatever prints goes to standard error."""
    stdin = os.fdopen(os.dup(0), "rb")
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stdin, stdout
