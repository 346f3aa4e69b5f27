"""The shape of preprocessed C++, told by brackets alone."""

from __future__ import annotations

import random

import pytest

from occlsp.reports.outline import Outline, mask


def at(text: str) -> list[tuple[str, str]]:
    """Kind and text of the items around the `$` in `text`, outermost first."""
    offset = text.index("$")
    source = text.replace("$", "").encode()
    chain = Outline(source).chain(offset)
    return [(item.kind, source[item.start : item.end].decode()) for item in chain]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("namespace { struct A { void f() { $g(); } }; }", "scope class function statement"),
        ('extern "C" { void f() { $g(); } }', "scope function statement"),
        ("template <class T, int N = (3 > 2)> void f(T t) { $t(); }", "function statement"),
        ("A::A() : x(1), y{2} { $g(); }", "function statement"),
        ("bool operator==(A a, B b) { $g(); }", "function statement"),
        ("int v[] = {1, $2};", "declaration"),
        ("auto f = [] { $return 1; };", "declaration"),
        ("struct A : B<(N > 3)> { int $x; };", "class declaration"),
        ("void f() { int v{$1}; }", "function statement"),
    ],
)
def test_what_a_place_is_in(text: str, kinds: str) -> None:
    assert [kind for kind, _ in at(text)] == kinds.split()


@pytest.mark.parametrize(
    ("text", "innermost"),
    [
        ("void f() { a(); $b(1, 2); c(); }", "b(1, 2);"),
        ("void f() { if (x) $y(); else z(); }", "y();"),
        ("void f() { if (x) { y(); } else { $z(); } }", "z();"),
        ("void f() { switch (x) { case A::B: $y(); break; } }", "y();"),
        ("void f() { do { $y(); } while (x); }", "y();"),
        ("void f() { DISPATCH(t, [&]() -> int { $k<T>(); return 1; }); }", "k<T>();"),
        ("void f() { s = \"}\"; $g('{'); }", "g('{');"),
        (
            "void f() { for (int i = 0; $i < n; ++i) { g(); } }",
            "for (int i = 0; i < n; ++i) { g(); }",
        ),
    ],
)
def test_the_innermost_statement(text: str, innermost: str) -> None:
    assert at(text)[-1][1] == innermost


def test_line_markers_and_strings_are_no_code() -> None:
    text = b'# 1 "a{.cu" 3\nconst char *s = R"x(}")x";\n'
    assert mask(text).count(b"{") == mask(text).count(b"}") == 0
    assert len(mask(text)) == len(text)


def test_broken_text_never_raises() -> None:
    chance = random.Random(7)
    alphabet = "{}()[];<>:#\"'\n abctemplate class if else "
    for _ in range(400):
        text = "".join(chance.choice(alphabet) for _ in range(60)).encode()
        outline = Outline(text)
        for offset in range(0, len(text), 7):
            for item in outline.chain(offset):
                assert item.start <= offset < item.end


def test_deep_nesting_is_bounded() -> None:
    text = b"void f() " + b"{" * 5000 + b"x();" + b"}" * 5000
    assert len(Outline(text).chain(text.index(b"x"))) <= 200
