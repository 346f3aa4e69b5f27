"""Variables that are set by another name, by a part, or again after they were read: what the
program launches was compared with these, and none may be told to be the first value."""

from __future__ import annotations

import pytest

from occlsp.source.facts import Launch
from occlsp.source.workspace import Workspace

BEFORE = """
__global__ void k() {}
void fill(int p[]) { p[0] = 3; }
void read(const int* p) {}
int& kept() { static int b = 32; return b; }
int next() { static int b = 32; b += 32; return b; }
struct Pair { int x, y; };
"""


def launches(body: str) -> tuple[Launch, ...]:
    made = Workspace(reader=None)
    made.update("/main.cu", f"{BEFORE}void f(int n) {{ {body} }}\n".encode())
    return made.facts("/main.cu").launches


@pytest.mark.parametrize(
    "body",
    [
        "int b = 64; auto&& r = b; r = 32; k<<<1, b>>>();",
        "int a[2] = {16, 8}; auto& [x, y] = a; x = 4; k<<<1, a[0]>>>();",
        "int a[2] = {16, 8}; int* p = a; p[0] = 4; k<<<1, a[0]>>>();",
        "int a[2] = {16, 8}; fill(a); k<<<1, a[0]>>>();",
        "int a[2] = {16, 8}; std::fill(a, a + 2, 4); k<<<1, a[0]>>>();",
        "int a = 1, b = 2; (n ? a : b) = 64; k<<<1, b>>>();",
        "dim3 b(1, 2, 3); std::swap(b.x, b.z); k<<<1, b>>>();",
        "static int b = 32; k<<<1, b>>>(); b *= 2;",
        "kept() = 64; k<<<1, kept()>>>();",
        "k<<<1, next()>>>();",
        "int b = 64; const int& r = b; b = 32; k<<<1, r>>>();",
    ],
)
def test_it_is_not_known(body: str) -> None:
    (launch,) = launches(body)
    assert launch.block.values is None


def test_a_lambda_that_is_called_twice_begins_with_what_it_left() -> None:
    body = "int b = 64; auto g = [&b](int m) { b *= m; k<<<1, b>>>(); }; g(2); g(2);"
    assert launches(body)[0].block.values is None
    once = "int b = 64; auto g = [&] { b = 32; k<<<1, b>>>(); }; g();"
    assert launches(once)[0].block.values == ((32, 1, 1),)


def test_what_only_reads_leaves_it_known() -> None:
    array = "int a[2] = {16, 8}; read(a); cudaMemcpy(p, a, 8, kind); const int* p = a; "
    assert launches(f"{array} k<<<1, a[1]>>>();")[0].block.values == ((8, 1, 1),)
    part = "dim3 b(8, 4); dim3 g(divide(n, b.x), divide(n, b.y)); k<<<g, b>>>();"
    assert launches(part)[0].block.values == ((8, 4, 1),)
    assert launches("static int b = 32; k<<<1, b>>>();")[0].block.values == ((32, 1, 1),)


def test_what_may_be_a_dim3_is_not_taken_for_a_number() -> None:
    """`<<<1, sizes>>>` of an unknown `sizes` says nothing of y and z; arithmetic does."""
    sizes, product = launches("k<<<1, sizes>>>(); k<<<1, 2 * sizes.n>>>();")
    assert sizes.block.max is None
    assert product.block.max == (None, 1, 1)


def test_one_field_that_a_lambda_sets_leaves_the_others_known() -> None:
    body = """cudaLaunchConfig_t c; c.gridDim = 1; c.blockDim = dim3(32, 4);
    auto g = [&](auto size) { c.dynamicSmemBytes += n; cudaLaunchKernelEx(&c, k); }; g(1); g(2);
    """
    (launch,) = launches(body)
    assert launch.block.values == ((32, 4, 1),)
    assert launch.dynamic_smem.values is None


def test_what_initialisers_outside_of_functions_change() -> None:
    pointed = "static int size = 256; static int* other = &size; void f() { k<<<1, size>>>(); }"
    referred = pointed.replace("int* other = &size", "int& other = size")
    called = pointed.replace("int* other = &size", "auto set = [] { size = 4; }")
    alone = pointed.replace("int* other = &size", "int other = size")
    for source, values in ((pointed, None), (referred, None), (called, None), (alone, [256])):
        assert blocks(source) == [values]


def test_the_variable_outside_is_not_the_one_inside() -> None:
    source = """const int T = 16;
    namespace n { const int T = 8; void f() { const int T = 9; k<<<1, ::T>>>(); k<<<1, T>>>(); } }
    void g() { ::k<<<1, 5>>>(); }"""
    assert blocks(source) == [[16], [9], [5]]


def test_a_macro_that_is_defined_anew_in_a_function() -> None:
    source = """#define N 32
    void f() { int x = N; k<<<1, x>>>();
    #undef N
    #define N 64
      x = N; k<<<1, x>>>(); k<<<1, N>>>(); }"""
    assert blocks(source) == [[32], [64], [64]]


def test_a_virtual_function_may_be_another() -> None:
    source = """struct A { %s int size() { return 32; } void f() { k<<<1, size()>>>(); } };
    struct B : A { int size() { return 64; } };"""
    assert blocks(source % "virtual") == [None]
    assert blocks("struct A { int size() { return 32; } void f() { k<<<1, size()>>>(); } };") == [
        [32]
    ]


def blocks(source: str) -> list[list[int] | None]:
    """What x is of the block of each launch."""
    made = Workspace(reader=None)
    made.update("/main.cu", f"__global__ void k() {{}}\n{source}\n".encode())
    found = [launch.block.values for launch in made.facts("/main.cu").launches]
    return [None if values is None else [one[0] for one in values] for values in found]


def test_what_is_not_read_to_its_end_tells_nothing() -> None:
    """`n && (g(), true) ? 64 : 32` was told to be 0 or 1."""
    assert blocks("void f(int n) { k<<<1, n && (g(), true) ? 64 : 32>>>(); }") == [None]
    assert blocks("void f(int n) { k<<<1, 2 * n > 4 && n++ ? 64 : 32>>>(); }") == [None]


def test_what_a_block_may_have_done_before_it_threw() -> None:
    source = """int size(int n) { try { if (n) throw n; return 32; } catch (int e) { return 64; } }
    void f(int n) { int b = 8; try { b = 16; g(); b = 24; } catch (int) { k<<<1, b>>>(); }
      k<<<1, size(n)>>>(); }"""
    assert blocks(source) == [None, [32, 64]]


def test_labels_that_jumps_go_to() -> None:
    back = "int size(int n) { goto a; b: return 8; a: if (n < 50) goto b; return 9; }\n"
    assert blocks(back + "void f(int m) { k<<<1, size(m)>>>(); }") == [[8, 9]]
    assert blocks("void f(int n) { int b = 4; switch (n) case 3: b = 7; k<<<1, b>>>(); }") == [None]


def test_a_default_that_only_a_declaration_gives() -> None:
    source = """static void f(int b = 5);
    void g() { f(); f(6); }
    static void f(int b) { k<<<1, b>>>(); }"""
    assert blocks(source) == [None]
    others = source.replace("void g()", "void f(long a, long b);\nvoid g()").replace("f();", "")
    assert blocks(others) == [[6]]


def test_functions_that_are_only_named_as_those_of_containers() -> None:
    source = "void resize(int& b); void f(int n) { int b = 8; %s; k<<<1, b>>>(); }"
    assert blocks(source.removeprefix("void resize(int& b);") % "resize(b)") == [None]
    assert blocks(source % "v.resize(b)") == [[8]]
    assert blocks(source % "std::vector<int> v(b)") == [[8]]


def test_what_an_object_is_made_with_it_may_change() -> None:
    guard = "struct Guard { Guard(int%s n) {} }; void f() { int b = 8; Guard g(b); k<<<1, b>>>(); }"
    assert blocks(guard % "&") == [None]
    assert blocks(guard % "") == [[8]]


def test_a_pointer_that_is_set_to_an_array_later() -> None:
    source = "void f() { int a[2] = {1, 2}; int* p; p = a; p[1] = 5; k<<<1, a[1]>>>(); }"
    assert blocks(source) == [None]
    assert blocks(source.replace("p = a;", "p = 0; int x = 0; x = a[0];")) == [[2]]
