"""The device slice: what is cut, what stays, and that the numbers are those of the full compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from occlsp.reports.cache import Cache
from occlsp.reports.compile import Context, compile_unit
from occlsp.reports.compile_task import defaults
from occlsp.reports.compiled import CompileResult
from occlsp.reports.errors import CompilerError, front_end_errors
from occlsp.reports.preprocessed import Place
from occlsp.reports.slice import Slice
from occlsp.reports.slicing import compile_slice
from occlsp.reports.standins import write_standins
from tests.reports.compilers import real_nvcc

GLOBAL = "__attribute__((global))"


def cut(source: str, *errors: tuple[int, str]) -> str:
    """`source` (of a.cu) after one cut; `errors` are line and the message's column text."""
    piece = Slice(f'# 1 "a.cu"\n{source}'.encode(), lambda path: path == "a.cu")
    rows = source.split("\n")
    found = [
        CompilerError("a.cu", line, "no", rows[line - 1], rows[line - 1].index(word))
        for line, word in errors
    ]
    assert piece.cut(found)
    return piece.text.decode().split("\n", 1)[1]


def test_a_host_statement_is_blanked_and_lines_stay() -> None:
    after = cut("void f() {\n  good();\n  bad(1,\n    2);\n  fine();\n}\n", (3, "bad"))
    assert after.count("\n") == 6
    assert "good();" in after
    assert "fine();" in after
    assert "bad" not in after


def test_what_a_cut_launch_instantiates_is_kept() -> None:
    source = (
        f"template <class T, int N> {GLOBAL} void k(T *p) {{}}\n"
        "template <class T> void go(T *p) { k<T, 1><<<1, 2>>>(p); }\n"
        "void f() {\n  k<float, 8><<<1, bad()>>>(nullptr);\n"
        "  k<int, 8><<<1, 2>>>(bad());\n  go<int>(bad());\n}\n"
    )
    after = cut(source, (4, "bad"), (5, "bad"), (6, "bad"))
    assert "(void)&k<int, 8>;" in after
    assert "k<float, 8><<<1,1" in after
    assert "(void)&go<int>;" in after
    assert "bad" not in after


def test_a_launch_at_fault_in_its_configuration_keeps_its_arguments() -> None:
    kernel = f"template <class T> {GLOBAL} void k(T *p) {{}}\n"
    source = f"{kernel}void f(int *p) {{\n  k<<<bad(2), 3>>>(p);\n}}\n"
    assert "k<<<1,1" in cut(source, (3, "bad"))
    assert ">>>(p);" in cut(source, (3, "bad"))


def test_a_variable_stays_but_a_constant_gets_no_other_value() -> None:
    after = cut(
        "void f() {\n  float x = bad();\n  const int n = bad();\n}\n", (2, "bad"), (3, "bad")
    )
    assert "float x ={};" in after.replace("= {}", "={}")
    assert "const int n" not in after


def test_only_the_parameter_at_fault_leaves_a_signature() -> None:
    after = cut("template <class T>\nvoid f(int n, Bad b, T t) { g(n); }\n", (2, "Bad"))
    assert "(int n, T t)" in after
    assert "template <class T>" in after
    assert "g(n);" in after


def test_a_condition_at_fault_keeps_both_branches() -> None:
    after = cut("void f() {\n  if (bad()) { one(); } else { two(); }\n}\n", (2, "bad"))
    assert "bad" not in after
    assert "one();" in after
    assert "two();" in after


def test_a_device_function_is_deleted_not_missing() -> None:
    after = cut("__attribute__((device)) int f(int x) {\n  return bad(x);\n}\n", (2, "bad"))
    assert "f(int x) = delete;" in after


def test_a_class_whose_member_is_unknown_is_left_incomplete() -> None:
    after = cut("template <> struct A<int> {\n  Bad b;\n  int c;\n};\n", (2, "Bad"))
    assert "struct A<int>;" in after
    assert "int c" not in after


def test_a_member_function_costs_itself_alone() -> None:
    after = cut("struct A {\n  void f(Bad b);\n  int c;\n};\n", (2, "Bad"))
    assert "Bad" not in after
    assert "int c;" in after


def test_a_kernel_that_does_not_compile_is_told() -> None:
    text = f'# 1 "a.cu"\n{GLOBAL} void k(int *p) {{\n  bad();\n}}\n'
    piece = Slice(text.encode(), lambda path: True)
    assert piece.cut([CompilerError("a.cu", 2, "no", "bad();", 0)])
    assert piece.dropped == ("k",)


def test_headers_that_are_not_ours_are_never_cut() -> None:
    text = b'# 1 "/usr/include/x.h"\nvoid f() { bad(); }\n# 1 "a.cu"\nint a;\n'
    piece = Slice(text, lambda path: path == "a.cu")
    assert not piece.cut([CompilerError("/usr/include/x.h", 1, "no", "", None)])


def test_defaults_instantiate_what_nothing_does() -> None:
    text = (
        f'# 1 "a.cu"\nnamespace n {{ template <int N = 4> {GLOBAL} void k() {{}}\n'
        f"template <int N> {GLOBAL} void other() {{}} }}\n"
    )
    piece = Slice(text.encode(), lambda path: True)
    assert piece.add_default_instances([])
    assert b"(void)&::n::k<>;" in piece.text
    assert b"other<>" not in piece.text
    assert not piece.add_default_instances([Place("a.cu", 1)])


def test_errors_are_read_with_their_column_and_instantiations() -> None:
    output = (
        'a.cu(12): error: identifier "bad" is undefined\n'
        "     int y = bad(3);\n"
        "             ^\n"
        "          detected during:\n"
        '            instantiation of "void k<T>(T*)" at line 9\n'
        '            instantiation of "void g()" at line 20 of b.h\n\n'
    )
    (error,) = front_end_errors(output)
    assert (error.file, error.line, error.source, error.column) == (
        "a.cu",
        12,
        "int y = bad(3);",
        8,
    )
    assert error.frames == (("a.cu", 9), ("b.h", 20))


def test_standins_stay_in_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    search = write_standins(["../" * 30 + "evil.h", "/etc/evil.h", "a/b.h", "../c.h"], folder)
    assert (search / "a/b.h").is_file()
    assert (search / "../c.h").resolve().is_file()
    assert not list(tmp_path.rglob("evil.h"))


TORCH = """\
#include <torch/extension.h>
#include "secret/host.h"
template <typename scalar_t, int N>
__global__ void C10_LAUNCH_BOUNDS_1(512) scale(
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> a, float f) {
    __shared__ float part[N];
    part[threadIdx.x] = static_cast<float>(a[blockIdx.x][threadIdx.x]) * f;
    __syncthreads();
    a[blockIdx.x][threadIdx.x] = part[N - 1 - threadIdx.x];
}
torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "on the GPU");
    Secret s = secret::make(x);
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "run", ([&] {
        scale<scalar_t, 64><<<x.size(0), 64, 0, secret::stream(s)>>>(
            x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), 2.f);
    }));
    return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run, "doc"); }
"""
HOST = """\
#include "missing.h"
template <int N> __device__ float sum(const float *p) {
    float s = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) s += p[i * 32];
    return s;
}
template <int N> __global__ void __launch_bounds__(128, 4) reduce(const float *in, float *out) {
    __shared__ float s[128];
    s[threadIdx.x] = sum<N>(in + threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x];
}
__global__ void plain(double *p) { p[threadIdx.x] = exp(p[threadIdx.x]); }
int main() {
    Options options = parse();
    float *in = options.in, *out = nullptr;
    reduce<8><<<1, 128>>>(in, out);
    reduce<16><<<options.blocks, 128>>>(in, out);
    plain<<<1, 128>>>(nullptr);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
"""
MISSING = "struct Options { float *in; int blocks; };\nOptions parse();\n#define CHECK(x) (x)\n"


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(real_nvcc(), Cache(tmp_path / "cache"))


def sliced(context: Context, unit: Path, missing: list[str]) -> CompileResult:
    return compile_slice(context, unit, "sm_90", defaults(), missing=missing)


@pytest.mark.slow
def test_pytorch_without_pytorch(context: Context, tmp_path: Path) -> None:
    unit = tmp_path / "scale.cu"
    unit.write_text(TORCH)
    result = sliced(context, unit, ["torch/extension.h", "secret/host.h"])
    assert result.status == "ok", result.message
    assert result.origin == "slice"
    assert {entry.origin for entry in result.entries} == {"slice"}
    assert len(result.entries) == 3  # double, float, Half
    assert {entry.line for entry in result.entries} == {4}
    assert {entry.static_smem for entry in result.entries} == {256}
    assert "secret/host.h" in (result.message or "")


@pytest.mark.slow
def test_a_template_whose_launch_is_lost_is_not_told_as_never_launched(
    context: Context, tmp_path: Path
) -> None:
    unit = tmp_path / "a.cu"
    template = "template <class T> __global__ void often(T *p) { *p = 1; }\n"
    launch = "void run() { often<gone::Type><<<1, 32>>>(nullptr); }\n"
    unit.write_text(f'#include "gone.h"\n{template}{launch}')
    result = sliced(context, unit, ["gone.h"])
    assert result.status == "error"
    assert "what instantiates its kernels does not compile" in (result.message or "")
    unit.write_text(unit.read_text() + "__global__ void plain(int *p) { *p = 1; }\n")
    result = sliced(context, unit, ["gone.h"])
    assert [entry.line for entry in result.entries] == [4]
    assert result.lost == ("often",)
    unit.write_text(template)
    assert sliced(context, unit, []).status == "no-entry"


LIBRARIES = {
    "gtest/gtest.h": """\
template <int N> __global__ void k(int *p) { *p = N; }
struct Fixture : testing::Test { int size() const { return 3; } };
TEST(Suite, Name) {
  int *p = nullptr;
  k<1><<<1, 32>>>(p);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess) << "after " << 1;
  if (p == nullptr) GTEST_SKIP() << "no device";
}
TEST_F(Fixture, Other) {
  k<2><<<size(), 32>>>(nullptr);
  EXPECT_TRUE(size() > 2);
}
template <class T> struct Typed : testing::Test {};
template <int N> using Size = std::integral_constant<int, N>;
TYPED_TEST_SUITE(Typed, testing::Types<Size<3>, Size<4>>);
TYPED_TEST(Typed, Each) { k<TypeParam::value><<<1, 32>>>(nullptr); }
""",
    "catch2/catch.hpp": """\
template <int N> __global__ void k(int *p) { *p = N; }
TEST_CASE("first", "[k]") {
  k<1><<<1, 32>>>(nullptr);
  SECTION("more") { REQUIRE(cudaGetLastError() == cudaSuccess); k<2><<<1, 32>>>(nullptr); }
}
""",
    "fmt/format.h": """\
template <int N> __global__ void k(int *p) { *p = N; }
void say(const std::string &text);
void run(int n) {
  using namespace fmt::literals;
  say(fmt::format(fmt::runtime("{n}"), "n"_a = n));
  k<1><<<n, 32>>>(nullptr);
  k<2><<<n, fmt::format("{}", n).size()>>>(nullptr);
}
""",
    "opencv2/core/cuda/common.hpp": """\
using namespace cv::cuda;
template <class T> __global__ void k(const PtrStepSz<T> in, PtrStep<T> out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < in.cols && y < in.rows) out(y, x) = in.ptr(y)[in.cols - x];
}
void run(const PtrStepSzb &in, PtrStepSzb out, const Stream &stream) {
  k<uchar><<<device::divUp(in.cols, 32), 32, 0, StreamAccessor::getStream(stream)>>>(in, out);
  k<float><<<1, 32>>>(PtrStepSzf(in), PtrStepSzf(out));
  cudaSafeCall(cudaGetLastError());
}
template <class T> __global__ void brighter(PtrStepSz<T> p, float by) {
  typedef typename device::TypeVec<float, device::VecTraits<T>::cn>::vec_type F;
  using namespace device;
  p(blockIdx.x, threadIdx.x) = saturate_cast<T>(by * saturate_cast<F>(p(blockIdx.x, threadIdx.x)));
}
void all(cv::InputArray in, cv::OutputArray out, Stream &stream) {
  GpuMat source = in.getGpuMat(), made(source.size(), CV_8UC4, cv::Scalar::all(0));
  brighter<uchar4><<<1, 32, 0, StreamAccessor::getStream(stream)>>>(made, 2.f);
  brighter<ushort3><<<1, 32>>>(source, 2.f);
  made.copyTo(out, stream);
}
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("header", LIBRARIES)
def test_libraries_whose_headers_are_missing(header: str, context: Context, tmp_path: Path) -> None:
    """What they leave of the host code launches all instantiations: nothing has to be cut."""
    unit = tmp_path / "a.cu"
    unit.write_text(f"#include <{header}>\n{LIBRARIES[header]}")
    result = sliced(context, unit, [header])
    assert result.status == "ok", result.message
    assert result.message == f"stand-ins for {header}; nothing cut"
    assert result.origin == "standins"
    assert len(result.entries) == LIBRARIES[header].count("<<<") + (header == "gtest/gtest.h")


@pytest.mark.slow
def test_types_that_a_missing_cuda_library_would_have_brought_are_there(
    context: Context, tmp_path: Path
) -> None:
    unit = tmp_path / "a.cu"
    unit.write_text(
        "#include <cublas_v2.h>\n"
        "cublasHandle_t handle;\n"
        "void check(cublasStatus_t status) { if (status != CUBLAS_STATUS_SUCCESS) exit(1); }\n"
        "__global__ void k(__nv_bfloat16 *x, __half h, cuComplex c, int64_t n) { x[n] = c.x; }\n"
        "void go() { check(cublasCreate(&handle)); k<<<1, 32>>>(nullptr, 1, {}, 2); }\n"
    )
    result = sliced(context, unit, ["cublas_v2.h"])
    assert [entry.line for entry in result.entries] == [4], result.message


def test_a_call_that_fails_wherever_it_is_used_goes_itself() -> None:
    """At first what instantiates it is at fault; if others fail the same way, it is itself."""
    source = (
        "template <class T> void log(T x) {\n  missing(x);\n}\n"
        "void f() {\n  log(1);\n  log(2);\n}\n"
    )
    piece = Slice(f'# 1 "a.cu"\n{source}'.encode(), lambda path: path == "a.cu")

    def told_at(line: int) -> list[CompilerError]:
        return [CompilerError("a.cu", 2, "no missing", "missing(x);", 0, (("a.cu", line),))]

    assert piece.cut(told_at(5))
    assert b"missing(x);" in piece.text
    assert b"log(1);" not in piece.text
    assert piece.cut(told_at(6))
    assert b"missing(x);" not in piece.text
    assert b"log(2);" in piece.text


@pytest.mark.slow
def test_a_slice_has_the_numbers_of_the_full_compile(context: Context, tmp_path: Path) -> None:
    unit = tmp_path / "reduce.cu"
    unit.write_text(HOST)
    part = sliced(context, unit, ["missing.h"])
    (tmp_path / "missing.h").write_text(MISSING)
    full = compile_unit(context, unit, "sm_90", defaults())
    assert full.status == "ok", full.message

    def numbers(result: CompileResult) -> dict[str, tuple[object, ...]]:
        return {
            e.entry: (e.registers, e.static_smem, e.spill_stores, e.stack, e.barriers, e.line)
            for e in result.entries
        }

    assert len(full.entries) == 3
    assert numbers(part) == numbers(full)
