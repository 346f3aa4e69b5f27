"""The child process: answers in parts, and costs nothing but itself when it fails."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from occlsp.server.worker import Worker, WorkerError

JOBS = "jobs_for_worker"


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


async def parts(worker: Worker, name: str, *arguments: object) -> list[object]:
    found: list[object] = []
    await asyncio.wait_for(worker.call(f"{JOBS}:{name}", *arguments, part=found.append), 20)
    return found


def test_parts_come_in_order_and_faults_cost_one_call(loop: asyncio.AbstractEventLoop) -> None:
    async def talk() -> None:
        worker = Worker()
        assert await parts(worker, "count", 5) == [0, 1, 2, 3, 4]
        assert await parts(worker, "noise") == ["heard"]
        with pytest.raises(WorkerError, match="on purpose"):
            await parts(worker, "fail")
        with pytest.raises(WorkerError, match="ended"):
            await parts(worker, "die")
        assert await parts(worker, "count", 2) == [0, 1]
        worker.kill()

    loop.run_until_complete(talk())


def test_a_cancelled_call_ends_its_child(loop: asyncio.AbstractEventLoop) -> None:
    async def talk() -> tuple[int, float]:
        worker = Worker()
        found: list[int] = []
        task = asyncio.ensure_future(worker.call(f"{JOBS}:hang", 60, part=found.append))
        while not found:
            await asyncio.sleep(0.02)
        began = time.monotonic()
        task.cancel()
        assert await parts(worker, "count", 1) == [0]
        worker.kill()
        return found[0], time.monotonic() - began

    child, took = loop.run_until_complete(talk())
    assert took < 10
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"


def test_the_child_does_not_outlive_its_parent() -> None:
    import subprocess

    script = (
        "import asyncio, os\n"
        "from occlsp.server.worker import Worker\n"
        "def heard(pid):\n"
        "    print(pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        f"asyncio.run(Worker().call('{JOBS}:hang', 60, part=heard))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=20)
    child = int(done.stdout)
    end = time.monotonic() + 5
    while psutil.pid_exists(child) and psutil.Process(child).status() != "zombie":
        assert time.monotonic() < end
        time.sleep(0.05)
