"""Our log in the client's log: `window/logMessage` for the user, standard error for the rest."""

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

    def emit(self, record: logging.LogRecord) -> None:
        """Queues one message."""
        count = self._sent[record.msg] = self._sent.get(record.msg, 0) + 1
        if count > MOST:
            return
        text = f"{record.name.removeprefix('occlsp.')}: {record.getMessage()}"
        if count == MOST:
            text += " (further messages of this kind are left out)"
        kind = _TYPES.get(record.levelno, types.MessageType.Log)
        self._server.tell(types.WINDOW_LOG_MESSAGE, types.LogMessageParams(kind, text))


def configure(server: Server, level: str) -> None:
    """Sets logging up for the process. `level` is that of standard error."""
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    stderr.setLevel(level.upper())
    logging.basicConfig(handlers=[stderr], level=logging.WARNING, force=True)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # we tell it ourselves
    ours = logging.getLogger("occlsp")
    ours.setLevel(min(logging.INFO, stderr.level))
    ours.addHandler(ClientHandler(server))
