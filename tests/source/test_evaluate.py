"""Expressions evaluate as in C++, or not at all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from occlsp.source.facts import Value
from occlsp.source.workspace import Workspace

PREAMBLE = """
#include <algorithm>
#define ROUND_UP(x, n) (((x) + (n) - 1) / (n) * (n))
#define WARPS 6
#define CAT(a, b) a##b
enum Sizes { kSmall = 32, kNext, kMore = kNext * 2 };
enum class Mode : unsigned { Wide = 512 };
constexpr int kBlock = 128;
constexpr unsigned char kWrapped = (unsigned char)300;
constexpr int divide(int a, int b) { return (a + b - 1) / b; }
constexpr int pick(int n) {
    if (n > 10) { return 64; }
    return 32;
}
template <typename T> constexpr T larger(T a, T b) { return a > b ? a : b; }
template <int N> struct Traits { static constexpr int kThreads = N * 32; };
using Wide = Traits<4>;
namespace outer { constexpr int kInner = 7; namespace deep { constexpr int kInner = 9; } }
"""

KNOWN = {
    "1 << 7": 128,
    "0x100 | 1 << 6": 320,
    "1'024": 1024,
    "-7 / 2": -3,
    "-7 % 3": -1,
    "7u - 8u > 0": 1,
    "(unsigned char)300": 44,
    "(int)3.99": 3,
    "static_cast<short>(70000)": 4464,
    "~0u >> 28": 15,
    "-1 < 1u": 0,
    "sizeof(double) * 16": 128,
    "sizeof(float[32][4])": 512,
    "sizeof(float4)": 16,
    "'a' + 1": 98,
    "true ? 3 : 1 / 0": 3,
    "0 && 1 / 0": 0,
    "ROUND_UP(100, WARPS * 32)": 192,
    "CAT(k, Block)": 128,
    "kNext + kMore": 99,
    "(int)Mode::Wide": 512,
    "kWrapped": 44,
    "divide(1000, 256)": 4,
    "pick(11) + pick(3)": 96,
    "larger(kBlock, 32)": 128,
    "Traits<3>::kThreads": 96,
    "Wide::kThreads": 128,
    "outer::deep::kInner": 9,
    "std::min(kBlock, 96)": 96,
    "std::max<long>(4, 1L << 33) >> 30": 8,
    "2147483647u + 1": 2147483648,
    "0777": 511,
    "0b1010": 10,
    "100000 * 100000L": 10_000_000_000,
}

NOT_KNOWN = {
    "2147483647 + 1": "overflows",
    "1 / 0": "divides by zero",
    "1 << 40": "out of range",
    "n": "parameter",
    "undeclared": "not known",
    "sizes[n]": "an element of sizes is not known",
    "tensor->ne[n]": "an element of ne is not known",
}


def evaluated(expression: str, before: str = "", parameters: str = "int n") -> Value:
    """What the shared memory size of a launch evaluates to."""
    source = (
        f"{PREAMBLE}\n__global__ void k();\n"
        f"void f({parameters}) {{ {before} k<<<1, 1, {expression}>>>(); }}\n"
    )
    workspace = Workspace(reader=None)
    workspace.update("/a.cu", source.encode())
    return workspace.facts("/a.cu").launches[0].dynamic_smem


@pytest.mark.parametrize(("expression", "value"), KNOWN.items(), ids=list(KNOWN))
def test_known(expression: str, value: int) -> None:
    expected = value % (1 << 64)  # the size is a size_t
    assert evaluated(f"({expression})").value == expected


@pytest.mark.parametrize(("expression", "why"), NOT_KNOWN.items(), ids=list(NOT_KNOWN))
def test_unknown_with_its_reason(expression: str, why: str) -> None:
    value = evaluated(f"({expression})")
    assert value.values is None
    assert why in (value.why or "")


@pytest.mark.slow
def test_a_compiler_agrees(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++") or shutil.which("nvcc")
    assert compiler is not None, "a C++ compiler is needed"
    vector = "struct float4 { float x, y, z, w; };"
    checks = "\n".join(
        f"static_assert((long long)({text}) == {value}LL);"
        for text, value in KNOWN.items()
        if "1 / 0" not in text
    )
    source = tmp_path / "check.cpp"
    source.write_text(f"{PREAMBLE}{vector}\n{checks}\n")
    command = [compiler, "-std=c++17", "-w", "-c", str(source), "-o", str(tmp_path / "check.o")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_a_minimum_is_a_bound() -> None:
    value = evaluated("std::min(n, 512)")
    assert (value.values, value.max) == (None, 512) or value.max is None
    value = evaluated("std::min(n, 512u)", parameters="unsigned n")
    assert (value.values, value.min, value.max) == (None, None, 512)


def test_a_clamp_has_both_bounds() -> None:
    value = evaluated("std::max(32u, std::min(n, 512u))", parameters="unsigned n")
    assert (value.values, value.min, value.max) == (None, 32, 512)


def test_a_condition_gives_a_set() -> None:
    assert evaluated("n > 4 ? 64 : 32").values == (32, 64)


def test_a_comparison_clamps() -> None:
    value = evaluated("t", before="unsigned t = n < 256u ? n : 256u;", parameters="unsigned n")
    assert (value.values, value.max) == (None, 256)


def test_sets_are_limited() -> None:
    before = "int t = 0; for (int i = 0; i < 1000; i++) { k<<<1, 1, i>>>(); }"
    value = evaluated("t", before=before)
    assert (value.values, value.min, value.max) == (None, 0, 999)


def test_nothing_hangs_on_what_nobody_would_write() -> None:
    deep = "(" * 5000 + "1" + ")" * 5000
    assert evaluated(deep).values in (None, (1,))
    assert evaluated("+".join(["1"] * 3000)).values in (None, (3000,))
    recursive = "F(F(F(F(F(F(F(F(F(F(1))))))))))"
    before = "\n#define F(x) (x) + (x) + (x) + (x) + (x) + (x)\n"
    assert evaluated(recursive, before=before) is not None
