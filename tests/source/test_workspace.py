"""A workspace: includes, other files' launches, edits."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path

import pytest

from occlsp.source.scanning import scan_folder
from occlsp.source.text import LineIndex
from occlsp.source.workspace import Workspace

CASES = Path(__file__).parent / "cases"


def workspace(**files: str) -> Workspace:
    """`common_h="…"` is /common.h; headers first."""
    made = Workspace(root="/", reader=None)
    for name, text in files.items():
        made.update("/" + name.replace("_", "."), text.encode())
    return made


def test_constants_of_an_included_header() -> None:
    made = workspace(
        sizes_h="#pragma once\nconstexpr int kBlock = 192;\n#define WARPS 4\n",
        main_cu='#include "sizes.h"\n__global__ void k();\nvoid f() { k<<<WARPS, kBlock>>>(); }',
    )
    launch = made.facts("/main.cu").launches[0]
    assert (launch.grid.value, launch.block.value) == ((4, 1, 1), (192, 1, 1))
    assert launch.block.definition is not None
    assert launch.block.definition.path == "/sizes.h"
    assert made.facts("/main.cu").includes == ("/sizes.h",)


def test_an_edit_of_the_header_changes_its_users() -> None:
    made = workspace(
        sizes_h="constexpr int kBlock = 192;",
        main_cu='#include "sizes.h"\n__global__ void k();\nvoid f() { k<<<1, kBlock>>>(); }',
    )
    assert made.facts("/main.cu").launches[0].block.value == (192, 1, 1)
    made.update("/sizes.h", b"constexpr int kBlock = 64;")
    assert made.facts("/main.cu").launches[0].block.value == (64, 1, 1)
    made.remove("/sizes.h")
    assert made.facts("/main.cu").launches[0].block.values is None


def test_a_header_is_read_from_disk(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "sizes.h").write_text("enum { kBlock = 96 };")
    made = Workspace(str(tmp_path))
    path = str(tmp_path / "main.cu")
    source = '#include "sizes.h"\n__global__ void k();\nvoid f() { k<<<1, kBlock>>>(); }'
    made.update(path, source.encode())
    assert made.facts(path).launches[0].block.value == (96, 1, 1)
    assert made.paths() == [path]


def test_kernels_and_launches_in_different_files() -> None:
    made = workspace(
        kernel_cuh="template <int N> __global__ void __launch_bounds__(N) k(int* p) {}",
        a_cu='#include "kernel.cuh"\nvoid f(int* p) { k<128><<<1, 128>>>(p); }',
        b_cu='#include "kernel.cuh"\nvoid g(int* p) { k<256><<<1, 256>>>(p); }',
    )
    (kernel,) = made.facts("/kernel.cuh").kernels
    assert kernel.instantiations == (("128",), ("256",))
    assert [i.max_threads.value for i in kernel.per_instance] == [128, 256]


def test_a_call_from_a_file_whose_text_was_dropped(tmp_path: Path) -> None:
    """However short the function's name is."""
    (tmp_path / "h.cuh").write_text(
        "#pragma once\ntemplate <int N> __global__ void k(int* p) {}\n"
        "template <int N> void go(int* p) { k<N><<<1, N>>>(p); }\n"
    )
    (tmp_path / "a.cu").write_text('#include "h.cuh"\nvoid f(int* p) { go<128>(p); }\n')
    root = str(tmp_path)
    made, _ = scan_folder([root], root=root, jobs=1)
    (launch,) = made.facts(str(tmp_path / "h.cuh")).launches
    assert launch.block.value == (128, 1, 1)


def test_an_alias_of_global_in_a_header() -> None:
    made = workspace(
        macros_h="#define MY_KERNEL __global__ static void\n",
        main_cu='#include "macros.h"\nMY_KERNEL k(int* p) {}\n',
    )
    assert [kernel.name for kernel in made.facts("/main.cu").kernels] == ["k"]


def test_ignore_comments() -> None:
    text = "// occlsp: ignore[spills]\nint a;\nint b;  // occlsp: ignore\n"
    assert workspace(main_cu=text).facts("/main.cu").ignores == {
        0: frozenset({"spills"}),
        1: frozenset({"spills"}),
        2: frozenset(),
    }


@pytest.mark.parametrize("case", sorted(CASES.glob("*.cu")), ids=lambda path: path.stem)
def test_cases_from_the_field(case: Path) -> None:
    expected = json.loads(case.with_suffix(".json").read_text("utf-8"))
    made = Workspace(reader=None)
    made.update("/case.cu", case.read_bytes())
    facts = made.facts("/case.cu")
    lines = LineIndex(case.read_bytes())

    def line(offset: int) -> int:
        return lines.line_of(offset) + 1

    kernels = {kernel.qualified_name: kernel for kernel in facts.kernels}
    assert {item["kernel"] for item in expected["kernels"]} == set(kernels)
    for item in expected["kernels"]:
        kernel = kernels[item["kernel"]]
        bounds = kernel.launch_bounds
        assert line(kernel.name_span.start) == item["line"]
        assert (bounds.max_threads.value if bounds else None) == item["max_threads"]
        least = bounds.min_blocks if bounds else None
        assert (least.value if least else None) == item["min_blocks"]
    written = [launch for launch in facts.launches if not launch.in_macro]
    for item in expected["launches"]:
        here = [launch for launch in written if item["line"] == line(launch.span.start)]
        here = here or [
            launch for launch in written if item["line"] == line(launch.callee_span.start)
        ]
        assert here, item
        if isinstance(item["block"], int):
            assert here[0].block.value is not None
            x, y, z = here[0].block.value
            assert x * y * z == item["block"]


def test_an_edit_gives_the_same_facts_as_a_fresh_start() -> None:
    head = "constexpr int B = 64;\n#define RUN(k) k<<<1, B>>>(p)\n"
    bodies = [
        f"__global__ void k{i}(int* p) {{ p[0] = {i}; }}\n"
        f"static void run{i}(int* p, int t) {{ k{i}<<<1, t>>>(p); RUN(k{i}); }}\n"
        f"void f{i}(int* p) {{ int n = {32 * i}; run{i}(p, n); }}\n"
        for i in range(1, 9)
    ]
    text = head + "".join(bodies)
    edited = Workspace(reader=None)
    edited.update("/a.cu", text.encode())
    edited.facts("/a.cu")
    chooser = random.Random(7)
    for _ in range(30):
        at = chooser.randrange(len(text))
        cut = chooser.choice([0, 0, 1, 3])
        text = (
            text[:at]
            + chooser.choice(["", " ", "1", ";", "\n", "}", "// x\n", "{"])
            + text[at + cut :]
        )
        edited.update("/a.cu", text.encode())
        fresh = Workspace(reader=None)
        fresh.update("/a.cu", text.encode())
        assert edited.facts("/a.cu") == fresh.facts("/a.cu"), text


def test_a_scan_over_processes_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "k.cuh").write_text(
        "template <int N> __global__ void __launch_bounds__(N) k() {}\n"
    )
    for number in range(30):
        source = (
            f'#include "k.cuh"\nvoid f{number}() {{ k<{32 * (number % 3 + 1)}><<<1, 32>>>(); }}\n'
        )
        (tmp_path / f"f{number}.cu").write_text(source)
    (tmp_path / "plain.cpp").write_text("int main() { return 0; }")
    root = str(tmp_path)
    found = []
    for jobs in (1, 2):
        made, errors = scan_folder([root], root=root, jobs=jobs)
        assert errors == {}
        found.append({path: made.facts(path) for path in made.paths()})
    assert found[0] == found[1]
    assert len(found[0]) == 31
    header = found[0][str(tmp_path / "k.cuh")].kernels[0]
    assert {i.max_threads.value for i in header.per_instance} == {32, 64, 96}


def test_a_scan_finds_headers_without_cuda_wherever_they_are(tmp_path: Path) -> None:
    for name, text in {
        "kernels/impl/run.cu": '#include "sizes.h"\n#include <math.h>\n__global__ void k() {}\n'
        "void f() { k<<<1, THREADS>>>(); k<<<1, MATH>>>(); }",
        "shared/includes/sizes.h": "#define THREADS 96\n",
        "shared/includes/math.h": "#define MATH 32\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    root = str(tmp_path)
    made, _ = scan_folder([root], root=root, jobs=1)
    known, standard = made.facts(str(tmp_path / "kernels/impl/run.cu")).launches
    assert known.block.value == (96, 1, 1)
    assert standard.block.values is None  # <math.h> is the standard library's


def test_a_workspace_can_be_handed_to_another_process() -> None:
    made = workspace(main_cu="__global__ void k();\nvoid f() { k<<<1, 32>>>(); }")
    copied = pickle.loads(pickle.dumps(made))
    assert copied.facts("/main.cu") == made.facts("/main.cu")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe__global__ void k(\x00",
        b"void f() { k<<<",
        b"void f() { " + b"{" * 500 + b"k<<<1,2>>>();" + b"}" * 500,
        b"void f() { if (" * 300,
        b"#define A A\n#define B(x) B(x) B(x)\nvoid f() { k<<<A, B(B(B(1)))>>>(); }",
        b'#include "main.cu"\n__global__ void k(int* p) { k<<<1, 1>>>(p); }',
        b"struct S { static constexpr int a = b; static constexpr int b = a; };"
        b"void f() { k<<<1, S::a>>>(); }",
        b"void f(int n) { switch (n) { case 1: case 2: default: k<<<1, n>>>(); } }",
    ],
    ids=range(9),
)
def test_broken_text_is_read_as_far_as_it_goes(text: bytes) -> None:
    made = Workspace(root="/", reader=None)
    made.update("/main.cu", text)
    assert made.facts("/main.cu").path == "/main.cu"
