"""Framing and the inbox: broken input costs no message that can be saved."""

from __future__ import annotations

import json
from typing import Any

import pytest

from occlsp.server.protocol import Inbox
from occlsp.server.transport import Framer, FramingError


def framed(body: bytes, name: bytes = b"Content-Length") -> bytes:
    return b"%s: %d\r\n\r\n%s" % (name, len(body), body)


def split(*pieces: bytes) -> list[bytes | FramingError]:
    framer = Framer()
    found = []
    for piece in pieces:
        framer.feed(piece)
        while (item := framer.next()) is not None:
            found.append(item)
    return found


def test_messages_come_in_pieces_of_any_size() -> None:
    stream = framed(b'{"a": 1}') + framed("{äö}".encode()) + framed(b"")
    for size in range(1, 40):
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert split(*pieces) == [b'{"a": 1}', "{äö}".encode(), b""]


@pytest.mark.parametrize("name", [b"content-length", b"CONTENT-LENGTH", b"Content-length"])
def test_header_names_have_no_case(name: bytes) -> None:
    assert split(framed(b"x", name)) == [b"x"]


def test_other_headers_and_bare_newlines_are_fine() -> None:
    stream = b"Content-Type: application/vscode-jsonrpc\nContent-Length: 1\n\nx"
    assert split(stream) == [b"x"]


@pytest.mark.parametrize(
    "header", [b"Nonsense\r\n\r\n", b"Content-Length: -3\r\n\r\n", b"Content-Length: x\r\n\r\n"]
)
def test_a_bad_header_is_told_and_the_next_message_read(header: bytes) -> None:
    bad, good = split(header + framed(b"{}"))
    assert isinstance(bad, FramingError)
    assert good == b"{}"


def test_a_length_beyond_reason_is_refused() -> None:
    bad, good = split(b"Content-Length: 99999999999\r\n\r\n" + framed(b"{}"))
    assert isinstance(bad, FramingError)
    assert good == b"{}"


def test_endless_garbage_takes_no_memory() -> None:
    *errors, good = split(*[b"x" * 10_000] * 100, b"\r\n\r\n", framed(b"{}"))
    assert len(errors) > 10
    assert good == b"{}"


def read(stream: bytes) -> list[Any]:
    inbox = Inbox(lambda: None)
    inbox.feed(stream)
    return [taken for _ in range(len(inbox)) if (taken := inbox.take()) is not None]


def test_a_body_announced_too_long_does_not_swallow_the_next_message() -> None:
    good = {"jsonrpc": "2.0", "id": 2, "method": "shutdown"}
    short = b'{"jsonrpc": "2.0", "method": "x"}'
    swallowing = b"Content-Length: %d\r\n\r\n%s" % (len(short) + 10, short)
    (error, _), (message, _) = read(swallowing + framed(json.dumps(good).encode()))
    assert isinstance(error, FramingError)
    assert message == good


def message(method: str, **other: Any) -> bytes:
    return framed(json.dumps({"jsonrpc": "2.0", "method": method, **other}).encode())


def test_a_cancellation_overtakes() -> None:
    stream = message("slow", id=1) + message("wanted", id=2)
    stream += message("$/cancelRequest", params={"id": 2})
    assert [(m["method"], cancelled) for m, cancelled in read(stream)] == [
        ("slow", False),
        ("wanted", True),
    ]


def test_a_cancellation_of_what_is_not_waiting_is_passed_on() -> None:
    ((found, cancelled),) = read(message("$/cancelRequest", params={"id": 7}))
    assert found["method"] == "$/cancelRequest"
    assert not cancelled


def test_answers_pass_what_waits_for_the_settings() -> None:
    inbox = Inbox(lambda: None)
    inbox.feed(message("textDocument/hover", id=1) + framed(b'{"jsonrpc":"2.0","id":"a"}'))
    assert inbox.take(only_responses=True) == ({"jsonrpc": "2.0", "id": "a"}, False)
    assert inbox.take(only_responses=True) is None
    assert len(inbox) == 1
