"""The fused kernel's source: it computes what the two kernels compute, run here on the host."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from occlsp.analysis.advice.fused_source import FusedSource, NotSimple, fused_source
from occlsp.analysis.advice.neighbours import Pair, pairs
from tests.analysis.golden import PATH, snapshot
from tests.occupancy.conftest import needed
from tests.occupancy.oracle import compiler

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LOOP = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)"
CASES = {
    "guards": (
        f"__global__ void one(const float *x, float *y, float s, int n) {{ {INDEX}"
        " if (i < n) y[i] = s * x[i]; }"
        "__global__ void two(const float *y, const float *z, float *out, int count) {"
        " const int idx = threadIdx.x + blockDim.x * blockIdx.x; if (idx >= count) return;"
        " float s = y[idx] + z[idx]; out[idx] = s; }",
        ("one<<<4, 64>>>(a, t, 3.0f, n);", "two<<<4, 64>>>(t, b, c, n);"),
    ),
    "in place": (
        f"__global__ void one(float *x, float s, int n) {{ {INDEX} if (i < n) x[i] *= s; }}"
        f"__global__ void two(float *x, float *y, int n) {{ {INDEX}"
        " if (i < n) { x[i] = x[i] + 1; y[i] = x[i] * x[i]; } }",
        ("one<<<4, 64>>>(a, 3.0f, n);", "two<<<4, 64>>>(a, c, n);"),
    ),
    "loops": (
        f"__global__ void one(const float *x, float *y, int n) {{ {LOOP} y[i] = x[i] + 1; }}"
        "__global__ void two(const float *in, float *out, int n) {"
        " int step = blockDim.x * gridDim.x;"
        " for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n; j += step)"
        " { out[j] = 2 * in[j]; } }",
        ("one<<<2, 32>>>(a, b, n);", "two<<<2, 32>>>(b, c, n);"),
    ),
    "a branch that may not write": (
        f"__global__ void one(const float *x, float *y, int n) {{ {INDEX}"
        " if (i < n) { if (x[i] > 50) y[i] = 7; } }"
        f"__global__ void two(const float *y, float *out, int n) {{ {INDEX}"
        " if (i < n) out[i] = y[i]; }",
        ("one<<<4, 64>>>(a, b, n);", "two<<<4, 64>>>(b, c, n);"),
    ),
    "names that collide": (
        f"__global__ void one(const float *p, float *q, int n) {{ {INDEX}"
        " if (i < n) { float out = p[i]; q[i] = out * out; } }"
        f"__global__ void two(const float *p, float *out, int n, float q) {{ {INDEX}"
        " if (i < n) out[i] = p[i] - q; }",
        ("one<<<4, 64>>>(a, b, n);", "two<<<4, 64>>>(b, c, n, 5.0f);"),
    ),
    "templates": (
        "template <class T, int K> __global__ void one(const T *x, T *y, int n) {"
        f" {INDEX} if (i < n) y[i] = x[i] + K; }}"
        "template <typename U> __global__ void two(const U *x, U *y, int n) {"
        f" {INDEX} if (i >= n) return; U v = x[i]; y[i] = v * v; }}",
        ("one<float, 4><<<4, 64>>>(a, b, n);", "two<float><<<4, 64>>>(b, c, n);"),
    ),
}
HOST = """
#include <cstdio>
#include <cmath>
#define __global__ static
struct Index { int x, y, z; };
static Index blockIdx, threadIdx, blockDim, gridDim;
template <class F> void launch(int grid, int block, F kernel) {
    gridDim = {grid, 1, 1}; blockDim = {block, 1, 1};
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) kernel();
}
struct Memory { float a[300], b[300], c[300]; };
static void fill(Memory &m) {
    for (int i = 0; i < 300; ++i) { m.a[i] = i; m.b[i] = 1000 - i; m.c[i] = -1; }
}
static int wrong(const Memory &one, const Memory &other) {
    int count = 0;
    for (int i = 0; i < 300; ++i)
        count += one.a[i] != other.a[i] || one.b[i] != other.b[i] || one.c[i] != other.c[i];
    return count;
}
"""


def pair_of(kernels: str, launches: tuple[str, ...]) -> Pair:
    run = "void run(float *a, float *b, float *c, int n) { float *t; cudaMalloc(&t, 1200); "
    source = f"{kernels}\n{run}{' '.join(launches)} cudaFree(t); }}\n"
    (found,) = pairs(snapshot(source), PATH)
    return found


def written(name: str) -> FusedSource:
    return fused_source(pair_of(*CASES[name]))


def called(launch: str) -> str:
    """ "k<<<4, 64>>>(a)" on the host."""
    kernel, _, rest = launch.partition("<<<")
    grid, _, arguments = rest.partition(">>>")
    return f"launch({grid}, [&] {{ {kernel}{arguments} }});"


def test_the_fused_kernels_compute_what_the_two_do(tmp_path: Path) -> None:
    needed(compiler(), "a C++ compiler")
    program = [HOST]
    checks = []
    memory = "float *a = m.a, *b = m.b, *c = m.c; float t[300]; int n = 250; (void)t; (void)b;"
    for number, (kernels, launches) in enumerate(CASES.values()):
        fused = fused_source(pair_of(kernels, launches))
        shape = launches[1].partition("<<<")[2].partition(">>>")[0]
        call = f"{fused.name}<<<{shape}>>>({', '.join(fused.arguments)});"
        program.append(
            f"namespace c{number} {{ {kernels} {fused.text}\n"
            f"void apart(Memory &m) {{ {memory} {called(launches[0])} {called(launches[1])} }}\n"
            f"void together(Memory &m) {{ {memory} {called(call)} }} }}\n"
        )
        checks.append(
            f"{{ Memory x, y, z; fill(x); fill(y); fill(z); c{number}::apart(x);"
            f' c{number}::together(y); printf("%d%d ", wrong(x, y), wrong(x, z) > 0); }}'
        )
    program.append(f"int main() {{ {' '.join(checks)} }}\n")
    (tmp_path / "host.cpp").write_text("".join(program), "utf-8")
    made = subprocess.run(
        [str(compiler()), "-std=c++17", "-w", str(tmp_path / "host.cpp"), "-o", "host"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert made.returncode == 0, made.stderr
    ran = subprocess.run([str(tmp_path / "host")], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["01"] * len(CASES)


def test_what_nothing_reads_later_is_no_parameter() -> None:
    assert written("guards").arguments == ("a", "3.0f", "n", "b", "c")
    assert written("names that collide").arguments == ("a", "b", "n", "c", "5.0f")


def test_namespaces_and_launch_bounds() -> None:
    kernels, launches = CASES["guards"]
    first, _, second = kernels.partition("__global__ void two")
    bounded = f"__global__ void __launch_bounds__(64) two{second}"
    found = fused_source(
        pair_of(f"namespace x {{ namespace {{ {first} }} }} namespace y {{ {bounded} }}",
                tuple(f"{scope}::{launch}" for scope, launch in zip("xy", launches, strict=True)))
    )  # fmt: skip
    assert found.text.startswith(
        "namespace x { namespace { using namespace y; __global__ void __launch_bounds__(64) one_two"
    )


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("if (idx >= count) return;", "if (idx > count) return;", "their guards or loops"),
        ("float s = y[idx]", "__syncthreads(); float s = y[idx]", "`two` is no simple pointwise"),
        ("out[idx] = s;", "if (s > 1) out[idx] = s; else out[idx] = 0;", "`two` is no simple"),
        ("if (i < n) y[i]", "if (i < n && x[i]) y[i]", "their guards or loops are not the same"),
    ],
)
def test_what_is_not_simple_enough_says_why(before: str, after: str, why: str) -> None:
    kernels, launches = CASES["guards"]
    assert before in kernels
    with pytest.raises(NotSimple, match=why):
        fused_source(pair_of(kernels.replace(before, after), launches))


def test_deduced_template_arguments_are_not_guessed() -> None:
    kernels, launches = CASES["templates"]
    with pytest.raises(NotSimple, match="the template arguments of `two` are deduced"):
        fused_source(pair_of(kernels, (launches[0], launches[1].replace("two<float>", "two"))))


def test_arguments_that_depend_on_the_template_around_the_launches_are_not_guessed() -> None:
    kernels, launches = CASES["templates"]
    source = (
        f"{kernels} template <class D> void run(D *a, D *b, D *c, int n) {{ "
        f"{launches[0].replace('float', 'D')} {launches[1].replace('float', 'D')} }}\n"
    )
    (found,) = pairs(snapshot(source), PATH)
    with pytest.raises(NotSimple, match="depend on a template"):
        fused_source(found)
    source += "template void run<float>(float *, float *, float *, int);"
    (found,) = pairs(snapshot(source), PATH)
    assert "const float * x" in fused_source(found).text
