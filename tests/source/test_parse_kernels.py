"""Kernels where simple parsers lose them, or their names."""

from __future__ import annotations

from occlsp.source.parse import alias_names, parse
from tests.source.annotated import check


def test_plain_kernels_in_any_order_of_words() -> None:
    check("""
        __global__ void a(int* p) {}
        //              ^ kernel a
        static __global__ void b(int* p) {}
        //                     ^ kernel b
        extern "C" __global__ void c(int* p) {}
        //                         ^ kernel c
        void __global__ d(int* p) {}
        //              ^ kernel d
        [[maybe_unused]] inline __global__ void e() {}
        //                                      ^ kernel e
        __global__ auto f(int n) -> void {}
        //              ^ kernel f
    """)


def test_scopes_templates_declarations_and_instantiations() -> None:
    check("""
        namespace a { namespace {
        template <typename T, int N = (3 > 2)> __global__ void k(T* p);
        //                                                     ^ kernel a::{}::k declared
        }
        template <class T, class = std::enable_if_t<(sizeof(T) > 4), int>>
        __global__ void k(T* p) {}
        //              ^ kernel a::k
        template <> __global__ void k<float>(float* p) {}
        //                          ^ kernel a::k<float>
        template __global__ void k<double>(double* p);
        //                       ^ kernel a::k<double> declared
        }
        namespace c::d { struct S { static __global__ void m(int) {} }; }
        //                                                 ^ kernel c::d::S::m
        template <class T> __global__ void S<T>::n() {}
        //                                       ^ kernel S::n
    """)


def test_launch_bounds_at_every_place() -> None:
    check("""
        __global__ void __launch_bounds__(96) a() {}
        //                                    ^ kernel a launch_bounds(96)
        __global__ __launch_bounds__(128, 4) void b() {}
        //                                        ^ kernel b launch_bounds(128, 4)
        __launch_bounds__(N * 2) __global__ void c() {}
        //                                       ^ kernel c launch_bounds(N * 2)
        __global__ void d(int* p) __launch_bounds__(32, 16, 2) {}
        //              ^ kernel d launch_bounds(32, 16, 2)
        __attribute__((global)) void __attribute__((launch_bounds(80))) e() {}
        //                                                              ^ kernel e launch_bounds(80)
        __global__ __attribute__((noinline)) void f() {}
        //                                        ^ kernel f
        __global__ void __launch_bounds__(1'024 /* most */) g() {}
        //                                                  ^ kernel g launch_bounds(1'024)
    """)


def test_clusters_registers_and_block_sizes() -> None:
    check("""
        __global__ void __cluster_dims__(2, 1, 1) a() {}
        //                                        ^ kernel a cluster_dims(2, 1, 1)
        __cluster_dims__(4) __global__ void b() {}
        //                                  ^ kernel b cluster_dims(4)
        __global__ __maxnreg__(64) void c() {}
        //                              ^ kernel c maxnreg(64)
        __global__ void __block_size__((128, 1, 1), (2)) d() {}
        //                                               ^ kernel d block_size((128, 1, 1), (2))
        __global__ void __launch_bounds__(96) __maxnreg__(N) e() {}
        //                                                   ^ kernel e launch_bounds(96) maxnreg(N)
    """)


def test_unknown_macros_in_the_head() -> None:
    check("""
        C10_LAUNCH_BOUNDS_1(256) __global__ void a(int* p) {}
        //                                       ^ kernel a +C10_LAUNCH_BOUNDS_1(256)
        __global__ void FOO_LAUNCH_BOUNDS(N) b(int* p) {}
        //                                   ^ kernel b +FOO_LAUNCH_BOUNDS(N)
        __global__ void c(int* p) FOO_BOUNDS(256) {}
        //              ^ kernel c +FOO_BOUNDS(256)
        __global__ LAUNCH_256 void d(int* p) {}
        //                         ^ kernel d +LAUNCH_256
        INSTANTIATE(float)
        __global__ void e(int* p) {}
        //              ^ kernel e +INSTANTIATE(float)
        INSTANTIATE(double)
        template <class T> __global__ void f(T* p) {}
        //                                 ^ kernel f
        __global__ void UPPER(int* p) {}
        //              ^^^^^ kernel UPPER
    """)


def test_names_for_global() -> None:
    check(
        """
        #define CUDF_KERNEL __global__ static
        CUDF_KERNEL void a(int* p) {}
        //               ^ kernel a +CUDF_KERNEL
        CUDF_KERNEL void __launch_bounds__(32) b(int* p) {}
        //                                     ^ kernel b launch_bounds(32) +CUDF_KERNEL
        #define KERNEL(n) extern "C" __global__ void __launch_bounds__(n)
        KERNEL(64) c(int* p) {}
        //         ^ kernel c +KERNEL(64)
        #define GLOBAL_FN(name) __global__ void name
        GLOBAL_FN(d)(int* p) {}
        //        ^ kernel d +GLOBAL_FN(d)
        #define MINE CUDF_KERNEL
        MINE void e() {}
        //        ^ kernel e +MINE
        FROM_A_HEADER void f() {}
        //                 ^ kernel f +FROM_A_HEADER
        NOT_AN_ALIAS void g() {}
        int x = FROM_A_HEADER;
        """,
        aliases=frozenset({"FROM_A_HEADER"}),
    )


def test_names_for_global_are_told_to_other_files() -> None:
    header = b"""
        #define K __global__
        #define BOUNDED(n) K void __launch_bounds__(n)
        #define DEFINES(name) __global__ void name(int* p) { }
        #define __global__ __attribute__((global))
        #define OTHER __device__
    """
    assert alias_names(parse(header)) == {"K", "BOUNDED"}


def test_kernels_that_macros_make() -> None:
    check("""
        #define DEFINE(name, T) __global__ void name##_kernel(T* p) { *p = 1; }
        //                                      ^^^^^^^^^^^^^ kernel name##_kernel in DEFINE
        namespace n { DEFINE(add, int) }
        //            ^^^^^^ kernel n::add_kernel from DEFINE
        __global__ void NAME(k, _v)(int* p) {}
        //              ^^^^^^^^^^^ kernel NAME(k, _v) from NAME
    """)


def test_every_branch_of_a_head_is_read() -> None:
    check("""
        #ifdef USE_ROCM
        __global__ void a(int n) {
        //              ^ kernel a if defined(USE_ROCM)
        #else
        __global__ void b(long n) {
        //              ^ kernel b if !(defined(USE_ROCM))
        #endif
          if (n) { }
        }
        __global__ void
        #if A
          __launch_bounds__(128)
        #else
          __launch_bounds__(256)
        #endif
          c(int* p) {}
        //^ kernel c launch_bounds(128) if A
        //^ kernel c launch_bounds(256) if !(A)
        __global__ void d(int* p) {}
        //              ^ kernel d
    """)


def test_braces_in_branches_do_not_shift_what_follows() -> None:
    syntax = check("""
        namespace n {
        void host(int n) {
        #ifdef A
          if (n > 1) {
        #else
          if (n > 2) {
        #endif
            n++;
          }
        }
        #if defined(B)
        __global__ void a() { }
        //              ^ kernel n::a if defined(B)
        #elif C
        __global__ void b() { }
        //              ^ kernel n::b if !(defined(B)) && (C)
        #endif
        }
        __global__ void c() { }
        //              ^ kernel c
    """)
    assert [f.qualified_name for f in syntax.functions] == ["n::host", "n::a", "n::b", "c"]


def test_half_typed_code_hides_nothing_that_follows() -> None:
    check("""
        void broken(int n) {
          if (n) {
        __global__ void a(int* p) { }
        //              ^ kernel a
        __global__ void open(int a,
        //              ^^^^ kernel open declared

        __global__ void b(int* p) { }
        //              ^ kernel b
    """)


def test_what_is_no_kernel() -> None:
    check("""
        // __global__ void a() {}
        /* __global__ void b() {} */
        const char* s = "__global__ void c() {}";
        const char* r = R"x(__global__ void d() {} ")x";
        #if 0
        __global__ void e() {}
        #elif 1
        __global__ void f() {}
        //              ^ kernel f
        #else
        __global__ void g() {}
        #endif
        int my__global__ = 1'000; char quote = '"'; // '
        typedef void (*pointer)(int);
        __global__ void h() {}
        //              ^ kernel h
    """)
