"""Compiling one unit: what each outcome is called, and what is kept of it."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from occlsp.reports.cache import Cache
from occlsp.reports.commandline import split_posix
from occlsp.reports.compile import Context, compile_unit
from occlsp.reports.compiled import CompileResult
from occlsp.reports.flags import Filtered, filter_flags
from tests.reports.compilers import SAXPY, fake_compiler, fake_nvcc, posix_only, real_nvcc, starts

SPILLS = """\
__global__ void __launch_bounds__(256, 8) heavy(float *p) {
    float v[64];
#pragma unroll
    for (int i = 0; i < 64; ++i) v[i] = p[i * 256 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; ++i) p[i * 256 + threadIdx.x] = v[i] * v[(i * 7) & 63];
}
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(real_nvcc(), Cache(tmp_path / "cache"))


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def flags(words: str, folder: Path) -> Filtered:
    return filter_flags(split_posix(words), folder, workspaces=(), env=os.environ)


class TestOutcomes:
    """Every way a compile with the real nvcc can end."""

    def test_entries_with_their_numbers_and_lines(self, context: Context, work: Path) -> None:
        unit = write(work, "heavy.cu", SPILLS)
        result = compile_unit(context, unit, "sm_90", Filtered())
        assert result.status == "ok"
        assert result.message is None
        (entry,) = result.entries
        assert (entry.file, entry.line) == (str(unit), 1)
        assert (entry.arch, entry.origin, entry.unit) == ("sm_90", "compile", str(unit))
        assert entry.registers == 32
        assert entry.spill_stores
        assert entry.linked and not entry.debug
        assert entry.toolkit == context.compiler.version
        assert result.ptx is not None and "heavy" in Path(result.ptx).read_text()
        assert result.cubin is not None and Path(result.cubin).read_bytes()[:4] == b"\x7fELF"
        assert [path.name for path in work.iterdir()] == ["heavy.cu"], "nothing else is written"

    def test_no_kernel(self, context: Context, work: Path) -> None:
        unit = write(work, "host.cu", "template <class T> __global__ void k(T *p) { *p = T(); }")
        result = compile_unit(context, unit, "sm_90", Filtered())
        assert result.status == "no-entry"
        assert result.message == "no kernel is instantiated in this file"
        assert result.has_numbers

    def test_not_for_this_architecture(self, context: Context, work: Path) -> None:
        text = '__global__ void k() { asm volatile("griddepcontrol.wait;"); }'
        unit = write(work, "pdl.cu", text)
        result = compile_unit(context, unit, "sm_80", Filtered())
        assert result.status == "not-for-arch"
        assert "requires .target sm_90" in (result.message or "")
        assert compile_unit(context, unit, "sm_90", Filtered()).status == "ok"

    def test_an_architecture_that_the_toolkit_does_not_know(
        self, context: Context, work: Path
    ) -> None:
        unit = write(work, "a.cu", SAXPY)
        result = compile_unit(context, unit, "sm_20", Filtered())
        assert result.status == "not-for-arch"
        assert "Unsupported gpu architecture" in (result.message or "")

    def test_an_error_of_the_front_end(self, context: Context, work: Path) -> None:
        unit = write(work, "a.cu", "\n__global__ void k() { nonsense; }\n")
        result = compile_unit(context, unit, "sm_90", Filtered())
        assert result.status == "error"
        assert (result.errors[0].file, result.errors[0].line) == (str(unit), 2)
        assert "nonsense" in result.errors[0].text
        assert result.message == f"{unit}:2: {result.errors[0].text}"
        assert not result.has_numbers

    def test_a_missing_header(self, context: Context, work: Path) -> None:
        unit = write(work, "a.cu", '#include "gone.h"\n')
        result = compile_unit(context, unit, "sm_90", Filtered())
        assert result.status == "error"
        assert (result.errors[0].file, result.errors[0].line) == (str(unit), 1)
        assert "gone.h" in result.errors[0].text

    def test_too_much_static_shared_memory(self, context: Context, work: Path) -> None:
        text = "__global__ void k(float *p) { __shared__ float s[13000]; s[threadIdx.x] = *p;\n"
        unit = write(work, "a.cu", text + "__syncthreads(); *p = s[threadIdx.x ^ 1]; }")
        result = compile_unit(context, unit, "sm_90", Filtered())
        assert result.status == "error"
        assert "uses too much shared data" in (result.message or "")
        assert result.errors[0].entry == "_Z1kPf"

    def test_a_unit_that_is_not_there(self, context: Context, work: Path) -> None:
        result = compile_unit(context, work / "gone.cu", "sm_90", Filtered())
        assert result.status == "failed"
        assert "gone.cu cannot be read" in (result.message or "")

    @pytest.mark.parametrize("name", ["a\0b.cu", "a\ud800.cu", "x" * 5000])
    def test_a_name_that_no_file_has(self, context: Context, work: Path, name: str) -> None:
        result = compile_unit(context, work / name, "sm_90", Filtered(), text=b"")
        assert result.status in ("failed", "no-entry")
        assert compile_unit(context, work / name, "sm_90", Filtered()).status == "failed"

    @pytest.mark.parametrize("arch", ["sm_90;touch x", "-run", "", "compute_90", "native"])
    def test_no_architecture(self, context: Context, work: Path, arch: str) -> None:
        result = compile_unit(context, write(work, "a.cu", SAXPY), arch, Filtered())
        assert result.status == "failed"
        assert "is not the name of an architecture" in (result.message or "")

    def test_bytes_that_are_no_text(self, context: Context, work: Path) -> None:
        unit = work / "a.cu"
        unit.write_bytes(b"\xff\xfe\x00 // \xe9\n" + SAXPY.encode())
        assert compile_unit(context, unit, "sm_90", Filtered()).status in ("ok", "error")
        unit.write_bytes(b"// caf\xe9\n" + SAXPY.encode())
        assert compile_unit(context, unit, "sm_90", Filtered()).status == "ok"


@pytest.mark.slow
class TestBuilds:
    def test_a_debug_build_shows_the_numbers_of_a_release(
        self, context: Context, work: Path
    ) -> None:
        unit = write(work, "a.cu", SAXPY)
        debug = flags("-G -g", work)
        assert debug.is_debug
        release = compile_unit(context, unit, "sm_90", debug)
        beside = compile_unit(context, unit, "sm_90", debug, debug=True)
        plain = compile_unit(context, unit, "sm_90", Filtered())
        assert not release.entries[0].debug
        assert release.entries[0].registers == plain.entries[0].registers
        assert beside.entries[0].debug
        assert beside.entries[0].registers != plain.entries[0].registers
        assert context.cache is not None
        (latest,) = context.cache.latest(str(unit))
        assert not latest.is_debug

    def test_relocatable_code_is_marked_as_before_linking(
        self, context: Context, work: Path
    ) -> None:
        unit = write(work, "a.cu", SAXPY)
        assert not compile_unit(context, unit, "sm_90", flags("-dc", work)).entries[0].linked

    def test_link_time_optimisation_is_left_out(self, context: Context, work: Path) -> None:
        unit = write(work, "a.cu", SAXPY)
        result = compile_unit(context, unit, "sm_90", flags("-dlto -rdc=true", work))
        assert result.status == "ok"
        assert "it yields no machine code" in str(result.dropped[0])

    def test_every_kept_flag_is_known_to_nvcc(self, context: Context, work: Path) -> None:
        words = """-std=c++17 -O3 -use_fast_math --expt-relaxed-constexpr --extended-lambda
            -maxrregcount=40 -fmad=false -ftz=true -prec-div=false -prec-sqrt=false -restrict
            -default-stream per-thread -diag-suppress 177 -Xcudafe --diag_suppress=20012 -w
            -Xptxas -O2,-dlcm=ca -DN=4 -Wno-deprecated-gpu-targets -extra-device-vectorization
            -Xcompiler -fPIC,-Wall,-march=native,-fopenmp --no-exceptions -m64 -ccbin gcc
            -jtd 4 -ftemplate-depth 200 -dopt on --keep-device-functions -noeh"""
        unit = write(work, "a.cu", "#if N != 4\n#error N\n#endif\n" + SAXPY)
        result = compile_unit(context, unit, "sm_90", flags(words, work))
        assert result.status == "ok", result.output
        assert result.ptxas_options == ("-O2", "-dlcm=ca", "--maxrregcount=40")
        assert [warning.kind for warning in result.warnings] == ["maxrregcount-overridden"]

    def test_free_text_arrives_as_it_was_written(self, context: Context, work: Path) -> None:
        write(work, "in c/it's.h", "#define THREE 3\n")
        write(work, "pre.h", "__device__ int before;\n")
        unit = write(work, "a.cu", '#include "it\'s.h"\nconstexpr char s[] = TEXT;\n' + SAXPY)
        unit.write_text(unit.read_text() + 'static_assert(sizeof(s) == SIZE && THREE == 3, "");')
        text = 'say "$HOME" `id` \\\\ ; & | end'
        defined = '"' + text.replace('"', '\\"') + '"'
        words = ["-DTEXT=" + defined, f"-DSIZE={len(text)}", "-Iin c", "-include", "pre.h"]
        result = compile_unit(context, unit, "sm_90", filter_flags(words, work, workspaces=()))
        assert result.status == "ok", result.output

    def test_relative_folders_are_those_of_the_command(self, context: Context, work: Path) -> None:
        write(work, "inc/h.h", "#define BOUND 128\n")
        unit = write(work, "src/a.cu", '#include "h.h"\n' + SAXPY)
        build = work / "build"
        build.mkdir()
        result = compile_unit(context, unit, "sm_90", flags("-I../inc", build))
        assert result.status == "ok", result.output
        assert result.dependencies == (str(work / "inc" / "h.h"),)


@pytest.mark.slow
class TestTextInPlaceOfTheFile:
    def test_is_compiled_under_the_files_name(self, context: Context, work: Path) -> None:
        write(work, "h.h", "#define N 3\n")
        unit = write(work, "a.cu", "not yet saved")
        text = b'\xef\xbb\xbf#include "h.h"\n\n' + SAXPY.encode()
        result = compile_unit(context, unit, "sm_90", Filtered(), text=text)
        assert result.status == "ok", result.output
        assert (result.entries[0].file, result.entries[0].line) == (str(unit), 3)
        assert result.dependencies == (str(work / "h.h"),)

    def test_errors_name_the_files_lines(self, context: Context, work: Path) -> None:
        unit = write(work, "a.cu", SAXPY)
        result = compile_unit(context, unit, "sm_90", Filtered(), text=b"\n\nint x = ;\n")
        assert (result.errors[0].file, result.errors[0].line) == (str(unit), 3)

    @posix_only
    @pytest.mark.parametrize("name", ['a "b".cu', "$(touch pwned).cu", "`x`;'.cu", "a\\b.cu"])
    def test_so_is_a_file_whose_name_a_shell_would_read(
        self, context: Context, work: Path, name: str
    ) -> None:
        write(work, "h.h", "")
        unit = write(work, name, '#include "h.h"\n' + SAXPY)
        result = compile_unit(context, unit, "sm_90", Filtered())
        assert result.status == "ok", result.output
        assert (result.entries[0].file, result.entries[0].line) == (str(unit), 2)
        assert sorted(path.name for path in work.iterdir()) == sorted([name, "h.h"])


@pytest.mark.slow
class TestCached:
    def test_nothing_is_compiled_twice(self, context: Context, work: Path) -> None:
        unit = write(work, "a.cu", SAXPY)
        first = compile_unit(context, unit, "sm_90", Filtered())
        start = time.monotonic()
        again = compile_unit(context, unit, "sm_90", Filtered())
        assert again == replace(first, is_cached=True)
        assert time.monotonic() - start < first.took / 4

    @pytest.mark.parametrize("change", ["unit", "header", "flags", "arch"])
    def test_what_the_result_depends_on_compiles_it_anew(
        self, context: Context, work: Path, change: str
    ) -> None:
        header = write(work, "h.h", "#define N 3\n")
        unit = write(work, "a.cu", '#include "h.h"\n' + SAXPY)
        os.utime(header, (1, 1))
        compile_unit(context, unit, "sm_90", Filtered())
        if change == "unit":
            write(work, "a.cu", SAXPY.replace("a * x[i]", "a * a * x[i]"))
        elif change == "header":
            write(work, "h.h", "#define N 4\n")
        words = flags("-use_fast_math", work) if change == "flags" else Filtered()
        arch = "sm_80" if change == "arch" else "sm_90"
        assert not compile_unit(context, unit, arch, words).is_cached

    def test_an_added_comment_in_another_file_does_not(self, context: Context, work: Path) -> None:
        unit = write(work, "a.cu", SAXPY)
        compile_unit(context, unit, "sm_90", Filtered())
        write(work, "other.h", "// not included\n")
        assert compile_unit(context, unit, "sm_90", Filtered()).is_cached

    def test_a_header_that_changes_meanwhile_is_not_believed(
        self, context: Context, work: Path
    ) -> None:
        header = write(work, "h.h", "#define N 3\n")
        unit = write(work, "a.cu", '#include "h.h"\n' + SAXPY)
        os.utime(header, (time.time() + 60, time.time() + 60))
        assert compile_unit(context, unit, "sm_90", Filtered()).status == "ok"
        assert not compile_unit(context, unit, "sm_90", Filtered()).is_cached

    def test_an_error_is_tried_again(self, context: Context, work: Path) -> None:
        unit = write(work, "a.cu", '#include "h.h"\n' + SAXPY)
        assert compile_unit(context, unit, "sm_90", Filtered()).status == "error"
        write(work, "h.h", "")
        assert compile_unit(context, unit, "sm_90", Filtered()).status == "ok"

    def test_what_a_caller_adds_is_kept(self, context: Context, work: Path) -> None:
        def finish(result: CompileResult) -> CompileResult:
            marked = (replace(entry, fingerprint="f") for entry in result.entries)
            return replace(result, entries=tuple(marked))

        unit = write(work, "a.cu", SAXPY)
        compile_unit(replace(context, finish=finish), unit, "sm_90", Filtered())
        again = compile_unit(context, unit, "sm_90", Filtered())
        assert again.is_cached
        assert again.entries[0].fingerprint == "f"

    def test_a_saved_header_leads_to_its_units(self, context: Context, work: Path) -> None:
        header = write(work, "inc/h.h", "")
        unit = write(work, "a.cu", '#include "inc/h.h"\n' + SAXPY)
        compile_unit(context, unit, "sm_90", Filtered())
        assert context.cache is not None
        assert context.cache.units_including(str(header), work) == (str(unit),)


@posix_only
class TestBadCompilers:
    """Scripts in the place of nvcc, named by the user's setting."""

    def compile(self, tmp_path: Path, body: str, **options: object) -> tuple[CompileResult, Cache]:
        cache = Cache(tmp_path / "cache")
        compiler = fake_compiler(fake_nvcc(tmp_path / "bin", body))
        context = Context(compiler, cache, **options)  # type: ignore[arg-type]
        unit = write(tmp_path, "a.cu", SAXPY)
        return compile_unit(context, unit, "sm_90", Filtered()), cache

    def test_hanging(self, tmp_path: Path) -> None:
        result, _ = self.compile(tmp_path, "sleep 100", timeout=0.5)
        assert result.status == "timeout"
        assert result.message == "the compile timed out after 0.5 s"
        assert result.took < 1.5

    @pytest.mark.parametrize("body", ["kill -SEGV $$", "exit 139"])
    def test_crashing(self, tmp_path: Path, body: str) -> None:
        result, _ = self.compile(tmp_path, body)
        assert result.status == "failed"
        assert "the compiler crashed" in (result.message or "")

    def test_a_crash_of_its_own_parts(self, tmp_path: Path) -> None:
        result, _ = self.compile(
            tmp_path, "echo \"nvcc error   : 'cicc' died due to signal 11\" >&2; exit 11"
        )
        assert not result.has_numbers
        assert "'cicc' died due to signal 11" in (result.message or "")

    def test_printing_garbage(self, tmp_path: Path) -> None:
        result, _ = self.compile(tmp_path, "head -c 200000 /dev/urandom; exit 1")
        assert result.status == "failed"
        assert len(result.output) <= 65536

    def test_printing_without_end(self, tmp_path: Path) -> None:
        result, _ = self.compile(tmp_path, "yes", timeout=1.0)
        assert result.status == "timeout"

    def test_making_nothing(self, tmp_path: Path) -> None:
        result, _ = self.compile(tmp_path, "exit 0")
        assert (result.status, result.message) == (
            "failed",
            "the compiler ended well but made no code",
        )

    def test_making_garbage(self, tmp_path: Path) -> None:
        result, _ = self.compile(tmp_path, "echo hello > unit.cubin")
        assert (result.status, result.message) == (
            "failed",
            "the compiler made a file that is no cubin",
        )

    def test_making_half_a_cubin(self, tmp_path: Path) -> None:
        result, _ = self.compile(tmp_path, "printf '\\177ELF\\002\\001' > unit.cubin")
        assert result.status in ("failed", "no-entry")
        assert result.entries == ()

    def test_gone_since_it_was_found(self, tmp_path: Path) -> None:
        compiler = fake_compiler(fake_nvcc(tmp_path / "bin", ""))
        compiler.path.unlink()
        result = compile_unit(
            Context(compiler), write(tmp_path, "a.cu", SAXPY), "sm_90", Filtered()
        )
        assert result.status == "failed"
        assert "could not be started" in (result.message or "")

    def test_leaving_a_child_that_holds_its_output(self, tmp_path: Path) -> None:
        start = time.monotonic()
        result, _ = self.compile(tmp_path, "sleep 100 & exit 1", timeout=30)
        assert result.status == "failed"
        assert time.monotonic() - start < 3

    def test_a_hanging_one_is_not_tried_at_once_again(self, tmp_path: Path) -> None:
        first, _ = self.compile(tmp_path, "sleep 100", timeout=0.3)
        again, _ = self.compile(tmp_path, "sleep 100", timeout=0.3, slow=0.2)
        assert (first.status, again.status) == ("timeout", "slow")
        assert "compiled on command only" in (again.message or "")
        assert len(starts(tmp_path / "bin")) == 1

    def test_old_numbers_stay_when_a_compile_fails(self, tmp_path: Path, context: Context) -> None:
        unit = write(tmp_path, "a.cu", SAXPY)
        good = compile_unit(context, unit, "sm_90", Filtered())
        bad = fake_compiler(fake_nvcc(tmp_path / "bin", "exit 1"))
        write(tmp_path, "a.cu", SAXPY + "// edited\n")
        assert (
            compile_unit(replace(context, compiler=bad), unit, "sm_90", Filtered()).status
            == "failed"
        )
        assert context.cache is not None
        assert [result.entries for result in context.cache.latest(str(unit))] == [good.entries]

    def test_cancelled(self, tmp_path: Path) -> None:
        cancelled = threading.Event()
        threading.Timer(0.3, cancelled.set).start()
        result, _ = self.compile(tmp_path, "sleep 100", cancelled=cancelled.is_set)
        assert result.status == "cancelled"
        assert result.took < 1.3
