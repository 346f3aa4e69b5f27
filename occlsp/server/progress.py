"""Work-done progress: what runs, how far it is, and a cancel, where the client shows it."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from occlsp.server.server import Server


class Work:
    """One piece of long work. Without a client that shows progress, reports go nowhere."""

    def __init__(
        self, server: Server, token: str | int | None, cancel: Callable[[], object]
    ) -> None:
        self._server = server
        self._token = token
        self._shown = False
        self.is_over = False
        """Nothing more is shown."""
        self.cancel = cancel

    def begin(self, title: str) -> None:
        """Shows the work, unless it is over already."""
        if self._token is None or self.is_over:
            return
        self._shown = True
        self._send(types.WorkDoneProgressBegin(title=title, cancellable=True))

    def report(self, message: str, percentage: int | None = None) -> None:
        """What is done now; `percentage` from 0 to 100 where it is known."""
        if self._shown and not self.is_over:
            self._send(types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self, message: str) -> None:
        """The work is over; `message` says how it went."""
        if self._shown and not self.is_over:
            self._send(types.WorkDoneProgressEnd(message=message))
        self.is_over = True

    def _send(
        self,
        value: types.WorkDoneProgressBegin
        | types.WorkDoneProgressReport
        | types.WorkDoneProgressEnd,
    ) -> None:
        if self._token is not None:
            self._server.protocol.notify(
                types.PROGRESS, types.ProgressParams(token=self._token, value=value)
            )


class Works:
    """The work that is under way, by token."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._works: dict[str | int, Work] = {}

    @contextlib.contextmanager
    def work(
        self,
        title: str,
        cancel: Callable[[], object],
        token: str | int | None = None,
        *,
        after: float = 0,
    ) -> Iterator[Work]:
        """Work under `title`. `cancel` is called when the user asks for it; `token` is that of
        the client's own request, where it gave one. What is over within `after` seconds is not
        shown."""
        given = token is not None
        if token is None and self._server.client.progress:
            token = str(uuid.uuid4())
        work = Work(self._server, token, cancel)
        if token is not None:
            self._works[token] = work
            if given:
                work.begin(title)
            else:
                self._server.spawn(self._create(work, token, title, after))
        try:
            yield work
        except BaseException:
            work.end("stopped")
            raise
        finally:
            work.end("done")
            if token is not None:
                self._works.pop(token, None)

    async def _create(self, work: Work, token: str | int, title: str, after: float) -> None:
        """The client must agree to a token before it is used."""
        await asyncio.sleep(after)
        if work.is_over:
            return
        with contextlib.suppress(Exception):
            await asyncio.wait_for(
                self._server.request(
                    types.WINDOW_WORK_DONE_PROGRESS_CREATE,
                    types.WorkDoneProgressCreateParams(token=token),
                ),
                timeout=10,
            )
            work.begin(title)

    def cancel(self, token: str | int) -> None:
        """The user cancels the work of `token`; an unknown token is none of ours any more."""
        work = self._works.get(token)
        if work is not None:
            work.cancel()
