"""Dispatches whose expansion is too long, or leaves out what it is given."""

from __future__ import annotations

from occlsp.source.workspace import Workspace

KERNEL = "template <class T, int... N> __global__ void k(int *p) {}\n"
SWITCH = """
#define SWITCH(value, NAME, ...)                                        \\
  switch (value) {                                                      \\
    case 1: { constexpr int NAME = 1; { __VA_ARGS__ } break; }          \\
    case 2: { constexpr int NAME = 2; { __VA_ARGS__ } break; }          \\
    case 4: { constexpr int NAME = 4; { __VA_ARGS__ } break; }          \\
  }
#ifdef WITH_HALF
#define HALF(T, ...) case 5: { using T = __half; return __VA_ARGS__(); }
#else
#define HALF(T, ...)
#endif
#define TYPES(value, T, ...) [&] { switch (value) { HALF(T, __VA_ARGS__) default: return; } }()
"""

Blocks = dict[tuple[int, int, int] | None, int]


def blocks(body: str) -> Blocks:
    """The blocks of the launches of a function, with how many have them."""
    workspace = Workspace("/", reader=None)
    workspace.update("/a.cu", f"{KERNEL}{SWITCH}void f(int n, int *p) {{\n{body}\n}}\n".encode())
    found: Blocks = {}
    for launch in workspace.facts("/a.cu").launches:
        values = launch.block.values or (None,)
        for value in values:
            found[value] = found.get(value, 0) + 1
    return found


def nested(levels: int, inside: str) -> str:
    for level in range(levels):
        inside = f"SWITCH(n, N{level}, {{ {inside} }});"
    return inside


def test_a_dispatch_that_is_read_whole_is_each_of_its_branches() -> None:
    assert blocks(nested(3, "k<int, N0, N1, N2><<<1, dim3(32, N0)>>>(p);")) == {
        (32, 1, 1): 9,
        (32, 2, 1): 9,
        (32, 4, 1): 9,
    }


def test_of_one_that_is_too_long_the_inner_ones_are_read() -> None:
    filled = "use(1, 2, 3, 4, 5, 6, 7, 8, 9);" * 20
    found = blocks(nested(6, f"{filled} dim3 b(64, N0); k<int, N0, N5><<<1, b>>>(p);"))
    assert found.keys() == {(64, 1, 1), (64, 2, 1), (64, 4, 1)}


def test_what_the_outer_ones_name_is_not_known() -> None:
    filled = "use(1, 2, 3, 4, 5, 6, 7, 8, 9);" * 20
    found = blocks(nested(6, f"{filled} k<int, N0><<<1, 32 * N5>>>(p);"))
    assert found.keys() == {None}


def test_what_no_expansion_holds_is_read_as_it_is_written() -> None:
    body = "dim3 b(128);\nTYPES(n, T, [&] { k<T><<<1, b>>>(p); });"
    assert blocks(body) == {(128, 1, 1): 1}
