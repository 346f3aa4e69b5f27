"""Measured runs in hovers, and the gate that quick fixes rest on."""

from __future__ import annotations

from pathlib import Path

from occlsp.analysis.advice.matching import Measured
from occlsp.analysis.advice.measurements.facts import Measurement
from occlsp.analysis.explorer import explorer
from occlsp.analysis.fixes import fixes
from occlsp.analysis.hover import hover
from occlsp.analysis.results import Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.cli.check_project import Request, projects
from occlsp.source.text import Span
from tests.analysis.golden import PATH, cursor, entry, snapshot

SOURCE = """
template <class T> __global__ void scale(T *x, T a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
void run(float *x, int n) { scale<float><<<(n + 639) / 640, 6$040>>>(x, 2.0f, n); }
void half(float *x) { scale<float><<<400, 640>>>(x, 2.0f, 256000); }
"""
SCALE = entry("_Z5scaleIfEvPT_S0_i", 40)


def made(*runs: Measurement, gpu: str | None = None) -> tuple[Snapshot, int]:
    text, offset = cursor(SOURCE)
    return snapshot(text, SCALE, gpu=gpu).with_measured(Measured.of(runs)), offset


def run(block: int, nanoseconds: float, **more: object) -> Measurement:
    name = more.pop("kernel", "void scale<float>(T1 *, T1, int)")
    return Measurement(
        str(name), "/x/profile.csv", block=(block, 1, 1), durations_ns=(nanoseconds,), **more  # type: ignore[arg-type]
    )  # fmt: skip


def shown(*runs: Measurement, gpu: str | None = None) -> list[str]:
    state, offset = made(*runs, gpu=gpu)
    found = hover(state, PATH, offset)
    assert found is not None
    return [line.strip() for line in found.markdown.splitlines() if "easured" in line]


def offered(*runs: Measurement) -> tuple[Fix, ...]:
    state, offset = made(*runs)
    found = fixes(state, PATH, Span(offset, offset))
    return tuple(fix for fix in found if fix.title.startswith("Use "))


def test_the_hover_shows_measured_beside_theoretical_and_why() -> None:
    few = run(640, 12_300, grid=(40, 1, 1), achieved_occupancy=0.11, arch="sm_90")
    assert shown(few, gpu="H100 SXM") == [
        "Measured at grid 40: 11% achieved of 62.5% theoretical, median 12.3 µs (1 run, "
        "`profile.csv`); too few blocks: 40 of the 264 that H100 SXM can hold"
    ]


def test_nothing_measured_nothing_said() -> None:
    assert shown() == []
    assert shown(run(640, 5, kernel="other(int)")) == []
    assert shown(run(640, 5, arch="sm_80")) == []
    assert shown(run(640, 5, kernel="void scale<double>(T1 *, T1, int)")) == []


def test_a_bare_name_may_be_any_instance() -> None:
    assert len(shown(run(640, 5, kernel="scale"))) == 1


def test_runs_at_other_blocks_are_named() -> None:
    assert shown(run(128, 5), run(256, 6)) == ["Measured at other blocks: 128 and 256"]


def test_a_failed_run_and_an_impossible_one() -> None:
    failed = Measurement("scale", "p", block=(640, 1, 1), failures=("nan",))
    assert shown(failed) == ["Measured: no time: nan (0 runs, `p`)"]
    assert shown(run(640, 5, achieved_occupancy=1.2))[0].endswith("suspect: above 100%")


def test_measurements_that_disagree_turn_the_recommendation_into_not_trusted() -> None:
    before = offered()
    assert before[0].is_preferred
    assert before[0].is_trusted is None
    after = offered(run(640, 10), run(256, 30), run(128, 20), run(1024, 5))
    assert not any(fix.is_preferred for fix in after)
    assert [fix.is_trusted for fix in after] == [False] * len(after)
    assert "; not trusted here: rank correlation " in after[0].title
    assert after[0].title.endswith(" on 4 measured block sizes")
    assert after[0].edits == before[0].edits


def test_measurements_that_agree_make_it_a_recommendation() -> None:
    after = offered(run(640, 30), run(256, 10), run(1024, 31))
    assert after[0].is_preferred
    assert after[0].is_trusted
    assert after[0].title.endswith("; recommended: rank correlation 1.00 on 3 measured block sizes")


def test_too_few_block_sizes_say_nothing() -> None:
    assert offered(run(640, 10), run(256, 30), run(256, 20)) == offered()


def test_the_hover_shows_the_gate() -> None:
    told = shown(run(640, 10), run(256, 30), run(128, 20))
    assert told[-1].startswith("Block sizes by the model: not trusted here: rank correlation -0.")


def test_a_launch_that_cannot_run_needs_no_measurement() -> None:
    text, offset = cursor(SOURCE.replace("6$040>>>(x, 2.0f, n)", "10$024>>>(x, 2.0f, n)"))
    state = snapshot(text, entry("_Z5scaleIfEvPT_S0_i", 80))
    runs = (run(512, 10), run(256, 30), run(128, 20))
    found = fixes(state.with_measured(Measured.of(runs)), PATH, Span(offset, offset))
    uses = [fix for fix in found if fix.title.startswith("Use ")]
    assert uses
    assert not any("trusted" in fix.title for fix in uses)


def test_the_setting_names_the_files(tmp_path: Path) -> None:
    (tmp_path / "occlsp.toml").write_text('measurements = ["perf/*.jsonl"]', "utf-8")
    (tmp_path / "perf").mkdir()
    (tmp_path / "perf" / "a.jsonl").write_text('{"kernel": "k", "durations_ns": [5]}', "utf-8")
    (tmp_path / "perf" / "b.jsonl").write_text("nothing", "utf-8")
    (tmp_path / "a.cu").write_text("__global__ void k() {}", "utf-8")
    (project,) = projects(Request((tmp_path,), arch=("sm_90",)))
    assert [one.kernel for one in project.snapshot.measured.measurements] == ["k"]
    assert len(project.problems) == 1
    assert "b.jsonl: no measurements; expected" in project.problems[0]


def test_the_explorer_shows_the_gate_too() -> None:
    state, offset = made(run(640, 10), run(256, 30), run(128, 20))
    found = explorer(state, PATH, offset)
    assert found is not None
    assert found.fixes
    assert all("; not trusted here: " in fix.title for fix in found.fixes if not fix.disabled)
