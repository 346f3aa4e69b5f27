"""The server's life: its start, its end, and a reply to whatever comes between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from client import Client, ServerError

Start = Callable[..., Client]


def test_initialize_is_answered_within_a_second(start: Start) -> None:
    """In the server's own processor time: the machine that runs the tests may be busy."""

    def measure() -> float:
        client = start(start=False)
        client.request("initialize", {"processId": None, "capabilities": {}})
        times = psutil.Process(client.process.pid).cpu_times()
        client.process.kill()
        return times.user + times.system

    assert min(measure() for _ in range(3)) < 1


def test_shutdown_and_exit(start: Start) -> None:
    client = start()
    assert client.request("shutdown", None) is None
    with pytest.raises(ServerError) as error:
        client.request("textDocument/hover", {})
    assert error.value.code == -32600
    client.notify("exit", None)
    assert client.process.wait(2) == 0


def test_exit_without_shutdown_is_a_fault(start: Start) -> None:
    client = start()
    client.notify("exit", None)
    assert client.process.wait(10) == 1


def test_the_end_of_the_input_ends_the_server(start: Start) -> None:
    client = start()
    assert client.process.stdin is not None
    began = time.monotonic()
    client.process.stdin.close()
    assert client.process.wait(5) == 1
    assert time.monotonic() - began < 1


def test_the_death_of_the_client_ends_the_server(start: Start) -> None:
    """Also where something else holds the pipe open, as a shell between the two does."""
    client = start(start=False)
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        client.request("initialize", {"processId": editor.pid, "capabilities": {}})
        client.notify("initialized", {})
        client.request("occlsp/status", None)
        began = time.monotonic()
        editor.send_signal(signal.SIGKILL)
        assert client.process.wait(5) == 1
        assert time.monotonic() - began < 1
    finally:
        editor.kill()
        editor.wait()


def test_a_client_that_cannot_be_seen_is_not_watched(start: Start) -> None:
    client = start(start=False)
    gone = next(pid for pid in range(2**22 - 1, 0, -1) if not psutil.pid_exists(pid))
    client.request("initialize", {"processId": gone, "capabilities": {}})
    client.notify("initialized", {})
    time.sleep(1)
    assert client.request("occlsp/status", None)["state"] in {"idle", "scanning"}


def test_no_child_is_left_behind(start: Start, workspace: Path) -> None:
    (workspace / "a.cu").write_text("__global__ void k() {}\n")
    client = start()
    process = psutil.Process(client.process.pid)
    children = client.wait_for(process.children)
    client.process.kill()
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive


def test_nothing_but_initialize_comes_first(start: Start) -> None:
    client = start(start=False)
    client.notify("textDocument/didOpen", {"textDocument": {}})
    with pytest.raises(ServerError) as error:
        client.request("textDocument/hover", {})
    assert error.value.code == -32002
    client.initialize()
    with pytest.raises(ServerError) as error:
        client.request("initialize", {"processId": None, "capabilities": {}})
    assert error.value.code == -32600


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'"hello"', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "shutdown"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', -32600),
    ],
)
def test_what_is_no_message_gets_an_error(start: Start, body: bytes, code: int) -> None:
    client = start()
    client.send_bytes(body)
    with pytest.raises(ServerError) as error:
        client.reply(None)
    assert error.value.code == code
    assert client.request("occlsp/status", None)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"method": "textDocument/nothing", "params": {}}, -32601),
        ({"method": "$/nothing"}, -32601),
        ({"method": "textDocument/hover"}, -32602),
        ({"method": "textDocument/hover", "params": [1]}, -32602),
        ({"method": "textDocument/hover", "params": {"textDocument": 3}}, -32602),
        ({"method": "occlsp/explorer", "params": {"textDocument": {}}}, -32602),
        ({"method": "workspace/executeCommand", "params": {"command": "rm"}}, -32602),
        ({"method": 3, "params": {}}, -32600),
    ],
)
def test_a_request_that_is_wrong_says_how(
    start: Start, message: dict[str, object], code: int
) -> None:
    client = start()
    client.send({"jsonrpc": "2.0", "id": "a", **message})
    with pytest.raises(ServerError) as error:
        client.reply("a")
    assert error.value.code == code
    assert not client.heard("window/showMessage"), "no popup for a fault in a message"


def test_answers_to_nothing_and_unknown_notifications_are_passed_over(start: Start) -> None:
    client = start()
    client.send({"jsonrpc": "2.0", "id": "never asked", "result": 1})
    client.send({"jsonrpc": "2.0", "id": [1], "result": 1})
    client.send({"jsonrpc": "2.0", "id": 5, "error": "odd"})
    client.notify("$/nothing", {})
    client.notify("nothing/atAll", [1])
    client.notify("textDocument/didChange", {"textDocument": {"uri": "file:///x.cu"}})
    assert client.request("occlsp/status", None)
    assert client.process.poll() is None


def test_a_cancelled_request_is_answered_as_cancelled(start: Start) -> None:
    client = start()
    messages = [{"id": i, "method": "occlsp/status", "params": None} for i in range(900, 960)]
    messages.append({"method": "$/cancelRequest", "params": {"id": 959}})
    stream = b""
    for message in messages:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stream += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    client.write(stream)
    with pytest.raises(ServerError) as error:
        client.reply(959)
    assert error.value.code == -32800
    assert client.reply(958)


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "git:/a.cu", "file:///closed.cu", "", "\0"])
def test_requests_for_what_is_not_open_get_nothing(start: Start, uri: str) -> None:
    client = start()
    document = {"textDocument": {"uri": uri}}
    position = {"position": {"line": 0, "character": 0}}
    everything = {"range": {"start": position["position"], "end": position["position"]}}
    assert client.request("textDocument/hover", {**document, **position}) is None
    assert client.request("textDocument/inlayHint", {**document, **everything}) is None
    assert client.request("textDocument/codeLens", document) is None
    assert client.request("textDocument/completion", {**document, **position}) is None
    assert client.request("textDocument/diagnostic", document)["items"] == []
    context = {"context": {"diagnostics": []}}
    assert not client.request("textDocument/codeAction", {**document, **everything, **context})
    assert client.request("occlsp/explorer", {**document, **position}) is None


def test_on_a_socket_loopback_only(home: Path) -> None:
    command = [sys.executable, "-m", "occlsp", "serve", "--tcp", "0.0.0.0:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert "--allow-remote" in done.stderr
    assert done.stderr.count("\n") == 1


def test_on_a_socket(home: Path) -> None:
    import socket

    command = [sys.executable, "-m", "occlsp", "serve", "--tcp", "127.0.0.1:0"]
    environment = {**os.environ, "HOME": str(home)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        port = int(server.stderr.readline().rsplit(":", 1)[1])
        body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            answer = b""
            while b'"serverInfo"' not in answer:
                answer += connection.recv(65536)
        assert server.wait(5) == 1


def test_the_log_is_told_once(start: Start, workspace: Path) -> None:
    """Clients show standard error and `window/logMessage` in the same place."""
    (workspace / "compile_commands.json").write_text("{ no JSON")
    client = start()
    client.wait_for(lambda: "compile_commands.json" in client.log())
    client.stop()
    assert client.errors == []

    asked = start(arguments=("--log-level", "warning"))
    asked.wait_for(lambda: "compile_commands.json" in asked.log())
    asked.wait_for(lambda: b"compile_commands.json" in b"".join(asked.errors))
