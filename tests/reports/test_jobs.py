"""The queue of compiles, with real worker processes, the real nvcc, and bad ones."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from occlsp.reports.compile_task import FUNCTION, CompileRequest
from occlsp.reports.compiled import CompileResult
from occlsp.reports.jobs import Jobs, Task
from occlsp.reports.worker import Control, Worker, WorkerError
from tests.reports.compilers import SAXPY, fake_nvcc, posix_only, real_nvcc, starts

HERE = "tests.reports.test_jobs"


def run(test: Any) -> Any:
    """Runs a coroutine to its end, with a bound."""
    return asyncio.run(asyncio.wait_for(test, 60))


class Bench:
    """A workspace with one unit, a cache and a queue."""

    def __init__(self, folder: Path, *, nvcc: Path | None = None, **options: Any) -> None:
        self.folder = folder
        self.nvcc = nvcc
        self.unit = folder / "work" / "a.cu"
        self.unit.parent.mkdir(exist_ok=True)
        self.unit.write_text(SAXPY)
        commands = [
            {"directory": ".", "file": name, "command": f"nvcc -c {name}"}
            for name in ("a.cu", "b.cu")
        ]
        self.unit.with_name("compile_commands.json").write_text(json.dumps(commands))
        self.results: list[CompileResult] = []
        self.jobs = Jobs(on_result=self.results.append, **options)

    def task(self, arch: str = "sm_90", unit: Path | None = None, **options: Any) -> Task:
        request = CompileRequest(
            str(unit or self.unit),
            arch,
            str(self.folder / "work"),
            nvcc=str(self.nvcc) if self.nvcc else None,
            cache=str(self.folder / "cache"),
            **options,
        )
        return Task(arch, FUNCTION, request)

    async def submit(self, *arches: str, **options: Any) -> list[str]:
        tasks = [self.task(arch) for arch in arches or ("sm_90",)]
        outcome = await self.jobs.submit(str(self.unit), tasks, **options)
        return [outcome.end, *(result.status for result in outcome.results)]


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> float:
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "it did not come true"
        await asyncio.sleep(0.01)
    return time.monotonic() - start


def sleepers(seconds: int) -> list[psutil.Process]:
    """The `sleep` processes that a fake compiler started, known by their odd length."""
    command = ["sleep", str(seconds)]
    return [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == command]


@pytest.mark.slow
def test_a_save_storm_compiles_the_last_state_once_or_twice(tmp_path: Path) -> None:
    real = real_nvcc()
    nvcc = fake_nvcc(tmp_path / "bin", f'exec "{real.path}" "$@"')
    bench = Bench(tmp_path, nvcc=nvcc)

    async def test() -> None:
        outcomes = []
        for number in range(100):
            bench.unit.write_text(SAXPY.replace("saxpy", f"saxpy{number}"))
            outcomes.append(bench.jobs.submit(str(bench.unit), [bench.task()]))
            await asyncio.sleep(0.02)
        ends = [(await outcome).end for outcome in outcomes]
        assert ends == ["superseded"] * 99 + ["done"]
        await bench.jobs.close()

    run(test())
    assert [result.status for result in bench.results][-1] == "ok"
    assert "saxpy99" in bench.results[-1].entries[0].entry
    assert len(bench.results) <= 2
    assert len(starts(tmp_path / "bin")) <= 3


@posix_only
@pytest.mark.parametrize(
    "body",
    [
        "sleep 3401",
        "sleep 3401 & sleep 3401 & wait",
        "(setsid sleep 3401 &) ; sh -c 'sh -c \"sleep 3401; true\"; true'",
        "trap '' TERM INT HUP; nohup sleep 3401",
        "yes | sleep 3401",
    ],
    ids=["one", "several", "in a session of its own", "that ignores signals", "in a pipe"],
)
def test_cancel_kills_the_whole_tree_within_a_second(tmp_path: Path, body: str) -> None:
    bench = Bench(tmp_path, nvcc=fake_nvcc(tmp_path / "bin", body))

    async def test() -> float:
        outcome = bench.jobs.submit(str(bench.unit), [bench.task()], "command")
        await until(lambda: bool(sleepers(3401)))
        start = time.monotonic()
        bench.jobs.cancel(str(bench.unit))
        assert (await outcome).end == "cancelled"
        await until(lambda: not sleepers(3401))
        took = time.monotonic() - start
        await bench.jobs.close()
        return took

    assert run(test()) < 1.0


@posix_only
def test_a_newer_save_ends_the_compile_that_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, nvcc=fake_nvcc(tmp_path / "bin", "sleep 3402"))

    async def test() -> None:
        first = bench.jobs.submit(str(bench.unit), [bench.task()], "command")
        await until(lambda: bool(sleepers(3402)))
        (old,) = sleepers(3402)
        second = bench.jobs.submit(str(bench.unit), [bench.task()], "command")
        assert (await first).end == "superseded"
        await until(lambda: bool(sleepers(3402)) and not old.is_running())
        assert len(sleepers(3402)) == 1, "one at a time a file"
        bench.jobs.cancel()
        assert (await second).end == "cancelled"
        await bench.jobs.close()

    run(test())
    assert bench.results == []


@posix_only
def test_closing_leaves_nothing_behind(tmp_path: Path) -> None:
    bench = Bench(tmp_path, nvcc=fake_nvcc(tmp_path / "bin", "sleep 3403"))

    async def test() -> None:
        bench.jobs.submit(str(bench.unit), [bench.task()], "command")
        await until(lambda: bool(sleepers(3403)))
        await bench.jobs.close()
        await until(lambda: not sleepers(3403), 1.0)

    run(test())
    assert not list((tmp_path / "cache" / "v1" / "scratch").iterdir())


@posix_only
def test_a_worker_whose_parent_is_gone_ends_its_compile(tmp_path: Path) -> None:
    """The server was killed: its standard streams close, and that is all that is heard of it."""
    bench = Bench(tmp_path, nvcc=fake_nvcc(tmp_path / "bin", "sleep 3404"))

    async def test() -> None:
        worker = Worker()
        bench.jobs = Jobs(start=lambda: worker)
        bench.jobs.submit(str(bench.unit), [bench.task()], "command")
        await until(lambda: bool(sleepers(3404)))
        pid = worker.pid
        assert pid is not None and worker._process is not None
        assert worker._process.stdin is not None
        worker._process.stdin.close()
        await until(lambda: not sleepers(3404), 2.0)
        await until(lambda: not psutil.pid_exists(pid) or worker.pid is None, 3.0)
        await bench.jobs.close()

    run(test())


@pytest.mark.slow
def test_the_primary_architecture_of_every_file_comes_first(tmp_path: Path) -> None:
    real_nvcc()
    bench = Bench(tmp_path, settle=0.0)
    other = bench.unit.with_name("b.cu")
    other.write_text(SAXPY)

    async def test() -> None:
        await asyncio.gather(
            bench.jobs.submit(str(bench.unit), [bench.task("sm_90"), bench.task("sm_80")]),
            bench.jobs.submit(str(other), [bench.task("sm_90", other), bench.task("sm_80", other)]),
        )
        await bench.jobs.close()

    run(test())
    assert [(Path(result.unit).name, result.arch) for result in bench.results] == [
        ("a.cu", "sm_90"),
        ("b.cu", "sm_90"),
        ("a.cu", "sm_80"),
        ("b.cu", "sm_80"),
    ]


@posix_only
def test_a_slow_unit_is_compiled_on_command_only(tmp_path: Path) -> None:
    bench = Bench(tmp_path, nvcc=fake_nvcc(tmp_path / "bin", "sleep 0.4; exit 1"), settle=0.0)

    async def test() -> None:
        unit = str(bench.unit)
        await bench.jobs.submit(unit, [bench.task(slow=0.2)])
        bench.unit.write_text(SAXPY + "// edited")
        await bench.jobs.submit(unit, [bench.task(slow=0.2)])
        await bench.jobs.submit(unit, [bench.task(slow=None)], "command")
        await bench.jobs.close()

    run(test())
    assert [result.status for result in bench.results] == ["failed", "slow", "failed"]
    assert "compiled on command only" in (bench.results[1].message or "")
    assert len(starts(tmp_path / "bin")) == 2


@posix_only
def test_a_compile_has_its_time_limit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, nvcc=fake_nvcc(tmp_path / "bin", "sleep 3405"), settle=0.0)

    async def test() -> None:
        await bench.jobs.submit(str(bench.unit), [bench.task(timeout=0.3)])
        await bench.jobs.close()

    run(test())
    assert bench.results[0].status == "timeout"
    assert not sleepers(3405)


@posix_only
def test_the_states_are_there_for_a_status_display(tmp_path: Path) -> None:
    changes: list[tuple[tuple[str, str], ...]] = []
    nvcc = fake_nvcc(tmp_path / "bin", "sleep 0.3; exit 1")

    async def test() -> None:
        bench = Bench(tmp_path, nvcc=nvcc, settle=0.05, on_change=lambda: note())

        def note() -> None:
            changes.append(tuple((state.phase, state.said) for state in bench.jobs.states()))

        await bench.submit()
        await bench.jobs.close()
        assert bench.jobs.states() == ()

    run(test())
    assert (("waiting", ""),) in changes
    assert (("running", "a.cu for sm_90"),) in changes
    assert changes[-1] == ()


@posix_only
def test_the_loop_is_never_held_up(tmp_path: Path) -> None:
    bench = Bench(tmp_path, nvcc=fake_nvcc(tmp_path / "bin", "sleep 0.5; exit 1"), settle=0.0)

    async def test() -> float:
        outcome = asyncio.ensure_future(bench.submit())
        longest = 0.0
        while not outcome.done():
            start = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - start - 0.005)
        await bench.jobs.close()
        return longest

    assert run(test()) < 0.25, "generous, for a machine with much else to do"


def test_without_a_compiler_the_way_out_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, nvcc=tmp_path / "gone" / "nvcc", settle=0.0)
    assert run(bench.submit()) == ["done", "failed"]
    assert "set `compile.nvcc`" in (bench.results[0].message or "")


# What a worker survives. The functions run in the child.


def dies(request: str, control: Control) -> CompileResult:
    os._exit(3)


def raises(request: str, control: Control) -> CompileResult:
    raise ValueError(request)


def prints(request: str, control: Control) -> str:
    print("a library's chatter")
    logging.getLogger("occlsp.test").warning("from the %s", "child")
    control.say("half way")
    return request.upper()


def hangs(request: str, control: Control) -> str:
    time.sleep(60)
    return request


def test_a_worker_that_dies_costs_one_job(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settle=0.0)
    tasks = [Task("sm_90", f"{HERE}:{name}", "x") for name in ("dies", "raises", "nothing")]

    async def test() -> None:
        await bench.jobs.submit("/a.cu", tasks)
        await bench.jobs.close()

    run(test())
    messages = [result.message or "" for result in bench.results]
    assert [result.status for result in bench.results] == ["failed"] * 3
    assert "the worker process ended" in messages[0]
    assert messages[1] == "ValueError: x"
    assert "AttributeError" in messages[2]


def test_what_a_library_prints_does_not_get_between(caplog: pytest.LogCaptureFixture) -> None:
    said: list[str] = []

    async def test() -> str:
        worker = Worker()
        answer = await worker.call(f"{HERE}:prints", "x" * 1_000_000, str, said.append)
        await worker.close()
        return answer

    assert run(test()) == "X" * 1_000_000
    assert said == ["half way"]
    assert "from the child" in caplog.text


def test_a_worker_that_does_not_hear_is_killed_and_started_again() -> None:
    async def test() -> float:
        worker = Worker()
        call = asyncio.ensure_future(worker.call(f"{HERE}:hangs", "x", str))
        await until(lambda: worker.pid is not None)
        await asyncio.sleep(0.5)
        start = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        took = time.monotonic() - start
        assert await worker.call(f"{HERE}:prints", "again", str) == "AGAIN"
        with pytest.raises(WorkerError, match="ValueError: x"):
            await worker.call(f"{HERE}:raises", "x", str)
        await worker.close()
        return took

    assert run(test()) < 1.5


def test_nothing_is_imported_from_the_folder_that_the_server_runs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("msgspec.py", "occlsp.py", "sitecustomize.py", "asyncio.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'pwned')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    bench = Bench(tmp_path, nvcc=tmp_path / "gone", settle=0.0)
    assert run(bench.submit()) == ["done", "failed"]
    assert not (tmp_path / "pwned").exists()
