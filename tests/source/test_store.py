"""What an earlier run read of a workspace is not read again, and never outlives what it says."""

from __future__ import annotations

import os
import pickle
import sqlite3
from hashlib import blake2b
from pathlib import Path

import pytest

from occlsp.source import entries
from occlsp.source import store as stores
from occlsp.source import workspace as workspaces
from occlsp.source.facts import FileFacts
from occlsp.source.scanning import scan_folder
from occlsp.source.store import Store
from occlsp.source.workspace import Workspace

HEADER = "constexpr int kThreads = 256;\n"
KERNELS = "template <class T> __global__ void k(T* p) { p[0] = 1; }\n"
MAIN = """\
#include "threads.h"
#include "kernels.cuh"
void f(float* p) { k<<<4, kThreads>>>(p); }
"""
HELPER = """\
#include "kernels.cuh"
template <int N> void launch(float* p) { k<<<4, N>>>(p); }
"""
CALLER = """\
#include "helper.cuh"
void g(float* p) { launch<128>(p); }
"""


class Project:
    """A folder of sources, and the store of what was read of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.cache = folder / "cache"
        self.folder.mkdir()
        self.write(**{"threads.h": HEADER, "kernels.cuh": KERNELS, "main.cu": MAIN})

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.folder / name).write_text(text)

    def store(self) -> Store:
        return Store(self.cache, str(self.folder))

    def read(self) -> dict[str, FileFacts]:
        """A run from nothing but the disk: the facts of all files, by name."""
        store = self.store()
        workspace = Workspace(str(self.folder), known=store.find)
        paths = sorted(map(str, self.folder.iterdir()))
        workspace.add_known(paths)
        for path in paths:
            workspace.update(path, Path(path).read_bytes(), is_open=False)
        found = {Path(path).name: workspace.facts(path) for path in paths}
        store.keep((path, workspace.entry(path)) for path in paths)
        return found

    @property
    def database(self) -> Path:
        (file,) = self.cache.glob("*.db")
        return file


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose text is looked at from now on."""
    found: list[str] = []
    index_file = entries.index_file

    def noted(path: str, *rest: object) -> object:
        found.append(Path(path).name)
        return index_file(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(entries, "index_file", noted)
    monkeypatch.setattr(workspaces, "local_facts", _noting(found, workspaces.local_facts))
    return found


def _noting(found: list[str], function):  # type: ignore[no-untyped-def]
    def noted(path: str, *rest: object) -> object:
        found.append(Path(path).name)
        return function(path, *rest)

    return noted


def block(facts: dict[str, FileFacts], name: str) -> object:
    (launch,) = facts[name].launches
    return launch.block.values


def test_nothing_is_read_twice(project: Project, parsed: list[str]) -> None:
    first = project.read()
    assert set(parsed) == {"main.cu", "threads.h", "kernels.cuh"}
    parsed.clear()
    assert project.read() == first
    assert parsed == []


def test_a_constant_of_a_header_changes_the_launch(project: Project, parsed: list[str]) -> None:
    project.read()
    project.write(**{"threads.h": "constexpr int kThreads = 128;\n"})
    parsed.clear()
    assert block(project.read(), "main.cu") == ((128, 1, 1),)
    assert "kernels.cuh" not in parsed, "what did not change, and sees nothing that did"


def test_a_macro_for_global_in_a_header(project: Project) -> None:
    project.write(**{"main.cu": '#include "threads.h"\nKERNEL void named(int* p) {}\n'})
    assert project.read()["main.cu"].kernels == ()
    project.write(**{"threads.h": "#define KERNEL __global__\n"})
    (kernel,) = project.read()["main.cu"].kernels
    assert kernel.name == "named"


def test_a_call_from_elsewhere_counts(project: Project) -> None:
    """The launch's own file and its includes are as they were."""
    project.write(**{"helper.cuh": HELPER, "caller.cu": CALLER})
    assert block(project.read(), "helper.cuh") == ((128, 1, 1),)
    project.write(**{"other.cu": CALLER.replace("g(", "h(").replace("128", "64")})
    assert block(project.read(), "helper.cuh") == ((64, 1, 1), (128, 1, 1))


def test_a_kernel_that_another_file_comes_to_declare(project: Project) -> None:
    """Which of two names a pointer's launch means depends on what is a kernel anywhere."""
    project.write(
        **{"main.cu": "void f(float* p) { auto fn = other; fn<<<1, 64>>>(p); }\n"},
    )
    (before,) = project.read()["main.cu"].launches
    project.write(**{"other.cu": "__global__ void other(float* p) { p[0] = 1; }\n"})
    (after,) = project.read()["main.cu"].launches
    assert (before.kernel_known, after.kernel_known) == (False, True)


def test_a_file_that_is_gone(project: Project) -> None:
    project.read()
    (project.folder / "threads.h").unlink()
    assert block(project.read(), "main.cu") is None


def test_another_program_or_other_definitions_read_anew(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {
        Store(project.cache, "/p").file,
        Store(project.cache, "/q").file,
        Store(project.cache, "/p", ("include",)).file,
        Store(project.cache, "/p", (), {"N": "1"}).file,
    }
    monkeypatch.setattr(stores, "_code", lambda: "another")
    names.add(Store(project.cache, "/p").file)
    assert len(names) == 5


class TestWhatIsOnTheDisk:
    """Nothing in the database is believed."""

    def test_garbage_is_removed_and_read_anew(self, project: Project) -> None:
        first = project.read()
        project.database.write_bytes(b"no database at all" * 1000)
        assert project.read() == first
        assert project.read() == first

    def test_changed_bytes_of_an_entry(self, project: Project, parsed: list[str]) -> None:
        first = project.read()
        with sqlite3.connect(project.database) as connection:
            connection.execute("UPDATE entries SET entry = substr(entry, 1, 900)")
        parsed.clear()
        assert project.read() == first
        assert "main.cu" in parsed

    def test_code_in_an_entry_does_not_run(self, project: Project, tmp_path: Path) -> None:
        first = project.read()
        trap = tmp_path / "it-ran"

        class Trap:
            def __reduce__(self) -> object:
                return os.mkdir, (str(trap),)

        payload = pickle.dumps(Trap())
        packed = blake2b(payload, digest_size=20).digest() + payload
        with sqlite3.connect(project.database) as connection:
            connection.execute("UPDATE entries SET entry = ?", (packed,))
        assert project.read() == first
        assert not trap.exists()

    def test_a_folder_that_cannot_be_made(self, project: Project) -> None:
        project.cache.write_text("a file where the folder should be")
        assert block(project.read(), "main.cu") == ((256, 1, 1),)

    def test_another_that_writes_is_not_waited_for_long(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stores, "_WAIT_SECONDS", 0.05)
        first = project.read()
        project.write(**{"threads.h": "constexpr int kThreads = 128;\n"})
        with sqlite3.connect(project.database, isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            assert block(project.read(), "main.cu") == ((128, 1, 1),)
            other.execute("ROLLBACK")
        project.write(**{"threads.h": HEADER})
        assert project.read() == first, "what was kept before is there still"

    def test_only_the_last_workspaces_are_kept(self, tmp_path: Path) -> None:
        for number in range(stores.MOST_STORES + 3):
            store = Store(tmp_path, f"/{number}")
            assert store.find("/a.cu", b"") is None
            os.utime(store.file, (number, number))
        assert len(list(tmp_path.glob("*.db"))) == stores.MOST_STORES
        assert not Store(tmp_path, "/0").file.exists()


def test_a_scan_takes_and_leaves_what_is_known(project: Project, parsed: list[str]) -> None:
    def scanned() -> dict[str, FileFacts]:
        root = str(project.folder)
        made, errors = scan_folder([root], root=root, jobs=1, store=project.store())
        assert errors == {}
        return {Path(path).name: made.facts(path) for path in made.paths()}

    first = scanned()
    assert block(first, "main.cu") == ((256, 1, 1),)
    parsed.clear()
    assert scanned() == first
    assert parsed == []
    project.write(**{"threads.h": "constexpr int kThreads = 128;\n#define KERNEL __global__\n"})
    project.write(**{"main.cu": MAIN + "KERNEL void named(int* p) {}\n"})
    second = scanned()
    assert block(second, "main.cu") == ((128, 1, 1),)
    assert [kernel.name for kernel in second["main.cu"].kernels] == ["named"]
    project.write(**{"threads.h": HEADER})
    assert scanned()["main.cu"].kernels == (), "the macro is gone, and main.cu as it was"
