"""A workspace arrives while files of it are open: nobody waits for what the child found in them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from occlsp.reports.worker import Control
from occlsp.server.documents import Document
from occlsp.server.folder import Folder
from occlsp.server.scan import ScanRequest, scan, unpacked
from occlsp.source import local_facts
from occlsp.source.facts import FileFacts
from occlsp.source.workspace import Workspace

SOURCE = b"""\
#include "sizes.h"
__global__ void scale(float *x) {}
template <int N> static void launch(float *x, int blocks) { scale<<<blocks, N * WARP>>>(x); }
void first(float *x) { launch<2>(x, 80); }
void second(float *x) { int threads = 4 * WARP; scale<<<1, threads>>>(x); }
"""


@pytest.fixture
def folder(workspace: Path) -> Folder:
    (workspace / "sizes.h").write_text("#define WARP 32\n")
    (workspace / "a.cu").write_bytes(SOURCE)
    return Folder(str(workspace), is_project=True)


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are evaluated."""
    names: list[str] = []
    real = local_facts.function_facts

    def noted(origin, index, *rest):  # type: ignore[no-untyped-def]
        names.append("none" if index is None else origin.syntax.functions[index].name)
        return real(origin, index, *rest)

    monkeypatch.setattr(local_facts, "function_facts", noted)
    return names


def opens(folder: Folder, text: bytes, version: int = 1) -> str:
    path = str(Path(folder.path) / "a.cu")
    folder.put(Document(f"file://{path}", path, version, "cuda-cpp", text), float(version))
    folder.settle(path)
    return path


def test_an_edit_is_read_in_pieces_before_it_is_asked_for(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("occlsp.server.folder.AT_A_STRETCH", -1.0)
    path = opens(folder, SOURCE)
    text = SOURCE.replace(b"scale", b"stretch")
    folder.put(Document(f"file://{path}", path, 2, "cuda-cpp", text), 2.0)
    assert folder.is_due(path)
    assert folder.settle_some(path), "there is more to do"
    assert folder.settle(path), "who cannot wait has all of it done"
    assert not folder.is_due(path)
    assert not folder.settle_some(path)
    facts = folder.snapshot.sources.facts(path)
    assert facts is not None
    assert facts.kernels[0].name == "stretch"


def reads_all(folder: Folder, path: str) -> dict[str, FileFacts]:
    """The child reads the workspace; what it found is taken in, but not looked at yet."""
    request = ScanRequest(folder.path, files=(path,))
    page = scan(request, Control())
    assert page.is_last
    folder.take_scanned(unpacked(page.files), page.gone)
    return {scanned.path: scanned.facts for scanned in page.files}


def looks_again(folder: Folder, path: str, found: dict[str, FileFacts]) -> FileFacts:
    asyncio.run(folder.index_scanned(found, ()))
    folder.settle(path)
    facts = folder.snapshot.sources.facts(path)
    assert facts is not None
    return facts


def afresh(folder: Folder, path: str, text: bytes) -> FileFacts:
    """What a reading of everything says."""
    workspace = Workspace(folder.path)
    workspace.update(path, text)
    return workspace.facts(path)


def test_what_the_child_found_is_not_evaluated_again(folder: Folder, evaluated: list[str]) -> None:
    path = opens(folder, SOURCE)
    found = reads_all(folder, path)
    evaluated.clear()
    facts = looks_again(folder, path, found)
    assert evaluated == []
    assert [launch.block.value for launch in facts.launches] == [(64, 1, 1), (128, 1, 1)]
    assert facts == afresh(folder, path, SOURCE)


def test_a_file_that_is_opened_after_the_first_scan_is_not_evaluated_again_either(
    folder: Folder, evaluated: list[str]
) -> None:
    first = scan(ScanRequest(folder.path), Control())
    assert first.is_last
    path = opens(folder, SOURCE)
    folder.take_scanned(unpacked(first.files), ())
    found = reads_all(folder, path)
    evaluated.clear()
    facts = looks_again(folder, path, found)
    assert evaluated == []
    assert facts == afresh(folder, path, SOURCE)


def test_what_was_typed_since_the_opening_is(folder: Folder, evaluated: list[str]) -> None:
    path = opens(folder, SOURCE)
    edited = SOURCE.replace(b"4 * WARP", b"8 * WARP")
    opens(folder, edited, 2)
    found = reads_all(folder, path)
    evaluated.clear()
    facts = looks_again(folder, path, found)
    assert evaluated == ["second"]
    assert facts == afresh(folder, path, edited)


def test_another_text_on_the_disk_says_nothing_of_the_open_one(folder: Folder) -> None:
    edited = SOURCE.replace(b"4 * WARP", b"8 * WARP")
    path = opens(folder, edited)
    facts = looks_again(folder, path, reads_all(folder, path))
    assert facts == afresh(folder, path, edited)


def test_a_macro_for_global_that_arrives_makes_kernels(folder: Folder) -> None:
    """The open text was read without it: what the child found is of another reading."""
    (Path(folder.path) / "sizes.h").write_text("#define WARP 32\n#define KERNEL __global__\n")
    text = SOURCE.replace(b"__global__", b"KERNEL")
    (Path(folder.path) / "a.cu").write_bytes(text)
    path = opens(folder, text)
    found = reads_all(folder, path)
    looks_again(folder, path, found)
    opens(folder, text + b"\n", 2)
    facts = folder.snapshot.sources.facts(path)
    assert facts == afresh(folder, path, text + b"\n")
    assert [kernel.name for kernel in facts.kernels] == ["scale"]


def test_a_scan_that_was_left_is_told_whole_by_the_next(folder: Folder) -> None:
    for number in range(30):
        (Path(folder.path) / f"{number}.cu").write_bytes(SOURCE)
    first = scan(ScanRequest(folder.path), Control())
    while not first.files:
        first = scan(ScanRequest(folder.path, next_page=True), Control())
    assert not first.is_last
    told, page = [], scan(ScanRequest(folder.path), Control())
    while not page.is_last:
        told += page.files
        page = scan(ScanRequest(folder.path, next_page=True), Control())
    told += page.files
    assert {scanned.path for scanned in first.files} < {scanned.path for scanned in told}


KERNELS = b"""\
__global__ void scale(float *x) {}
void run(float *x, dim3 block) {
  scale<<<1, block>>>(x);
}
"""
MAIN = """\
void run(float *x, dim3 block);
int main() { run(nullptr, dim3(16, 16)); }
"""


def blocks(folder: Folder, text: bytes, version: int, *, is_saved: bool = True) -> list[object]:
    """Of the launches of a file that is edited, and saved."""
    path = opens(folder, text, version)
    found: dict[str, FileFacts] = {}
    if is_saved:
        Path(path).write_bytes(text)
        found = reads_all(folder, path)
    return [launch.block.value for launch in looks_again(folder, path, found).launches]


def test_callers_in_a_unit_beside_are_known_while_a_file_is_edited(folder: Folder) -> None:
    main = Path(folder.path) / "main.cpp"
    main.write_text(MAIN)
    assert blocks(folder, KERNELS, 1) == [(16, 16, 1)]
    typed = KERNELS.replace(b"scale<<<1, block", b"int n = 2;\n  scale<<<n, block")
    assert blocks(folder, typed, 2, is_saved=False) == [(16, 16, 1)]
    main.write_text(MAIN.replace("dim3(16, 16)", "dim3(8, 16)"))
    assert blocks(folder, KERNELS, 3) == [(8, 16, 1)]


def test_a_variable_that_a_unit_beside_shares_is_not_known(folder: Folder) -> None:
    program = b"int width = 4;\n__global__ void scale(float *x) {}\n"
    program += b"int main() { scale<<<1, width>>>(nullptr); }\n"
    assert blocks(folder, program, 1) == [(4, 1, 1)]
    assert blocks(folder, program.replace(b"<<<1", b"<<<2"), 2, is_saved=False) == [(4, 1, 1)]
    other = Path(folder.path) / "other.cpp"
    other.write_text("extern int width;\nvoid widen() { width = 8; }\n")
    assert blocks(folder, program, 3) == [None]
