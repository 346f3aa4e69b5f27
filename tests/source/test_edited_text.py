"""What is known of a text is carried over an edit: the same as if it were read anew."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from occlsp.source.incremental import difference
from occlsp.source.mask import mask, mask_again
from occlsp.source.text import LineIndex

OPENERS = [b"//", b"/*", b"*/", b'"', b"'", b'R"x(', b')x"', b'u8R"', b"R", b"u", b"8", b"(", b"\\"]
OTHERS = [b"\n", b"\r", b"\r\n", b"a", b"1", b" ", b";", b"/", b"*", b"\xef\xbb\xbf"]


def edits(pieces: list[bytes], count: int) -> Iterator[tuple[bytes, int, int, bytes]]:
    """Texts made of some pieces, and what is put in the place of a part of each."""
    chance = random.Random(11)
    for _ in range(count):
        old = b"".join(chance.choices(pieces, k=chance.randint(0, 30)))
        start = chance.randint(0, len(old))
        end = chance.randint(start, min(len(old), start + 6))
        yield old, start, end, b"".join(chance.choices(pieces, k=chance.randint(0, 4)))


def test_lines() -> None:
    for old, start, end, new in edits(OTHERS, 5000):
        spliced = LineIndex(old).spliced(start, end, new)
        anew = LineIndex(old[:start] + new + old[end:])
        assert (spliced.text, spliced.starts) == (anew.text, anew.starts), (old, start, end, new)


def test_comments_and_literals() -> None:
    for old, start, end, new in edits(OPENERS + OTHERS, 20_000):
        text = old[:start] + new + old[end:]
        edit = difference([(old, text)])
        masked = mask_again(text, old, mask(old), edit.start, edit.old_end)
        assert masked == mask(text), (old, text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int x; u8R\"ab'", "int x; u8R\"ab('"),  # what was open to the line's end is raw now
        ("int x = 4 / 2; // half", "int x = 4 // 2; // half"),
        ('f("a"); g("b");', 'f(a"); g("b");'),
    ],
)
def test_an_edit_that_turns_literals_inside_out(old: str, new: str) -> None:
    edit = difference([(old.encode(), new.encode())])
    again = mask_again(new.encode(), old.encode(), mask(old.encode()), edit.start, edit.old_end)
    assert again == mask(new.encode())
