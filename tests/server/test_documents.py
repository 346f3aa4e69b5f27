"""The text store: incremental sync in every position encoding, on text that breaks naive ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from occlsp.server.documents import Documents, apply, encode
from occlsp.source.text import LineIndex, PositionEncoding

ENCODINGS: list[PositionEncoding] = ["utf-8", "utf-16", "utf-32"]
UNITS = {
    "utf-8": lambda text: len(text.encode("utf-8")),
    "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "utf-32": len,
}


def position(text: str, offset: int, encoding: PositionEncoding) -> types.Position:
    """The position of a character, worked out from the protocol's definition of a line."""
    before = text[:offset]
    unified = before.replace("\r\n", "\n").replace("\r", "\n")
    start = max(before.rfind("\n"), before.rfind("\r")) + 1
    return types.Position(unified.count("\n"), UNITS[encoding](before[start:]))


def edit(
    text: str, start: int, end: int, new: str, encoding: PositionEncoding
) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(
        range=types.Range(position(text, start, encoding), position(text, end, encoding)), text=new
    )


def opened(text: str, encoding: PositionEncoding = "utf-16") -> Documents:
    documents = Documents(encoding)
    documents.open(types.TextDocumentItem("file:///w/a.cu", "cuda-cpp", 1, text))
    return documents


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("odd", ["\f", "\v", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_the_protocols_line_ends_end_a_line(odd: str, encoding: PositionEncoding) -> None:
    """Python's `splitlines` cuts at each of these, and the edit would land a line too far."""
    text = f"a{odd}b\nint x = 1;\n"
    at = text.index("1")
    change = edit(text, at, at + 1, "256", encoding)
    assert (
        apply(LineIndex(text.encode()), [change], encoding).text.decode()
        == f"a{odd}b\nint x = 256;\n"
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_characters_count_in_the_negotiated_unit(encoding: PositionEncoding) -> None:
    text = "// ä€𝄞\n/* 𝄞 */ k<<<1, 2>>>();\n"
    at = text.index("2")
    changed = apply(
        LineIndex(text.encode()), [edit(text, at, at + 1, "64", encoding)], encoding
    ).text
    assert changed.decode() == text.replace("2", "64")


def test_edits_at_many_cursors_come_from_the_last_to_the_first() -> None:
    text = "int a = 1;\nint b = 1;\nint c = 1;\n"
    places = [i for i, char in enumerate(text) if char == "1"]
    changes = [edit(text, at, at + 1, "22\n", "utf-16") for at in reversed(places)]
    changed = apply(LineIndex(text.encode()), changes, "utf-16").text
    assert changed.decode() == text.replace("1", "22\n")


def test_each_change_is_relative_to_the_text_before_it() -> None:
    first = types.TextDocumentContentChangeWholeDocument("ab\n")
    second = edit("ab\n", 1, 1, "x\n", "utf-16")
    third = edit("ax\nb\n", 3, 4, "y", "utf-16")
    changed = apply(LineIndex(b"gone"), [first, second, third], "utf-16").text
    assert changed == b"ax\ny\n"


alphabet = st.sampled_from([*"ab \n\r\f\t", "\r\n", "ä", "€", "𝄞", "\u2028", "\x85"])
texts = st.lists(alphabet, max_size=30).map("".join)


def not_inside_a_line_end(text: str, at: int) -> int:
    """No position is between `\\r` and `\\n`."""
    return at - 1 if text[at - 1 : at + 1] == "\r\n" else at


@settings(deadline=None, max_examples=300)
@given(
    texts,
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), texts), max_size=6),
    st.sampled_from(ENCODINGS),
)
def test_any_series_of_edits_gives_the_editors_text(
    text: str, edits: list[tuple[int, int, str]], encoding: PositionEncoding
) -> None:
    before = LineIndex(text.encode())
    changes = []
    for first, second, new in edits:
        places = (min(first, len(text)), min(second, len(text)))
        start, end = sorted(not_inside_a_line_end(text, at) for at in places)
        changes.append(edit(text, start, end, new, encoding))
        text = text[:start] + new + text[end:]
    assert apply(before, changes, encoding).text.decode() == text


def test_a_surrogate_without_its_pair_keeps_positions_right() -> None:
    assert encode("a\ud800b").decode() == "a\ufffdb"
    assert encode("𝄞").decode() == "𝄞"


def test_positions_out_of_the_text_are_taken_as_its_ends() -> None:
    far = types.Position(99, 99)
    change = types.TextDocumentContentChangePartial(range=types.Range(far, far), text="!")
    assert apply(LineIndex(b"a\nb"), [change], "utf-16").text == b"a\nb!"
    swapped = types.Range(types.Position(1, 1), types.Position(0, 0))
    change = types.TextDocumentContentChangePartial(range=swapped, text="")
    assert apply(LineIndex(b"a\nb"), [change], "utf-16").text == b""


@pytest.mark.parametrize(
    ("uri", "language", "ours"),
    [
        ("file:///w/a.cu", "plaintext", True),
        ("file:///w/A.CUH", "unknown", True),
        ("file:///w/a.cpp", "cpp", True),
        ("file:///w/a.ksrc", "cuda", True),
        ("file:///w/a.py", "python", False),
        ("untitled:Untitled-1", "cuda-cpp", False),
        ("git:/w/a.cu?ref", "cuda-cpp", False),
        ("vscode-notebook-cell:/w/n.ipynb#c1", "cuda-cpp", False),
        ("file:///w/%00.cu", "cuda-cpp", False),
        ("file://[bad/a.cu", "cuda-cpp", False),
        ("", "cuda", False),
    ],
)
def test_the_path_decides_what_is_ours(uri: str, language: str, ours: bool) -> None:
    documents = Documents("utf-16")
    documents.open(types.TextDocumentItem(uri, language, 1, "x"))
    assert (documents.get(uri) is not None) is ours


def test_a_file_has_one_text_however_its_uri_is_spelt() -> None:
    documents = Documents("utf-16")
    documents.open(types.TextDocumentItem("file:///w/a%20b.cu", "cuda", 1, "one"))
    documents.open(types.TextDocumentItem("file:///w/a b.cu", "cuda", 1, "two"))
    assert len(documents) == 1
    found = documents.get("file:///w/a%20b.cu")
    assert found is not None
    assert found.text == b"two"


def test_a_closed_document_is_gone() -> None:
    documents = opened("x")
    assert documents.close("file:///w/a.cu") is not None
    assert documents.get("file:///w/a.cu") is None
    assert documents.close("file:///w/a.cu") is None
