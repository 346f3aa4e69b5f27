"""Facts after an edit: those of a fresh start, and nothing evaluated that the edit leaves alone."""

from __future__ import annotations

import gc
import random

import pytest

from occlsp.source import local_facts
from occlsp.source.callers import Callers
from occlsp.source.facts import FileFacts
from occlsp.source.workspace import Workspace

FILE = """
#define BLOCK 128
#define PASTE(a) k##a<<<1, BLOCK>>>(p)
constexpr int kWarps = 4;
__global__ void kA(int* p) { p[0] = 1; }
__global__ void kB(int* p) { p[1] = 2; }
template <int N> __global__ void __launch_bounds__(N) kN(int* p) { p[2] = N; }
static int threads(int n) { return n * 32; }
static void inner(int* p, int t) { kA<<<1, t>>>(p); PASTE(B); }
static void middle(int* p, int w) {
  int count = 3;
  count = count + 1;
  inner(p, threads(w));
}
template <int N> static void typed(int* p) { kN<N><<<1, N>>>(p); }
void outer(int* p, int unused) {
  int one = 1;
  if (unused > 7) { one = 2; }
  middle(p, kWarps);
  typed<64>(p);
  kA<<<1, BLOCK>>>(p);
}
void last(int* p) { middle(p, 4); dim3 block(32, 8); kB<<<1, block>>>(p); }
#define EITHER(c, NAME, ...) \\
  if (c) { constexpr int NAME = 32; __VA_ARGS__(); } \\
  else { constexpr int NAME = 64; __VA_ARGS__(); }
template <int M> void either(int* p, bool c) {
  EITHER(c, T, [&] { kN<T><<<M, T>>>(p); });
  kA<<<M, 96>>>(p);
}
void call_either(int* p) { either<4>(p, true); }
"""
PATH = "/a.cu"
PIECES = ("", " ", "1", ";", "\n", "}", "// x\n", "{", "int n = 2;", "return;", "middle(p, 7);")


def fresh(text: str) -> FileFacts:
    made = Workspace(reader=None)
    made.update(PATH, text.encode())
    return made.facts(PATH)


class Edited:
    """A file that is open, and which of its functions an edit has evaluated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
        self.workspace = Workspace(reader=None)
        self.evaluated: list[str] = []
        if monkeypatch is not None:
            evaluate = local_facts.function_facts

            def counted(origin, index, *rest):  # type: ignore[no-untyped-def]
                if index is not None:
                    self.evaluated.append(origin.syntax.functions[index].name)
                return evaluate(origin, index, *rest)

            monkeypatch.setattr(local_facts, "function_facts", counted)
        self.facts(FILE)

    def facts(self, text: str) -> FileFacts:
        self.evaluated.clear()
        self.workspace.update(PATH, text.encode())
        return self.workspace.facts(PATH)

    def check(self, text: str) -> list[str]:
        """The functions that a text evaluates; what is found is what a fresh start finds."""
        found = self.facts(text)
        evaluated = list(self.evaluated)
        assert found == fresh(text)
        return evaluated


@pytest.mark.parametrize(
    ("old", "new", "evaluated"),
    [
        ("#define BLOCK", "// a comment\n#define BLOCK", []),
        ("  int one = 1;", "  int one = 1;\n  int two = 2;", []),
        ("int one = 1;", "int one = 1;  // why", []),
        ("p[0] = 1", "p[0] = 3", []),
        ("count + 1", "count + 2", []),
        ("kWarps = 4", "kWarps = 8", ["outer", "inner"]),
        ("n * 32", "n * 64", ["middle", "inner"]),
        ("middle(p, kWarps)", "middle(p, 2)", ["outer", "inner"]),
        ("#define BLOCK 128", "#define BLOCK 256", ["inner", "outer"]),
        ("k##a", "k##a<BLOCK>", ["inner"]),
        ("dim3 block(32, 8)", "dim3 block(32, 4)", ["last"]),
        ("typed<64>", "typed<96>", ["outer", "typed"]),
        ("(p); });", '(p, "); });', ["either"]),
        ("either<4>", "either<8>", ["call_either", "either"]),
    ],
)
def test_only_what_an_edit_touches_is_evaluated(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, evaluated: list[str]
) -> None:
    assert old in FILE
    edited = Edited(monkeypatch)
    assert set(edited.check(FILE.replace(old, new, 1))) <= set(evaluated)
    assert set(edited.check(FILE)) <= set(evaluated)


def test_a_brace_that_is_not_closed_yet_costs_nothing_once_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edited = Edited(monkeypatch)
    half = FILE.replace("int count = 3;", "int count = 3; {", 1)
    edited.check(half)
    edited.check(half.replace("3; {", "3; { {"))
    assert set(edited.check(half.replace("3; {", "3; { { } }"))) <= {"middle"}


def test_a_comment_that_swallows_declarations_costs_nothing_once_it_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edited = Edited(monkeypatch)
    text = FILE.replace("__global__ void kA", "/* the first */ __global__ void kA")
    text += "".join(f"void more{n}(int* p) {{ kA<<<{n}, BLOCK>>>(p); }}\n" for n in range(4))
    edited.check(text)
    half = text.replace("#define BLOCK", "/* the #define BLOCK")
    assert edited.check(half)
    edited.check(half.replace("/* the #", "/* the block #"))
    assert edited.check(text.replace("#define BLOCK", "/* the block */ #define BLOCK")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("struct Base {", "struct Other {};\nstruct Base_ {"),
        ("static constexpr int kT = 64;", "static constexpr int kT = 96;"),
        (": Base {", ": Wide {"),
        ("template <int N> struct Of {", "template <int M> struct Of {"),
        ("template <int N> struct Of {", "template <int P, int N = 32> struct Of {"),
    ],
)
def test_an_edit_of_a_class_reaches_what_is_made_of_it(old: str, new: str) -> None:
    text = """
struct Wide { static constexpr int kT = 128; };
struct Base { static constexpr int kT = 64; };
struct Middle : Base { };
struct Derived : Middle { };
template <int N> struct Of { static constexpr int kN = N * 2; };
__global__ void k();
void inherits() { k<<<1, Derived::kT>>>(); }
void of() { k<<<1, Of<32>::kN>>>(); }
"""
    assert old in text
    edited = Edited()
    edited.facts(text)
    edited.check(text.replace(old, new, 1))
    edited.check(text)


def test_a_constant_in_text_that_is_replaced_is_found_where_it_is() -> None:
    head = "int before;\nconstexpr int kT = 64;\nint behind;\n"
    text = head + "__global__ void k();\nvoid f() { k<<<1, kT>>>(); }\n"
    edited = Edited()
    edited.facts(text)
    moved = text.replace("before", "b").replace("behind", "far_behind")
    edited.check(moved)
    definition = edited.facts(moved).launches[0].block.definition
    assert definition is not None
    assert moved[definition.span.start : definition.span.end] == "64"


HEADER = """
#define BLOCK 128
constexpr int kWarps = 4;
struct Traits { static constexpr int kThreads = 64; };
template <int N> struct Wide { static constexpr int kThreads = N * 32; };
"""
INCLUDING = """#include "h.cuh"
__global__ void __launch_bounds__(BLOCK) k(int* p) { p[0] = 1; }
static void inner(int* p, int w) { k<<<1, w * 32>>>(p); }
void f(int* p) { inner(p, kWarps); k<<<1, BLOCK>>>(p); }
void g(int* p) { k<<<kWarps, Traits::kThreads>>>(p); k<<<1, Wide<2>::kThreads>>>(p); }
"""


class WithHeader:
    """A file with a header, in a workspace where both can be edited."""

    def __init__(self, *, is_open: bool) -> None:
        self.texts = {"/h.cuh": HEADER, PATH: INCLUDING}
        self.is_open = is_open
        self.workspace = Workspace(reader=None)
        self.edit("/h.cuh", HEADER)
        self.edit(PATH, INCLUDING)

    def edit(self, path: str, text: str) -> FileFacts:
        """The facts of the file that includes the other."""
        self.texts[path] = text
        is_open = self.is_open or path == "/h.cuh"
        self.workspace.update(path, text.encode(), is_open=is_open)
        return self.workspace.facts(PATH)

    def check(self, path: str, text: str) -> FileFacts:
        """Those after an edit, which are those of a fresh start."""
        found = self.edit(path, text)
        again = Workspace(reader=None)
        for one, kept in self.texts.items():
            again.update(one, kept.encode())
        assert found == again.facts(PATH)
        return found


@pytest.mark.parametrize("is_open", [True, False])
def test_a_constant_that_moves_in_a_header_is_edited_where_it_is(is_open: bool) -> None:
    made = WithHeader(is_open=is_open)
    for text in ("// why\n" + HEADER, HEADER.replace("\nconst", "\n\n// what\nconst"), HEADER):
        facts = made.check("/h.cuh", text)
        definitions = [one.block.definition for one in facts.launches[1:3]]
        assert [text[slice(*one.span)] for one in definitions if one is not None] == ["128", "64"]


def test_a_comment_in_a_header_evaluates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = WithHeader(is_open=True)
    monkeypatch.setattr(local_facts, "function_facts", None)
    made.edit("/h.cuh", "// why\n" + HEADER)
    made.edit(PATH, INCLUDING.replace("void g", "// this\nvoid g"))


def type_anywhere(seed: int, made: WithHeader | WithCallers, whole: dict[str, str]) -> None:
    """Types pieces into two files, mostly the first, which now and then are whole again."""
    chooser = random.Random(seed)
    header, unit = whole
    for _ in range(25):
        path = chooser.choice([header, header, unit])
        text = made.texts[path]
        at = chooser.randrange(len(text))
        cut = chooser.choice([0, 0, 0, 1, 3, 40])
        text = text[:at] + chooser.choice(PIECES) + text[at + cut :]
        made.check(path, whole[path] if chooser.random() < 0.2 else text)


@pytest.mark.parametrize("seed", range(6))
def test_any_edits_of_a_header_give_the_facts_of_a_fresh_start(seed: int) -> None:
    type_anywhere(seed, WithHeader(is_open=True), {"/h.cuh": HEADER, PATH: INCLUDING})


def test_a_kernel_elsewhere_that_comes_while_a_file_is_open() -> None:
    text = "void f(bool b) { auto run = b ? &near : &far; run<<<1, 32>>>(); }\n"
    made = Workspace(reader=None)
    made.update(PATH, text.encode())
    made.facts(PATH)
    made.update("/b.cu", b"__global__ void near();\n__global__ void far();\n")
    changed = text + "// more\n"
    made.update(PATH, changed.encode())
    again = Workspace(reader=None)
    again.update("/b.cu", b"__global__ void near();\n__global__ void far();\n")
    again.update(PATH, changed.encode())
    assert made.facts(PATH) == again.facts(PATH)


def test_an_edit_of_a_header_asks_callers_in_other_files_once() -> None:
    header = "template <int N> __global__ void k();\ninline int one() { return 1; }\n"
    header += "template <int N> void launch_it(int t) { k<N><<<1, t>>>(); }\n"
    reads: list[str] = []
    texts = {"/m.cu": b'#include "h.cuh"\nvoid f() { launch_it<32>(96); }\n'}

    def read(path: str) -> bytes | None:
        reads.append(path)
        return texts.get(path)

    made = Workspace("/", reader=read)
    made.update("/m.cu", texts["/m.cu"], is_open=False)
    made.facts("/m.cu")
    made.update("/h.cuh", header.encode())
    assert made.facts("/h.cuh").launches[0].block.value == (96, 1, 1)
    reads.clear()
    made.update("/h.cuh", header.replace("int t) {", "int t) { int unused;").encode())
    assert made.facts("/h.cuh").launches[0].block.value == (96, 1, 1)
    assert "/m.cu" not in reads


def test_edits_leave_nothing_to_the_collector_of_garbage() -> None:
    """It looks for circles rarely, when nobody waits: until then they would be kept."""
    edited = Edited()
    texts = [FILE.replace("kA<<<1, BLOCK", f"kA<<<{n}, BLOCK") for n in range(3)]
    edited.facts(texts[0])
    gc.collect()
    gc.disable()
    for text in texts:
        edited.facts(text)
    left = gc.collect()
    gc.enable()
    assert left == 0


@pytest.mark.parametrize("asked", [False, True])
def test_facts_are_the_same_where_they_are_found_in_pieces(
    monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    """Between two pieces anything may be told and asked, of the same file, too."""
    edited = Edited()
    text = FILE.replace("middle(p, kWarps)", "middle(p, 2)")
    edited.workspace.update(PATH, text.encode())
    monkeypatch.setattr(local_facts, "AT_A_STRETCH", -1.0)
    pieces = 0
    for _ in edited.workspace.reading(PATH):
        pieces += 1
        if asked and pieces == 3:
            edited.workspace.update("/b.cu", b"__global__ void near();")
            assert edited.workspace.facts(PATH).launches
    assert pieces > 10
    assert edited.workspace.facts(PATH) == fresh(text)


@pytest.mark.parametrize("seed", range(6))
def test_any_edits_give_the_facts_of_a_fresh_start(seed: int) -> None:
    chooser = random.Random(seed)
    edited, text = Edited(), FILE
    for _ in range(25):
        at = chooser.randrange(len(text))
        cut = chooser.choice([0, 0, 0, 1, 3, 40])
        text = text[:at] + chooser.choice(PIECES) + text[at + cut :]
        if chooser.random() < 0.2:
            text = FILE
        edited.check(text)


@pytest.mark.parametrize("told", ["p + 1", "2 * 32", "8 * 8"])
def test_what_is_told_as_it_is_written_is_told_anew(told: str) -> None:
    """Also of a launch that stands in no function, as one brace too many leaves it."""
    text = """
__global__ void __launch_bounds__(8 * 8) k(int* p, int* q);
void f(int* p) { }
  k<<<1, 2 * 32>>>(p, p + 1);
}
"""
    edited = Edited()
    edited.check(text)
    edited.check(text.replace(told, told.replace(" ", "  ")))


@pytest.mark.parametrize(
    ("body", "old", "new"),
    [
        ("k<<<1, 64>>>(p, ;\n  p); }", ";\n  p", ";\n    p"),  # `p` is an argument all the same
        ("k<<<1, 64>>>(p, p);\n", ");\n", ");\n\n"),
    ],
)
def test_what_a_broken_function_tells_is_told_anew(body: str, old: str, new: str) -> None:
    """One whose brackets hold a semicolon, or that ends where the file does."""
    text = "__global__ void k(int*, int*) { }\nvoid f(int* p) {\n  int n = 3;\n  " + body
    edited = Edited()
    edited.check(text)
    edited.check(text.replace(old, new))


LAUNCHING = """#pragma once
template <int N> __global__ void k(int* p);
__global__ void plain(int* p) { p[0] = 1; }
inline int twice(int n) { return 2 * n; }
template <int N> void launch_it(int* p, int t) { k<N><<<1, t>>>(p); }
template <class F> void apply(F f, int* p) { f(p, 32); }
inline void run(int* p, int t) { plain<<<1, t>>>(p); }
template <class T> void both(int* p, T t) {
  int unused = 1;
  launch_it<4>(p, twice(64)); run(p, 96);
}
void pass_on(int* p, int t);
template <class T> void through(int* p, T) { pass_on(p, 128); }
"""
CALLING = """#include "l.cuh"
template <class T> void last(int* p, T t) { run(p, 256); launch_it<8>(p, t); }
void pass_on(int* p, int t) { launch_it<16>(p, t); }
int main() { int* p = nullptr; both(p, 1); last(p, 512); through(p, 2.0f); }
"""


class WithCallers:
    """A header that launches, and a file that calls it, both open."""

    def __init__(self) -> None:
        self.texts = {"/l.cuh": LAUNCHING, PATH: CALLING}
        self.workspace = self.made()
        self.facts(self.workspace)

    def made(self) -> Workspace:
        made = Workspace(reader=None)
        for path, text in self.texts.items():
            made.update(path, text.encode())
        return made

    def facts(self, workspace: Workspace) -> list[FileFacts]:
        return [workspace.facts(path) for path in self.texts]

    def check(self, path: str, text: str) -> None:
        """The facts of both after an edit, which are those of a fresh start."""
        self.texts[path] = text
        self.workspace.update(path, text.encode())
        assert self.facts(self.workspace) == self.facts(self.made())


def test_a_header_asks_no_callers_again_where_an_edit_reaches_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = WithCallers()
    monkeypatch.setattr(Callers, "bindings", None)
    for typed in ("int unused = 1;  // why", "int unused = 1; int more = 2;", "int unused = 1;"):
        text = LAUNCHING.replace("int unused = 1;", typed)
        made.workspace.update("/l.cuh", text.encode())
        assert made.workspace.facts("/l.cuh").launches


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("/l.cuh", "twice(64)", "twice(48)"),
        ("/l.cuh", "pass_on(p, 128)", "pass_on(p, 160)"),
        ("/l.cuh", "return 2 * n", "return 3 * n"),
        (PATH, "last(p, 512)", "last(p, 416)"),
        (PATH, "through(p, 2.0f)", ""),
    ],
)
def test_a_header_follows_what_its_callers_give(path: str, old: str, new: str) -> None:
    made = WithCallers()
    before = made.texts[path]
    made.check("/l.cuh", LAUNCHING + "// more\n")
    made.check(path, made.texts[path].replace(old, new))
    assert made.texts[path] != before
    made.check("/l.cuh", made.texts["/l.cuh"] + "// again\n")
    made.check(path, before)


@pytest.mark.parametrize("seed", range(8))
def test_any_edits_of_a_header_that_others_call_give_the_facts_of_a_fresh_start(seed: int) -> None:
    type_anywhere(seed, WithCallers(), {"/l.cuh": LAUNCHING, PATH: CALLING})


def test_another_layout_of_a_function_says_the_same_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    edited = Edited()
    monkeypatch.setattr(local_facts, "function_facts", None)
    edited.facts(FILE.replace("{ return n * 32; }", "{\n  return n * 32; // warps\n}"))


def test_a_macro_that_nothing_names_has_no_callers_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    edited = Edited()
    monkeypatch.setattr(Callers, "bindings", None)
    edited.facts("#define TYPED 1\n" + FILE)
    edited.facts(FILE)


@pytest.mark.parametrize("name", ["kWarps", "middle", "threads", "BLOCK"])
def test_a_macro_that_something_names_is_seen(name: str) -> None:
    edited = Edited()
    edited.check(f"#define {name} 7\n" + FILE)
    edited.check(f"#define OTHER {name}\n#define {name} OTHER\n" + FILE)
    edited.check(FILE)
