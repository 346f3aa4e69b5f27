"""Loops that are run turn by turn."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

BEFORE = """
#define LEAVE break
#define N 100
__global__ void k(int*) {}
"""


def threads(source: str) -> list[int] | None:
    """The block sizes of the last launch."""
    made = Workspace(reader=None)
    made.update("/main.cu", f"{BEFORE}{source}".encode())
    values = made.facts("/main.cu").launches[-1].block.values
    return None if values is None else [x for x, _, _ in values]


def left(body: str) -> list[int] | None:
    return threads(f"void f(int* p, int n) {{ {body} k<<<1, t>>>(p); }}")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int t = 1; while (t < N) t *= 2;", 128),
        ("int t = 1; do { t *= 2; } while (t < 64);", 64),
        ("int t = 1; for (int i = 0; i < 5; ++i) { if (i % 2 == 0) t *= 4; }", 64),
        ("int t = 8, m = 1; for (; t < 64; t <<= 1, m *= 2) { k<<<m, 32>>>(p); }", 64),
        ("dim3 t(1, 2); while (t.x < 64) { t.x *= t.y; }", 64),
    ],
)
def test_what_a_loop_leaves(body: str, expected: int) -> None:
    found = left(body)
    assert found == [expected]


@pytest.mark.parametrize(
    "body",
    [
        "int t = 1; while (t < n) t *= 2;",
        "int t = 1; while (t < N) { t *= 2; if (t > n) break; }",
        "int t = 1; while (t < N) { t *= 2; if (n) LEAVE; }",
        "int t = 1; for (int i = 0; i < 9; ++i) { if (n == i) continue; t += i; }",
        "int t = 1; for (int i = 0; i < 9; ++i) { if (n == i) t += i; }",
        "int t = 1; for (int i = 0; i < 1000; ++i) t += 1;",
        "int t = 1; for (int i = 0; i < 9; ++i) { t += 1; change(&t); }",
        "int t = 1, s = n; for (int i = 0; i < 2; ++i) { if (i == 0) t = s + 1; s = n * n; }",
    ],
)
def test_what_it_may_leave_otherwise(body: str) -> None:
    assert left(body) is None


def test_what_is_launched_in_it_is_launched_in_any_turn() -> None:
    body = "int t = 1; while (t < N) { k<<<1, t>>>(p); t *= 2; }"
    assert threads("void f(int* p) { BODY }".replace("BODY", body)) is None


@pytest.mark.parametrize(
    "body",
    [
        "for (int j = 0; j < n; ++j) { k<<<1, t>>>(p); while (t < N) t *= 2; }",
        "do { k<<<1, t>>>(p); for (int i = 0; i < 3; ++i) t *= 2; } while (n--);",
        "again: k<<<1, t>>>(p); while (t < N) t *= 2; if (n--) goto again;",
        "auto launch = [&] { k<<<1, t>>>(p); }; while (t < N) t *= 2; launch();",
    ],
)
def test_what_stands_before_it_and_comes_again(body: str) -> None:
    assert threads(f"void f(int* p, int n) {{ int t = 1; {body} }}") is None


def test_a_function_of_one_of_several_values() -> None:
    low = "static int low(int n) { while ((n & (n - 1)) > 0) { n = n & (n - 1); } return n; }\n"
    run = "static void run(int b) { b = low(b); k<<<1, b>>>(0); }\n"
    assert threads(f"{low}{run}void f() {{ run(96); run(100); run(128); }}") == [64, 128]
    assert threads(f"{low}{run}void f(int n) {{ run(96); run(n); }}") is None
