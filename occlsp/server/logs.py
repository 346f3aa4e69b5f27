"""Our log in the client's log.

A record goes to the client as `window/logMessage`. Standard error, which clients show in the same
place, has only what they cannot be told so: before they are connected, when they are gone, and
what is not ours. With `--log-level` it has all from that level on.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from occlsp.server.server import Server

_TYPES = {
    logging.DEBUG: types.MessageType.Log,
    logging.INFO: types.MessageType.Info,
    logging.WARNING: types.MessageType.Warning,
    logging.ERROR: types.MessageType.Error,
}
MOST = 200
"""Messages of one kind (format) that are sent: a fault that repeats must not flood the client."""


class ClientHandler(logging.Handler):
    """Sends our records to the client, once it has been answered; from any thread."""

    def __init__(self, server: Server) -> None:
        super().__init__(logging.INFO)
        self._server = server
        self._sent: dict[str, int] = {}
        self._exceptions = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Queues one message, with the traceback of a fault, and marks the record as told."""
        count = self._sent[record.msg] = self._sent.get(record.msg, 0) + 1
        if count > MOST:
            record.is_told = True
            return
        text = f"{record.name.removeprefix('occlsp.')}: {record.getMessage()}"
        if count == MOST:
            text += " (further messages of this kind are left out)"
        if record.exc_info:
            text += "\n" + self._exceptions.formatException(record.exc_info)
        kind = _TYPES.get(record.levelno, types.MessageType.Log)
        record.is_told = self._server.tell(
            types.WINDOW_LOG_MESSAGE, types.LogMessageParams(kind, text)
        )


def _is_untold(record: logging.LogRecord) -> bool:
    return not getattr(record, "is_told", False)


def configure(server: Server, level: str | None) -> None:
    """Sets logging up for the process. `level`: from which on all records go to standard error,
    too; None: those that the client is not told, from warnings on."""
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    stderr.setLevel((level or "warning").upper())
    if level is None:
        stderr.addFilter(_is_untold)
    logging.basicConfig(handlers=[stderr], level=logging.WARNING, force=True)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # we tell it ourselves
    ours = logging.getLogger("occlsp")
    ours.setLevel(min(logging.INFO, stderr.level))
    ours.addHandler(ClientHandler(server))
