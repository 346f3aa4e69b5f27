"""`occlsp record`: the compiler's run is its own, and the reports are there afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from occlsp.reports.cache import Cache
from occlsp.reports.read import read_report
from occlsp.reports.record import products
from tests.reports.compilers import SAXPY, fake_nvcc, posix_only, real_nvcc, starts

OCCLSP = [sys.executable, "-c", "from occlsp.cli.main import main; main()"]


class Project:
    """A folder with a unit, and the same command with and without `record`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.unit = self.folder / "a.cu"
        self.unit.write_text(SAXPY)
        self.cache = folder / "cache"

    def plain(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return self._run(words)

    def record(
        self, *words: str, options: tuple[str, ...] = (), **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        return self._run([*OCCLSP, "record", *options, "--", *words], **env)

    def _run(self, words: object, **env: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "OCCLSP_CACHE_DIR": str(self.cache), **env}
        return subprocess.run(
            list(words),  # type: ignore[call-overload]
            cwd=self.folder,
            env=environment,
            capture_output=True,
            timeout=120,
        )

    def latest(self) -> dict[str, int | None]:
        found = Cache(self.cache).latest(str(self.unit))
        assert all(result.origin == "record" for result in found)
        return {e.entry: e.registers for result in found for e in result.entries}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def content(path: Path) -> bytes:
    """A product without the names of nvcc's temporary files, which differ with every run."""
    return re.sub(rb"tmpxft_[0-9a-f]{8}", b"", path.read_bytes())


@pytest.mark.slow
def test_output_status_and_product_are_the_compilers_own(project: Project) -> None:
    nvcc = str(real_nvcc().path)
    words = (nvcc, "-arch=sm_90", "-Xptxas", "-v", "-c", "a.cu", "-o", "a.o")
    plain = project.plain(*words)
    made = content(project.folder / "a.o")
    recorded = project.record(*words)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    timeless = [re.sub(rb"[\d.]+ ms", b"", run.stderr) for run in (plain, recorded)]
    assert timeless[0] == timeless[1]
    assert content(project.folder / "a.o") == made
    (registers,) = project.latest().values()
    assert registers
    assert str(registers).encode() in plain.stderr


@pytest.mark.slow
def test_a_failing_compile_is_the_compilers_own(project: Project) -> None:
    nvcc = str(real_nvcc().path)
    project.unit.write_text('#error "stop here"\n')
    words = (nvcc, "-c", "a.cu")
    plain, recorded = project.plain(*words), project.record(*words)
    assert plain.returncode != 0
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )
    assert project.latest() == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "product"),
    [
        ("-cubin a.cu", "a.cubin"),
        ("-fatbin -o f a.cu", "f"),
        ("-c a.cu", "a.o"),
        ("-dc a.cu -o out.o", "out.o"),
        ("--options-file options.rsp", "from_rsp.o"),
    ],
)
def test_every_kind_of_product_is_read(project: Project, words: str, product: str) -> None:
    nvcc = str(real_nvcc().path)
    (project.folder / "options.rsp").write_text("-c a.cu -o from_rsp.o")
    done = project.record(nvcc, "-arch=sm_90", *words.split(), options=("--verbose",))
    assert done.returncode == 0, done.stderr
    assert f"{product}: 1 kernel entries".encode() in done.stderr
    assert list(project.latest()) == ["_Z5saxpyfPKfPfi"]
    (result,) = Cache(project.cache).latest(str(project.unit))
    assert result.entries[0].linked == ("-dc" not in words)


@pytest.mark.slow
def test_several_architectures_and_a_debug_build(project: Project) -> None:
    nvcc = str(real_nvcc().path)
    gencode = [f"-gencode=arch=compute_{n},code=sm_{n}" for n in (80, 90)]
    assert project.record(nvcc, *gencode, "-c", "a.cu").returncode == 0
    assert project.record(nvcc, "-arch=sm_75", "-G", "-c", "a.cu", "-o", "d.o").returncode == 0
    found = {
        result.arch: result.is_debug for result in Cache(project.cache).latest(str(project.unit))
    }
    assert found == {"sm_80": False, "sm_90": False, "sm_75": True}


@pytest.mark.slow
def test_a_folder_of_reports_for_a_later_check(project: Project) -> None:
    nvcc = str(real_nvcc().path)
    words = (nvcc, "-arch=sm_90", "-lineinfo", "-c", "a.cu", "-o", "a.o")
    folder = project.folder / "reports"
    assert project.record(*words, options=("--reports-dir", str(folder))).returncode == 0
    assert project.record(*words, OCCLSP_REPORTS_DIR=str(folder)).returncode == 0
    (path,) = folder.iterdir()
    report = read_report(path)
    (entry,) = report.entries
    assert report.warnings == ()
    assert (entry.file, entry.line, entry.origin) == (str(project.unit), 1, "record")
    assert entry.registers == next(iter(project.latest().values()))

    path.write_bytes(path.read_bytes()[:-20])
    broken = read_report(path)
    assert broken.entries == ()
    assert "not a report of `occlsp record`" in broken.warnings[0].message


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_word_in_the_build(project: Project) -> None:
    """As in the sandbox of a Bazel action, whose only place to write is its declared outputs."""
    project.cache.write_text("a file where the folder should be")
    folder = project.folder / "reports"
    words = (str(real_nvcc().path), "-arch=sm_90", "-c", "a.cu", "-o", "a.o")
    done = project.record(*words, options=("--reports-dir", str(folder)))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [entry.registers for path in folder.iterdir() for entry in read_report(path).entries]


@posix_only
class TestAnyProgram:
    """With a script in the compiler's place: what is passed on, and how it ends."""

    def test_every_word_goes_to_the_compiler(self, project: Project) -> None:
        nvcc = fake_nvcc(project.folder / "bin", "exit 0")
        words = ["-h", "--help", "--verbose", "--reports-dir", "x", "a b", "", "$HOME", "--"]
        assert project.record(str(nvcc), *words).returncode == 0
        expected = " ".join(words)
        assert starts(project.folder / "bin") == [expected]

    def test_also_without_the_dashes_in_front(self, project: Project) -> None:
        nvcc = fake_nvcc(project.folder / "bin", "exit 3")
        done = project._run([*OCCLSP, "record", str(nvcc), "-c", "a.cu"])
        assert done.returncode == 3
        assert starts(project.folder / "bin") == ["-c a.cu"]

    @pytest.mark.parametrize("status", [0, 1, 2, 42, 255])
    def test_the_exit_status(self, project: Project, status: int) -> None:
        nvcc = fake_nvcc(project.folder / "bin", f"exit {status}")
        assert project.record(str(nvcc), "-c", "a.cu").returncode == status

    @pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM"])
    def test_an_end_by_a_signal(self, project: Project, name: str) -> None:
        nvcc = fake_nvcc(project.folder / "bin", f"kill -{name} $$")
        expected = -getattr(signal, f"SIG{name}")
        assert project.record(str(nvcc), "-c", "a.cu").returncode == expected

    def test_an_interrupt_is_the_compilers_to_answer(self, project: Project) -> None:
        nvcc = fake_nvcc(
            project.folder / "bin", "trap 'echo stopped; exit 7' INT; echo ready; sleep 20 & wait"
        )
        process = subprocess.Popen(
            [*OCCLSP, "record", "--", str(nvcc), "-c", "a.cu"],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.readline() == b"stopped\n"
        assert process.wait(10) == 7

    def test_a_program_that_is_not_there(self, project: Project) -> None:
        done = project.record("no-such-nvcc", "-c", "a.cu")
        assert done.returncode == 127
        assert done.stderr.decode().strip() == (
            "occlsp record: no-such-nvcc: No such file or directory"
        )

    def test_no_program_at_all(self, project: Project) -> None:
        done = project.record()
        assert done.returncode == 2
        assert done.stderr.startswith(b"occlsp: Missing argument 'COMMAND...'")
        assert done.stderr.count(b"\n") == 1

    def test_a_product_that_is_none_costs_nothing(self, project: Project) -> None:
        nvcc = fake_nvcc(project.folder / "bin", "head -c 5000 /dev/urandom > a.o")
        done = project.record(str(nvcc), "-c", "a.cu", "-o", "a.o")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert project.latest() == {}

    def test_a_product_of_an_earlier_run_is_not_taken_for_this_ones(self, project: Project) -> None:
        product = project.folder / "a.o"
        product.write_bytes(b"\x7fELF")
        os.utime(product, (time.time() - 60, time.time() - 60))
        nvcc = fake_nvcc(project.folder / "bin", "exit 0")
        folder = project.folder / "reports"
        done = project.record(str(nvcc), "-c", "a.cu", options=("--reports-dir", str(folder)))
        assert done.returncode == 0
        assert not folder.exists()

    def test_a_cache_that_cannot_be_written_fails_no_build(self, project: Project) -> None:
        project.cache.write_text("a file, where the folder should be")
        nvcc = fake_nvcc(project.folder / "bin", "printf '\\177ELF' > a.o")
        done = project.record(str(nvcc), "-c", "a.cu")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("nvcc -c a.cu -o b/a.o", ["b/a.o"]),
        ("nvcc -c a.cu b.cu", ["a.o", "b.o"]),
        ("nvcc -c a.cu -odir out", ["out/a.o"]),
        ("nvcc -cubin a.cu", ["a.cubin"]),
        ("nvcc -fatbin a.cu", ["a.fatbin"]),
        ("ccache nvcc -x cu -c a.cpp -o a.o", ["a.o"]),
        ("clang++ -x cuda -c a.cu -o a.o", ["a.o"]),
        ("nvcc a.o b.o -o app", ["app"]),
        ("nvcc -E a.cu -o a.ii", []),
        ("nvcc -ptx a.cu", []),
        ("nvcc --version", []),
        ("nvcc -M a.cu", []),
        ("g++ -c a.cpp -o a.o", []),
        ("sh build.sh", []),
        ("nvcc -o", []),
    ],
)
def test_the_products_of_a_command(command: str, made: list[str]) -> None:
    found = products(command.split(), Path("/w"))
    assert [str(built.product) for built in found] == [f"/w/{name}" for name in made]


@pytest.mark.slow
@posix_only
def test_as_a_launcher_of_cmake(project: Project) -> None:
    real_nvcc()
    if shutil.which("cmake") is None:
        reason = "needs cmake"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    (project.folder / "main.cpp").write_text("int main() { return 0; }\n")
    (project.folder / "sub").mkdir()
    (project.folder / "sub" / "b.cu").write_text(SAXPY.replace("saxpy", "other"))
    (project.folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES CXX CUDA)\n"
        "add_executable(p main.cpp a.cu sub/b.cu)\n"
        'set_target_properties(p PROPERTIES CUDA_ARCHITECTURES "80;90")\n'
    )
    launcher = project.folder / "launcher"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{OCCLSP[2]}" "$@"\n')
    launcher.chmod(0o755)
    option = f"-DCMAKE_CUDA_COMPILER_LAUNCHER={launcher};record;--"
    configure = ["cmake", "-S", ".", "-B", "build", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", option]
    for command in (configure, ["cmake", "--build", "build"]):
        done = project.plain(*command)
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    found = Cache(project.cache).known_units(project.folder)
    assert {(Path(unit).name, latest.arch) for unit in found for latest in found[unit]} == {
        (name, arch) for name in ("a.cu", "b.cu") for arch in ("sm_80", "sm_90")
    }
    commands = json.loads((project.folder / "build" / "compile_commands.json").read_text())
    assert len(commands) == 3
