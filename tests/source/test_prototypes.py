"""Functions that a file declares, and does not define: what they may change of what they get."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

SOURCE = """
__global__ void k(int* p) {}
PROTOTYPE
void run(int* p) {
    int threads = 128;
    launch(threads, p);
    k<<<1, threads>>>(p);
}
"""


def threads(made: Workspace) -> int | None:
    values = made.facts("/a.cu").launches[0].block.values
    return None if values is None else values[0][0]


def read(prototype: str) -> int | None:
    made = Workspace("/", reader=None)
    made.update("/a.cu", SOURCE.replace("PROTOTYPE", prototype).encode())
    return threads(made)


@pytest.mark.parametrize(
    "prototype",
    [
        "void launch(int threads, int* p);",
        'extern "C" void launch(dim3, int*);',
        "cudaError_t launch(const int& threads,\n                   int* p) noexcept;",
        "template <class T> void launch(T threads, int* p);",
        "namespace a {\nstd::vector<int> launch(int n = 3, int* p = nullptr);\n}",
    ],
)
def test_one_that_takes_a_value(prototype: str) -> None:
    assert read(prototype) == 128


@pytest.mark.parametrize(
    "prototype",
    [
        "",
        "void launch(int& threads, int* p);",
        "void launch(int threads, int* p);\nvoid launch(int &, int *);",
        "template <class T> void launch(T&& threads, int* p);",
        "int threads = 4, launched = launch(threads, 0);",
        "#define DECLARED void launch(int threads, int* p);",
    ],
)
def test_one_that_may_change_it(prototype: str) -> None:
    assert read(prototype) is None


def test_an_edit_of_a_prototype_is_seen() -> None:
    made = Workspace("/", reader=None)
    text = SOURCE.replace("PROTOTYPE", "void launch(int threads, int* p);").encode()
    for written, expected in ((text, 128), (text.replace(b"(int thr", b"(int& thr"), None)) * 2:
        made.update("/a.cu", written, is_open=True)
        assert threads(made) == expected
