"""Only statements that matter to a launch are followed: what they are, whatever their form."""

from __future__ import annotations

import re

import pytest

from occlsp.source.facts import FileFacts
from occlsp.source.relevance import Relevance
from occlsp.source.workspace import Workspace

BEFORE = """
__global__ void k(int* p) {}
struct Props { int major; };
void ask(Props* p);
void change(int& a) { a = 1; }
void look(const int& a) {}
"""


def facts(body: str, before: str = "") -> FileFacts:
    workspace = Workspace(reader=None)
    text = f"{BEFORE}{before}\nvoid f(int* p, int n) {{ {body} }}\n"
    workspace.update("/main.cu", text.encode())
    return workspace.facts("/main.cu")


def threads(body: str, before: str = "") -> set[int] | None:
    """The block sizes of the last launch of a function with this body."""
    values = facts(body, before).launches[-1].block.values
    return None if values is None else {x for x, _, _ in values}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("bool big = true; int t = 64; if (big) { t = 512; } k<<<1, t>>>(p);", {512}),
        ("bool big = false; int t = 64; if (big) { t = 512; } k<<<1, t>>>(p);", {64}),
        ("int m = 2; int t = 64; if (m == n) { t = 32; } k<<<1, t>>>(p);", {32, 64}),
        ("int t = 64; switch (n) { case 2: t = 32; break; } k<<<1, t>>>(p);", {32, 64}),
        ("int c = 3; int t = 64; while (c > 0) { t = 32; c = n; } k<<<1, t>>>(p);", None),
        ("bool no = true; int t = 64; if (no) return; t = 32; k<<<1, t>>>(p);", {32}),
        ("const int t = 64; if (n > t) { n = t; look(n); } k<<<1, t>>>(p);", {64}),
        ("int t = n; if (t > 128) t = 128; else { t = 64; } k<<<1, t>>>(p);", {64, 128}),
    ],
)
def test_conditions_count_where_something_hangs_on_them(
    body: str, expected: set[int] | None
) -> None:
    assert threads(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int t = 64; change(t); k<<<1, t>>>(p);", {1}),
        ("int t = 64; look(t); k<<<1, t>>>(p);", {64}),
        ("int t = 64; int& r = t; r = 32; k<<<1, t>>>(p);", None),
        ("int t = 64; int* r = &t; *r = 32; k<<<1, t>>>(p);", {32}),
        ("int t = 64; auto g = [&]() { t = 32; }; g(); k<<<1, t>>>(p);", None),
        ("int t = 64, u = 32; std::swap(t, u); k<<<1, u + t>>>(p);", None),
        ("int t = 64; (t) = 32; k<<<1, t>>>(p);", {32}),
        ("int t[2] = {64, 32}; int i[1] = {0}; t[i[0]] = 8; k<<<1, t[0]>>>(p);", {8}),
        ("int t[2] = {64, 32}; t[n] = 8; k<<<1, t[1]>>>(p);", None),
        ("int t = 64; for (int i = 0; i < n; ++i) { change(t); } k<<<1, t>>>(p);", None),
        ("int t = 64; for (int i = 0; i < n; ++i) { look(t); } k<<<1, t>>>(p);", {64}),
        ("int t = 64; int u = t = 32; k<<<1, t>>>(p);", None),
        ("int t = 64; if ((t = n) > 3) { look(n); } k<<<1, t>>>(p);", None),
        ("int t = 64; while (n--) ++t; k<<<1, t>>>(p);", None),
        ("int a = 8, t = a * 8; a = n; k<<<1, t>>>(p);", {64}),
        ("int a, t = 64, b = 2; a = n; k<<<1, t * b>>>(p);", {128}),
        ("int t = 64; int* q = p; q[t * n] = 1; k<<<1, t>>>(p);", {64}),
        ("int t = 64; for (int i = 0; i < n; i++) p[i] = t = 32; k<<<1, t>>>(p);", None),
        ("int t = 64; for (int i = 0; i < n; i++) t = i; k<<<1, t>>>(p);", None),
    ],
)
def test_what_changes_a_variable_is_seen(body: str, expected: set[int] | None) -> None:
    assert threads(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int i = 0; i < n; i++) p[i] = m; k<<<n, 64>>>(p);", {"n"}),
        ("int t = 64, u = n; u = m; k<<<1, t>>>(p);", {"t"}),
        ("s.u = m; t.u = s.u; u = 3; k<<<1, t.u>>>(p);", {"s", "m", "t", "u"}),
        ("s.u = m; u = 3; k<<<1, s>>>(p);", {"s", "m"}),
        ("for (i = 0; i < 9; i++) t += m; k<<<1, t>>>(p);", {"t", "m"}),
        ("u = max<4, 2>(m), t = u; k<<<1, t>>>(p);", {"t", "u", "m"}),
    ],
)
def test_only_what_a_launch_follows_from_counts(body: str, expected: set[str]) -> None:
    relevance = Relevance(body, ("n", "m"))
    relevance.add(re.findall(r"\w+", body.split("<<<")[1].split(">>>")[0]))
    assert relevance.names & {"i", "m", "n", "s", "t", "u"} == expected


def test_a_macro_that_assigns_is_seen() -> None:
    before = "#define SET(a, b) do { a = b; } while (0)\n#define HIDDEN { t = 8; }"
    assert threads("int t = 64; SET(t, 32); k<<<1, t>>>(p);", before) != {64}
    assert threads("int t = 64; int u = 8; SET(t, u); k<<<1, u>>>(p);", before) == {8}


def test_a_launch_copies_what_it_is_given() -> None:
    assert threads("int t = 64; k<<<t, t>>>(p, t, int(t)); k<<<1, t>>>(p);") == {64}
    assert threads("int t = 64; k<<<1, t>>>(p + (t = 32)); k<<<1, t>>>(p);") is None


def test_what_the_device_answers_guards_a_launch_behind_it() -> None:
    early = "Props a; ask(&a); if (a.major < 9) { return; } k<<<1, 64>>>(p);"
    flag = "int d = 0; cudaDeviceGetAttribute(&d, a, 0); if (!d) return; k<<<1, 64>>>(p);"
    other = "int d = 0; cudaDeviceGetAttribute(&d, a, 0); if (d) { look(d); } k<<<1, 64>>>(p);"
    assert [facts(body).launches[-1].guarded for body in (early, flag, other)] == [
        True,
        True,
        False,
    ]


def test_a_call_gives_the_same_wherever_it_is_evaluated() -> None:
    """Also where functions call each other without end: what was left to evaluate them with
    does not leak into what they give elsewhere."""
    before = """
    int up(int a) { return a > 0 ? down(a - 1) + 1 : 0; }
    int down(int a) { return a > 0 ? up(a - 1) + 1 : 0; }
    int rows(int a) { if (a > 8) { return 8; } return a; }
    """
    twice = "k<<<1, rows(4)>>>(p); k<<<1, rows(4) * rows(16)>>>(p);"
    launches = facts(twice, before).launches
    assert [one.block.values for one in launches] == [((4, 1, 1),), ((32, 1, 1),)]
    deep = "k<<<1, up(100)>>>(p); k<<<1, up(3)>>>(p); k<<<1, up(100)>>>(p);"
    first, short, again = facts(deep, before).launches
    assert short.block.values == ((3, 1, 1),)
    assert first.block.values == again.block.values


@pytest.mark.parametrize(
    "rest",
    [
        "else { look(n); }",
        "else if (n) { look(n); } else { look(n); }",
        "",
        "while (n) { look(n); }",
    ],
)
def test_what_stands_behind_the_last_launch_makes_no_difference(rest: str) -> None:
    assert threads(f"int t = 64; if (n > 3) {{ k<<<1, t>>>(p); }} {rest} t = n;") == {64}
