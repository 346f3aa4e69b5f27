"""Callers in the other units of a folder that holds a program."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from occlsp.source.scanning import scan_folder
from occlsp.source.workspace import Workspace

KERNELS = "__global__ void k(int* p) {}\nvoid run(dim3 block) { k<<<1, block>>>(nullptr); }\n"
MAIN = """
#include "sizes.h"
void run(dim3 block);
int main() { dim3 block(kThreads, 2); run(block); }
"""
SIZES = "const int kThreads = 64;\n"


def written(folder: Path, **files: str) -> Path:
    """The folder with `kernels.cu` and others by keyword (`main_cpp="…"` is main.cpp)."""
    for name, text in {"kernels_cu": KERNELS, "sizes_h": SIZES, **files}.items():
        path = folder / name.replace("_", ".")
        path.write_text(text)
        ahead = len(text) + path.stat().st_mtime_ns // 1_000_000_000
        os.utime(path, (ahead, ahead))  # as if written some time after what was there
    return folder / "kernels.cu"


def blocks(workspace: Workspace, path: Path) -> list[tuple[int, ...]] | None:
    values = workspace.facts(str(path)).launches[0].block.values
    return None if values is None else [(x, y) for x, y, _ in values]


def opened(path: Path) -> Workspace:
    workspace = Workspace(str(path.parent))
    workspace.update(str(path), path.read_bytes())
    return workspace


def test_a_caller_in_plain_cpp(tmp_path: Path) -> None:
    path = written(tmp_path, main_cpp=MAIN)
    assert blocks(opened(path), path) == [(64, 2)]
    assert blocks(scan_folder([str(tmp_path)], root=str(tmp_path))[0], path) == [(64, 2)]


def test_all_of_the_units_are_asked(tmp_path: Path) -> None:
    other = "void run(dim3 block);\nvoid other() { run(dim3(128)); }\n"
    path = written(tmp_path, main_cpp=MAIN, other_cu=other)
    assert blocks(opened(path), path) == [(64, 2), (128, 1)]
    path = written(tmp_path, other_cu=other.replace("dim3(128)", "size()"))
    assert blocks(opened(path), path) is None
    path = written(tmp_path, other_cu=other + "void (*taken)(dim3) = run;\nauto f() { g(run); }\n")
    assert blocks(opened(path), path) is None


def test_where_there_is_no_main_anybody_may_call(tmp_path: Path) -> None:
    path = written(tmp_path, main_cpp=MAIN.replace("main()", "start()"))
    assert blocks(opened(path), path) is None
    (tmp_path / "main.cpp").unlink()
    assert blocks(opened(path), path) is None


def test_what_changes_on_the_disk_is_seen(tmp_path: Path) -> None:
    path = written(tmp_path, main_cpp=MAIN)
    workspace = opened(path)
    assert blocks(workspace, path) == [(64, 2)]
    written(tmp_path, main_cpp=MAIN.replace(", 2)", ", 4)  "))
    assert blocks(workspace, path) == [(64, 4)]
    written(tmp_path, sizes_h=SIZES.replace("64", "128"))
    assert blocks(workspace, path) == [(128, 4)]
    (tmp_path / "more.cpp").write_text("void run(dim3);\nvoid f(int n) { run(dim3(n)); }\n")
    assert blocks(workspace, path) is None
    (tmp_path / "more.cpp").unlink()
    assert blocks(workspace, path) == [(128, 4)]


def test_an_edit_of_a_unit_beside_that_says_nothing_of_it_leaves_all_as_it_is(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, main_cpp=MAIN, other_cu="void other() {}\n")
    workspace = opened(path)
    other = str(tmp_path / "other.cu")
    workspace.update(other, b"void other() {}\n")
    assert blocks(workspace, path) == [(64, 2)]
    local = workspace.local(str(path))
    workspace.update(other, b"void other() { int n; }\n")
    assert workspace.local(str(path)) is local
    workspace.update(other, b"void run(dim3);\nvoid other() { run(dim3(256)); }\n")
    assert blocks(workspace, path) == [(64, 2), (256, 1)]


def test_what_is_open_is_seen_as_it_is_there(tmp_path: Path) -> None:
    path = written(tmp_path, main_cpp=MAIN)
    workspace = opened(path)
    workspace.update(str(tmp_path / "sizes.h"), b"const int kThreads = 32;\n")
    assert blocks(workspace, path) == [(32, 2)]
    workspace.update(str(path), b"// a comment\n" + KERNELS.encode())
    assert blocks(workspace, path) == [(32, 2)]
    workspace.update(str(path), KERNELS.replace("1, block", "1, block.x").encode())
    assert blocks(workspace, path) == [(32, 1)]
    workspace.update(str(tmp_path / "sizes.h"), b"const int kThreads = 96;\n")
    assert blocks(workspace, path) == [(96, 1)]


def test_a_workspace_that_is_handed_over_sees_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, main_cpp=MAIN)
    workspace = opened(path)
    assert blocks(workspace, path) == [(64, 2)]
    assert blocks(pickle.loads(pickle.dumps(workspace)), path) == [(64, 2)]


def test_a_function_that_calls_on(tmp_path: Path) -> None:
    main = MAIN.replace("int main", "void draw(int n) { run(dim3(n)); }\nint main").replace(
        "run(block);", "draw(kThreads * 2);"
    )
    path = written(tmp_path, main_cpp=main)
    assert blocks(opened(path), path) == [(128, 1)]


class TestVariables:
    """Of the file that calls, at namespace scope."""

    MAIN = """
void run(dim3 block);
dim3 block(16, 16);
%s
int main() { run(block); }
"""

    def given(self, folder: Path, more: str, **files: str) -> list[tuple[int, ...]] | None:
        path = written(folder, main_cpp=self.MAIN % more, **files)
        return blocks(opened(path), path)

    def test_one_that_nothing_changes(self, tmp_path: Path) -> None:
        assert self.given(tmp_path, "") == [(16, 16)]
        more = "int grid(int n) { printf(block.x); return n / block.x + (block.y == 1); }"
        assert self.given(tmp_path, more) == [(16, 16)]
        takes = "void other(int n, dim3 b);\nvoid f() { other(3, block); }"
        assert self.given(tmp_path, takes) == [(16, 16)]

    def test_one_that_something_changes(self, tmp_path: Path) -> None:
        assert self.given(tmp_path, "void f(int n) { block.x = n; }") is None
        assert self.given(tmp_path, "void f(int n) { if (n) block = dim3(n); }") is None
        assert self.given(tmp_path, "void f() { parse(&block); }") is None
        takes = "void other(int n, dim3& b);\nvoid f() { other(3, block); }"
        assert self.given(tmp_path, takes) is None
        assert self.given(tmp_path, "#define SET(n) block.x = n\n") is None

    def test_one_that_another_unit_shares(self, tmp_path: Path) -> None:
        other = "extern dim3 block;\nvoid f(int n) { block.x = n; }\n"
        assert self.given(tmp_path, "", other_cpp=other) is None
        (tmp_path / "other.cpp").unlink()
        assert self.given(tmp_path, "") == [(16, 16)]
        header = SIZES + "extern dim3 block;\n"
        assert self.given(tmp_path, '#include "sizes.h"', sizes_h=header) is None

    def test_what_comes_to_be_shared(self, tmp_path: Path) -> None:
        path = written(tmp_path, main_cpp=self.MAIN % '#include "sizes.h"')
        workspace = opened(path)
        assert blocks(workspace, path) == [(16, 16)]
        workspace.update(str(tmp_path / "sizes.h"), b"extern dim3 block;\n")
        assert blocks(workspace, path) is None
        workspace.update(str(tmp_path / "sizes.h"), SIZES.encode())
        assert blocks(workspace, path) == [(16, 16)]
        workspace.update(str(path), b"extern dim3 block;\n" + KERNELS.encode())
        assert blocks(workspace, path) is None

    def test_one_of_a_unit_with_a_main_of_its_own(self, tmp_path: Path) -> None:
        own = "__global__ void k(int*) {}\nint n = 64;\nint main() { k<<<1, n>>>(nullptr); }\n"
        path = written(tmp_path, kernels_cu=own)
        workspace = opened(path)
        assert blocks(workspace, path) == [(64, 1)]
        other = tmp_path / "other.cpp"
        other.write_text("extern int n;\nvoid set(int m) { n = m; }\n")
        assert blocks(workspace, path) is None
        other.unlink()
        assert blocks(workspace, path) == [(64, 1)]
        workspace.update(str(path), own.replace("64", "96").encode())
        assert blocks(workspace, path) == [(96, 1)]
