"""Calls in templates of which no instance is in view."""

from __future__ import annotations

from occlsp.source.workspace import Workspace

HEADER = """
#pragma once
__global__ void k(int* p) {}
template <int N = 8> void run(int* p, int rows, int columns = 1) { k<<<rows, N * 32>>>(p); }
template <int N = 16> void run(int* p) { run<N>(p, 1); }
"""
USE = '#include "run.cuh"\nvoid f(int* p) { run<2>(p, 7); }\n'


def blocks(workspace: Workspace) -> list[int] | None:
    values = workspace.facts("/run.cuh").launches[0].block.values
    return None if values is None else [x for x, _, _ in values]


def read(use: str, header: str = HEADER) -> Workspace:
    workspace = Workspace("/", reader=None)
    workspace.update("/run.cuh", header.encode())
    workspace.update("/use.cu", use.encode())
    return workspace


def test_an_overload_that_nobody_calls_calls_nothing() -> None:
    assert blocks(read(USE)) == [64]
    assert blocks(read(USE.replace("run<2>(p, 7);", "run<2>(p, 7); run<4>(p);"))) == [64, 128]


def test_where_there_is_nothing_else_it_says_what_is_meant() -> None:
    header = HEADER.replace("run<N>(p, 1)", "run<3>(p, 1)")
    assert blocks(read("", header)) == [96]


def test_an_edit_that_instantiates_it_is_seen() -> None:
    workspace = read("", HEADER + "inline void g(int* p) { run<2>(p, 7); }\n")
    text = HEADER + "inline void g(int* p) { run<2>(p, 7); }\n"
    for edited, expected in (
        (text, [64]),
        (text.replace("run<2>(p, 7);", "run<2>(p, 7); run<4>(p);"), [64, 128]),
        (text.replace("run<2>(p, 7);", "run<2>(p, 7); run<kOther>(p);"), None),
    ) * 2:
        workspace.update("/run.cuh", edited.encode(), is_open=True)
        assert blocks(workspace) == expected == blocks(read("", edited))
