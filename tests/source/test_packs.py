"""Calls with packs, of overloads that begin alike, and of a template by itself."""

from __future__ import annotations

from occlsp.source.workspace import Workspace

RUN = """
__global__ void k(int* p) {}
template <unsigned N, int V, class T> void run(T* p, int a = 0) { k<<<1, N>>>(p); }
"""
LAYOUTS = """
template <unsigned N, int V, class T, class... Ops> void layout(T* p, Ops&&... ops) {
    run<N, V, T>(p, ops...);
}
"""
OVERLOADS = """
template <unsigned N, class T, class... Args> void layout(Args&&... args) {
    layout<N, sizeof(T), T>(static_cast<Args&&>(args)...);
}
"""


def blocks(source: str) -> list[int] | None:
    """The threads of the one launch."""
    workspace = Workspace("/", reader=None)
    workspace.update("/a.cu", source.encode())
    values = workspace.facts("/a.cu").launches[0].block.values
    return None if values is None else [x for x, _, _ in values]


def test_a_pack_leaves_the_template_arguments_known() -> None:
    assert blocks(RUN + LAYOUTS + "void f() { layout<64, 4, int>(0, 7); }") == [64]


def test_what_overloads_have_alike_is_known_of_any() -> None:
    calls = "void f() { layout<64, 4, int>(0, 7); layout<128, int>(0); }"
    assert blocks(RUN + LAYOUTS + OVERLOADS + calls) == [64, 128]


def test_overloads_that_begin_otherwise_are_not_told_apart() -> None:
    other = OVERLOADS.replace("unsigned N, class T", "class T, unsigned N").replace(
        "layout<N", "x<N"
    )
    calls = "void f() { layout<64, 4, int>(0, 7); layout<int, 128>(0); }"
    assert blocks(RUN + LAYOUTS + other + calls) is None


def test_a_call_of_itself_with_its_own_arguments_says_nothing_new() -> None:
    again = "template <int N> void go() { if (N > 4) go<N>(); k<<<1, N>>>(0); }\n"
    kernel = "__global__ void k(int* p) {}\n"
    assert blocks(kernel + again + "void f() { go<32>(); }") == [32]
    half = again.replace("go<N>", "go<N / 2>")
    assert blocks(kernel + half + "void f() { go<32>(); }") is None
    given = "template <int N> void go(int n) { if (n) go<N>(n / 2); k<<<1, n>>>(0); }\n"
    assert blocks(kernel + given + "void f() { go<32>(64); }") is None
