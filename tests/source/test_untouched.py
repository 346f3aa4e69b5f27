"""Edits that touch no fact move all of them at once: nothing of the file is looked at again."""

from __future__ import annotations

import pytest

from occlsp.source import workspace
from occlsp.source.workspace import Workspace

FILE = """
#define BLOCK 128
template <int N> __global__ void __launch_bounds__(N) kN(int* p) { p[2] = N; }
__global__ void kA(int* p) { int i = threadIdx.x; p[i] = 1; }
static int twice(int n) { int m = n; if (m > 2) { m += 2; } return log(m); }
template <class F> static void run(F call, int* p, int n) { if (n) { call(p, n); } }
static void inner(int* p, int t) { kA<<<1, t>>>(p); }
static void handed(int* p, int t) { kA<<<2, t>>>(p); }
static void prints(int* p) { for (int i = 0; i < 4; ++i) { twice(i); } }
void outer(int* p, int unused) {
  int one = 1;
  prints(p);
  inner(p, 64);
  run(handed, p, 96);
  kN<64><<<1, BLOCK>>>(p);
}
template <int M> struct Of { void go(int* p) { kA<<<1, M>>>(p); } };
static void uses(int* p) { int width = 32; Of<32> of; of.go(p); }
"""
PATH = "/a.cu"


class Keyboard:
    """A file that is typed in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.workspace = Workspace(reader=None)
        self.was_moved = False
        move = workspace.moved_facts

        def moved(*arguments):  # type: ignore[no-untyped-def]
            found = move(*arguments)
            self.was_moved = found is not None
            return found

        monkeypatch.setattr(workspace, "moved_facts", moved)
        self.type(FILE)

    def type(self, text: str) -> bool:
        """Whether the facts of a text were moved; they are those of a fresh start."""
        self.workspace.update(PATH, text.encode())
        found = self.workspace.facts(PATH)
        was_moved = self.was_moved
        fresh = Workspace(reader=None)
        fresh.update(PATH, text.encode())
        assert found == fresh.facts(PATH)
        return was_moved


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Keyboard:
    return Keyboard(monkeypatch)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("__global__ void kA", "// a comment\n__global__ void kA"),
        ("__global__ void kA", "\n\n__global__ void kA"),
        ("int one = 1;", "int one = 1; // why"),
        ("int one = 1;", "int one = 2;\n  int two = one;"),
        ("p[i] = 1", "p[i] = 3"),
        ("p[i] = 1", "p[i] = twice(3"),
        ("i < 4", "i < (4"),
        ("twice(i)", "twice(one(i))"),
    ],
)
def test_an_edit_that_touches_nothing_moves_all(keyboard: Keyboard, old: str, new: str) -> None:
    assert old in FILE
    edited = FILE.replace(old, new, 1)
    assert keyboard.type(edited)
    assert keyboard.type(FILE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("inner(p, 64)", "inner(p, 32)"),
        ("m > 2", "m > 3"),
        ("i) {", "i) { inner(p, 32);"),
        ("{ call(p, n)", "{ call(p, n + 1)"),
        ("if (n)", "n = 7; if (n)"),
        ("run(handed, p, 96)", "run(handed, p, 32)"),
        ("Of<32>", "Of<64>"),
        ("int width = 32; Of<32>", "const int width = 64; Of<width>"),
        ("int i = threadIdx.x;", "extern __shared__ int all[];"),
        ("int i = threadIdx.x;", "__shared__ int all[8];"),
        ("for (int i", "kA<<<1, 32>>>(p); for (int i"),
        ("BLOCK 128", "BLOCK 64"),
        ("// x", "/* x"),
    ],
)
def test_an_edit_that_may_tell_something_is_read(keyboard: Keyboard, old: str, new: str) -> None:
    text = FILE.replace("static int twice", "// x\nstatic int twice")
    assert old in text
    keyboard.type(text)
    keyboard.type(text.replace(old, new, 1))
    keyboard.type(text)


TYPES = """typedef int Count;
__global__ void kA(int* p) { }
static void calls(int* p, Count given) {
  Count threads = 64;
  Count other(sizeof(Count) * 3);
  if (other > 2) p = 0;
  while (threads > 512) p = 0;
  kA<<<1, threads>>>(p);
}
static void gives(int* p) { calls(p, 3); }
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Count other", "ty\n  Count other"),  # a type decides, but is no variable
        ("* 3);", "* 4);"),
        ("* 3);", "* 3); foo(other);"),  # a condition that nothing decides by
    ],
)
def test_types_that_are_named_as_often_decide_nothing_more(
    keyboard: Keyboard, old: str, new: str
) -> None:
    keyboard.type(TYPES)
    assert keyboard.type(TYPES.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Count other(sizeof", "Count Count(sizeof"),
        ("* 3);", "* 3), threads(32);"),
        ("* 3);", "* 3); other = 1;"),
        ("Count other(", "other("),
    ],
)
def test_types_that_may_be_something_else_are_read(keyboard: Keyboard, old: str, new: str) -> None:
    keyboard.type(TYPES)
    assert not keyboard.type(TYPES.replace(old, new, 1))


def test_a_launch_is_told_as_it_is_laid_out(keyboard: Keyboard) -> None:
    wide = FILE.replace("BLOCK>>>(p)", "BLOCK>>>(p +\n      1)")
    keyboard.type(wide)
    keyboard.type(wide.replace("\n      1", "\n  1"))


def test_a_directive_begins_a_line(keyboard: Keyboard) -> None:
    text = FILE.replace("  inner(p, 64);", "#if 1\n  inner(p, 64);\n#else\n  inner(p, 32);\n#endif")
    keyboard.type(text)
    keyboard.type(text.replace("64);\n#else", "64);#else"))
    keyboard.type(text)


def test_comments_around_a_launch_do_not_move_it_twice(keyboard: Keyboard) -> None:
    first = FILE.replace("  kN<64>", "  // before\n  kN<64>")
    assert keyboard.type(first)
    keyboard.type(first.replace("BLOCK>>>(p);", "BLOCK>>>(p);  // behind"))


@pytest.mark.parametrize(
    "statement",
    [
        "if (unused) { t = 32; } | else { t = 96; }",
        "if (unused) t = 32; | else t = 96;",
        "do { t = 32; } | while (unused);",
        "try { t = 32; } | catch (int e) { t = 96; }",
    ],
)
def test_what_may_not_stand_inside_of_a_statement_is_read(
    keyboard: Keyboard, statement: str
) -> None:
    launch = f"int t = 64; {statement}\n  kA<<<1, t>>>(p);"
    keyboard.type(FILE.replace("int one = 1;", launch.replace("|", "")))
    keyboard.type(FILE.replace("int one = 1;", launch.replace("|", "prints(p);")))


def test_a_function_that_is_not_closed_yet_is_not_followed(keyboard: Keyboard) -> None:
    text = FILE.replace("int one = 1;", "int one = 1; if (one) {")
    keyboard.type(text)
    keyboard.type(text.replace("(one) {", "(one) { }"))


def test_a_brace_that_makes_one_function_of_all_that_follows(keyboard: Keyboard) -> None:
    """Nobody writes a body that long: it is not followed, and nothing is known of its locals."""
    lines = "".join(f"void f{n}(int* p) {{ int t = {n}; kA<<<1, t>>>(p); }}\n" for n in range(2500))
    text = FILE + "void first(int* p) {\n  int t = 32;\n  kA<<<1, t>>>(p);\n}\n" + lines
    path = "/b.cu"
    keyboard.workspace.update(path, text.encode())
    known = keyboard.workspace.facts(path).launches
    assert known[-1].block.value == (2499, 1, 1)
    keyboard.workspace.update(path, text.replace("32;\n", "32; {\n", 1).encode())
    open_ = keyboard.workspace.facts(path).launches
    assert len(open_) == len(known)
    assert open_[-1].block.why == "the function's structure could not be read"
    keyboard.workspace.update(path, text.encode())
    assert keyboard.workspace.facts(path).launches == known
