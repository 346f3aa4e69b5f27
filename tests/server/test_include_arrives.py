"""Numbers stay fresh while the server gets to know more of what a file includes, and only then.

Includes are read by a child process, so that a compile may begin, or end, before they are known.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from occlsp.analysis.hints import hints
from occlsp.reports.facts import Entry, Report
from occlsp.reports.worker import Control
from occlsp.server.documents import Document
from occlsp.server.folder import Folder
from occlsp.server.scan import ScanPage, ScanRequest, scan, unpacked
from occlsp.source.text import Span

SOURCE = b"""\
#include "common.h"
__global__ void scale(float *x) {
  x[threadIdx.x] *= FACTOR;
}
"""


@pytest.fixture
def folder(workspace: Path) -> Folder:
    (workspace / "common.h").write_text("#define FACTOR 2\n")
    (workspace / "a.cu").write_bytes(SOURCE)
    return Folder(str(workspace), is_project=True)


def opens(folder: Folder, name: str, text: bytes, version: int = 1) -> str:
    path = str(Path(folder.path) / name)
    folder.put(Document(f"file://{path}", path, version, "cuda-cpp", text), 1.0)
    while folder.settle():
        pass
    return path


def compiled(folder: Folder, path: str) -> None:
    """The file is compiled as it is known now."""
    facts = folder.snapshot.sources.facts(path)
    assert facts is not None
    entry = Entry(
        "_Z5scalePf",
        "sm_90",
        registers=8,
        static_smem=0,
        origin="compile",
        fingerprint=facts.kernels[0].fingerprint,
    )
    folder.take_reports({"compile": Report(path, (entry,))})


def reads(folder: Folder, path: str) -> None:
    """The child reads a file again, and what it includes; all is taken in."""
    page = takes_in(folder, path)
    facts = {scanned.path: scanned.facts for scanned in page.files}
    asyncio.run(folder.index_scanned(facts, page.gone))
    while folder.settle():
        pass


def takes_in(folder: Folder, path: str) -> ScanPage:
    """What the child read has come, and is not indexed yet."""
    request = ScanRequest(folder.path, everything=False, files=(path,))
    page = scan(request, Control())
    assert page.is_last
    folder.take_scanned(unpacked(page.files), page.gone)
    return page


def hint(folder: Folder, path: str) -> str:
    (found,) = hints(folder.snapshot, path, Span(0, len(SOURCE)))
    return found.label


def test_an_include_that_becomes_known_makes_nothing_stale(folder: Folder) -> None:
    path = opens(folder, "a.cu", SOURCE)
    compiled(folder, path)
    before = folder.snapshot.sources.facts(path)
    reads(folder, path)
    after = folder.snapshot.sources.facts(path)
    assert before is not None
    assert after is not None
    assert before.kernels[0].fingerprint != after.kernels[0].fingerprint, "FACTOR is known now"
    assert hint(folder, path) == "8 regs"


def test_typing_elsewhere_meanwhile_makes_nothing_stale(folder: Folder) -> None:
    path = opens(folder, "a.cu", SOURCE)
    compiled(folder, path)
    takes_in(folder, path)
    opens(folder, "a.cu", SOURCE.replace(b"__global__", b"\n__global__"), 2)
    assert hint(folder, path) == "8 regs"


def test_an_edit_of_the_kernel_meanwhile_does(folder: Folder) -> None:
    path = opens(folder, "a.cu", SOURCE)
    compiled(folder, path)
    opens(folder, "a.cu", SOURCE.replace(b"*=", b"+="), 2)
    reads(folder, path)
    assert hint(folder, path) == "~8 regs"


def test_an_edit_of_the_include_does(folder: Folder) -> None:
    path = opens(folder, "a.cu", SOURCE)
    compiled(folder, path)
    reads(folder, path)
    opens(folder, "common.h", b"#define FACTOR 2 // the same\n")
    assert hint(folder, path) == "8 regs"
    opens(folder, "common.h", b"#define FACTOR 3\n", 2)
    assert hint(folder, path) == "~8 regs"


def test_an_include_that_changes_on_the_disk_does(folder: Folder) -> None:
    path = opens(folder, "a.cu", SOURCE)
    reads(folder, path)
    compiled(folder, path)
    (Path(folder.path) / "common.h").write_text("#define FACTOR 4\n")
    reads(folder, str(Path(folder.path) / "common.h"))
    assert hint(folder, path) == "~8 regs"
