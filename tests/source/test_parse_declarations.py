"""What else one file says: functions, constants, aliases, shared variables, directives."""

from __future__ import annotations

import pytest

from occlsp.source.parse import parse, reparse


def test_functions_with_parameters_defaults_and_template_heads() -> None:
    syntax = parse(b"""
        template <typename T, int N = 4, class... Ts>
        static inline T n::S<T>::run(
            const T* a, unsigned int, int b = f(1, 2), void (*g)(int)) const {
        }
        constexpr int lanes(int w) { return w * 32; }
        struct C { C(int x) : a{x}, b(2) { } bool operator<(const C& o) const { return 1; } };
    """)
    run, lanes, constructor, less = syntax.functions
    assert run.qualified_name == "n::S::run"
    assert [(one.type, one.name) for one in run.parameters] == [
        *(("const T*", "a"), ("unsigned int", None), ("int", "b"), ("void (*)(int)", "g")),
    ]
    assert run.parameters[2].default is not None
    assert run.parameters[2].default.text == "f(1, 2)"
    assert [(one.kind, one.name, one.default, one.is_pack) for one in run.template_parameters] == [
        ("typename", "T", None, False),
        ("int", "N", "4", False),
        ("typename", "Ts", None, True),
    ]
    assert (lanes.name, lanes.is_constexpr, lanes.is_template) == ("lanes", True, False)
    assert constructor.qualified_name == "C::C"
    assert syntax.text[slice(*constructor.body)] == b"{ }"
    assert less.name == "operator<"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("void f()", "f"),
        ("struct S f()", "f"),
        ("N::Inner<int> N::f(int a)", "N::f"),
        ("Table<Pair<int, T>> Table<Pair<int, T> >::find(T key)", "Table::find"),
        ("template <template <class> class B, class T> B<T> A<B>::f() const", "A::f"),
        ("template <class T> template <class U> void A<T>::f(U u)", "A::f"),
        ("A<T>::~A()", "A::~A"),
        ("A::~A() noexcept(true)", "A::~A"),
        ("T A<T>::operator () (int i)", "A::operator ()"),
        ("bool operator<(A a)", "operator<"),
        ("MACRO(4) void f(int (*g)(int))", "f"),
        ("__global__ void __launch_bounds__(256) f(int* p)", "f"),
        ("C::C(int a) : x(a), y{a}, z(a)", "C::C"),
    ],
)
def test_a_function_is_what_its_head_names(head: str, name: str) -> None:
    source = f"int before;\n{head} {{ }}\nint after;".encode()
    functions = parse(source).functions
    assert [function.qualified_name for function in functions] == [name]
    assert source[slice(*functions[0].span)].decode() == f"{head} {{ }}"


def test_a_label_is_no_part_of_the_function_behind_it() -> None:
    (function,) = parse(b"class C { public: void f(int a) { } };").functions
    assert (function.qualified_name, function.span.start) == ("C::f", 18)


def test_a_constant_behind_macros_without_semicolons() -> None:
    syntax = parse(b"""
        REGISTER_KERNEL(32, u)
        REGISTER_KERNEL(64, (a, b))

        LIBRARY_BEGIN
        const Count kThreads = 128;
        alignas(16)
        constexpr int kAligned = 4;
        struct Sized { Sized(int size)
            const; static const int kSize = 2; };
    """)
    found = [(one.name, one.type, one.value and one.value.text) for one in syntax.constants]
    assert found == [
        ("kThreads", "Count", "128"),
        ("kAligned", "int", "4"),
        ("kSize", "int", "2"),
    ]


def test_constants_at_namespace_and_class_scope() -> None:
    syntax = parse(b"""
        constexpr int kA = 4, kB = kA << 1;
        static const dim3 kBlock(32, 8);
        int variable = 3;
        const int table[] = {1, 2};
        namespace n { template <int M> struct Traits { static constexpr unsigned kN = M * 2; }; }
        enum Plain : short { A, B = 5, C };
        enum class Scoped { D };
        void f(const int x = 1);
        void g() { const int local = 1; }
    """)
    assert [
        ("::".join((*c.scope, c.name)), c.type, c.value and c.value.text, c.previous)
        for c in syntax.constants
    ] == [
        ("kA", "int", "4", None),
        ("kB", "int", "kA << 1", None),
        ("kBlock", "dim3", "32, 8", None),
        ("n::Traits::kN", "unsigned", "M * 2", None),
        ("A", "short", None, None),
        ("B", "short", "5", 4),
        ("C", "short", None, 5),
        ("Scoped::D", "int", None, None),
    ]
    assert [one.name for one in syntax.constants[3].template_parameters] == ["M"]


def test_shared_variables() -> None:
    syntax = parse(b"""
        __global__ void k(float* p) {
          __shared__ __align__(16) float tile[4][N + 1], *q;
          extern __shared__ alignas(8) char dynamic[];
          __shared__ typename Reduce<T, 4>::Storage storage;
          [[maybe_unused]] __shared__ union { int a; float b; } both;
          [[maybe_unused]] __shared__ int odd[(A && (N - 1 > 0)) ? N : 1];
        }
    """)
    assert [(s.name, s.type, [e.text for e in s.extents], s.is_extern) for s in syntax.shared] == [
        ("tile", "float", ["4", "N + 1"], False),
        ("q", "float", [], False),
        ("dynamic", "char", [""], True),
        ("storage", "typename Reduce<T, 4>::Storage", [], False),
        ("both", "union { int a; float b; }", [], False),
        ("odd", "int", ["(A && (N - 1 > 0)) ? N : 1"], False),
    ]
    assert [s.alignment and s.alignment.text for s in syntax.shared[:3]] == ["16", "16", "8"]
    assert {s.function for s in syntax.shared} == {0}


def test_aliases() -> None:
    syntax = parse(b"""
        using namespace std; using std::min;
        namespace n { template <class T> using Vec = V<T, 4>; typedef unsigned int uint; }
        void f() { using K = Kernel<float>; }
    """)
    assert [(a.scope, a.name, a.target, a.function) for a in syntax.aliases] == [
        (("n",), "Vec", "V<T, 4>", None),
        (("n",), "uint", "unsigned int", None),
        ((), "K", "Kernel<float>", 0),
    ]
    assert [parameter.name for parameter in syntax.aliases[0].template_parameters] == ["T"]


def test_a_namespace_that_one_branch_opens_is_none_of_the_others() -> None:
    plain = b"#if A\n\n#else\nusing B = int;\n#endif\nusing C = int;\n"
    text = plain.replace(b"A\n", b"A\n} namespace n {")
    assert [(a.name, a.scope) for a in parse(text).aliases] == [("B", ()), ("C", ("n",))]
    assert reparse(reparse(None, plain), text).syntax == parse(text)


def test_directives_and_their_conditions() -> None:
    syntax = parse(b"""#ifndef GUARD_H
#define GUARD_H
#include "a/b.cuh"  // ours
#include <cuda.h>
#define N 4 /* four
  lines */ + 1
#define MAX(a, ...) \\
  f(a, \\
    b)
#if defined(A) && \\
    B > 2
#  define X 1
#elif C
#  undef X
#else
#  define X 3
#endif
#endif
""")
    assert [(i.target, i.is_system, i.conditions) for i in syntax.includes] == [
        ("a/b.cuh", False, ()),
        ("cuda.h", True, ()),
    ]
    assert [
        (d.name, d.parameters, " ".join(d.body.text.split()), d.undefined) for d in syntax.defines
    ] == [
        ("GUARD_H", None, "", False),
        ("N", None, "4 + 1", False),
        ("MAX", ("a", "..."), "f(a, b)", False),
        ("X", None, "1", False),
        ("X", None, "", True),
        ("X", None, "3", False),
    ]
    assert [[c.text for c in d.conditions] for d in syntax.defines[3:]] == [
        ["defined(A) && B > 2"],
        ["!(defined(A) && B > 2) && (C)"],
        ["!(defined(A) && B > 2) && !(C)"],
    ]


def test_blanked_texts_keep_every_offset() -> None:
    text = 'int a; /* é\n */ "s\\"t" \'"\' R"x(")x" 1\'000 // c \\\n more\nint b;'.encode()
    syntax = parse(text)
    assert len(syntax.masked) == len(text)
    assert syntax.masked.split() == [b"int", b"a;", b"1'000", b"int", b"b;"]
    code = parse(b"#define A 1\nint a;\n#if 0\nint dead;\n#endif\n")
    assert code.code.split() == [b"int", b"a;"]
    assert b"dead" not in code.masked
    assert b"#define A 1" in code.masked


def test_what_keeps_a_file_from_being_read_is_said() -> None:
    assert [(e.message, e.line) for e in parse(b"int a;\n/* open").errors] == [
        ("a comment is not closed", 2)
    ]
    assert [(e.message, e.line) for e in parse(b"int a;\nvoid f() {\n if (1) {\n}\n").errors] == [
        ("the brace of a function is not closed", 2)
    ]
    assert "are more than the" in parse(b" " * 9_000_000).errors[0].message
