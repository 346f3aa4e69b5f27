"""Names that are spelled like a function's, and are none of it."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

REDUCE = """
__global__ void k(int* p) {}
namespace detail {
template <class Policy, class T> void reduce(const T* p, int n) { k<<<n, Policy::kThreads>>>(0); }
}
struct Policy { enum { kThreads = 64 }; };
"""
CALL = "void f(int* p) { detail::reduce<Policy>(p, 2); OTHER }\n"


def threads(other: str, *, before: str = "") -> int | None:
    made = Workspace("/", reader=None)
    made.update("/a.cu", (REDUCE + before + CALL.replace("OTHER", other)).encode())
    values = made.facts("/a.cu").launches[0].block.values
    return None if values is None else values[0][0]


@pytest.mark.parametrize(
    "other",
    [
        "",
        "int reduce = 0; reduce += 3; use(reduce);",
        "bool reduce = true; if (reduce < 3 && p > 0) use(p);",
        "std::reduce(p, 2);",
        "block.reduce<int, 3>(p, 2);",
        "block->template reduce<int>(p, 2);",
        "Block<3>::template reduce<int>(p, 2);",
    ],
)
def test_a_variable_or_a_member_is_none(other: str) -> None:
    assert threads(other) == 64


def test_another_function_of_the_name_is_none() -> None:
    assert threads("", before="void reduce(int* p, int n) {}\n") == 64


@pytest.mark.parametrize("other", ["reduce<Other>(p, 2);", "use(detail::reduce<Other, int>);"])
def test_what_may_be_it_counts(other: str) -> None:
    assert threads(other) is None


def test_a_member_is_named_as_one() -> None:
    made = Workspace("/", reader=None)
    source = REDUCE.replace("namespace detail {", "struct detail {").replace(
        "}\nstruct", "};\nstruct"
    )
    made.update("/a.cu", f"{source}void f(int* p) {{ detail d; d.reduce<Policy>(p, 2); }}".encode())
    assert made.facts("/a.cu").launches[0].block.values == ((64, 1, 1),)


def test_a_type_with_commas_is_one_parameter() -> None:
    made = Workspace("/", reader=None)
    source = """
    __global__ void k() {}
    template <class A, class B> void run(View<A, B> view, int n = 32, bool all = true) {
        k<<<1, n>>>();
    }
    void f(View<int, float> view) { run(view); run(view, 64); run(view, 96, false); }
    """
    made.update("/a.cu", source.encode())
    assert [x for x, _, _ in made.facts("/a.cu").launches[0].block.values or ()] == [32, 64, 96]
