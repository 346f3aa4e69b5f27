"""Parsing again after an edit: the same facts, and no work on what did not change."""

from __future__ import annotations

import time

import pytest

from occlsp.source.parse import parse, reparse

FILE = b"""#define N 4
namespace n {
__global__ void first(int* p) { }
#if A
constexpr int kT = 128;
#else
constexpr int kT = 256;
#endif
void launch() { first<<<1, kT>>>(p); }
enum { X, Y };
}
__global__ void second(int* p) { }
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"first(int* p)", b"first(int* p, long n)"),
        (b"{ }", b"{ /* "),
        (b"#else", b"#elif B"),
        (b"#endif", b""),
        (b"X, Y", b"X, W, Y"),
        (b"#define N 4", b"#define KERNEL __global__\nKERNEL void third() { }"),
        (b"namespace n {", b""),
        (b"#if A", b"#if 0"),
        (FILE, b""),
        (b"#define N", b"int before;\n#define N"),
    ],
)
def test_the_result_is_that_of_a_full_parse(old: bytes, new: bytes) -> None:
    before = reparse(None, FILE)
    edited = FILE.replace(old, new, 1)
    after = reparse(before, edited)
    assert after.syntax == parse(edited)
    assert reparse(after, FILE).syntax == before.syntax


def test_facts_in_front_of_an_edit_are_kept() -> None:
    before = reparse(None, FILE)
    after = reparse(before, FILE.replace(b"second", b"other"))
    assert after.syntax.kernels[0] is before.syntax.kernels[0]
    assert after.syntax.launches[0] is before.syntax.launches[0]
    assert reparse(after, after.syntax.text) is after


def test_another_letter_in_a_comment_has_only_what_is_around_it_read_again() -> None:
    text = b"// one\n" + b"".join(b"static int f%d() { return %d; }\n" % (n, n) for n in range(99))
    after = reparse(reparse(None, text), text.replace(b"one", b"two"))
    assert after.step is not None
    assert after.step.end < 100


def test_names_for_global_from_elsewhere_change_the_result() -> None:
    text = b"KERNEL void k() { }"
    before = reparse(None, text)
    assert before.syntax.kernels == ()
    after = reparse(before, text, aliases=frozenset({"KERNEL"}))
    assert [kernel.name for kernel in after.syntax.kernels] == ["k"]


def test_an_edit_of_a_large_file_costs_a_fraction_of_its_parse() -> None:
    text = FILE * 1500
    full = least(lambda: reparse(None, text))
    before = reparse(None, text)
    edited = text[: len(text) // 2] + b" int x;" + text[len(text) // 2 :]
    assert least(lambda: reparse(before, edited)) < full / 4


def least(function: object) -> float:
    times = []
    for _ in range(3):
        before = time.process_time()
        function()  # type: ignore[operator]
        times.append(time.process_time() - before)
    return min(times)


LONG = b"""#define N 4
static int before(int n) { return n; }
void f(int* p, int n) {
  int a = n;
#if A
  k<<<1, a>>>(p);
#else
  k<<<N, 2 * a>>>(p);
#if 0
  dead();
#endif
#endif
#define INNER \\
  (a + 1)
  a = INNER; // and on
  if (n) { g<<<1, 1>>>(p); }
  last();
}
__global__ void behind(int* p) { }
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"int a = n;", b"int a = n; int b = 2;"),
        (b"1, a>>>", b"1, a, 8>>>"),
        (b"2 * a", b"3"),
        (b"a = INNER;", b""),
        (b"  last();\n", b"\n"),
        (b"  (a + 1)", b"  (a + 11)"),
        (b"#if A", b"#if AB"),
        (b"  dead();", b"  deadly();"),
        (b"// and on", b"// and so on"),
        (b" int a = n;\n#if", b" int a = n; #if"),
        (b"  last();", b"\ntemplate <int M> void h() { last(); }"),
        (b"  last();", b"  last();\n__global__ void other() { }"),
        (b"  last();", b"  last(); }\nvoid other() {"),
        (b"g<<<1, 1>>>(p);", b""),
    ],
)
def test_an_edit_in_a_function_reads_as_if_the_file_were_new(old: bytes, new: bytes) -> None:
    before = reparse(None, LONG)
    edited = LONG.replace(old, new, 1)
    after = reparse(before, edited)
    assert edited != LONG
    assert after.syntax == parse(edited)
    assert reparse(after, LONG).syntax == before.syntax


def test_an_edit_in_one_branch_moves_the_brace_of_another() -> None:
    text = (
        b"#if A\nint f(int a) {\n  a = 1;\n#else\nint f(long a) {\n#endif\n  return a;\n}\nint g;\n"
    )
    before = reparse(None, text)
    edited = text.replace(b"a = 1", b"a = 12")
    assert len(before.syntax.functions) == 2
    assert reparse(before, edited).syntax == parse(edited)
