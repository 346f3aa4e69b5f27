"""What runs beside an editor, and all that it starts, leaves the processor to others first."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from occlsp.reports import run
from occlsp.reports.worker import Control, Worker

ITSELF = "print(open('/proc/self/autogroup').read(), end='')"


def priorities(request: None, control: Control) -> tuple[int, int]:
    """Of this child, and of what it starts."""
    script = "import psutil; print(int(psutil.Process().nice()))"
    started = run.run([sys.executable, "-c", script], cwd=Path.cwd(), env=os.environ, timeout=20)
    return int(psutil.Process().nice()), int(started.stdout)


def session_shares(request: None, control: Control) -> tuple[str, str]:
    """Of the session of this child, and of that of what it starts."""
    command = [sys.executable, "-c", f"import time; time.sleep(0.5); {ITSELF}"]
    started = run.run(command, cwd=Path.cwd(), env=os.environ, timeout=20)
    return Path("/proc/self/autogroup").read_text(), started.stdout


async def told_by_a_worker(function: str, kind: type) -> tuple:  # type: ignore[type-arg]
    worker = Worker()
    try:
        found = await worker.call(f"tests.reports.test_priority:{function}", None, kind)
    finally:
        await worker.close()
    assert isinstance(found, tuple)
    return found


@pytest.mark.skipif(os.name == "nt", reason="there priorities are classes")
def test_a_worker_yields_to_who_started_it() -> None:
    own = int(psutil.Process().nice())
    child, started = asyncio.run(told_by_a_worker("priorities", tuple[int, int]))
    assert child == started
    assert child > min(own, 18)


@pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="the system deals out by processes alone"
)
def test_the_session_of_a_worker_yields_to_others() -> None:
    """Linux deals the processor out among sessions first: niceness counts within one alone."""
    child, started = asyncio.run(told_by_a_worker("session_shares", tuple[str, str]))
    assert child.split()[-2:] == started.split()[-2:] == ["nice", "5"]
