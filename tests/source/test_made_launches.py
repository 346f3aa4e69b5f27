"""Launches in the bodies of macros, decided where the macros are used."""

from __future__ import annotations

from occlsp.source.facts import Launch
from occlsp.source.workspace import Workspace

KERNELS = "__global__ void k(int*) {}\ntemplate <int N> __global__ void t(int*) {}\n"
RUN = "#define RUN(p) { dim3 block(THREADS); k<<<1, block, THREADS * 4>>>(p); }\n"
USE = "void f(int* p) { const int THREADS = 64; RUN(p) }\n"


def bodies(source: str, path: str = "/main.cu", **files: str) -> list[Launch]:
    """The launches in bodies of `#define`s."""
    made = Workspace("/", reader=None)
    for name, text in files.items():
        made.update("/" + name.replace("_", "."), text.encode())
    made.update(path, (KERNELS + source).encode())
    return [launch for launch in made.facts(path).launches if launch.in_macro]


def threads(source: str, path: str = "/main.cu", **files: str) -> list[list[int] | None]:
    found = [launch.block.values for launch in bodies(source, path, **files)]
    return [None if values is None else [x for x, _, _ in values] for values in found]


def test_a_name_that_the_use_declares() -> None:
    (launch,) = bodies(RUN + USE)
    assert launch.block.values == ((64, 1, 1),)
    assert launch.dynamic_smem.values == (256,)
    assert launch.grid.values == ((1, 1, 1),)


def test_all_uses_count() -> None:
    other = "void g(int* p) { const int THREADS = 96; RUN(p) RUN(p) }\n"
    assert threads(RUN + USE + other) == [[64, 96]]


def test_one_use_that_does_not_say_makes_it_unknown_or_bounded() -> None:
    open_use = "void g(int* p, int THREADS) { RUN(p) }\n"
    assert threads(RUN + USE + open_use) == [None]
    bounded = "void g(int* p, int n) { int THREADS = min(n, 512); RUN(p) }\n"
    (launch,) = bodies(RUN + USE + bounded)
    assert launch.block.values is None
    assert launch.block.max == (512, 1, 1)


def test_a_macro_in_another_one_that_chooses() -> None:
    source = """
#define ONE(n) t<n><<<1, block>>>(p);
#define ANY(n) dim3 block(n); switch (n) { case 32: ONE(32) break; case 64: ONE(64) break; }
void f(int* p, int n) { ANY(n) }
"""
    assert threads(source) == [[32, 64]]


def test_a_macro_that_makes_functions() -> None:
    make = "#define MAKE(name, part) void name(int* p) { k<<<1, 256 / (part)>>>(p); }\n"
    assert threads(make + "MAKE(whole, 1)\nMAKE(half, 2)\n") == [[128, 256]]


def test_a_macro_of_a_header_may_be_used_anywhere() -> None:
    assert threads(RUN + USE, path="/run.cuh") == [None]
    assert threads(USE, run_h=RUN) == []


def test_a_use_that_is_not_read_makes_all_unknown() -> None:
    long = "void g(int* p) { const int THREADS = 32; RUN((p" + " + 1" * 30_000 + ")) }\n"
    assert threads(RUN + USE + long) == [None]


def test_what_is_no_macro_where_it_stands_does_not_count() -> None:
    later = "#undef RUN\nvoid RUN(int*);\nvoid g(int* p) { RUN(p); }\n"
    assert threads(RUN + USE + later) == [[64]]


def test_an_edit_moves_what_a_use_makes() -> None:
    made = Workspace("/", reader=None)
    source = KERNELS + RUN + USE
    for text in (source, "\n\n" + source, source.replace("RUN(p) {", "RUN(p) { /**/"), source):
        made.update("/main.cu", text.encode())
        body, use = sorted(made.facts("/main.cu").launches, key=lambda one: not one.in_macro)
        assert body.block.values == ((64, 1, 1),)
        assert use.made_by == body.span
        assert text[slice(*body.span)] == "<<<"
