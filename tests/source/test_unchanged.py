"""Variables at namespace scope that nothing changes."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

SOURCE = """
__global__ void k(int* p) {}
int threads = 128;
void run(int* p, int n) { k<<<n, threads>>>(p); }
int grid(int n) { return n / threads + (threads == 1); }
void other(int* p) { k<<<1, 32>>>(p); }
int main(int n, char**) { run(nullptr, grid(n)); other(nullptr); }
"""


def blocks(made: Workspace) -> list[int | None]:
    found = [launch.block.values for launch in made.facts("/main.cu").launches]
    return [None if values is None else values[0][0] for values in found]


def read(source: str) -> list[int | None]:
    made = Workspace("/", reader=None)
    made.update("/main.cu", source.encode())
    return blocks(made)


def test_one_that_is_read_only() -> None:
    assert read(SOURCE) == [128, 32]
    assert read(
        SOURCE.replace("int threads", "namespace a {\nint threads").replace("128;", "128;}")
    )
    assert read(SOURCE.replace("int threads = 128", "dim3 threads(8, 4)"))[0] == 8


@pytest.mark.parametrize(
    "change",
    [
        "threads = n;",
        "threads *= 2;",
        "threads++;",
        "parse(&threads);",
        "std::cin >> threads;",
        "set(threads);",
    ],
)
def test_one_that_changes_anywhere(change: str) -> None:
    assert read(SOURCE.replace("return n /", f"{change} return n /")) == [None, 32]


def test_one_that_others_may_change() -> None:
    library = SOURCE.replace("int main", "int start")
    assert read(library) == [None, 32]
    assert read(library.replace("int threads", "static int threads")) == [128, 32]


def test_a_member_of_a_class_is_none() -> None:
    inside = SOURCE.replace("int threads = 128;", "struct S {\nint threads = 128;\n};")
    assert read(inside) == [None, 32]


def test_an_edit_that_changes_it_is_seen() -> None:
    made = Workspace("/", reader=None)
    made.update("/main.cu", SOURCE.encode())
    assert blocks(made) == [128, 32]
    for old, new in (
        ("{ return n /", "{ threads = n; return n /"),
        ("return n /", "int x = n; return n /"),
        ("= 128", "= 256"),
        ("int main", "int start"),
        ("{ k<<<1, 32", "{ n = 3; k<<<1, 32"),
        ("void other(", "void set() { parse(&threads); }\nvoid other("),
    ):
        edited = SOURCE.replace(old, new)
        made.update("/main.cu", edited.encode())
        assert blocks(made) == read(edited)
        made.update("/main.cu", SOURCE.encode())
        assert blocks(made) == [128, 32]
