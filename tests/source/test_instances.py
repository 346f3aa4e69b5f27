"""Templates of which several instances are in view."""

from __future__ import annotations

from occlsp.source.facts import Launch
from occlsp.source.workspace import Workspace

SHAPE = """
template <int W, class T = int> struct Shape {
    static constexpr int kWarps = W;
    static constexpr int kThreads = kWarps * 32;
    static dim3 block() { return dim3(32, kWarps); }
};
template <class T> __global__ void k(T*) {}
"""
RUN = "template <class Tr> void run(Tr* p) { k<Tr><<<1, Tr::kThreads, Tr::kWarps * 4>>>(p); }\n"


def launch(source: str, **files: str) -> Launch:
    """The first launch of `main.cu`; others are named by keyword (`run_cuh="…"` is run.cuh)."""
    made = Workspace("/", reader=None)
    for name, text in files.items():
        made.update("/" + name.replace("_", "."), text.encode())
    made.update("/main.cu", (SHAPE + source).encode())
    return made.facts("/main.cu").launches[0]


def threads(source: str, **files: str) -> list[int] | None:
    values = launch(source, **files).block.values
    return None if values is None else [x * y for x, y, _ in values]


def test_a_type_that_callers_give() -> None:
    assert threads(RUN + "void a() { run<Shape<2>>(0); }\n") == [64]


def test_several_types_are_several_values() -> None:
    found = launch(RUN + "void a() { run<Shape<2>>(0); run<Shape<4, char>>(0); }\n")
    assert found.block.values == ((64, 1, 1), (128, 1, 1))
    assert found.dynamic_smem.values == (8, 16)
    assert found.template_args_known is None


def test_types_are_handed_on() -> None:
    outer = "template <class Tr, bool B> void outer() { run<Tr>(0); }\n"
    assert threads(RUN + outer + "void a() { outer<Shape<1>, true>(); run<Shape<3>>(0); }\n") == [
        32,
        96,
    ]


def test_names_of_the_caller_are_put_in() -> None:
    caller = "template <int D> void small() { constexpr int W = 2; run<Shape<W>>(0); }\n"
    assert threads(RUN + caller + "void a() { small<7>(); }\n") == [64]
    given = "template <int W> void small() { run<Shape<W>>(0); }\n"
    assert threads(RUN + given + "void a() { small<1>(); small<3>(); }\n") == [32, 96]
    assert threads(RUN + given) is None


def test_a_name_of_the_caller_is_no_name_of_the_file() -> None:
    caller = "using X = Shape<8>;\ntemplate <class X> void small() { run<X>(0); }\n"
    assert threads(RUN + caller) is None


def test_a_function_of_the_type() -> None:
    run = "template <class Tr> void run() { k<Tr><<<1, Tr::block()>>>(0); }\n"
    assert threads(run + "void a() { run<Shape<2>>(); run<Shape<4>>(); }\n") == [64, 128]


def test_a_function_of_an_object_of_a_class_in_the_type() -> None:
    params = """
template <int Q, int K> struct Attention {
    static constexpr int kWarps = Q * K / 1024;
    struct Params {
        int n;
        dim3 threads() const { return dim3(32, kWarps); }
        int rows() { return n; }
    };
};
"""
    run = """
void run() {
    using A = Attention<64, 64>;
    typename A::Params p;
    k<int><<<p.rows(), %s>>>(0);
}
"""
    assert threads(params + run % "p.threads()") == [128]
    assert threads(params + run % "p.threads().y") == [4]
    found = launch(params + run % "p.rows()")
    assert found.block.values is None
    assert found.block.why == "the call of rows is not evaluated"


def test_one_that_is_not_known_makes_it_unknown() -> None:
    assert threads(RUN + "template <class T> void a() { run<Shape<2>>(0); run<T>(0); }\n") is None


def test_a_file_that_has_its_own_means_its_own() -> None:
    other = SHAPE + RUN + "void b() { run<Shape<9>>(0); }\n"
    source = '#include "run.cuh"\n'
    made = Workspace("/", reader=None)
    made.update("/run.cuh", (SHAPE + RUN).encode())
    made.update("/main.cu", f"{source}void a() {{ run<Shape<2>>(0); }}\n".encode())
    made.update("/other.cu", other.encode())
    assert made.facts("/run.cuh").launches[0].block.values == ((64, 1, 1),)
    rival = "template <int N> void run(int* p) {}\nvoid b() { run<9>(0); }\n"
    made.update("/other.cu", (source + rival).encode())
    assert made.facts("/run.cuh").launches[0].block.values is None


def test_overloads_of_one_template_are_called_alike() -> None:
    calls = "void a() { run<Shape<2>>(0); run<Shape<4>>(0); }\n"
    assert threads(RUN + "template <class Tr> void run(Tr* p, int n = 0) {}\n" + calls) == [64, 128]
    assert threads(RUN + "template <int N> void run(int* p) {}\n" + calls) is None
    assert threads(RUN + "void run(int* p) {}\n" + calls) is None


def test_overloads_that_begin_with_the_same_parameter_are_called_alike() -> None:
    run = "template <class Tr, class A> void run(A n) { k<Tr><<<n, Tr::kThreads>>>(0); }\n"
    other = "template <class Tr, class A, class B> void run(A n, B m = 0) {}\n"
    calls = "void a() { run<Shape<2>>(1); run<Shape<4>>(3); run<Shape<8>>(1, 2); }\n"
    assert threads(run + other + calls) == [64, 128]
    found = launch(run + other + "void a() { run<Shape<2>>(7); }\n")
    assert found.block.values == ((64, 1, 1),)
    assert found.grid.values is None  # n of either is meant
    values = "template <int N, class Tr> void run(Tr* p) {}\n"
    assert threads(run + values + calls) is None


class TestClasses:
    SORTER = """
template <class T, int N, class Tr = Shape<1>, int D = 64> struct Sorter {
    void run(T* p) { k<<<1, %s>>>(p); }
    void again() { Sorter<T, N, Tr, D> other; }
};
"""

    def sorted_by(self, block: str, uses: str, **files: str) -> list[int] | None:
        return threads(self.SORTER % block + uses, **files)

    def test_uses_in_functions_and_outside(self) -> None:
        uses = "template class Sorter<float, 32, Shape<8>>;\n"
        uses += "template <class T> void f() { constexpr int X = 96; Sorter<T, X, Shape<2>> s; }\n"
        assert self.sorted_by("N", uses) == [32, 96]
        assert self.sorted_by("Tr::kThreads", uses) == [64, 256]
        assert self.sorted_by("D", uses) == [64]

    def test_one_that_is_not_known(self) -> None:
        uses = "template <int M> void f() { Sorter<int, M> s; Sorter<int, 32> t; }\n"
        assert self.sorted_by("N", uses) is None
        assert self.sorted_by("D", uses) == [64]
        assert self.sorted_by("N", "") is None
        assert self.sorted_by("N", "#define S Sorter<int, 7>\n" + "void f() { S s; }\n") is None

    def test_functions_that_are_defined_outside_of_the_class(self) -> None:
        declared = "template <int A, int B> struct C { void run(int* p); };\nC<32, 64> c;\n"
        outside = "template <int {}, int {}> void C<{}, {}>::run(int* p) {{ k<<<1, B>>>(p); }}\n"
        assert threads(declared + outside.format("A", "B", "A", "B")) == [64]
        assert threads(declared + outside.format("B", "A", "B", "A")) is None

    def test_specialisations(self) -> None:
        part = "template <class Tr, class T> struct Sorter<T, {}, Tr, D> {{}};\n"
        uses = "Sorter<int, 32> s;\n"
        assert self.sorted_by("N", part.replace(", D>", ", 5>").format(3) + uses) == [32]
        swapped = "template <class T, class Tr> struct Sorter<Tr, 3, T, 5> {};\n"
        assert self.sorted_by("N", swapped + uses) is None

    def test_one_that_has_specialisations_only(self) -> None:
        parts = """
template <int N, class Tr> struct Part;
template <class Tr> struct Part<2, Tr> { static void go() { run<Tr>(0); } };
template <class Tr> struct Part<3, Tr> { static void go() { run<Tr>(0); } };
"""
        uses = "template <class T> void all() { Part<size(), T>::go(); }\n"
        uses += "void a() { all<Shape<2>>(); all<Shape<4>>(); }\n"
        assert threads(RUN + parts + uses) == [64, 128]
        assert (
            threads(RUN + parts + uses + "template <class T> struct B : Part<2, T> {};\n") is None
        )

    def test_conditions_as_arguments_and_instances_that_it_makes_of_itself(self) -> None:
        parts = """
template <bool B, class Tr> struct Part;
template <class Tr> struct Part<false, Tr> { static void go() { run<Tr>(0); } };
template <class Tr> struct Part<true, Tr> { static void go() { Part<false, Tr>::go(); } };
"""
        go = "template <class T, class Tr> void all() { Part<{}, Tr>::go(); }\n"
        uses = "void a() { all<int, Shape<2>>(); all<char, Shape<4>>(); }\n"
        uses = go.replace("{}", "Of<T>::n == 1 && Tr::kWarps != 1") + uses
        assert threads(RUN + parts + uses) == [64, 128]
        swapped = "template <> struct Part<false, int> { void go() { Part<true, Shape<8>> p; } };\n"
        assert threads(RUN + parts + uses + swapped) == [64, 128, 256]
        other = "void b(int n) { Part<true, decltype(n)>::go(); }\n"
        assert threads(RUN + parts + uses + other) is None

    def test_a_specialisation_whose_parameter_is_in_an_argument(self) -> None:
        parts = """
template <class Tr, int N> struct Part { static void go() { run<Tr>(0); } };
template <class T> struct Wrap : Shape<9> {};
"""
        uses = "void a() { Part<Shape<2>, 1>::go(); Part<Wrap<Shape<4>>, 1>::go(); }\n"
        assert threads(RUN + parts + uses) == [64, 288]
        inner = (
            "template <class Tr, int N> struct Part<Wrap<Tr>, N> { void go() { run<Tr>(0); } };\n"
        )
        assert threads(RUN + parts + inner + uses) is None

    def test_who_calls_its_functions(self) -> None:
        bed = "template <class T> struct Bed { void run(dim3 b) { k<<<1, b>>>((T*)0); } };\n"
        calls = "void a() { dim3 b(32, 2); Bed<int>().run(b); Bed<float> f; f.run(dim3(96)); }\n"
        assert threads(bed + calls) == [64, 96]
        derived = bed.replace("template <class T> struct Bed", "struct Bed : Base")
        assert threads(derived + calls) is None
        many = {
            f"other{i}_cu": "struct S { void run(int); };\nvoid f(S s) { s.run(1); }"
            for i in range(20)
        }
        made = Workspace("/", reader=None)
        made.update("/bed.cuh", (SHAPE + bed).encode())
        for name, text in many.items():
            made.update("/" + name.replace("_", "."), text.encode())
        made.update("/main.cu", b'#include "bed.cuh"\n' + calls.encode())
        assert made.facts("/bed.cuh").launches[0].block.values == ((32, 2, 1), (96, 1, 1))

    RUNNER = "template <class Tr> struct Runner { void run() { k<<<1, Tr::kThreads>>>(p); } };\n"

    def test_several_numbers_among_the_arguments_of_a_type(self) -> None:
        bed = "template <int W, int V> struct Bed { void go() { Runner<Shape<W>> r; } };\n"
        uses = "void a() { Bed<2, 3> x; Bed<4, 3> y; Bed<4, 5> z; }\n"
        assert threads(self.RUNNER + bed + uses) == [64, 128]
        many = "void a() {" + "".join(f"Bed<{w}, 3> b{w};" for w in range(1, 20)) + "}\n"
        assert threads(self.RUNNER + bed + many) is None

    def test_what_a_class_calls_a_type(self) -> None:
        bed = (
            "template <int W> struct Bed { using Own = Shape<W>; void go() { Runner<Own> r; } };\n"
        )
        assert threads(self.RUNNER + bed + "void a() { Bed<2> x; Bed<4> y; }\n") == [64, 128]
        assert threads(self.RUNNER + bed) is None

    def test_an_object_that_is_handed_over(self) -> None:
        uses = "template <int W> void check({}) {{}}\nvoid a() {{ Runner<Shape<2>> r; }}\n"
        for given in ("const Runner<Shape<W>>& r", "int n, Runner<Shape<W>> const* r"):
            assert threads(self.RUNNER + uses.format(given)) == [64]
        assert threads(self.RUNNER + uses.format("Runner<Shape<W>> r")) is None


class TestMacros:
    """Names of macros for macros, as switches over constants have them."""

    SWITCH = """
#define BOOL_SWITCH(C, NAME, ...) [&] { \\
  if (C) { constexpr bool NAME = true; return __VA_ARGS__(); } \\
  else { constexpr bool NAME = false; return __VA_ARGS__(); } }()
#define EVEN_SWITCH BOOL_SWITCH
"""

    def test_a_macro_that_names_another(self) -> None:
        body = "EVEN_SWITCH(n > 1, E, [&] { k<int><<<1, E ? 64 : 32>>>(p); });"
        assert threads(f"{self.SWITCH}void f(int* p, int n) {{ {body} }}\n") == [64]

    def test_two_that_name_each_other(self) -> None:
        loop = "#define A B\n#define B A\nvoid f(int* p) { A(p, [&] { k<int><<<1, 32>>>(p); }); }\n"
        assert threads(loop) == [32]

    def test_what_is_too_long_to_be_expanded_has_its_function_s_types(self) -> None:
        inner = "[&] { k<Tr><<<1, Tr::kThreads>>>(p); }"
        for index in range(12):
            inner = f"[&] {{ EVEN_SWITCH(n > {index}, E{index}, {inner}); }}"
        run = f"template <class Tr> void run(Tr* p, int n) {{ EVEN_SWITCH(n, E, {inner}); }}\n"
        assert threads(self.SWITCH + run + "void a() { run<Shape<2>>(0, 1); }\n") == [64]
