"""Names of entries in parts, and types in one spelling."""

from __future__ import annotations

import pytest

from occlsp.reports.names import ParsedName, demangle, parse_name
from occlsp.reports.typenames import compare, normalise_argument, normalise_parameter


@pytest.mark.parametrize(
    ("mangled", "readable"),
    [
        (
            "_ZN2wx4ringILi512EdEEvPT0_PKS1_i",
            "void wx::ring<512, double>(double*, double const*, int)",
        ),
        ("_ZN36_GLOBAL__N__dfd7440a_4_a_cu_73fc6ea74anonEPi", "(anonymous namespace)::anon(int*)"),
        ("__nv_static_22__25c7db1e_4_s_cu__Z1fv__Z4statPi", "stat(int*)"),
        ("_Z3lamIZ1fvEUliE_EvT_Pi", "void lam<f()::{lambda(int)#1}>(f()::{lambda(int)#1}, int*)"),
        ("_Z8pairScanILj7ELj96EEvPjS0_", "void pairScan<7u, 96u>(unsigned int*, unsigned int*)"),
        ("plainc", "plainc"),
        ("_Zbroken", "_Zbroken"),
    ],
)
def test_demangle(mangled: str, readable: str) -> None:
    assert demangle(mangled) == readable


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        (
            "_ZN2wx4ringILi512EdEEvPT0_PKS1_i",
            ParsedName("wx::ring", ("512", "double"), ("double*", "double const*", "int")),
        ),
        (
            "void wx::ring<512, double>(double*, double const*, int)",
            ParsedName("wx::ring", ("512", "double"), ("double*", "double const*", "int")),
        ),
        (
            "(anonymous namespace)::anon(int*)",
            ParsedName("(anonymous namespace)::anon", None, ("int*",)),
        ),
        (
            "_ZN3cub17CUB_300001_SM_9006detail11EmptyKernelIvEEvv",
            ParsedName("cub::detail::EmptyKernel", ("void",), ()),
        ),
        ("plainc", ParsedName("plainc")),
        ("run(int (*)(float))", ParsedName("run", None, ("int (*)(float)",))),
    ],
)
def test_parse_name(name: str, parsed: ParsedName) -> None:
    assert parse_name(name) == parsed


@pytest.mark.parametrize(
    ("written", "compiled"),
    [
        ("const unsigned *", "unsigned int const*"),
        ("float *__restrict__", "float*"),
        ("const float [ ]", "float const*"),
        ("const int", "int"),
        ("T * const", "T*"),
        ("half2", "__half2"),
        ("std::uint64_t const &", "unsigned long const&"),
        ("struct Foo<3u, unsigned> *", "Foo<3, unsigned int>*"),
        ("long unsigned int", "unsigned long"),
        ("thrust::plus<int>", "thrust::THRUST_300001_SM_900_NS::plus<int>"),
        ("cudaTextureObject_t", "unsigned long long"),
        ("const __grid_constant__ Params", "Params"),
    ],
)
def test_parameters_of_sources_and_compilers(written: str, compiled: str) -> None:
    assert normalise_parameter(written) == normalise_parameter(compiled)


@pytest.mark.parametrize(
    ("written", "compiled"),
    [
        ("0x100", "256u"),
        ("1'000", "1000"),
        ("(256)", "256"),
        ("'a'", "(char)97"),
        ("true", "(bool)1"),
        ("64UL", "64ul"),
        ("-1", "-1"),
        ("half", "__half"),
    ],
)
def test_arguments_of_sources_and_compilers(written: str, compiled: str) -> None:
    assert normalise_argument(written) == normalise_argument(compiled)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("256", "256", True),
        ("256", "128", False),
        ("float", "double", False),
        ("float*", "float const*", False),
        ("Config", "ns::Config", True),
        ("real_t", "float", None),
        ("N", "256", None),
        ("true", "1", True),
    ],
)
def test_an_alias_is_never_told_to_be_different(one: str, other: str, same: bool | None) -> None:
    assert compare(one, other) is same


@pytest.mark.parametrize(
    "text", ["A<" * 3000, "(" * 3000 + ")" * 3000, "{" * 9000, "_Z" + "N" * 9000]
)
def test_hostile_names_do_not_raise(text: str) -> None:
    parse_name(text)
    normalise_parameter(text)
    normalise_argument(text)
