"""Fuzzes the protocol: `python tests/fuzz/protocol/fuzz.py --messages 100000 [--seed 1]`.

Sends valid, mutated, malformed, misframed and out-of-order messages to one server and checks that
every request with a usable id gets exactly one reply, that the server never ends by itself, and
that it does not keep growing. Prints what it did; exits 1 at the first failure, with the seed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[2] / "server"))
from client import Client

SOURCE = """#include <cuda_runtime.h>
#define BLOCK 256
template <int N> __global__ void __launch_bounds__(BLOCK) scale(float *x) {
  __shared__ float tile[N];
  x[threadIdx.x] *= tile[0];
}
void run(float *x, int n) {
  scale<64><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(x);
}
"""
METHODS = [
    "textDocument/hover",
    "textDocument/inlayHint",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/completion",
    "textDocument/diagnostic",
    "inlayHint/resolve",
    "workspace/executeCommand",
    "occlsp/explorer",
    "occlsp/status",
]
NOTIFICATIONS = [
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/didSave",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeWorkspaceFolders",
    "$/cancelRequest",
    "$/setTrace",
    "window/workDoneProgress/cancel",
    "notebookDocument/didOpen",
]
UNKNOWN = ["textDocument/definition", "x", "", "$/unknown", "shutdown2", "textDocument/hover/"]
ODD: list[Any] = [
    None, True, -1, 0, 2**31, 2**63, 1e308, "", "x", "\0", "ä\u2028𝄞", "file:///", [], {}, [[]],
    {"line": -1}, {"uri": 3}, "untitled:a", "git:/a.cu", "file:///nowhere/%00.cu", [None] * 5,
]  # fmt: skip


class Fuzzer:
    """One server and the replies that it owes."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.uris = []
        for name in ("a.cu", "b.cu", "c.cpp"):
            path = folder / name
            path.write_text(SOURCE)
            self.uris.append(path.as_uri())
        self.client = Client(folder, capabilities="vscode", home=folder / "home")
        self.owed: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self._next = 0

    def run(self, messages: int) -> None:
        """Sends so many messages and waits for all replies."""
        process = psutil.Process(self.client.process.pid)
        start, memory, began = 0, 0, time.monotonic()
        for number in range(messages):
            kind, data = self.message()
            self.sent[kind] += 1
            self.client.write(data)
            if number % 200 == 199:
                self.settle()
                self.client.notifications.clear()
                self.client.requests.clear()
                self.client.errors.clear()
            if number == messages // 5:
                start = process.memory_info().rss
        self.settle()
        memory = process.memory_info().rss
        took = time.monotonic() - began
        print(f"{messages} messages in {took:.1f} s: {dict(self.sent)}")
        if start:
            print(f"memory: {start >> 20} MiB after a fifth, {memory >> 20} MiB at the end")
            assert memory < start * 1.5 + (32 << 20), "the server keeps growing"
        status = self.client.stop()
        assert status == 0, f"exit status {status}"

    def settle(self) -> None:
        """Waits until every request has its one reply."""
        client = self.client
        fence = client.start_request("occlsp/status", None)
        client.reply(fence, timeout=60)
        end = time.monotonic() + 60
        while True:
            assert client.process.poll() is None, b"".join(client.errors).decode()
            owed = {i: n for i, n in self.owed.items() if self._replies(i) < n}
            if not owed:
                break
            assert time.monotonic() < end, f"no reply to {owed}"
            time.sleep(0.005)
        for identifier, count in self.owed.items():
            assert self._replies(identifier) == count, f"too many replies to {identifier}"
            del client._replies[identifier]
        client._replies.clear()
        self.owed.clear()

    def _replies(self, identifier: str) -> int:
        found = self.client._replies.get(identifier)
        return found.qsize() if found is not None else 0

    def message(self) -> tuple[str, bytes]:
        """One message: its kind, and its bytes."""
        kind = self.random.choices(
            ["valid", "edit", "mutated", "unknown", "malformed", "misframed", "response"],
            [30, 20, 30, 5, 5, 5, 5],
        )[0]
        if kind == "malformed":
            return kind, framed(self.random.choice(list(malformed())))
        if kind == "misframed":
            return kind, self.random.choice(list(misframed(self.request(self.valid_request()))))
        if kind == "response":
            odd = {"jsonrpc": "2.0", "id": self.random.choice(ODD)}
            odd[self.random.choice(["result", "error"])] = self.random.choice(ODD)
            return kind, framed(json.dumps(odd).encode())
        if kind == "unknown":
            message = {"method": self.random.choice(UNKNOWN), "params": self.random.choice(ODD)}
            if self.random.random() < 0.5:
                return kind, self.request(message)
            return kind, self.notification(message)
        if kind == "edit":
            return kind, self.notification(self.edit())
        if self.random.random() < 0.7:
            message = self.valid_request()
            if kind == "mutated":
                message["params"] = self.mutate(message["params"])
            return kind, self.request(message)
        message = self.valid_notification()
        if kind == "mutated":
            message["params"] = self.mutate(message["params"])
        return kind, self.notification(message)

    def request(self, message: dict[str, Any]) -> bytes:
        """The bytes of a request, whose reply is owed from now on."""
        self._next += 1
        identifier = f"f{self._next}"
        self.owed[identifier] += 1
        return framed(json.dumps({"jsonrpc": "2.0", "id": identifier, **message}).encode())

    def notification(self, message: dict[str, Any]) -> bytes:
        return framed(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def position(self) -> dict[str, int]:
        wild = self.random.random() < 0.05
        line = self.random.randrange(2**31) if wild else self.random.randrange(12)
        return {"line": line, "character": self.random.randrange(60)}

    def range(self) -> dict[str, Any]:
        return {"start": self.position(), "end": self.position()}

    def document(self) -> dict[str, Any]:
        odd = ["file:///closed.cu", "untitled:x", "git:/a.cu"]
        return {"uri": self.random.choice(self.uris * 3 + odd)}

    def valid_request(self) -> dict[str, Any]:
        method = self.random.choice(METHODS)
        params: dict[str, Any] = {
            "textDocument": self.document(),
            "position": self.position(),
            "range": self.range(),
            "context": {"diagnostics": []},
        }
        if method == "inlayHint/resolve":
            params = {"position": self.position(), "label": "x", "data": self.random.choice(ODD)}
        elif method == "workspace/executeCommand":
            commands = ["occlsp.setArch", "occlsp.showReport", "occlsp.nothing"]
            params = {
                "command": self.random.choice(commands),
                "arguments": self.random.choice([[], ["sm_80"], [3], [self.uris[0]], [None, {}]]),
            }
        return {"method": method, "params": params}

    def edit(self) -> dict[str, Any]:
        uri = self.random.choice(self.uris)
        if self.random.random() < 0.1:
            item = {"uri": uri, "languageId": "cuda", "version": 1, "text": SOURCE}
            return {"method": "textDocument/didOpen", "params": {"textDocument": item}}
        text = self.random.choice(["", "\n", "{", "}", "/*", "1024", "<<<1, 2>>>", "ä𝄞\f", '"'])
        changes: list[dict[str, Any]] = [{"range": self.range(), "text": text}]
        if self.random.random() < 0.1:
            changes = [{"text": SOURCE}]
        identifier = {"uri": uri, "version": self.random.randrange(100)}
        params = {"textDocument": identifier, "contentChanges": changes}
        return {"method": "textDocument/didChange", "params": params}

    def valid_notification(self) -> dict[str, Any]:
        method = self.random.choice(NOTIFICATIONS)
        params: dict[str, Any] = {
            "textDocument": {**self.document(), "version": 2, "languageId": "cuda", "text": SOURCE},
            "contentChanges": [{"range": self.range(), "text": "x"}],
            "settings": {"occlsp": {"arch": ["sm_80"]}},
            "changes": [{"uri": self.uris[0], "type": 2}],
            "event": {"added": [], "removed": []},
            "id": self.random.choice([1, "x", f"f{self._next}"]),
            "value": "off",
            "token": "t",
        }
        return {"method": method, "params": params}

    def mutate(self, value: Any) -> Any:
        """`value` with something of it gone, replaced, or nested."""
        if isinstance(value, dict) and value and self.random.random() < 0.8:
            changed = dict(value)
            key = self.random.choice(list(changed))
            if self.random.random() < 0.3:
                del changed[key]
            else:
                changed[key] = self.mutate(changed[key])
            return changed
        if isinstance(value, list) and value and self.random.random() < 0.5:
            return [self.mutate(item) for item in value]
        return self.random.choice(ODD)


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def malformed() -> Iterator[bytes]:
    """Bodies that are no message."""
    yield b""
    yield b"{"
    yield b"[]"
    yield b"null"
    yield b'"x"'
    yield b"\xff\xfe\x00"
    yield b"[" * 20_000
    yield b'{"a":' * 5_000
    yield b'{"jsonrpc": "2.0"}'
    yield b'{"jsonrpc": "1.0", "method": "x"}'
    yield b'{"jsonrpc": "2.0", "id": [], "method": "textDocument/hover"}'
    yield b'{"jsonrpc": "2.0", "id": null, "method": "textDocument/hover"}'
    yield b'{"jsonrpc": "2.0", "id": 1.5, "method": 7}'
    yield b'{"jsonrpc": "2.0", "method": "textDocument/didOpen"}'
    yield b'{"jsonrpc": "2.0", "method": "initialized", "params": 3}'


def misframed(good: bytes) -> Iterator[bytes]:
    """Broken framing, followed by a message that must be answered nevertheless."""
    yield b"Content-Length: x\r\n\r\n" + good
    yield b"Nothing: 1\r\n\r\n" + good
    yield b"content-type: y\r\nCONTENT-LENGTH: 2\r\n\r\n{}" + good
    yield b'Content-Length: 3\r\n\r\n{"a": 1}' + good
    yield b"Content-Length: 14\r\n\r\n{}" + good
    yield b"Content-Length: 40\r\n\r\n{}" + good
    yield b"Content-Length: 999999999999\r\n\r\n" + good
    yield good.replace(b"Content-Length", b"content-length")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder), arguments.seed)
        try:
            fuzzer.run(arguments.messages)
        except AssertionError as error:
            fuzzer.client.process.kill()
            print(f"seed {arguments.seed}: {error}", file=sys.stderr)
            sys.exit(1)


if __name__ == "__main__":
    main()
