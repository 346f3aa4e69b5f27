"""Files that are copies of others are parsed once, and are what they are by themselves."""

from pathlib import Path

import pytest

from occlsp.source import copies
from occlsp.source.copies import MOST_KEPT, Copies
from occlsp.source.entries import parsed_entry
from occlsp.source.parse import parse
from occlsp.source.scanning import scan_folder
from occlsp.source.workspace import Workspace

HEADER = b"#define BLOCK 128\n__global__ void k(int *p) { p[0] = f(1); }\n"
UNIT = b'#include "k.h"\nvoid run(int *p) { k<<<1, BLOCK>>>(p); }\n'


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The texts that are parsed, one by one."""
    texts: list[bytes] = []

    def counted(text: bytes, *, aliases: frozenset[str] = frozenset()) -> object:
        texts.append(text)
        return parse(text, aliases=aliases)

    monkeypatch.setattr(copies, "parse", counted)
    return texts


def test_a_copy_is_parsed_once_and_is_of_its_own_path(parsed: list[bytes]) -> None:
    """Nothing of it tells of the other but where it is."""
    reading = Copies()
    first, second = reading.entry("/a/k.h", HEADER), reading.entry("/b/k.h", HEADER)
    assert parsed == [HEADER]
    assert (first.index.path, second.index.path) == ("/a/k.h", "/b/k.h")
    alone = parsed_entry("/b/k.h", parse(HEADER), second.digest)
    assert second.index == alone.index
    assert (second.syntax, second.targets) == (alone.syntax, alone.targets)
    assert second.calls == b"\0f\0k\0"
    first.syntax = None
    assert reading.entry("/c/k.h", HEADER).syntax == alone.syntax


def test_one_that_sees_other_macros_is_none(parsed: list[bytes]) -> None:
    text = b"KERNEL void k(int *p) { }\n"
    reading = Copies()
    plain = reading.entry("/a/k.cu", text)
    aliased = reading.entry("/b/k.cu", text, frozenset(["KERNEL"]))
    assert len(parsed) == 2
    assert "k" not in plain.index.kernels
    assert "k" in aliased.index.kernels


def test_few_are_kept(parsed: list[bytes]) -> None:
    """Files of other sizes are none, and of one size there may be many."""
    reading = Copies()
    reading.entry("/a/k.h", HEADER)
    reading.entry("/a/u.cu", UNIT)
    reading.entry("/b/k.h", HEADER)
    assert len(parsed) == 3
    for number in range(MOST_KEPT):
        reading.entry(f"/c/{number}.h", HEADER.replace(b"128", b"%03d" % number))
    reading.entry("/d/k.h", HEADER)
    assert parsed.count(HEADER) == 3


def test_a_scan_finds_in_copies_what_is_there(tmp_path: Path, parsed: list[bytes]) -> None:
    """Each includes the header beside it; the same files are read one by one otherwise."""
    for folder, header in (("a", HEADER), ("b", HEADER), ("c", HEADER.replace(b"128", b"256"))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.h").write_bytes(header)
        (tmp_path / folder / "u.cu").write_bytes(UNIT)
    workspace, errors = scan_folder([str(tmp_path)], root=str(tmp_path), jobs=1)
    assert not errors
    assert len(parsed) == 3
    alone = Workspace(str(tmp_path))
    for path in workspace.paths():
        alone.update(path, Path(path).read_bytes(), is_open=False)
    for path in workspace.paths():
        assert workspace.facts(path) == alone.facts(path)
    blocks = {
        Path(path).parent.name: launch.block.values
        for path in workspace.paths()
        for launch in workspace.facts(path).launches
    }
    assert blocks["a"] == blocks["b"] != blocks["c"]
