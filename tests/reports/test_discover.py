"""Which files of a workspace are read for numbers without being asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from occlsp.reports import discover as module
from occlsp.reports.discover import discover


def files(root: Path, *names: str) -> None:
    """Writes files, each a second newer than the one before it."""
    for age, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (1_000_000 + age, 1_000_000 + age))


def found(root: Path, *globs: str, outputs: tuple[Path, ...] = ()) -> list[str]:
    return [str(p.relative_to(root)) for p in discover(root, globs, outputs).files]


def test_the_usual_build_folders_newest_first(tmp_path: Path) -> None:
    files(tmp_path, "build/a.log", "build-rel/sub/b.o", "cmake-build-debug/c.cubin", "out/d.log")
    files(tmp_path, "src/e.log", "build/readme.md", "build/.ninja_log")
    assert found(tmp_path) == [
        "out/d.log",
        "cmake-build-debug/c.cubin",
        "build-rel/sub/b.o",
        "build/a.log",
    ]


def test_outputs_of_the_compile_commands_are_read_wherever_they_are(tmp_path: Path) -> None:
    files(tmp_path, "obj/a.cu.o")
    outputs = (tmp_path / "obj/a.cu.o", tmp_path / "obj/not_built.o")
    assert found(tmp_path, outputs=outputs) == ["obj/a.cu.o"]


def test_globs_replace_the_search(tmp_path: Path) -> None:
    files(tmp_path, "build/a.log", "logs/deep/er/b.txt", "c.out")
    assert found(tmp_path, "logs/**/*.txt", "c.out") == ["c.out", "logs/deep/er/b.txt"]


def test_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "build/folder.log").mkdir(parents=True)
    (tmp_path / "build/broken.log").symlink_to(tmp_path / "nowhere")
    (tmp_path / "build/empty.log").touch()
    (tmp_path / "build/loop").symlink_to(tmp_path / "build")
    os.mkfifo(tmp_path / "build/pipe.log")
    files(tmp_path, "build/real.log")
    assert found(tmp_path) == ["build/real.log"]


def test_the_number_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 2)
    files(tmp_path, "build/1.log", "build/2.log", "build/3.log")
    result = discover(tmp_path)
    assert [p.name for p in result.files] == ["3.log", "2.log"]
    assert result.left_out == 1
    assert tmp_path / "build" in result.folders
