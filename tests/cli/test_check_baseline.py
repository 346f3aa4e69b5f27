"""Five changes to a project, made by hand: each told against the baseline, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from occlsp.cli.main import main
from tests.reports.compilers import real_nvcc

pytestmark = pytest.mark.slow

SOURCES = {
    "block.cu": """\
__global__ void scale(float* p, float s) { p[threadIdx.x] *= s; }
void scale_all(float* p) { scale<<<1000, 256>>>(p, 2); }
""",
    "bound.cu": """\
__global__ void __launch_bounds__(256) sums(const float* in, float* out) {
    float a[48];
    #pragma unroll
    for (int i = 0; i < 48; i++) a[i] = in[i * 256 + threadIdx.x];
    #pragma unroll
    for (int i = 0; i < 48; i++) out[i * 256 + threadIdx.x] = a[i] * a[47 - i] + a[i * 7 % 48];
}
void sum_all(const float* in, float* out) { sums<<<1000, 256>>>(in, out); }
""",
    "loop.cu": """\
__global__ void __launch_bounds__(1024) mix(const float* in, float* out) {
    float kept = 0;
    #pragma unroll 1
    for (int i = 0; i < 96; i++) kept += in[i * 1024 + threadIdx.x];
    out[threadIdx.x] = kept;
}
void mix_all(const float* in, float* out) { mix<<<1000, 1024>>>(in, out); }
""",
    "tile.cu": """\
constexpr int TILE = 32;
__global__ void turn(const float* in, float* out) {
    __shared__ float tile[TILE][TILE + 1];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
void turn_all(const float* in, float* out) { turn<<<1000, dim3(32, 8)>>>(in, out); }
""",
    "name.cu": """\
template <typename T> __global__ void fill(T* p, T v) { p[threadIdx.x] = v; }
void fill_all(float* p) { fill<float><<<1000, 128>>>(p, 0); }
""",
    "same.cu": """\
__global__ void add(const float* a, const float* b, float* c) {
    c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
void add_all(const float* a, const float* b, float* c) { add<<<1000, 512>>>(a, b, c); }
""",
}
UNROLLED = """\
    float a[96];
    #pragma unroll
    for (int i = 0; i < 96; i++) a[i] = in[i * 1024 + threadIdx.x];
    #pragma unroll
    for (int i = 0; i < 96; i++) out[i * 1024 + threadIdx.x] = a[i] * a[95 - i] + a[(i * 7) % 96];
}
"""
CHANGES = {
    "block": ("block.cu", "1000, 256", "1000, 32"),
    "bound": ("bound.cu", "__launch_bounds__(256)", "__launch_bounds__(256, 8)"),
    "loop": ("loop.cu", SOURCES["loop.cu"].split("\n", 1)[1].split("void mix_all")[0], UNROLLED),
    "tile": ("tile.cu", "TILE = 32", "TILE = 96"),
    "name": ("name.cu", "fill<float>", "set_all<float>"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, so that the cache has what did not change."""
    real_nvcc()
    return tmp_path_factory.mktemp("built")


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources as they were, and their baseline."""
    monkeypatch.setenv("OCCLSP_CACHE_DIR", str(folder / "cache"))
    project = folder / "project"
    shutil.rmtree(project, ignore_errors=True)
    (project / ".git").mkdir(parents=True)
    for name, text in SOURCES.items():
        (project / name).write_text(text)
    monkeypatch.chdir(project)
    assert check("--write-baseline", "occupancy.txt").exit_code == 0
    return project


def check(*arguments: str) -> Result:
    words = ["check", ".", "--compile", "--arch", "sm_90", *arguments]
    return CliRunner().invoke(main, words, catch_exceptions=False)


def edit(project: Path, *names: str) -> None:
    for name in names:
        file, before, after = CHANGES[name]
        text = (project / file).read_text()
        assert before in text
        text = text.replace(before, after)
        if name == "name":
            text = text.replace("void fill(", "void set_all(")
        (project / file).write_text(text)


def told(project: Path) -> tuple[list[tuple[str, str, str]], list[tuple[str, int]]]:
    """The changes, and path and line of the findings `regressed`."""
    result = check("--baseline", "occupancy.txt", "--format", "json")
    document = json.loads(result.stdout)
    changes = [(c["kind"], c["kernel"].split("(")[0], c["message"]) for c in document["changes"]]
    places = [(f["path"], f["line"]) for f in document["findings"] if f["code"] == "regressed"]
    return changes, places


BY_NAME = {
    "loop": (
        "regressed",
        "mix",
        "occupancy 100.0% → 50.0%; limiter warps → registers; spills 0 → N",
    ),
    "bound": ("regressed", "sums", "spills 0 → N"),
    "block": (
        "regressed",
        "scale",
        "occupancy 100.0% → 50.0%; limiter warps → blocks; block 256 → 32",
    ),
    "tile": (
        "regressed",
        "turn",
        "occupancy 100.0% → 75.0%; limiter warps → shared_memory; "
        "static shared memory 4224 → 37248",
    ),
    "name": ("renamed", "void set_all<float>", "was void fill<float>(float*, float)"),
}
PLACES = {"loop": ("loop.cu", 1), "bound": ("bound.cu", 1), "block": ("block.cu", 1)}
PLACES["tile"] = ("tile.cu", 2)


def expected(change: tuple[str, str, str]) -> tuple[str, str, str]:
    """The compiler's own numbers are not ours to hold: only that it spills."""
    kind, kernel, message = change
    return kind, kernel, re.sub(r"(spills 0 → )[1-9]\d* B; .*", r"\1N", message)


@pytest.mark.parametrize("name", list(CHANGES))
def test_one_change_is_one_line(project: Path, name: str) -> None:
    edit(project, name)
    changes, places = told(project)
    assert [expected(change) for change in changes] == [BY_NAME[name]]
    assert places == ([PLACES[name]] if name in PLACES else [])


def test_all_five_are_five_lines_largest_first(project: Path) -> None:
    edit(project, *CHANGES)
    changes, places = told(project)
    assert [expected(change) for change in changes] == list(BY_NAME.values())
    assert places == list(PLACES.values())


def test_nothing_changed_is_nothing_told(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "same.cu").rename(project / "sub" / "moved.cu")
    (project / "block.cu").write_text("\n\n// lower\n" + SOURCES["block.cu"])
    assert told(project) == ([], [])


def test_a_regression_fails_where_asked_and_the_new_baseline_takes_it(project: Path) -> None:
    edit(project, "block")
    arguments = ("--baseline", "occupancy.txt", "--fail-on", "warning")
    assert check(*arguments).exit_code == 1
    assert check("--baseline", "occupancy.txt", "--write-baseline", "new.txt").exit_code == 0
    changed = set(Path("new.txt").read_text().splitlines())
    changed -= set(Path("occupancy.txt").read_text().splitlines())
    assert len(changed) == 1
    assert check("--baseline", "new.txt", "--fail-on", "warning").exit_code == 0
    result = CliRunner().invoke(main, ["diff", "occupancy.txt", "new.txt"])
    assert result.stdout == (
        "regressed: scale(float*, float) (sm_90, launched by scale_all): "
        "occupancy 100.0% → 50.0%; limiter warps → blocks; block 256 → 32\n"
    )


def test_a_second_run_compiles_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: object, **options: object) -> None:
        raise AssertionError(f"started {arguments}")

    monkeypatch.setattr("occlsp.reports.compile.run", run)
    assert told(project) == ([], [])
    assert check("-j", "1").stderr == ""
