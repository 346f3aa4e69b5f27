"""`sizeof` of variables, arrays and their elements, as C++ counts them."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

KNOWN = {
    "int s[] = {32, 64, 128};": ("sizeof(s)", 12),
    "int s[] = {32, 64, 128,};": ("sizeof(s) / sizeof(s[0])", 3),
    "const float s[] = {1, 2};": ("sizeof s / sizeof *s", 2),
    "int s[4] = {1, 2, 3};": ("sizeof(s) / sizeof(int)", 4),
    "double s[4][5];": ("sizeof(s)", 160),
    "float s[4][5];": ("sizeof(s[0])", 20),
    "int s[][2] = {{1, 2}, {3, 4}, {5, 6}};": ("sizeof(s) / sizeof(s[0])", 3),
    "float2 s[4];": ("sizeof(s)", 32),
    "int* s[3];": ("sizeof(s) + sizeof(*s) + sizeof(s[0][0])", 36),
    "dim3 s[] = {dim3(1), dim3(2)};": ("sizeof(s) / sizeof(dim3)", 2),
    "int* s; float t;": ("sizeof(s) + sizeof(t)", 12),
    "": ("sizeof(array) + sizeof(array[0])", 16),
}
UNKNOWN = {
    "int s[n];": "sizeof(s)",
    "int s[][2] = {1, 2, 3, 4};": "sizeof(s)",
    "float2 s[] = {1, 2, 3, 4};": "sizeof(s)",
    "Pair s[] = {{1, 2}};": "sizeof(s)",
    'char s[] = "text";': "sizeof(s)",
    "std::vector<int> s = {1, 2};": "sizeof(s[0])",
}


def threads(statements: str, size: str) -> int | None:
    workspace = Workspace(reader=None)
    body = f"{statements} k<<<1, {size}>>>();"
    source = f"__global__ void k() {{}}\nvoid f(int n, double array[8]) {{ {body} }}"
    workspace.update("/a.cu", source.encode())
    value = workspace.facts("/a.cu").launches[0].block.value
    return None if value is None else value[0]


@pytest.mark.parametrize("statements", KNOWN)
def test_known(statements: str) -> None:
    size, expected = KNOWN[statements]
    assert threads(statements, size) == expected


@pytest.mark.parametrize("statements", UNKNOWN)
def test_unknown(statements: str) -> None:
    assert threads(statements, UNKNOWN[statements]) is None


ALIASES = """
#if defined(HALF)
typedef half real;
#elif defined(SMALL)
typedef REAL real;
#else
using real = float;
#endif
template <class T> struct Packed { static constexpr int kN = 128 / sizeof(T); };
__global__ void k() {}
void f() { k<<<1, Packed<real>::kN + sizeof(real)>>>(); }
"""


@pytest.mark.parametrize(
    ("small", "expected"),
    [
        ("short", [36, 66]),
        ("char", [36, 66, 129]),
        ("Unknown", None),
    ],
)
def test_a_type_that_is_another_one_in_each_branch(small: str, expected: list[int] | None) -> None:
    workspace = Workspace(reader=None)
    workspace.update("/a.cu", ALIASES.replace("REAL", small).encode())
    values = workspace.facts("/a.cu").launches[0].block.values
    assert (None if values is None else [x for x, _, _ in values]) == expected
