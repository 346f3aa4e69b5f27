"""A plain JSON-RPC client: starts the server on pipes, talks, remembers all that it hears.

Knows nothing of the server but the protocol. Used by tests and by the benchmarks.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLIENTS = Path(__file__).parent / "clients"


class ServerError(Exception):
    """The server answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.code: int = error["code"]
        self.data = error.get("data")


class ServerEndedError(Exception):
    """The server ended before it answered; the message is what it wrote to standard error."""


class Client:
    """One server process and the conversation with it."""

    def __init__(
        self,
        root: Path | None = None,
        *,
        capabilities: dict[str, Any] | str = "vscode",
        options: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        home: Path | None = None,
        start: bool = True,
        arguments: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        roots: tuple[Path, ...] = (),
        command: tuple[str, ...] = (),
    ) -> None:
        """`capabilities` names a recorded client (`clients/*.json`) or gives them; `settings`
        are the answer to `workspace/configuration`; `home` keeps the user's own files apart;
        `command` starts another server than ours."""
        self.root = root
        self.settings = settings
        self.notifications: list[tuple[str, Any]] = []
        self.requests: list[tuple[str, Any]] = []
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self._next = 0
        self._replies: dict[Any, queue.Queue[dict[str, Any]]] = {}
        self._news = threading.Condition()
        environment = {**os.environ, **(env or {})}
        if home is not None:
            environment.update(
                HOME=str(home),
                XDG_CONFIG_HOME=str(home / "config"),
                XDG_CACHE_HOME=str(home / "cache"),
            )
        self.process = subprocess.Popen(
            [*(command or (sys.executable, "-P", "-m", "occlsp", "serve")), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self.errors: list[bytes] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()
        self.initialized: dict[str, Any] = {}
        if start:
            self.initialize(capabilities, options, roots or ((root,) if root else ()))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- talking -------------------------------------------------------------------------------

    def initialize(
        self,
        capabilities: dict[str, Any] | str = "vscode",
        options: dict[str, Any] | None = None,
        roots: tuple[Path, ...] = (),
    ) -> dict[str, Any]:
        """The handshake; the server's answer."""
        name = capabilities if isinstance(capabilities, str) else "test"
        if isinstance(capabilities, str):
            recorded = json.loads((CLIENTS / f"{capabilities}.json").read_text("utf-8"))
            name, capabilities = recorded["clientInfo"]["name"], recorded["capabilities"]
        folders = [{"uri": root.as_uri(), "name": root.name} for root in roots]
        self.initialized = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": name},
                "rootUri": folders[0]["uri"] if folders else None,
                "workspaceFolders": folders or None,
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})
        return self.initialized

    def send(self, message: Any) -> None:
        """Any message, as it is."""
        self.send_bytes(json.dumps(message).encode())

    def send_bytes(self, body: bytes) -> None:
        """Any body, under a right header."""
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def write(self, data: bytes) -> None:
        """Any bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        """A notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start_request(self, method: str, params: Any) -> int:
        """Sends a request; its id, for `reply`."""
        self._next += 1
        self._replies[self._next] = queue.Queue()
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def reply(self, identifier: Any, timeout: float = 20) -> Any:
        """The result of a request that was sent; raises ServerError for an error."""
        replies = self._replies.setdefault(identifier, queue.Queue())
        end = time.monotonic() + timeout
        while True:
            try:
                message = replies.get(timeout=0.2)
                break
            except queue.Empty:
                if self.process.poll() is not None and replies.empty():
                    said = b"".join(self.errors).decode()
                    raise ServerEndedError(f"status {self.process.poll()}\n{said}") from None
                if time.monotonic() > end:
                    raise
        if "error" in message:
            raise ServerError(message["error"])
        return message["result"]

    def request(self, method: str, params: Any, timeout: float = 20) -> Any:
        """A request and its result."""
        return self.reply(self.start_request(method, params), timeout)

    def stop(self) -> int:
        """Shuts the server down as the protocol wants it; the exit status."""
        if self.process.poll() is None:
            try:
                self.request("shutdown", None, timeout=5)
                self.notify("exit", None)
                self.process.wait(5)
            except (OSError, queue.Empty, subprocess.TimeoutExpired, ServerError, ServerEndedError):
                self.process.kill()
        status = self.process.wait(5)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        return status

    # -- documents -----------------------------------------------------------------------------

    def open(self, path: Path, text: str | None = None, language: str = "cuda-cpp") -> str:
        """Opens a file, with its text on disk if no other is given; its URI."""
        uri = path.as_uri()
        self.texts[uri] = path.read_text("utf-8") if text is None else text
        self.versions[uri] = 1
        item = {"uri": uri, "languageId": language, "version": 1, "text": self.texts[uri]}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def replace(self, uri: str, old: str, new: str) -> None:
        """Types `new` over the one place that holds `old` (ASCII lines), as an editor does."""
        text = self.texts[uri]
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        at = text.index(old)
        self.change(uri, [{"range": range_in(text, at, at + len(old)), "text": new}])
        self.texts[uri] = text[:at] + new + text[at + len(old) :]

    def change(self, uri: str, changes: list[dict[str, Any]]) -> None:
        """Sends content changes."""
        self.versions[uri] += 1
        identifier = {"uri": uri, "version": self.versions[uri]}
        self.notify(
            "textDocument/didChange", {"textDocument": identifier, "contentChanges": changes}
        )

    def apply(self, edit: dict[str, Any]) -> None:
        """Applies a workspace edit to the open documents, as an editor does."""
        changed = {c["textDocument"]["uri"]: c["edits"] for c in edit.get("documentChanges", ())}
        for uri, edits in {**edit.get("changes", {}), **changed}.items():
            starts = [
                (e["range"]["start"]["line"], e["range"]["start"]["character"]) for e in edits
            ]
            last_first = sorted(zip(starts, edits, strict=True), key=lambda pair: pair[0])[::-1]
            changes = [{"range": e["range"], "text": e["newText"]} for _, e in last_first]
            self.change(uri, changes)

    def save(self, uri: str) -> None:
        """Writes the text to disk and says so."""
        path_of(uri).write_text(self.texts[uri], "utf-8")
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        """Closes a document."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def hints(self, uri: str) -> dict[int, str]:
        """The labels of all inlay hints, by 0-based line."""
        found = self.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, **ALL})
        return {hint["position"]["line"]: hint["label"] for hint in found or ()}

    def hover(self, uri: str, needle: str, text: str | None = None) -> str | None:
        """The hover at the first character of `needle` in the text."""
        text = self.texts[uri] if text is None else text
        position = position_in(text, text.index(needle))
        found = self.request(
            "textDocument/hover", {"textDocument": {"uri": uri}, "position": position}
        )
        return found["contents"]["value"] if found else None

    def pull(self, uri: str) -> list[dict[str, Any]]:
        """The diagnostics of a document."""
        found = self.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        items: list[dict[str, Any]] = found["items"]
        return items

    def actions(self, uri: str, needle: str, **context: Any) -> list[dict[str, Any]]:
        """The code actions at `needle`."""
        text = self.texts[uri]
        at = text.index(needle)
        found = self.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": uri},
                "range": range_in(text, at, at + len(needle)),
                "context": {"diagnostics": [], **context},
            },
        )
        return found or []

    # -- listening -----------------------------------------------------------------------------

    def wait_for(self, what: Callable[[], Any], timeout: float = 20) -> Any:
        """Waits until `what` is true, looking again at each message and now and then."""
        end = time.monotonic() + timeout
        while not (found := what()):
            left = end - time.monotonic()
            assert left > 0, f"timeout; heard {[m for m, _ in self.notifications][-20:]}"
            with self._news:
                self._news.wait(min(left, 0.1))
        return found

    def published(self, uri: str) -> list[dict[str, Any]] | None:
        """The diagnostics last pushed for a document; None where none ever were."""
        for method, params in reversed(self.notifications):
            if method == "textDocument/publishDiagnostics" and params["uri"] == uri:
                items: list[dict[str, Any]] = params["diagnostics"]
                return items
        return None

    def heard(self, method: str) -> list[Any]:
        """The parameters of all notifications and requests of a method so far."""
        return [p for m, p in [*self.notifications, *self.requests] if m == method]

    def log(self) -> str:
        """What the server logged in the client's log."""
        return "\n".join(p["message"] for p in self.heard("window/logMessage"))

    def _read(self) -> None:
        assert self.process.stdout is not None
        stream = self.process.stdout
        try:
            while header := stream.readline():
                length = 0
                while header.strip():
                    name, _, value = header.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                    header = stream.readline()
                self._hear(json.loads(stream.read(length)))
        except (ValueError, OSError):
            pass

    def _hear(self, message: dict[str, Any]) -> None:
        with self._news:
            if "method" not in message:
                self._replies.setdefault(message.get("id"), queue.Queue()).put(message)
            elif "id" in message:
                self.requests.append((message["method"], message.get("params")))
            else:
                self.notifications.append((message["method"], message.get("params")))
            self._news.notify_all()
        if "method" in message and "id" in message:
            self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        if method in self.answers:
            result = self.answers[method](params)
        elif method == "workspace/configuration":
            result = [self.settings for _ in params["items"]]
        else:
            result = None
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        try:
            for line in self.process.stderr:
                self.errors.append(line)
        except (ValueError, OSError):
            pass


ALL = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 1 << 20, "character": 0}}}


def position_in(text: str, offset: int) -> dict[str, int]:
    """The position of a character of `text`, whose lines end with newlines."""
    before = text[:offset]
    return {
        "line": before.count("\n"),
        "character": len(before[before.rfind("\n") + 1 :].encode("utf-16-le")) // 2,
    }


def range_in(text: str, start: int, end: int) -> dict[str, Any]:
    """The range of a piece of `text`."""
    return {"start": position_in(text, start), "end": position_in(text, end)}


def path_of(uri: str) -> Path:
    """The file of a URI made by `open`."""
    from urllib.parse import unquote, urlsplit

    return Path(unquote(urlsplit(uri).path))
