"""Which launch runs which kernel, and which entry is which kernel."""

from __future__ import annotations

from occlsp.analysis import join
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite, SourceFile
from occlsp.reports.facts import Entry, Report
from occlsp.source.workspace import Workspace
from tests.analysis.golden import PATH, entry, snapshot


def launches(made: Snapshot, path: str = PATH) -> list[join.LaunchJoin]:
    facts = made.sources.facts(path)
    assert facts is not None
    return [join.of_launch(made, LaunchSite(path, launch)) for launch in facts.launches]


def names(made: Snapshot, path: str = PATH) -> list[list[str]]:
    """The kernels that each launch may run."""
    return [
        [f"{site.path}:{site.kernel.qualified_name}" for site in launch.kernels]
        for launch in launches(made, path)
    ]


def registers(made: Snapshot, path: str = PATH) -> list[list[int | None]]:
    """The registers of what each launch may run."""
    return [
        [row.entry.registers if row.entry else None for row in launch.rows]
        for launch in launches(made, path)
    ]


def test_the_innermost_scope_is_seen_first() -> None:
    made = snapshot(
        """
__global__ void k(float* p) { p[0] = 1; }
namespace a {
__global__ void k(float* p) { p[0] = 2; }
void inner(float* p) { k<<<1, 32>>>(p); }
}
void outer(float* p) { k<<<1, 32>>>(p); a::k<<<1, 32>>>(p); }
"""
    )
    assert names(made) == [[f"{PATH}:a::k"], [f"{PATH}:k"], [f"{PATH}:a::k"]]


def test_a_kernel_of_the_same_file_hides_those_of_others() -> None:
    kernel = "__global__ void k(float* p) { p[0] = 1; }\n"
    launch = "void run(float* p) { k<<<1, 32>>>(p); }\n"
    made = snapshot({"/ws/a.cu": kernel + launch, "/ws/b.cu": kernel + launch})
    assert names(made, "/ws/a.cu") == [["/ws/a.cu:k"]]
    assert names(made, "/ws/b.cu") == [["/ws/b.cu:k"]]


def test_included_files_come_before_the_rest_of_the_workspace() -> None:
    kernel = "__global__ void k(float* p) { p[0] = 1; }\n"
    made = snapshot(
        {
            "/ws/near.cuh": kernel,
            "/ws/far.cuh": kernel,
            "/ws/run.cu": '#include "near.cuh"\nvoid run(float* p) { k<<<1, 32>>>(p); }\n',
        }
    )
    assert names(made, "/ws/run.cu") == [["/ws/near.cuh:k"]]


def test_overloads_are_told_apart_by_their_arguments() -> None:
    made = snapshot(
        """
__global__ void k(float* p) { p[0] = 1; }
__global__ void k(float* p, int n) { p[n] = 1; }
void run(float* p) { k<<<1, 32>>>(p); k<<<1, 32>>>(p, 3); }
""",
        entry("_Z1kPf", 16),
        entry("_Z1kPfi", 24),
    )
    assert registers(made) == [[16], [24]]


def test_a_specialisation_is_another_kernel() -> None:
    made = snapshot(
        """
template <int N> __global__ void k(float* p) { p[0] = N; }
template <> __global__ void k<4>(float* p) { p[0] = 4; }
void run(float* p) { k<4><<<1, 32>>>(p); k<5><<<1, 32>>>(p); }
""",
        entry("_Z1kILi4EEvPf", 16),
        entry("_Z1kILi5EEvPf", 24),
    )
    assert registers(made) == [[16], [24]]


def test_a_number_among_arguments_that_are_not_known_tells_which() -> None:
    source = """
template <class T, int N> __global__ void k(T* p) { p[0] = N; }
template <class T> void run(T* p, int n) {
    switch (n) {
        case 4: k<T, 4><<<1, 32>>>(p); break;
        default: k<T, 8><<<1, 32>>>(p); break;
    }
}
template <class... Ts> void all(Ts*... p) { k<Ts..., 4><<<1, 32>>>(p...); }
"""
    compiled = [("_Z1kIiLi4EEvPT_", 20), ("_Z1kIfLi4EEvPT_", 24), ("_Z1kIfLi8EEvPT_", 40)]
    made = snapshot(source, *(entry(name, count) for name, count in compiled))
    assert [sorted(map(int, filter(None, one))) for one in registers(made)] == [
        [20, 24],
        [40],
        [20, 24, 40],
    ]


def test_kernels_in_anonymous_namespaces_have_entries_with_hashes() -> None:
    made = snapshot(
        "namespace { __global__ void k(float* p) { p[0] = 1; } }\n"
        "void run(float* p) { k<<<1, 32>>>(p); }\n",
        entry("_ZN55_GLOBAL__N__98b4d2d5_14_tmpxft_000_cpp1_ii_9f2bd6d2_10191kEPf", 16),
        entry("_ZN41_GLOBAL__N__98b4d2d5_4_k_cu_9f2bd6d2_10191kEPf", 24),
    )
    assert 24 in registers(made)[0]


def entries_of(*reports: Report) -> list[int | None]:
    source = "__global__ void k(float* p) { p[0] = 1; }\n"
    made = snapshot(source).with_reports(reports)
    (site,) = made.sources.kernels_of(PATH)
    return [one.registers for one in join.entries_of(made, site)]


def report(name: str, *entries: Entry) -> Report:
    return Report(name, entries)


def test_two_reports_of_one_kernel_are_told_once_by_the_newer() -> None:
    old = report("old.log", entry("_Z1kPf", 16, time=1.0))
    new = report("new.log", entry("_Z1kPf", 24, time=2.0))
    assert entries_of(old, new) == entries_of(new, old) == [24]


def test_of_reports_without_times_the_compiled_code_is_believed() -> None:
    log = report("log", entry("_Z1kPf", 16, origin="log"))
    binary = report("k.o", entry("_Z1kPf", 24, origin="binary"))
    assert entries_of(log, binary) == entries_of(binary, log) == [24]


def test_debug_numbers_give_way() -> None:
    debug = report("debug.log", entry("_Z1kPf", 16, debug=True, time=2.0))
    release = report("release.log", entry("_Z1kPf", 24, time=1.0))
    assert entries_of(debug, release) == [24]
    assert entries_of(debug) == [16]


def test_a_report_of_this_very_source_beats_a_newer_one() -> None:
    source = "__global__ void k(float* p) { p[0] = 1; }\n"
    made = snapshot(source)
    (site,) = made.sources.kernels_of(PATH)
    mine = report("compile", entry("_Z1kPf", 24, time=1.0, fingerprint=site.kernel.fingerprint))
    other = report("log", entry("_Z1kPf", 16, time=2.0))
    made = made.with_reports((other, mine))
    assert [one.registers for one in join.entries_of(made, site)] == [24]


def test_entries_of_a_suffixed_architecture_count_for_the_plain_one() -> None:
    source = "__global__ void k(float* p) { p[0] = 1; }\nvoid run(float* p) { k<<<1, 32>>>(p); }\n"
    assert registers(snapshot(source, entry("_Z1kPf", 24, "sm_90a"))) == [[24]]
    both = snapshot(source, entry("_Z1kPf", 24, "sm_90a"), entry("_Z1kPf", 16))
    assert registers(both) == [[16]]
    assert registers(snapshot(source, entry("_Z1kPf", 24, "sm_80"))) == [[None]]


def test_an_index_shares_what_did_not_change() -> None:
    files = {f"/ws/{name}.cu": f"__global__ void {name}(float* p);\n" for name in "abc"}
    made = snapshot(files)
    workspace = Workspace("/ws", reader=None)
    text = b"__global__ void d(float* p);\n"
    workspace.update("/ws/a.cu", text)
    changed = made.with_file(SourceFile(workspace.facts("/ws/a.cu"), text))
    assert set(changed.sources.by_name) == {"b", "c", "d"}
    assert changed.sources.by_name["b"] is made.sources.by_name["b"]
    assert changed.sources.launches_by_name is made.sources.launches_by_name
    assert set(made.sources.by_name) == {"a", "b", "c"}
    assert set(changed.without_file("/ws/a.cu").sources.by_name) == {"b", "c"}


def test_values_that_belong_together_are_not_mixed() -> None:
    made = snapshot(
        """
extern __shared__ double s[];
__global__ void k(double* p) { p[0] = s[0]; }
void run(double* p, int n) {
    const int t = n > 4096 ? 512 : 128;
    k<<<1, t, t * sizeof(double)>>>(p);
}
"""
    )
    (launch,) = launches(made)
    (row,) = launch.rows
    assert {(case.threads, case.dynamic_smem) for case in row.cases} == {(128, 1024), (512, 4096)}


def test_the_carveout_that_a_call_asks_for() -> None:
    source = """
__global__ void k(float* p) { __shared__ float s[8192]; s[0] = 1; p[0] = s[0]; }
void run(float* p) {
    %s
    k<<<1, 64>>>(p);
}
"""
    call = "cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 20);"
    whole = launches(snapshot(source % "", entry("_Z1kPf", 16, static_smem=32768)))
    part = launches(snapshot(source % call, entry("_Z1kPf", 16, static_smem=32768)))
    assert [one.rows[0].cases[0].result.blocks_per_sm for one in (*whole, *part)] == [6, 1]
