"""What `using` brings in: where names that it makes visible are found, and where they are not."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

DECLARED = """
__global__ void k(int* p) {}
constexpr int T = 1;
namespace lib {
constexpr int T = 32;
namespace detail {
namespace wide { constexpr int T = 512; constexpr int W = 2 * T; constexpr int S = T; }
namespace narrow { constexpr int T = 64; constexpr int S = T; }
}
template <int N> struct Base { static constexpr int kN = N; };
"""


def blocks(*sources: str) -> list[tuple[int, ...] | None]:
    """The x of the blocks of each launch, as a fresh start has them and as edits lead to them."""
    workspace = Workspace("/", reader=None)
    for source in sources:
        workspace.update("/a.cu", (DECLARED + source).encode())
    values = [one.block.values for one in workspace.facts("/a.cu").launches]
    return [None if value is None else tuple(x for x, _, _ in value) for value in values]


@pytest.mark.parametrize(
    ("body", "is_"),
    [
        ("k<<<1, T>>>(0);", 32),
        ("using namespace detail::wide; k<<<1, W>>>(0);", 1024),
        ("using namespace lib::detail::wide; k<<<1, W>>>(0);", 1024),
        ("using namespace ::lib::detail::wide; k<<<1, W>>>(0);", 1024),
        ("using detail::wide::W; k<<<1, W>>>(0);", 1024),
        ("using detail::wide::T; k<<<1, T>>>(0);", 512),
        ("namespace d = detail::narrow; k<<<1, d::T>>>(0);", 64),
        ("namespace d = lib::detail; k<<<1, d::wide::W>>>(0);", 1024),
    ],
)
def test_a_name_is_found_where_a_directive_of_the_function_leads(body: str, is_: int) -> None:
    assert blocks(f"void f() {{ {body} }}\n}}") == [(is_,)]


@pytest.mark.parametrize("around", ["", "namespace {\n"])
def test_a_directive_of_the_file_holds_in_its_functions(around: str) -> None:
    source = f"{around}using namespace detail::wide;\nvoid f() {{ k<<<1, W>>>(0); }}\n}}"
    assert blocks(source + "}" * bool(around)) == [(1024,)]


def test_a_directive_of_a_function_holds_in_it_alone() -> None:
    source = """
    void wide() { using namespace detail::wide; k<<<1, S>>>(0); }
    void narrow() { using namespace detail::narrow; k<<<1, S>>>(0); }
    void neither() { k<<<1, T>>>(0); k<<<1, S>>>(0); }
    }"""
    assert blocks(source) == [(512,), (64,), (32,), None]


def test_a_directive_of_another_namespace_takes_nothing_away() -> None:
    source = """
    namespace other { using namespace inner; }
    namespace mine { constexpr int T = 96; namespace inner { constexpr int T = 7; }
        void f() { k<<<1, T>>>(0); }
    } }"""
    assert blocks(source) == [(96,)]


def test_what_is_declared_nearer_is_meant_before_what_a_directive_finds_further_out() -> None:
    source = """
    namespace mine { constexpr int T = 96; void f() {
        using namespace other::deep::down;
        k<<<1, T>>>(0);
    } } }
    namespace other { namespace deep { namespace down { constexpr int T = 7; } } }"""
    assert blocks(source) == [(96,)]


def test_an_alias_of_two_namespaces_is_neither_but_in_the_function_that_says_which() -> None:
    source = """
    namespace d = detail::wide;
    namespace other { namespace d = lib::detail::narrow; }
    void either() { k<<<1, d::S>>>(0); }
    void wide() { namespace d = detail::wide; k<<<1, d::S>>>(0); }
    }"""
    assert blocks(source) == [None, (512,)]


def test_an_edit_of_a_directive_is_an_edit_of_what_it_finds() -> None:
    wide = "void f() {\n  using namespace detail::wide;\n  k<<<1, S>>>(0);\n}\n}"
    narrow = wide.replace("wide", "narrow")
    none = wide.replace("  using namespace detail::wide;\n", "")
    assert blocks(wide, narrow) == [(64,)]
    assert blocks(wide, none) == [None]
    assert blocks(none, wide) == [(512,)]
    moved = f"void g() {{}}\n{wide}"
    assert blocks(wide, moved, moved.replace("g()", "g(int n)")) == [(512,)]
