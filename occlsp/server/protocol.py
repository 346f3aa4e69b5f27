"""JSON-RPC as we speak it: every message gets its reply, whatever is wrong with it.

`pygls` dispatches, we guard: its text store and its standard-input loop are not used. Messages
are decoded where they are read and handled one at a time on the event loop, in order, except
that a cancellation overtakes: a request that still waits is answered as cancelled at once.
"""

from __future__ import annotations

import contextvars
import json
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

from occlsp.server.transport import Framer, FramingError

if TYPE_CHECKING:
    from occlsp.server.server import Server

log = logging.getLogger("occlsp.protocol")


class Writer(Protocol):
    """Where messages go."""

    def write(self, data: bytes) -> None:
        """Sends or queues bytes; must not block."""


class Inbox:
    """Messages that are read and not yet handled. Filled by the reader, emptied by the loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` is called, in the reader's thread, once for each message put in."""
        self._framer = Framer()
        self._waiting: deque[Any] = deque()
        self._cancelled: set[Any] = set()
        self._lock = threading.Lock()
        self._wake = wake

    def feed(self, data: bytes) -> None:
        """Takes bytes as they come."""
        self._framer.feed(data)
        while (item := self._framer.next()) is not None:
            self._put(item if isinstance(item, FramingError) else self._decode(item))

    def _decode(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            self._framer.unread(body)
            return FramingError(f"a message that is no JSON: {error}")

    def _put(self, message: Any) -> None:
        with self._lock:
            cancelled = _cancelled_id(message)
            if cancelled is not None and any(_id_of(m) == cancelled for m in self._waiting):
                self._cancelled.add(cancelled)
                return
            self._waiting.append(message)
        self._wake()

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, *, only_responses: bool = False) -> tuple[Any, bool] | None:
        """The next message and whether it was cancelled meanwhile; None when there is none."""
        with self._lock:
            if only_responses:
                message = next((m for m in self._waiting if not _waits(m)), None)
                if message is None:
                    return None
                self._waiting.remove(message)
                return message, False
            if not self._waiting:
                return None
            message = self._waiting.popleft()
            identifier = _id_of(message)
            if identifier in self._cancelled:
                self._cancelled.discard(identifier)
                return message, True
            return message, False


def _waits(message: Any) -> bool:
    """Whether a message can wait until the server has its settings: the client's answers not."""
    return isinstance(message, dict) and "method" in message and message["method"] != types.EXIT


def _id_of(message: Any) -> str | int | None:
    if isinstance(message, dict) and "method" in message:
        identifier = message.get("id")
        if isinstance(identifier, (str, int)) and not isinstance(identifier, bool):
            return identifier
    return None


def _cancelled_id(message: Any) -> str | int | None:
    if not isinstance(message, dict) or message.get("method") != types.CANCEL_REQUEST:
        return None
    params = message.get("params")
    identifier = params.get("id") if isinstance(params, dict) else None
    return identifier if isinstance(identifier, (str, int)) else None


class OcclspProtocol(LanguageServerProtocol):
    """One client's connection."""

    _server: Server

    def __init__(self, server: Server, converter: Any) -> None:
        super().__init__(server, converter)
        self._initialized = False

    @property
    def is_shut_down(self) -> bool:
        """Whether the client asked for the end."""
        return self._shutdown

    # -- in ------------------------------------------------------------------------------------

    def handle(self, message: Any, *, cancelled: bool = False) -> None:
        """Handles one decoded message. Never raises but to exit."""
        if isinstance(message, FramingError):
            log.warning("%s", message.message)
            self._refuse(None, JsonRpcParseError(message.message))
            return
        identifier = _id_of(message)
        try:
            self._dispatch(message, identifier, cancelled=cancelled)
        except JsonRpcException as error:
            log.warning("a message is refused: %s", error)
            if identifier is not None or not _is_notification(message):
                self._refuse(identifier, error)

    def _dispatch(self, message: Any, identifier: str | int | None, *, cancelled: bool) -> None:
        if not isinstance(message, dict):
            raise JsonRpcInvalidRequest("a message is an object")
        if "method" not in message:
            self._dispatch_response(message)
            return
        method = message["method"]
        if message.get("jsonrpc") != self.VERSION or not isinstance(method, str):
            raise JsonRpcInvalidRequest('a message has "jsonrpc": "2.0" and a method')
        if "id" in message and identifier is None:
            raise JsonRpcInvalidRequest("an id is a string or a number")
        if cancelled:
            raise JsonRpcRequestCancelled(f"request {identifier!r} is cancelled")
        if not self._may_handle(method, is_request=identifier is not None):
            return
        params = self._params(message, method)
        self._server.turns.label = method
        context = contextvars.copy_context()
        if identifier is None:
            context.run(self._handle_notification, method, params)
        else:
            context.run(self._handle_request, identifier, method, params)

    def _may_handle(self, method: str, *, is_request: bool) -> bool:
        """Whether this state of the connection allows `method`; raises for a request."""
        if method == types.EXIT:
            return True
        if not self._initialized and method != types.INITIALIZE:
            problem: JsonRpcException = JsonRpcServerNotInitialized("initialize comes first")
        elif self._shutdown:
            problem = JsonRpcInvalidRequest("the server is shutting down")
        elif self._initialized and method == types.INITIALIZE:
            problem = JsonRpcInvalidRequest("initialize comes once")
        else:
            return is_request or not method.startswith("$/") or method in self._known()
        if is_request:
            raise problem
        log.debug("%s is ignored: %s", method, problem)
        return False

    def _known(self) -> set[str]:
        return {types.CANCEL_REQUEST, *self.fm.features, *self.fm.builtin_features}

    def _params(self, message: dict[str, Any], method: str) -> Any:
        if self.get_message_type(method) is None:
            return message.get("params")
        structured: JsonRPCNotification | JsonRPCRequestMessage
        try:
            structured = self.structure_message(message)
        except RecursionError as error:
            raise JsonRpcInvalidParams(f"{method}: nested too deeply") from error
        except Exception as error:
            raise JsonRpcInvalidParams(f"{method}: the parameters are malformed") from error
        return getattr(structured, "params", None)

    def _dispatch_response(self, message: dict[str, Any]) -> None:
        identifier = message.get("id")
        if not isinstance(identifier, (str, int)) or identifier not in self._request_futures:
            log.debug("a response to nothing: %r", identifier)
            return
        try:
            structured: Any = self.structure_message(message)
        except Exception as error:
            log.warning("a response is malformed: %s", error)
            self._fail(identifier, JsonRpcInvalidParams("malformed response"))
            return
        if getattr(structured, "error", None) is not None:
            self._fail(identifier, JsonRpcException.from_error(structured.error))
        else:
            self._handle_response(identifier, getattr(structured, "result", None))

    def _fail(self, identifier: str | int, error: Exception) -> None:
        future = self._request_futures.pop(identifier, None)
        if future is not None and not future.done():
            future.set_exception(error)

    def _handle_cancel_notification(self, msg_id: str | int) -> None:
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.cancel()

    # -- out -----------------------------------------------------------------------------------

    def _refuse(self, identifier: str | int | None, error: JsonRpcException) -> None:
        answer = {"code": error.code, "message": str(error) or error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": identifier, "error": answer})

    def _send_data(self, data: Any) -> None:
        if self.writer is None or not data:
            return
        text = json.dumps(
            data, default=self._serialize_message, ensure_ascii=False, separators=(",", ":")
        )
        body = text.encode("utf-8", "replace")
        self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    # -- the lifecycle and the text, which pygls would keep itself ------------------------------

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(  # type: ignore[override]
        self, params: types.InitializeParams
    ) -> types.InitializeResult:
        """Answers with what this client can use."""
        self._initialized = True
        self.client_capabilities = params.capabilities
        encoding = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        name = getattr(encoding, "value", encoding)
        self.server_capabilities = self._server.initialize(params, name)
        return types.InitializeResult(
            capabilities=self.server_capabilities, server_info=self.server_info
        )

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # type: ignore[override]
        """Ends the process: 0 after a shutdown request, else 1."""
        self._server.stop(0 if self._shutdown else 1)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Handled by our own text store."""
        self._server.session.did_open(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Handled by our own text store."""
        self._server.session.did_change(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Handled by our own text store."""
        self._server.session.did_close(params)

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(
        self, params: types.DidChangeWorkspaceFoldersParams
    ) -> None:
        """Folders come and go."""
        self._server.session.did_change_folders(params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Notebooks hold nothing for us."""

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: types.DidChangeNotebookDocumentParams
    ) -> None:
        """Notebooks hold nothing for us."""

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(
        self, params: types.DidCloseNotebookDocumentParams
    ) -> None:
        """Notebooks hold nothing for us."""

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        """Cancels the work that the token stands for."""
        self._server.works.cancel(params.token)


def _is_notification(message: Any) -> bool:
    return isinstance(message, dict) and "method" in message and "id" not in message
