"""Templates in headers that uses of macros in other files instantiate."""

from __future__ import annotations

from occlsp.source.workspace import Workspace

HEADER = """
#pragma once
__global__ void k(int* p) {}
template <class T, int M, int N> void run(T* p) { k<<<1, M * N * 32>>>(p); }
#define REGISTER(T, M, N) \\
    void run_##T##_##M(T* p) { run<T, M, N>(p); } \\
    static Entry entry_##T##_##M(run_##T##_##M);
"""


def blocks(header: str, **files: str) -> list[int] | None:
    """The threads of the one launch in the header."""
    workspace = Workspace("/", reader=None)
    workspace.update("/run.cuh", header.encode())
    for name, text in files.items():
        workspace.update(f"/{name}.cu", ('#include "run.cuh"\n' + text).encode())
    values = workspace.facts("/run.cuh").launches[0].block.values
    return None if values is None else [x for x, _, _ in values]


def test_each_use_is_a_call() -> None:
    assert blocks(HEADER, one="REGISTER(float, 4, 1);\nREGISTER(int, 1, 4)") == [128]
    units = {"one": "REGISTER(float, 4, 1)", "two": "constexpr int n = 8;\nREGISTER(int, 1, n)"}
    assert blocks(HEADER, **units) == [128, 256]


def test_other_calls_count_too() -> None:
    assert blocks(HEADER, one="REGISTER(int, 4, 1)", two="void f() { run<int, 1, 1>(0); }") == [
        32,
        128,
    ]


def test_a_use_in_a_function_may_name_what_is_local_there() -> None:
    macro = HEADER + "#define RUN(N) run<int, 1, N>(0)\n"
    assert blocks(macro, one="void f() { const int n = 4; RUN(n); }\nREGISTER(int, 4, 1)") is None


def test_literals_say_the_same_in_a_function() -> None:
    chosen = (
        HEADER
        + """
#define CASE(N) else if (n == N) run<T, 1, N>(p);
template <class T> void choose(int n, T* p) { if (n == 0) {} CASE(2) CASE(8) }
"""
    )
    assert blocks(chosen) == [64, 256]
    assert blocks(chosen.replace("CASE(8)", "CASE(4 * 4)")) == [64, 512]
    assert blocks(chosen.replace("CASE(8)", "constexpr int M = 8; CASE(M)")) is None


def test_a_macro_that_calls_it_in_another_way_is_not_understood() -> None:
    macro = HEADER + "#define TWICE(N) void f##N() { run<int, N, 1>(0); run<int, N, 2>(0); }\n"
    assert blocks(macro, one="TWICE(2)\nREGISTER(int, 4, 1)") is None
    handed_on = HEADER + "#define BOTH(N) REGISTER(int, N, 1) REGISTER(float, N, 1)\n"
    assert blocks(handed_on, one="BOTH(2)\nREGISTER(int, 4, 1)") is None
    pasted = HEADER + "#define PASTED(N) void f##N() { run<int, N##0, 1>(0); }\n"
    assert blocks(pasted, one="PASTED(2)\nREGISTER(int, 4, 1)") is None


def test_who_does_not_see_the_header_means_another_function() -> None:
    macros = HEADER.replace("template <class T", '#include "macros.h"\ntemplate <class T', 1)
    define = macros[macros.index("#define") :]
    workspace = Workspace("/", reader=None)
    workspace.update("/macros.h", define.encode())
    workspace.update("/run.cuh", macros[: macros.index("#define")].encode())
    workspace.update("/one.cu", b'#include "run.cuh"\nREGISTER(int, 2, 1)')
    workspace.update("/two.cu", b'#include "macros.h"\nREGISTER(int, 9, 1)')
    assert workspace.facts("/run.cuh").launches[0].block.values == ((64, 1, 1),)
