"""What goes wrong with `occlsp check`: what it says, its exit status, and that the rest is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

from occlsp.cli.main import main
from tests.reports.compilers import fake_nvcc, posix_only

SOURCE = """\
__global__ void k(float* p) { p[0] = 1; }
void run(float* p) { k<<<4, 2048>>>(p); }
"""
FINE = SOURCE.replace("2048", "256")
ENTRY = """\
ptxas info    : Compiling entry function '_Z1{}Pf' for 'sm_90'
ptxas info    : Function properties for _Z1{}Pf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "src")
    monkeypatch.setenv("OCCLSP_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "src" / "k.cu").write_text(FINE)
    return tmp_path / "src"


def check(*arguments: str) -> Result:
    words = ["check", ".", "--arch", "sm_90", *arguments]
    return CliRunner().invoke(main, words, catch_exceptions=False)


def test_a_file_that_cannot_be_read_is_told_and_the_rest_is_checked(project: Path) -> None:
    (project / "gone.cu").symlink_to(project / "nowhere")
    result = check()
    assert result.exit_code == 2
    assert result.stderr == ("occlsp check: gone.cu: No such file or directory; it is left out\n")
    (project / "bad.cu").write_text(SOURCE)
    result = check()
    assert result.exit_code == 1
    assert "bad.cu:2:23: error: " in result.stdout


def test_links_to_nothing_that_are_not_for_cuda_are_passed_over(project: Path) -> None:
    (project / ".#k.cu").symlink_to("someone@somewhere.1234")  # as an editor locks a file
    (project / "Make.inc").symlink_to("../Make.Linux")
    result = check()
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_fault_of_ours_in_one_file_costs_that_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from occlsp.source.workspace import Workspace

    facts = Workspace.facts

    def faulty(workspace: Workspace, path: str) -> object:
        if path.endswith("odd.cu"):
            raise RecursionError("too deep")
        return facts(workspace, path)

    monkeypatch.setattr(Workspace, "facts", faulty)
    (project / "odd.cu").write_text(FINE)
    (project / "bad.cu").write_text(SOURCE)
    for jobs in ("1", "2"):
        result = check("-j", jobs)
        assert result.exit_code == 1
        assert "odd.cu: cannot be analysed (RecursionError: too deep)" in result.stderr
        assert "bad.cu:2:23: error: " in result.stdout


def test_a_process_that_dies_costs_what_it_worked_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux":
        pytest.skip("elsewhere processes are not forked, so the patch does not reach them")
    from occlsp.source.workspace import Workspace

    local, parent = Workspace.local, os.getpid()

    def deadly(workspace: Workspace, path: str) -> object:
        if path.endswith("a0.cu") and os.getpid() != parent:
            os._exit(9)
        return local(workspace, path)

    for number in range(20):
        (project / f"a{number}.cu").write_text(FINE)
    (project / "bad.cu").write_text(SOURCE)
    monkeypatch.setattr(Workspace, "local", deadly)
    result = check("-j", "2")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.endswith("a0.cu: the process that worked on it died; it is left out")
    assert "bad.cu:2:23: error: " in result.stdout
    assert "in 21 files" in result.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"kernel,arch\n", "base.txt:1: not a baseline: the first line is not `# occlsp baseline"),
        (b"# occlsp baseline 1\nk\tsm_90\n", "base.txt:2: 2 fields where 11 belong"),
        (b"\xff\xfe", "base.txt: not UTF-8 at byte 0; write it anew"),
        (None, "base.txt: no such baseline; make it with --write-baseline base.txt"),
    ],
)
def test_a_bad_baseline_is_told_before_any_work(
    project: Path, text: bytes | None, said: str
) -> None:
    if text is not None:
        (project / "base.txt").write_bytes(text)
    result = check("--baseline", "base.txt")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_half_a_log_gives_the_kernels_that_are_whole(project: Path) -> None:
    whole = ENTRY.format("k", "k") + ENTRY.format("m", "m")
    (project / "build.log").write_text(whole[: whole.rindex("Used")])
    result = check("--report", "build.log", "--format", "json")
    assert result.exit_code == 0
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert kernel["registers"] == 72


def test_reports_without_a_kernel_are_no_success(project: Path) -> None:
    (project / "reports").mkdir()
    (project / "bad.cu").write_text(SOURCE)
    result = check("--reports", "reports", "--fail-on", "never")
    assert result.exit_code == 2
    assert result.stderr.startswith("occlsp check: reports: no kernel's numbers in it; build first")
    assert "bad.cu:2:23: error: " in result.stdout


def test_no_reports_at_all_is_a_check_of_the_source(project: Path) -> None:
    assert check().exit_code == 0
    (project / "bad.cu").write_text(SOURCE)
    assert check().exit_code == 1


def test_an_unknown_architecture_is_one_line(project: Path) -> None:
    result = CliRunner().invoke(main, ["check", ".", "--arch", "sm_1"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "sm_1" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@posix_only
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_compilers_and_tells_what_was_read(project: Path, jobs: str) -> None:
    (project / "bad.cu").write_text(SOURCE)
    nvcc = fake_nvcc(project.parent / "tools", "sleep 60")
    environment = {**os.environ, "PATH": f"{nvcc.parent}:{os.environ['PATH']}"}
    environment["CUDA_HOME"] = ""
    process = subprocess.Popen(
        [sys.executable, "-m", "occlsp", "check", ".", "--compile", "-j", jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        # As from a terminal, though whoever runs the tests in the background ignores it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    started = nvcc.parent / "starts"
    deadline = time.monotonic() + 30
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert started.exists()
    running = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "bad.cu:2:23: error: " in stdout
    assert "interrupted; what is told is of what was read before" in stderr
    assert "Traceback" not in stderr
    _, alive = psutil.wait_procs(running, 5)
    assert alive == []
