"""After an edit, only those callers are asked that may give something else than before."""

from __future__ import annotations

import pytest

from occlsp.source.callers import Callers
from occlsp.source.facts import FileFacts
from occlsp.source.workspace import Workspace

FILE = """
#define FEW 3
__global__ void k(int* p) { p[0] = 1; }
static void inner(int* p, int t) { k<<<1, t>>>(p); }
static void handing(int* p, int w) { int n = w * 2; inner(p, n); }
static void other(int* p, int t) { k<<<2, t>>>(p); }
template <int N> struct Sorter { void run(int* p) { k<<<3, N>>>(p); } };
void first(int* p) { int a = 16; handing(p, a); }
void second(int* p) { other(p, 64); }
static void handed(int* p, int t) { k<<<4, t>>>(p); }
template <class F> void apply(F f, int* p, int n) { f(p, n + 1); }
void fourth(int* p) { apply(handed, p, 31); }
template <int N> void typed(int* p, int t) { k<<<N, t>>>(p); }
void fifth(int* p) { apply(typed<8>, p, 63); }
void sixth(int* p) { int m = 15; apply(handed, p, m); }
void third(int* p) { Sorter<128> sorter; sorter.run(p); }
"""
PATH = "/a.cu"
HANDED = {"handed", "typed", "apply", "fourth", "fifth", "sixth", "run"}
"""What may be handed to a template, or is a template's own."""


def fresh(text: str) -> FileFacts:
    workspace = Workspace(reader=None)
    workspace.update(PATH, text.encode())
    return workspace.facts(PATH)


def after(text: str, edited: str) -> FileFacts:
    """The facts of a file that was read, and edited then."""
    workspace = Workspace(reader=None)
    workspace.update(PATH, text.encode())
    workspace.facts(PATH)
    workspace.update(PATH, edited.encode())
    return workspace.facts(PATH)


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("int n = w * 2", "int n = w * 4", {"inner", "handing"}),
        ("int a = 16", "int a = 32", {"handing", "inner"}),
        ("other(p, 64)", "other(p, 96)", {"other"}),
        ("other(p, 64);", "other(p, 96); inner(p, 8);", {"other", "inner", "handing"}),
        ("Sorter<128> sorter", "Sorter<64> sorter", {"run"}),
        ("k<<<1, t>>>(p); }", "k<<<1, t + 1>>>(p); }", {"inner", "handing"}),
        ("void second(int* p) { other(p, 64); }\n", "", {"other", "run"}),
        ("void second", "// void second", {"other"}),
        ("void second", "/* void second", {"inner", "other", "handing", *HANDED}),
        ("n + 1", "n + 33", HANDED),
        ("p, 31", "p, 127", HANDED),
        ("int m = 15", "int m = 47", HANDED),
        ("p, 63", "p, 95", HANDED),
        ("FEW 3", "FEW 4", {"inner", "other", "handing", *HANDED}),
    ],
)
def test_an_edit_asks_those_that_it_may_reach(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, asked: set[str]
) -> None:
    workspace = Workspace(reader=None)
    workspace.update(PATH, FILE.encode())
    workspace.facts(PATH)
    ask, found = Callers.bindings, set()

    def bindings(self, origin, index):  # type: ignore[no-untyped-def]
        found.add(origin.syntax.functions[index].name)
        return ask(self, origin, index)

    monkeypatch.setattr(Callers, "bindings", bindings)
    edited = FILE.replace(old, new)
    workspace.update(PATH, edited.encode())
    facts = workspace.facts(PATH)
    assert found <= asked
    monkeypatch.undo()
    assert facts == fresh(edited)
    workspace.update(PATH, FILE.encode())
    assert workspace.facts(PATH) == fresh(FILE)


def test_what_decides_nothing_any_more_is_not_told_of() -> None:
    """A caller that was asked for more than it is now says no more than in a fresh start."""
    text = """
__global__ void k(int* p) {}
static void run(int* p, int size) {
  dim3 threads(size, size);
  if (size == 16) { k<<<1, threads>>>(p); } else { k<<<2, threads>>>(p); }
}
int main() { int size = 32; run(0, size); }
"""
    edited = text.replace("  dim3 threads(size, size);\n", "")
    assert after(text, edited) == fresh(edited)


def test_a_bracket_in_one_function_does_not_close_a_call_in_another() -> None:
    text = """
__global__ void k(int* p) {}
static void run(int* p, int size) { k<<<1, size>>>(p); }
static void first(int* p) { run(p, 64, 1; }
static void second(int* p) { int one = 1); }
int main() { run(0, 32); }
"""
    edited = text.replace("1);", "1;")
    assert after(text, edited) == fresh(edited)
    assert fresh(text).launches[0].block.values is None


@pytest.mark.parametrize("old", ["template <class T> ", "constexpr ", "int f", "namespace n {"])
def test_all_of_a_function_in_a_header_counts_for_who_includes_it(old: str) -> None:
    header = """
namespace n {
template <class T> constexpr int f(T a, T b) { return (a + b - 1) / b; }
}
using namespace n;
"""
    unit = '#include "a.cuh"\n__global__ void k() {}\nvoid g(int m) { k<<<f(m, 4), f(64, 2)>>>(); }'

    def made() -> Workspace:
        workspace = Workspace("/", reader=None)
        workspace.update("/a.cuh", header.encode())
        workspace.update(PATH, unit.encode())
        workspace.facts(PATH)
        return workspace

    edited, anew = made(), Workspace("/", reader=None)
    changed = header.replace(old, "U " if old == "int f" else "")
    edited.update("/a.cuh", changed.encode())
    anew.update("/a.cuh", changed.encode())
    anew.update(PATH, unit.encode())
    assert edited.facts(PATH) == anew.facts(PATH)
