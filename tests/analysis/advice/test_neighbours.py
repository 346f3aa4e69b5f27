"""Which launches in a row can be one kernel, and which cannot."""

from __future__ import annotations

import pytest

from occlsp.analysis.advice.neighbours import Pair, pairs
from occlsp.analysis.findings import findings
from occlsp.analysis.hints import hints
from occlsp.analysis.hover import hover
from tests.analysis.golden import PATH, check, entry, snapshot

KERNELS = """
__global__ void scale(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void add(const float *y, const float *z, float *out, int n) {
    const int idx = threadIdx.x + blockDim.x * blockIdx.x;
    if (idx >= n) return;
    out[idx] = y[idx] + z[idx];
}
"""
RUN = """
void run(float *x, float *z, float *out, float *keep, int n, cudaStream_t s) {
    float *tmp;
    cudaMalloc(&tmp, n * sizeof(float));
    scale<<<(n + 255) / 256, 256, 0, s>>>(x, tmp, 2.0f, n);
    add<<<(n + 255) / 256, 256, 0, s>>>(tmp, z, out, n);
    cudaFree(tmp);
}
"""
REPORTS = (entry("_Z5scalePKfPffi", 10), entry("_Z3addPKfS0_Pfi", 12))


def found(source: str) -> tuple[Pair, ...]:
    return pairs(snapshot(source, *REPORTS), PATH)


def changed(*changes: tuple[str, str]) -> tuple[Pair, ...]:
    source = KERNELS + RUN
    for before, after in changes:
        assert before in source
        source = source.replace(before, after)
    return found(source)


def test_the_second_reads_what_the_first_wrote_at_the_same_index() -> None:
    (pair,) = changed()
    assert (pair.first.name, pair.second.name) == ("scale", "add")
    assert (pair.intermediates, pair.dropped) == (("tmp",), ("tmp",))
    assert (pair.fused.bytes_with, pair.fused.bytes_without) == (20, 12)
    assert [part.registers for part in pair.parts] == [10, 12]
    assert pair.fused.registers == 13
    assert not pair.are_registers_estimated
    assert pair.judgement.verdict == "beneficial"
    assert pair.judgement.base == pytest.approx(20 / 12)


def test_without_a_report_the_registers_are_estimated() -> None:
    (pair,) = pairs(snapshot(KERNELS + RUN), PATH)
    assert pair.are_registers_estimated


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("n, cudaStream_t s) {", "n, cudaStream_t s) { // tmp"), id="a comment"),
        pytest.param(("    add<<<", "    CHECK(cudaGetLastError());\n    add<<<"), id="a check"),
        pytest.param(("    add<<<", "    cudaDeviceSynchronize();\n    add<<<"), id="a wait"),
        pytest.param(("y[i] = a * x[i]", "y[i] = x[i - 1] + x[i + 1]"), id="a stencil of input"),
        pytest.param(("if (idx >= n) return;", "if (idx > n / 2) return;"), id="another guard"),
        pytest.param(("const int idx = threadIdx.x +", "const size_t idx = (size_t)threadIdx.x +"),
                     id="a cast"),
    ],
)  # fmt: skip
def test_still_neighbours(change: tuple[str, str]) -> None:
    assert len(changed(change)) == 1


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([("y[idx] + z", "y[idx + 1] + z")], id="a neighbour's element"),
        pytest.param([("y[idx] + z", "y[n - 1 - idx] + z")], id="reversed"),
        pytest.param([("y[idx] + z", "y[threadIdx.x] + z")], id="shared by blocks"),
        pytest.param([("y[idx] + z", "load(y, idx) + z")], id="a pointer that escapes"),
        pytest.param([("y[idx] + z", "FLOAT4(y[idx]) + z")], id="a macro that may take more"),
        pytest.param([("y[idx] + z[idx];", "y[idx]; swap(x[idx], out[idx]);"),
                      ("const float *z, float *out", "float *x, float *out"),
                      ("(tmp, z, out, n)", "(tmp, x, out, n)"), ("a * x[i]", "a * x[i + 1]")],
                     id="a function that may write what others still read"),
        pytest.param([("y[idx] + z", "*(y + idx) + z")], id="pointer arithmetic"),
        pytest.param([("0, s>>>(tmp", "0, t>>>(tmp")], id="another stream"),
        pytest.param([("add<<<(n + 255) / 256, 256", "add<<<(n + 127) / 128, 128")], id="block"),
        pytest.param([("add<<<(n + 255)", "add<<<(n + 254)")], id="another grid"),
        pytest.param([("    add<<<", "    use(tmp);\n    add<<<")], id="used between"),
        pytest.param([("    add<<<", "    n /= 2;\n    add<<<")], id="changed between"),
        pytest.param([("    add<<<", "    if (n) add<<<")], id="second on a condition"),
        pytest.param([("    scale<<<", "    if (n) scale<<<")], id="first on a condition"),
        pytest.param([("(tmp, z, out, n)", "(x, z, out, n)")], id="reads something else"),
        pytest.param([("(tmp, z, out, n)", "(tmp + 1, z, out, n)")], id="another view of it"),
        pytest.param([("(tmp, z, out, n)", "(tmp, z, x, n)"), ("a * x[i]", "a * x[i + 1]")],
                     id="overwrites what others still read"),
        pytest.param([("y[i] = a", "y[i / 2] = a"), ("y[idx] + z", "y[idx / 2] + z")],
                     id="two threads an element"),
        pytest.param([("int i = block", "int i = 0; i = block")], id="an index that changes"),
        pytest.param([("<<<(n + 255) / 256, 256", "<<<dim3(n, 8), dim3(32, 8)")],
                     id="rows that share elements"),
        pytest.param([("256, 0, s", "256, 1024, s")], id="dynamic shared memory"),
        pytest.param([("{\n    int i", "{\n#if A\n#endif\n    int i")], id="conditional code"),
    ],
)  # fmt: skip
def test_not_fusable(changes: list[tuple[str, str]]) -> None:
    assert changed(*changes) == ()


def test_an_intermediate_that_is_used_later_stays_written() -> None:
    for change in (
        ("    cudaFree(tmp);", "    use(tmp);"),
        ("    float *tmp;\n    cudaMalloc(&tmp, n * sizeof(float));", "    float *tmp = keep;"),
    ):
        (pair,) = changed(change)
        assert pair.dropped == ()
        assert pair.fused.bytes_without == 16


def test_what_the_second_writes_anew_need_not_be_written_by_the_first() -> None:
    (pair,) = changed(("(tmp, z, out, n)", "(tmp, z, tmp, n)"), ("cudaFree(tmp)", "use(tmp)"))
    assert pair.dropped == ("tmp",)


def test_two_dimensions_and_loops_over_the_grid() -> None:
    head = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = a * x[i];"
    other = (
        "const int idx = threadIdx.x + blockDim.x * blockIdx.x;\n    if (idx >= n) return;\n"
        "    out[idx] = y[idx] + z[idx];"
    )
    two = (
        "int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "    int c = blockIdx.x * blockDim.x + threadIdx.x;\n"
    )
    (pair,) = changed(
        (head, f"{two} y[row * n + c] = a * x[row * n + c];"),
        (other, f"{two} out[n * row + c] = y[c + n * row] + z[c];"),
        ("<<<(n + 255) / 256, 256", "<<<dim3(8, 8), dim3(32, 8)"),
    )
    assert pair.intermediates == ("tmp",)
    loop = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)"
    (pair,) = changed((head, f"{loop} y[i] = a * x[i];"), (other, f"{loop} out[i] = y[i] + z[i];"))
    assert pair.intermediates == ("tmp",)
    assert changed((head, f"{loop} y[i] = a * x[i];")) == ()
    macro = "CUDA_KERNEL_LOOP(j, n) { "
    (pair,) = changed(
        (head, f"{loop} y[i] = a * x[i];"), (other, f"{macro} out[j] = y[j] + z[j]; }}")
    )
    assert pair.judgement.verdict == "beneficial"


def test_the_finding_is_off_by_default_and_marked_as_an_estimate() -> None:
    assert findings(snapshot(KERNELS + RUN, *REPORTS), PATH) == ()
    carets = "//     " + "^" * 32
    drawn = RUN.replace(
        "(tmp, z, out, n);\n",
        f"(tmp, z, out, n);\n{carets} hint fusable: estimated: `scale` and `add` can be one "
        "kernel, score 1.67\n",
    )
    on: dict[str, object] = {"diagnostics": {"severity": {"fusable": "hint"}}}
    made = check(KERNELS + drawn, *REPORTS, settings=on)
    (one,) = findings(made, PATH)
    assert one.estimated
    assert [other.message for other in one.related] == ["the launch of `scale`"]


def test_hint_and_hover_say_that_it_is_estimated() -> None:
    on: dict[str, object] = {"diagnostics": {"severity": {"fusable": "hint"}}}
    source = KERNELS + RUN
    made = snapshot(source, *REPORTS, settings=on)
    labels = [hint.label for hint in hints(made, PATH) if hint.kind == "launch"]
    assert labels == ["100% · warps · 8 blk/SM", "100% · warps · est. fuse 1.67×"]
    assert max(map(len, labels)) <= 30
    shown = hover(made, PATH, source.index("add<<<") + 4)
    assert shown is not None
    assert "Estimated: `scale` and `add` can be one kernel, score 1.67" in shown.markdown
