"""Compiling without compile commands: which step makes a unit compile, and what it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from occlsp.reports import definitions
from occlsp.reports.cache import Cache
from occlsp.reports.compile import Context
from occlsp.reports.compile_task import defaults
from occlsp.reports.compiled import CompileResult
from occlsp.reports.guess import WorkspaceFiles, guessed_folders
from occlsp.reports.ladder import compile_without_commands
from occlsp.reports.recipe import Recipe
from tests.reports.compilers import SAXPY, real_nvcc


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


class TestGuesses:
    def test_folders_upwards_in_any_case(self, tmp_path: Path) -> None:
        root = tree(tmp_path / "w", {"Include/a.h": "", "lib/common/b.h": "", "lib/src/x/u.cu": ""})
        found = guessed_folders(root / "lib/src/x/u.cu", root)
        names = [str(path.relative_to(root)) for path in found]
        assert names == ["lib/src/x", "lib/common", "lib/src", "Include", "."]

    def test_nothing_above_the_workspace(self, tmp_path: Path) -> None:
        tree(tmp_path, {"include/secret.h": "", "w/u.cu": ""})
        found = guessed_folders(tmp_path / "w/u.cu", tmp_path / "w")
        assert tmp_path / "include" not in found

    def test_the_nearest_header_of_a_name(self, tmp_path: Path) -> None:
        root = tree(tmp_path, {"a/inc/lib/h.h": "", "b/lib/h.h": "", "b/x/u.cu": ""})
        files = WorkspaceFiles(root)
        assert files.folder_for("lib/h.h", root / "b/x/u.cu") == root / "b"
        assert files.folder_for("../h.h", root / "b/x/u.cu") == root / "b/lib"
        assert files.folder_for("none.h", root / "b/x/u.cu") is None

    def test_includers_by_resolved_path(self, tmp_path: Path) -> None:
        root = tree(
            tmp_path,
            {
                "k/part.cu": "",
                "main.cu": '#include "k/part.cu"\n',
                "other.cu": '#include "z/part.cu"\n',
                "z/part.cu": "",
            },
        )
        assert list(WorkspaceFiles(root).includers(root / "k/part.cu")) == [root / "main.cu"]


class TestDefinitions:
    CMAKE = """\
set(CUDA_NVCC_FLAGS ${CUDA_NVCC_FLAGS} -DWRAPPED=mine)
add_compile_definitions(ALWAYS PLAIN=3)
if (USE_HIP AND (A OR B))
  add_compile_definitions(HIP)
  list(APPEND DEFINITIONS -DPRECISION=1)
endif()
set(CMAKE_BUILD_TYPE -DNOT_OURS)
"""

    def test_only_what_no_option_decides(self, tmp_path: Path) -> None:
        tree(tmp_path, {"CMakeLists.txt": self.CMAKE})
        found = definitions.unconditional(tmp_path / "src/u.cu", tmp_path)
        assert found == ("WRAPPED=mine", "ALWAYS=1", "PLAIN=3")

    def test_what_the_source_demands(self, tmp_path: Path) -> None:
        tree(tmp_path, {"CMakeLists.txt": self.CMAKE})
        output = 'u.h:3:2: error: #error "PRECISION is undefined"'
        assert definitions.demanded(output, tmp_path / "u.cu", tmp_path) == ("PRECISION=1",)


class TestMending:
    def test_removed_names_get_their_new_ones(self) -> None:
        mended = Recipe().mended('error: identifier "cudaThreadSynchronize" is undefined')
        assert mended is not None
        host = mended.added_to(defaults()).host
        assert "-DcudaThreadSynchronize=cudaDeviceSynchronize" in host

    def test_each_is_tried_once(self) -> None:
        message = "ptxas fatal   : Unresolved extern function '_Z1fv'"
        mended = Recipe().mended(message)
        assert mended is not None
        assert mended.is_rdc
        assert mended.mended(message) is None

    def test_a_newer_language_replaces_the_older(self) -> None:
        mended = Recipe().mended("#error C++20 or later compatible compiler is required")
        assert mended is not None
        kept = mended.added_to(defaults()).kept
        assert [word for word in kept if word.startswith("--std")] == ["--std=c++20"]

    def test_an_unknown_message_is_left_alone(self) -> None:
        assert Recipe().mended("error: expected a ';'") is None


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(real_nvcc(), Cache(tmp_path / "cache"))


def climb(context: Context, root: Path, unit: str) -> CompileResult:
    return compile_without_commands(context, root / unit, "sm_90", defaults(), root=root)


def steps(result: CompileResult) -> list[str]:
    return [attempt.step for attempt in result.attempts]


@pytest.mark.slow
class TestSteps:
    """Each with the real nvcc."""

    def test_bare_at_once(self, context: Context, tmp_path: Path) -> None:
        root = tree(tmp_path / "w", {"a.cu": SAXPY})
        result = climb(context, root, "a.cu")
        assert (result.status, result.origin, steps(result)) == ("ok", "compile", ["bare"])

    def test_folders_then_the_same_at_once_beside_it(
        self, context: Context, tmp_path: Path
    ) -> None:
        files = {
            "Common/n.h": "#define N 3\n",
            "far/away/lib/m.h": "#define M 4\n",
            "src/a.cu": '#include "n.h"\n__global__ void a(int *p) { *p = N; }\n',
            "src/b.cu": "#include <n.h>\n#include <lib/m.h>\n"
            "__global__ void b(int *p) { *p = N + M; }\n",
            "src/c.cu": "#include <lib/m.h>\n__global__ void c(int *p) { *p = M; }\n",
        }
        root = tree(tmp_path / "w", files)
        assert steps(climb(context, root, "src/a.cu"))[-1] == "guessed"
        assert steps(climb(context, root, "src/b.cu"))[-1] == "search"
        beside = climb(context, root, "src/c.cu")
        assert steps(beside) == ["remembered"]
        assert len(beside.entries) == 1

    def test_a_folder_never_shadows_the_systems_headers(
        self, context: Context, tmp_path: Path
    ) -> None:
        files = {
            "include/math.h": "#error not this one\n",
            "include/n.h": "#include <math.h>\n#define N 3\n",
            "src/a.cu": "#include <n.h>\n__global__ void a(float *p) { *p = sqrtf(*p) * N; }\n",
        }
        result = climb(context, tree(tmp_path / "w", files), "src/a.cu")
        assert (result.status, steps(result)[-1]) == ("ok", "guessed")

    def test_a_header_named_as_one_of_the_systems_may_be_meant(
        self, context: Context, tmp_path: Path
    ) -> None:
        files = {
            "include/error.h": "#define OWN 3\n",
            "include/n.h": "#include <error.h>\n",
            "src/a.cu": "#include <n.h>\n__global__ void a(int *p) { *p = OWN; }\n",
            "other/b.cu": "#include <error.h>\n__global__ void b(int *p) { *p = OWN; }\n",
        }
        root = tree(tmp_path / "w", files)
        at_once = climb(context, root, "src/a.cu")
        assert (at_once.status, steps(at_once)) == ("ok", ["bare", "guessed"])
        assert at_once.attempts[0].took == 0.0
        later = climb(context, root, "other/b.cu")
        assert (later.status, later.origin, steps(later)) == ("ok", "compile", ["bare", "mended"])

    def test_what_the_systems_own_headers_include_is_theirs(
        self, context: Context, tmp_path: Path
    ) -> None:
        files = {
            "include/endian.h": "#error not this one\n",
            "include/n.h": "#include <endian.h>\n#define N 3\n",
            "src/a.cu": "#include <n.h>\n__global__ void a(float *p) { *p = N; }\n",
        }
        result = climb(context, tree(tmp_path / "w", files), "src/a.cu")
        assert (result.status, steps(result)[-1]) == ("ok", "guessed")

    def test_stand_ins_where_libraries_alone_are_missing(
        self, context: Context, tmp_path: Path
    ) -> None:
        test = "TEST(Suite, Name) { saxpy<<<1, 32>>>(2.f, nullptr, nullptr, 1); }\n"
        files = {
            "a.cu": f"#include <gtest/gtest.h>\n{SAXPY}{test}",
            "b.cu": f'#include <gtest/gtest.h>\n#include "gone.h"\n{SAXPY}void f() {{ gone(); }}\n',
            "c.cu": "#include <gtest/gtest.h>\n#ifndef SIZE\n#error SIZE is not defined\n#endif\n"
            "__global__ void c(int *p) { *p = SIZE; }\n",
            "Makefile": "FLAGS = -DSIZE=3\n",
        }
        root = tree(tmp_path / "w", files)
        whole = climb(context, root, "a.cu")
        assert (whole.status, whole.origin, steps(whole)[-1]) == ("ok", "standins", "stand-ins")
        assert whole.message == "stand-ins for gtest/gtest.h; nothing cut"
        assert {entry.origin for entry in whole.entries} == {"standins"}
        cut = climb(context, root, "b.cu")
        assert (cut.status, cut.origin, steps(cut)[-1]) == ("ok", "slice", "slice")
        mended = climb(context, root, "c.cu")
        assert (mended.status, steps(mended)[-2:]) == ("ok", ["stand-ins", "stand-ins"])

    def test_headers_that_only_a_missing_one_leads_to(
        self, context: Context, tmp_path: Path
    ) -> None:
        files = {
            "a.cu": "#include <opencv2/opencv_modules.hpp>\n#ifdef HAVE_OPENCV_CUDEV\n"
            '#include "gone.h"\n#include <lib/here.h>\n#endif\n'
            "__global__ void a(int *p) { *p = HERE; }\nvoid run() { gone(); }\n",
            "far/lib/here.h": "#define HERE 3\n",
        }
        result = climb(context, tree(tmp_path / "w", files), "a.cu")
        assert (result.status, result.origin) == ("ok", "slice"), result.message
        assert result.missing == ("gone.h", "opencv2/opencv_modules.hpp")

    def test_a_fragment_through_what_includes_it(self, context: Context, tmp_path: Path) -> None:
        files = {
            "part.cu": "__global__ void part(T *p) { *p = 1; }\n",
            "main.cu": 'using T = float;\n#include "part.cu"\n__global__ void m(T *) {}\n',
        }
        root = tree(tmp_path / "w", files)
        result = climb(context, root, "part.cu")
        assert steps(result)[-1] == "fragment"
        assert [Path(entry.file or "").name for entry in result.entries] == ["part.cu"]

    def test_the_slice_at_last_and_what_it_left_out(self, context: Context, tmp_path: Path) -> None:
        host = (
            "void run() {\n  gone::call();\n  saxpy<<<1, 32>>>(1, nullptr, nullptr, gone::n);\n}\n"
        )
        root = tree(tmp_path / "w", {"a.cu": f'#include "gone/api.h"\n{SAXPY}{host}'})
        result = climb(context, root, "a.cu")
        assert (result.status, result.origin, steps(result)[-1]) == ("ok", "slice", "slice")
        assert "gone/api.h" in (result.message or "")
        assert result.entries[0].line == 2
        again = climb(context, root, "a.cu")
        assert again.is_cached
        assert again.entries == result.entries
        (root / "a.cu").write_text("// moved\n" + (root / "a.cu").read_text())
        assert climb(context, root, "a.cu").entries[0].line == 3

    def test_no_kernel_is_its_own_state(self, context: Context, tmp_path: Path) -> None:
        root = tree(tmp_path / "w", {"a.cu": "template <class T> __global__ void k(T *) {}\n"})
        result = climb(context, root, "a.cu")
        assert result.status == "no-entry"
        assert result.message == "no kernel is instantiated in this file"

    def test_a_source_that_is_wrong_says_where(self, context: Context, tmp_path: Path) -> None:
        root = tree(tmp_path / "w", {"a.cu": "__global__ void k(int *p) {\n  *p = oops;\n}\n"})
        result = climb(context, root, "a.cu")
        assert result.status == "error"
        assert (result.errors[0].line, "oops" in result.errors[0].text) == (2, True)

    def test_cancelled_before_it_begins(self, tmp_path: Path) -> None:
        root = tree(tmp_path / "w", {"a.cu": SAXPY})
        context = Context(real_nvcc(), Cache(tmp_path / "cache"), cancelled=lambda: True)
        assert climb(context, root, "a.cu").status == "cancelled"
