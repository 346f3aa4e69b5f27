"""Tells the client that answers have changed: refresh requests, or pushed diagnostics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from occlsp.server.documents import Document
    from occlsp.server.server import Server

log = logging.getLogger("occlsp.refresh")

AFTER_EDIT = 0.150
"""Seconds without an edit before findings are pushed: half-typed code is not judged."""
AFTER_PUSH = 0.1
"""Seconds between pushed diagnostics and the request to ask for hints again."""
AFTER_NEWS = 0.030
"""Seconds in which several news become one refresh."""


class Refresh:
    """Collects what has changed and tells it a moment later, once."""

    def __init__(
        self,
        server: Server,
        documents: Callable[[], Iterable[Document]],
        diagnostics: Callable[[str], tuple[list[types.Diagnostic], str]],
    ) -> None:
        """`documents` are those open; `diagnostics` are a document's, with their identity."""
        self._server = server
        self._documents = documents
        self._diagnostics = diagnostics
        self._pushed: dict[str, str] = {}
        self._edited: set[str] = set()
        self._all = False
        self._timer: asyncio.TimerHandle | None = None

    def edited(self, uri: str) -> None:
        """One document has another text: the client asks for its hints by itself."""
        if not self._server.client.pulls_diagnostics:
            self._edited.add(uri)
            self._later(AFTER_EDIT)

    def opened(self, uri: str) -> None:
        """A document has been opened."""
        if not self._server.client.pulls_diagnostics:
            self._edited.add(uri)
            self._later(AFTER_NEWS)

    def closed(self, uri: str) -> None:
        """A document is closed: what was pushed for it is taken back."""
        self._edited.discard(uri)
        if self._pushed.pop(uri, None) is not None:
            self.push(uri, [], None)

    def news(self) -> None:
        """Reports, settings or other files have changed: any answer may be another now."""
        self._all = True
        self._later(AFTER_NEWS)

    def settings_file(self, uri: str, items: list[types.Diagnostic]) -> None:
        """What is wrong in a settings file: pushed to every client, for none pulls it."""
        if items or uri in self._pushed:
            self._pushed[uri] = "settings"
            self.push(uri, items, None)

    def push(self, uri: str, items: list[types.Diagnostic], version: int | None) -> None:
        """Sends diagnostics, with the version where the client takes it."""
        with_version = version if self._server.client.diagnostic_version else None
        self._server.tell(
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS,
            types.PublishDiagnosticsParams(uri, items, with_version),
        )

    def close(self) -> None:
        """Tells nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _later(self, delay: float) -> None:
        if self._timer is not None:
            if self._all and delay == AFTER_EDIT:
                return  # steady typing must not hold news back
            self._timer.cancel()
        self._timer = self._server.loop.call_later(delay, self._tell)

    def _tell(self) -> None:
        self._timer = None
        self._server.turns.label = "refresh"
        everything, self._all = self._all, False
        edited, self._edited = self._edited, set()
        client = self._server.client
        if not client.pulls_diagnostics:
            self._push_next([d for d in self._documents() if everything or d.uri in edited])
        elif everything:
            self._ask(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        if everything:
            # Neovim keeps old hints where it redraws between the refresh and its answer, and
            # it redraws for new diagnostics: so those go first.
            delay = 0 if client.pulls_diagnostics else AFTER_PUSH
            self._server.loop.call_later(delay, self._refresh_views)

    def _refresh_views(self) -> None:
        client = self._server.client
        if client.inlay_hints and client.refresh_hints:
            self._ask(types.WORKSPACE_INLAY_HINT_REFRESH)
        if client.code_lenses and client.refresh_lenses:
            self._ask(types.WORKSPACE_CODE_LENS_REFRESH)

    def _push_next(self, due: list[Document]) -> None:
        """One document a turn: many may be open."""
        if not due:
            return
        self._server.turns.label = "pushing diagnostics"
        document = due.pop()
        current = {d.uri: d for d in self._documents()}.get(document.uri)
        if current is not None:
            items, identity = self._diagnostics(current.uri)
            if self._pushed.get(current.uri, "") != identity and (
                items or current.uri in self._pushed
            ):
                self._pushed[current.uri] = identity
                self.push(current.uri, items, current.version)
        if due:
            self._server.loop.call_soon(self._push_next, due)

    def _ask(self, method: str) -> None:
        async def ask() -> None:
            try:
                await self._server.request(method, None)
            except Exception as error:
                log.debug("%s: %s", method, error)

        self._server.spawn(ask())
