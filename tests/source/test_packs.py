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


class TestKernelsThatLaunch:
    """What the launches of a kernel's template give for what it launches by itself."""

    TREE = """
template <int N> __global__ void tree(int* p, int depth) {
    if (depth > 0) tree<N> <<<4, N>>>(p, depth - 1);
}
"""

    def test_itself(self) -> None:
        main = (
            "int main() { const int T = 128; tree<T><<<1, T>>>(0, 3); tree<64><<<1, 64>>>(0, 3); }"
        )
        assert blocks(self.TREE + main) == [64, 128]
        assert (
            blocks(self.TREE + main + "void more(int n) { tree<sizeof(x)><<<1, n>>>(0, 1); }")
            is None
        )

    def test_another_instance_of_itself(self) -> None:
        tree = self.TREE.replace("tree<N> <<<4, N", "tree<N / 2> <<<4, N")
        assert blocks(tree + "int main() { tree<128><<<1, 128>>>(0, 3); }") is None

    def test_one_that_is_handed_on(self) -> None:
        main = "int main() { go(tree<64>); tree<128><<<1, 128>>>(0, 3); }"
        assert blocks(self.TREE + main) == [64, 128]
        assert blocks(self.TREE + "auto any() { return tree; }\n" + main) is None

    def test_overloads(self) -> None:
        other = "template <class T> __global__ void tree(T* p, int depth) {}\n"
        main = "int main() { tree<128><<<1, 128>>>(0, 3); tree<int><<<1, 32>>>(0, 3); }"
        assert blocks(self.TREE + other + main) is None
