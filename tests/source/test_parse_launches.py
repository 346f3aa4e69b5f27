"""Launches in every form: callee, template arguments, configuration, arguments."""

from __future__ import annotations

import pytest

from occlsp.source.parse import parse
from occlsp.source.syntax import RawLaunch
from tests.source.annotated import check


def launches_of(body: str) -> list[RawLaunch]:
    return list(parse(f"void f() {{ {body} }}".encode()).launches)


def test_chevrons() -> None:
    check("""
        void f() {
          k<<<1, 2>>>(p);
        // ^^^ launch k [1 | 2]
          a::b::k<<<grid(n), dim3(32, 4), sizeof(T) * 4, s>>>(p, n);
        //       ^^^ launch a::b::k [grid(n) | dim3(32, 4) | sizeof(T) * 4 | s]
          ::a::k <<< {2, 2}, {16, 16, 1} >>> (p);
        //       ^^^ launch a::k [{2, 2} | {16, 16, 1}]
          k<<<n >> 3, 1 << 7>>>(p); k<<<n > 4 ? 2 : 1, (a >> 1 > 3) ? 64 : 32>>>(p);
        // ^^^ launch k [n >> 3 | 1 << 7]
        //                           ^^^ launch k [n > 4 ? 2 : 1 | (a >> 1 > 3) ? 64 : 32]
          if (n) (*fp)<<<1, 33>>>(p); else fns[i]<<<1, 34>>>(p);
        //            ^^^ launch fp [1 | 33]
        //                                       ^^^ launch fns[i] [1 | 34]
          return k<<<1, 2>>>(p);
        //        ^^^ launch k [1 | 2]
        }
    """)


def test_template_ids_with_anything_between_the_angles() -> None:
    check("""
        void f() {
          k<a, (b>c)><<<1, 2>>>(p);
        //           ^^^ launch k<a, (b>c)> [1 | 2]
          k<T<U>::N, 1 << 4><<<cd<2, 4>(n), X<N>::v, sizeof(P<A, B>)>>>();
        //                  ^^^ launch k<T<U>::N, 1 << 4> [cd<2, 4>(n) | X<N>::v | sizeof(P<A, B>)]
          k<p->n, decltype(a > b)><<<1, 2>>>(p);
        //                        ^^^ launch k<p->n, decltype(a > b)> [1 | 2]
          n::S<T, int>::k<float><<<b < c, d>>>(p);
        //                      ^^^ launch n::S<T, int>::k<float> [b < c | d]
          o.template k<V<U<V<int>>>><<<1, X<N>>>>(p);
        //                          ^^^ launch o.template k<V<U<V<int>>>> [1 | X<N>]
        }
    """)


def test_branches_inside_of_a_launch_are_alternatives() -> None:
    check("""
        void f() {
          k<<<1,
        // ^^^ launch k [1 | 64 | s] if defined(A)
        // ^^^ launch k [1 | 32] if !(defined(A))
        #ifdef A
              64, s
        #else
              32
        #endif
              >>>(p);
        }
    """)


def test_launches_in_macros() -> None:
    check(r"""
        #define RUN(k, g, b, ...) k<<<g, b>>>(__VA_ARGS__)
        //                         ^^^ launch k [g | b] in RUN
        #define CASE(T) name##_kernel<T><<<1, 2>>>(p)
        //                              ^^^ launch name##_kernel<T> [1 | 2] in CASE
        void f() { RUN(one, 5, 192, p); }
    """)
    launch = parse(b"#define L(n) \\\n  k<n> \\\n  <<<1, /* two */ \\\n  2>>>(p)\n").launches[0]
    assert (launch.callee.text, [part.text for part in launch.config]) == ("k<n>", ["1", "2"])
    assert launch.in_macro == "L"


def test_what_is_no_launch() -> None:
    check("""
        // k<<<1, 2>>>(p);
        const char* s = "k<<<1, 2>>>(p)";
        V<U<V<int>>> nested; int x = a << b >> 1;
        <<<<<<< HEAD
        #if 0
        void off() { k<<<1, 2>>>(p); }
        #endif
        void f() { std::cout << 1; take(V<U<V<int>>>{}); half<<<1, 2; }
        >>>>>>> other
    """)


@pytest.mark.parametrize(
    ("call", "callee", "template_args", "config"),
    [
        ("cudaLaunchKernel((const void*)k<4, 5>, g, b, a, 48, s)", "k", ["4", "5"], "g b 48 s"),
        ("cudaLaunchKernel(&n::k, g, b, a)", "n::k", [], "g b"),
        ("cudaLaunchKernel(reinterpret_cast<void*>(&k<T>), g, b, a, 0, s)", "k", ["T"], "g b 0 s"),
        ("CHECK(cudaLaunchCooperativeKernel((void*)k, g, b, a, n, s))", "k", [], "g b n s"),
        ("cudaLaunchKernelEx(&config, k<int>, p, n)", "k", ["int"], ""),
        ("cudaLaunchKernelExC(&config, (void*)k, a)", "k", [], ""),
        ("cuLaunchKernelEx(&config, f, a, nullptr)", "f", [], ""),
        ("hipLaunchKernelGGL(HIP_KERNEL_NAME(k<T>), g, b, 0, s, p)", "k", ["T"], "g b 0 s"),
        (
            "hipLaunchKernelGGL((k<T, 4>), {g}, dim3(b), 0, 0, p)",
            "k",
            ["T", "4"],
            "{g} dim3(b) 0 0",
        ),
        (
            "cuLaunchKernel(f, 1, 2, 3, x * 2, 5, 6, 7, s, a, nullptr)",
            *("f", [], "dim3(1, 2, 3) dim3(x * 2, 5, 6) 7 s"),
        ),
    ],
)
def test_launching_functions(call: str, callee: str, template_args: list[str], config: str) -> None:
    launch, *others = launches_of(f"{call};")
    assert not others
    assert launch.callee_name == callee
    assert [part.text for part in launch.template_args] == template_args
    assert " ".join(part.text for part in launch.config) == config


@pytest.mark.parametrize(
    "declaration",
    [
        "cudaError_t cudaLaunchKernel(const void* f, dim3 g, dim3 b, void** a);",
        "extern CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned x);",
        "CUresult Driver::cuLaunchKernel(CUfunction f, unsigned x) const { return f_(f, x); }",
        "CUresult a::Driver :: cuLaunchKernel(CUfunction f, unsigned x);",
        "auto p = &cudaLaunchKernel;",
        "#define cudaLaunchKernel hipLaunchKernel\n",
    ],
)
def test_declarations_of_launching_functions_launch_nothing(declaration: str) -> None:
    assert parse(declaration.encode()).launches == ()


@pytest.mark.parametrize("before", ["", "return ", "return ::", "r = ::a::", "a::Driver::", "::"])
def test_a_qualified_call_of_a_launching_function_launches(before: str) -> None:
    (launch,) = launches_of(f"{before}cudaLaunchKernel(k, 1, 64, args);")
    assert launch.callee_name == "k"


def test_a_launch_knows_its_function_and_its_statement() -> None:
    text = b"""
        void first() { }
        void second() {
          for (int i = 0; i < n; i++) k<<<1, 2>>>(f(a, b), "x,y");
          if (n) g(); else k<<<1, 2>>>(p);
          check(k<<<1, 2>>>(p), n);
        }
    """
    syntax = parse(text)
    assert {syntax.functions[launch.function or 0].name for launch in syntax.launches} == {"second"}
    statements = [text[slice(*launch.statement)].decode() for launch in syntax.launches]
    assert statements == [
        'for (int i = 0; i < n; i++) k<<<1, 2>>>(f(a, b), "x,y");',
        "k<<<1, 2>>>(p);",
        "check(k<<<1, 2>>>(p), n);",
    ]
    assert [part.text for part in syntax.launches[0].arguments] == ["f(a, b)", '"x,y"']


def test_calls_that_the_analysis_needs() -> None:
    syntax = parse(b"""
        void f() {
          CHECK(cudaFuncSetAttribute(k<3>, cudaFuncAttributeMaxDynamicSharedMemorySize, n << 10));
          cudaOccupancyMaxPotentialBlockSize<K>(&g, &b, k, 0, 0);
        }
        #define OPT_IN(k, n) cudaFuncSetCacheConfig(k, cudaFuncCachePreferShared)
    """)
    assert [(call.name, call.in_macro) for call in syntax.calls] == [
        ("cudaFuncSetAttribute", None),
        ("cudaOccupancyMaxPotentialBlockSize", None),
        ("cudaFuncSetCacheConfig", "OPT_IN"),
    ]
    assert [argument.text for argument in syntax.calls[0].arguments] == [
        *("k<3>", "cudaFuncAttributeMaxDynamicSharedMemorySize", "n << 10"),
    ]
