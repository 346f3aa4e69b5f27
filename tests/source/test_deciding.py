"""Arguments that decide no launch are not evaluated: which those are, through other functions."""

from __future__ import annotations

import pytest

from occlsp.source.collect import Origin
from occlsp.source.deciding import Deciding, Names
from occlsp.source.indexing import index_file
from occlsp.source.mentions import Mentions
from occlsp.source.parse import parse
from occlsp.source.view import View
from occlsp.source.workspace import Workspace

KERNEL = "__global__ void k(int* p, int n) {}\n"
RUN = "void run(int* p, int n, int t) { int b = t * 2; k<<<n, b>>>(p, n); }\n"


def deciding(text: str, name: str) -> tuple[bool, ...] | None:
    """Which parameters of a function decide what `run` launches, or it itself."""
    syntax = parse((KERNEL + RUN + text).encode())
    origin = Origin("/a.cu", syntax, View("/a.cu", [index_file("/a.cu", syntax)], {}))
    found = Deciding()
    found.take(origin, syntax.functions[-1 - text.count("void ")], {"k", "n", "b", "t"})
    return found.parameters(origin, Names(origin, Mentions(syntax.code)), name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void f(int which, int* q, int m) { if (which == 1) { run(q, m, 64); } }", (0, 0, 1)),
        ("void f(int* q, int m, int u) { int c = m; c *= u; run(q, 1, c); }", (0, 1, 1)),
        ("void f(int* q, int m) { run(q, *q, m); f(q, m - 1); }", None),
        ("void f(int* q, int m) { g(m, q); } void g(int a, int* b) { run(b, 1, a); }", (0, 1)),
        ("void f(int m) { auto call = run; call(0, m, m); }", None),
        ("void f(int m) { h(m); }", (0,)),
    ],
)
def test_what_a_function_hands_on_decides(text: str, expected: tuple[int, ...] | None) -> None:
    assert deciding(text, "f") == expected


def test_what_callers_of_callers_give_reaches_a_launch() -> None:
    text = f"""{KERNEL}{RUN}
    void choose(int which, int* p, int n, int t) {{
        switch (which) {{ case 1: run(p, n, t); break; case 2: run(p, n, t / 2); break; }}
    }}
    int main(int argc, char** argv) {{
        int* p = 0; int which = argc; int t = 128;
        choose(which, p, 4, t);
        return 0;
    }}
    """
    workspace = Workspace(reader=None)
    workspace.update("/main.cu", text.encode())
    (launch,) = workspace.facts("/main.cu").launches
    assert launch.grid.values == ((4, 1, 1),)
    assert launch.block.values == ((128, 1, 1), (256, 1, 1))
