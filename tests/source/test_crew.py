"""Work over forked processes: all of it is done once, whatever happens to a child."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from occlsp.source.crew import Crew, Died
from occlsp.source.facts import FileFacts
from occlsp.source.scanning import scan_folder
from occlsp.source.workspace import Workspace


@pytest.mark.parametrize("jobs", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_each_item_has_its_result(jobs: int, count: int) -> None:
    found = list(Crew(lambda item: item * item, jobs).run(range(count)))
    assert sorted(found) == [(index, index * index) for index in range(count)]


def square(item: int) -> int:
    return item * item


def test_where_processes_are_not_forked_they_are_given_the_work() -> None:
    count = 130
    found = list(Crew(square, 2, method="spawn").run(range(count)))
    assert sorted(found) == [(index, index * index) for index in range(count)]


@pytest.mark.parametrize("jobs", [2, 3])
def test_what_a_child_had_is_done_by_another_when_it_dies(jobs: int, tmp_path: Path) -> None:
    """As of a machine that is out of memory for a moment."""
    parent = os.getpid()

    def work(item: int) -> int:
        if item == 1 and os.getpid() != parent and not (tmp_path / "it-died").exists():
            (tmp_path / "it-died").touch()
            os._exit(1)
        return item

    assert sorted(Crew(work, jobs).run(range(100))) == [(i, i) for i in range(100)]
    assert (tmp_path / "it-died").exists()


def test_what_ends_every_child_is_left_alone() -> None:
    parent = os.getpid()

    def work(item: int) -> int:
        if item in (1, 2) and os.getpid() != parent:
            os._exit(1)
        return item

    found = dict(Crew(work, 2).run(range(100)))
    assert sorted(found) == list(range(100))
    assert {index for index, result in found.items() if isinstance(result, Died)} == {1, 2}


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
        made, errors = scan_folder([root], root=root, jobs=jobs)
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
    made, errors = scan_folder([root], root=root, jobs=2)
    assert list(errors) == [str(tmp_path / "gone.cu")]
    one = Workspace(root)
    for path in made.paths():
        one.update(path, Path(path).read_bytes(), is_open=False)
    assert [made.facts(path) for path in made.paths()] == [one.facts(p) for p in one.paths()]


def scans(folder: Path) -> list[dict[str, FileFacts]]:
    """What one process finds, and what two find: facts by name."""
    found = []
    for jobs in (1, 2):
        made, errors = scan_folder([str(folder)], root=str(folder), jobs=jobs)
        assert errors == {}
        found.append({Path(path).name: made.facts(path) for path in made.paths()})
    return found


def test_a_kernel_of_a_file_that_is_read_later_is_known(tmp_path: Path) -> None:
    """Nothing is included: that the pointer may mean a kernel follows from the whole folder."""
    for number in range(20):
        text = f"void f{number}(float* p) {{ auto fn = k{number}; fn<<<1, 64>>>(p); }}\n"
        (tmp_path / f"a{number}.cu").write_text(text)
        kernel = f"__global__ void k{number}(float* p) {{ p[0] = {number}; }}\n"
        (tmp_path / f"b{number}.cu").write_text(kernel)
    one, two = scans(tmp_path)
    assert one == two
    for number in range(20):
        (launch,) = one[f"a{number}.cu"].launches
        assert (launch.kernel, launch.kernel_known) == (f"k{number}", True)


def test_a_header_that_is_included_in_a_comment_is_not_in_view(tmp_path: Path) -> None:
    (tmp_path / "old.h").write_text("#define THREADS 64\ninline void go() { run(7); }\n")
    (tmp_path / "new.cuh").write_text(
        "__global__ void k(int* p) {}\ntemplate <class T> void run(T t) { k<<<1, t>>>(0); }\n"
    )
    for number in range(20):
        (tmp_path / f"a{number}.cu").write_text(
            '// #include "old.h"\n#include "new.cuh"\n'
            f"void f{number}() {{ k<<<1, THREADS>>>(0); run({32 * (number // 10 + 1)}); }}\n"
        )
    one, two = scans(tmp_path)
    assert one == two
    assert one["a3.cu"].launches[0].block.values is None
    (launch,) = one["new.cuh"].launches
    assert launch.block.values is None, "more files call it than are asked"


def test_a_source_that_others_include_is_read_for_them_and_for_itself(tmp_path: Path) -> None:
    (tmp_path / "impl.cu").write_text(
        "#define THREADS 96\n__global__ void k(int* p) {}\nvoid g() { k<<<1, THREADS>>>(0); }\n"
    )
    for number in range(20):
        text = f'#include "impl.cu"\nvoid f{number}() {{ k<<<{number}, THREADS>>>(0); }}\n'
        (tmp_path / f"a{number}.cu").write_text(text)
    one, two = scans(tmp_path)
    assert one == two
    assert {facts.launches[0].block.value for facts in one.values()} == {(96, 1, 1)}
