"""What one call gives stays together: no block is made of what two calls give."""

from __future__ import annotations

from occlsp.source.facts import Triple
from occlsp.source.workspace import Workspace

KERNEL = "__global__ void k(int* p) {}\n"


def blocks(source: str) -> tuple[Triple, ...] | None:
    workspace = Workspace("/", reader=None)
    workspace.update("/a.cu", (KERNEL + source).encode())
    return workspace.facts("/a.cu").launches[0].block.values


def test_template_arguments() -> None:
    run = "template <int M, int N> void run() { k<<<1, M * N * 32>>>(0); }\n"
    assert blocks(run + "void a() { run<4, 1>(); run<1, 4>(); }") == ((128, 1, 1),)


def test_parameters() -> None:
    run = "static void run(int m, int n) { int t = m * n; k<<<1, dim3(t, n)>>>(0); }\n"
    assert blocks(run + "int main() { run(4, 2); run(2, 4); }") == ((8, 2, 1), (8, 4, 1))


def test_one_argument_in_two_places() -> None:
    run = "template <int W> void run() { dim3 b(W, 1, 256 / W); k<<<1, b>>>(0); }\n"
    table = "void a() { F t[] = {run<1>, run<2>, run<4>, run<8>, run<16>}; t[0](); }"
    found = ((1, 1, 256), (2, 1, 128), (4, 1, 64), (8, 1, 32), (16, 1, 16))
    assert blocks(run + table) == found


def test_a_condition_on_it() -> None:
    run = "template <int W, int V> void run() { k<<<1, W > 32 ? V : W>>>(0); }\n"
    assert blocks(run + "void a() { run<16, 5>(); run<64, 7>(); }") == ((7, 1, 1), (16, 1, 1))


def test_callers_of_callers() -> None:
    run = """
        template <int M, int N> void run() { k<<<1, dim3(M, N)>>>(0); }
        template <int M, int N> void outer() { run<M, N * 2>(); }
    """
    found = ((1, 8, 1), (4, 2, 1))
    assert blocks(run + "void a() { outer<4, 1>(); outer<1, 4>(); }") == found


def test_types_that_are_made_of_them() -> None:
    run = """
        template <int M, int N> struct Shape { static constexpr int kThreads = M * N; };
        template <class S> void run() { k<<<1, S::kThreads>>>(0); }
        template <int M, int N> void outer() { using S = Shape<M, N>; run<S>(); }
    """
    assert blocks(run + "void a() { outer<32, 4>(); outer<64, 2>(); }") == ((128, 1, 1),)


def test_what_is_changed_on_one_path_goes_with_nothing() -> None:
    run = "static void run(int m, int n, int* p) { if (*p) m = 1; k<<<1, dim3(m, n)>>>(p); }\n"
    found = blocks(run + "int main() { run(4, 2, 0); run(2, 4, 0); }")
    assert found is not None
    assert {(1, 2, 1), (1, 4, 1), (4, 2, 1), (2, 4, 1)} <= set(found)


def test_a_parameter_is_one_value_wherever_it_is_named() -> None:
    run = """
        int ceil_div(int n, int by) { return (n + by - 1) / by; }
        static void run(int n) { k<<<1, ceil_div(256, n)>>>(0); }
        int main() { int sizes[] = {32, 64}; for (int i = 0; i < 2; i++) run(sizes[i]); }
    """
    assert blocks(run) == ((4, 1, 1), (8, 1, 1))
