"""Work over forked processes: all of it is done once, whatever happens to a child."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from occlsp.source.crew import Crew
from occlsp.source.scanning import scan_folder, scanned_workspace
from occlsp.source.workspace import Workspace


@pytest.mark.parametrize("jobs", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_each_item_has_its_result(jobs: int, count: int) -> None:
    found = list(Crew(lambda item: item * item, jobs).run(range(count)))
    assert sorted(found) == [(index, index * index) for index in range(count)]


def test_what_a_child_had_is_done_here_when_it_dies() -> None:
    parent = os.getpid()

    def work(item: int) -> int:
        if item == 99 and os.getpid() != parent:
            os._exit(1)
        return item

    assert sorted(Crew(work, 2).run(range(100))) == [(i, i) for i in range(100)]


def test_a_fault_is_raised_here() -> None:
    def work(item: int) -> int:
        raise ValueError(item)

    with pytest.raises(ValueError, match=r"\d+"):
        list(Crew(work, 2).run(range(40)))


def test_a_child_packs_what_it_sends() -> None:
    parent = os.getpid()
    crew = Crew(lambda item: [os.getpid()], 2, lambda found: [*found, 0])
    assert all((found == [parent]) != (found[1:] == [0]) for _, found in crew.run(range(100)))


def test_names_for_global_are_known_wherever_they_are_defined(tmp_path: Path) -> None:
    (tmp_path / "macros.h").write_text("#define MY_KERNEL __global__ static void\n")
    (tmp_path / "between.cuh").write_text('#include "macros.h"\nMY_KERNEL here(int* p) {}\n')
    for number in range(30):
        text = f'#include "between.cuh"\nMY_KERNEL k{number}(int* p) {{}}\n'
        (tmp_path / f"a{number}.cu").write_text(text)
    root = str(tmp_path)
    for jobs in (1, 2):
        made, errors = scanned_workspace(scan_folder([root], root=root, jobs=jobs), root=root)
        assert errors == {}
        assert [k.name for k in made.facts(str(tmp_path / "a7.cu")).kernels] == ["k7"]
        assert [k.name for k in made.facts(str(tmp_path / "between.cuh")).kernels] == ["here"]


def test_a_scan_finds_what_files_given_one_by_one_say(tmp_path: Path) -> None:
    (tmp_path / "k.cuh").write_text(
        "template <int N> __global__ void k();\n"
        "template <int N> void launch_it(int t) { k<N><<<1, t>>>(); }\n"
    )
    for number in range(20):
        text = f'#include "k.cuh"\nvoid f{number}() {{ launch_it<{number % 3}>(64); }}\n'
        (tmp_path / f"f{number:02}.cu").write_text(text)
    (tmp_path / "gone.cu").symlink_to(tmp_path / "nowhere")
    root = str(tmp_path)
    made, errors = scanned_workspace(scan_folder([root], root=root, jobs=2), root=root)
    assert list(errors) == [str(tmp_path / "gone.cu")]
    one = Workspace(root)
    for path in made.paths():
        one.update(path, Path(path).read_bytes(), is_open=False)
    assert [made.facts(path) for path in made.paths()] == [one.facts(p) for p in one.paths()]
