"""Members of classes that other classes make: bases, and types named in terms of arguments."""

from __future__ import annotations

import pytest

from occlsp.source.workspace import Workspace

CLASSES = """
__global__ void k(int* p) {}
template <int N> struct Sizes {
    static constexpr int kN = N;
    enum { E = 2 * N };
};
template <int N> struct Tile {
    using Shape = Sizes<N>;
    static constexpr int kOfShape = Shape::kN;
};
template <int N> struct Wide : Sizes<N * 2> {};
template <int N> struct Wider : public Wide<N * 2> {};
struct Fixed : Wide<64> {};
template <int N, class Base = Sizes<N * 4>> struct Chosen : public Base {};
template <class T> struct Traits : Sizes<32> {};
template <> struct Traits<double> : Sizes<64> {};
"""


def block(source: str) -> tuple[int, ...] | None:
    """The x of the blocks of the first launch."""
    workspace = Workspace("/", reader=None)
    workspace.update("/a.cu", (CLASSES + source).encode())
    values = workspace.facts("/a.cu").launches[0].block.values
    return None if values is None else tuple(x for x, _, _ in values)


@pytest.mark.parametrize(
    ("size", "is_"),
    [
        ("Wide<32>::kN", 64),
        ("Wide<32>::E", 128),
        ("Wider<32>::kN", 128),
        ("Fixed::kN", 128),
        ("Chosen<32>::kN", 128),
        ("Chosen<32, Sizes<7>>::kN", 7),
        ("Tile<64>::Shape::kN", 64),
        ("Tile<64>::kOfShape", 64),
    ],
)
def test_each_class_gives_its_base_what_it_says(size: str, is_: int) -> None:
    assert block(f"void f() {{ k<<<1, {size}>>>(0); }}") == (is_,)
    around = "template <int N> void f() { k<<<1, SIZE>>>(0); }\nvoid g() { f<16>(); }"
    assert block(around.replace("SIZE", size)) == (is_,)


OTHERS = """
template <int N, int M> struct Pair { static constexpr int kM = M; };
template <class T, int N> struct Of { static constexpr int kN = T::kN; using Type = T; };
template <int N> constexpr int twice() { return 2 * N; }
"""


@pytest.mark.parametrize(
    ("size", "is_"),
    [
        ("Pair<7, N>::kM", 32),
        ("Of<Sizes<N>, 7>::kN", 32),
        ("Of<Sizes<N>, 7>::Type::kN", 32),
        ("Of<Sizes<twice<N>()>, 7>::kN", 64),
        ("Of<Sizes<kLocal>, 7>::kN", 96),
    ],
)
def test_what_an_argument_names_is_what_it_is_where_it_is_written(size: str, is_: int) -> None:
    body = f"constexpr int kLocal = 3 * N; k<<<1, {size}>>>(0);"
    source = f"template <int N> void f() {{ {body} }}\nvoid g() {{ f<32>(); }}"
    assert block(OTHERS + source) == (is_,)


def test_a_base_that_depends_on_the_specialisation_is_not_known() -> None:
    assert block("void f() { k<<<1, Traits<float>::kN>>>(0); }") is None


def test_a_specialisation_has_its_arguments_where_it_names_them() -> None:
    specialised = """
        template <class A, int M, int N> struct S;
        template <class A, int N> struct S<A, 3, N> { static const int kN = N, kSame = 96; };
    """
    assert block(specialised + "void f() { k<<<1, S<float, 3, 64>::kN>>>(0); }") == (64,)
    unlike = (
        specialised + "template <class A, int N> struct S<A, N, 4> { static const int kM = N; };"
    )
    assert block(unlike + "void f() { k<<<1, S<float, 3, 4>::kM>>>(0); }") is None
    assert block(specialised + "void f() { k<<<1, S<float, 3, 64>::kSame>>>(0); }") == (96,)


def test_inside_of_a_class_its_own_arguments_count() -> None:
    launch = "template <int N> struct S : Sizes<N * 2> { void f() { k<<<1, kN>>>(0); } };\n"
    assert block(launch + "void g() { S<32> s; s.f(); }") == (64,)


def test_a_type_that_is_local_to_another_function_is_another_one() -> None:
    launch = "template <class A> void f() { k<<<1, A::kN>>>(0); }\n"
    callers = """
        void g() { using A = Sizes<32>; f<A>(); }
        void h() { using B = Sizes<64>; f<B>(); }
    """
    assert block(launch + callers) == (32, 64)
    of_class = "template <class A> struct C { void f() { k<<<1, A::kN>>>(0); } };\n"
    users = """
        void g() { using A = Sizes<32>; C<A> c; c.f(); }
        void h() { using B = Sizes<64>; C<B> c; c.f(); }
    """
    assert block(of_class + users) == (32, 64)


CONFIGURED = """
template <class T, int K> struct Config {
    static constexpr int kN = sizeof(T) * (K > 64 ? 128 : 64);
    using Inner = Sizes<kN>;
    using Renamed = Inner;
    using Twice = Sizes<kN * 2>;
    template <int N> using Times = Sizes<kN * N>;
    using OfType = Pair<7, Inner::kN>;
};
struct Plain { enum { kN = 96 }; using Inner = Sizes<kN>; };
"""


@pytest.mark.parametrize(
    ("size", "is_"),
    [
        ("Config<char, 128>::Inner::kN", 128),
        ("Config<char, 32>::Renamed::kN", 64),
        ("Config<short, 32>::Twice::kN", 256),
        ("Config<short, 32>::Times<3>::kN", 384),
        ("Config<char, 32>::OfType::kM", 64),
        ("Plain::Inner::kN", 96),
    ],
)
def test_a_type_is_named_by_what_its_own_class_declares(size: str, is_: int) -> None:
    assert block(f"{OTHERS}{CONFIGURED}void f() {{ k<<<1, {size}>>>(0); }}") == (is_,)
    # What is named alike where it is used is another thing.
    body = f"constexpr int kN = 5, N = 6; using S = Sizes<kN>; k<<<1, {size}>>>(0);"
    assert block(f"{OTHERS}{CONFIGURED}void f() {{ {body} }}") == (is_,)


def test_a_type_that_another_class_makes_of_several_arguments() -> None:
    run = "template <class T> void run() { using S = typename Config<T, 128>::Inner; LAUNCH }\n"
    source = (
        run.replace("LAUNCH", "k<<<1, S::kN>>>(0);") + "void f() { run<char>(); run<short>(); }"
    )
    assert block(OTHERS + CONFIGURED + source) == (128, 256)
