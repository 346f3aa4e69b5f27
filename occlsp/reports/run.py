"""Runs a program as a child that can be killed whole: time, memory and output are bounded.

Compilers start compilers (nvcc → sh → gcc → cc1plus), so that ending the one we know leaves
the rest. The child leads a session of its own; what it started is found as its descendants, as
its process group, and by a mark in the environment, which finds those that left both.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

from occlsp.reports.priority import session_follows

MARK = "OCCLSP_RUN"
MAX_OUTPUT = 4 << 20
POLL_SECONDS = 0.05
MEMORY_POLL_SECONDS = 0.5
"""Walking the tree costs milliseconds, and memory grows slower than that."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended."""

    returncode: int | None
    """None where it could not be started."""
    stdout: str = ""
    stderr: str = ""
    failure: str | None = None
    """Why it did not come to its own end: "timed out after 60 s", "was cancelled", …"""
    is_timeout: bool = False
    is_cancelled: bool = False
    is_truncated: bool = False
    """More was printed than is kept."""
    took: float = 0.0
    """Seconds."""


def memory_limit() -> int:
    """Bytes that one compile may take: three quarters of the machine's memory."""
    return int(psutil.virtual_memory().total * 0.75)


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    cancelled: Callable[[], bool] | None = None,
    max_output: int = MAX_OUTPUT,
    max_memory: int | None = None,
) -> Finished:
    """Runs `argv` (no shell, no input) to its end, or kills it and all that it started.

    `timeout` in seconds; `cancelled` is asked twenty times a second; of each stream the first
    `max_output` bytes are kept. Never raises on what the program does.
    """
    start = time.monotonic()
    mark = os.urandom(8).hex()
    try:
        process = _start(argv, cwd, {**env, MARK: mark})
    except (OSError, ValueError) as error:
        return Finished(None, failure=f"could not be started: {error}")
    session_follows(process.pid)
    out, err = _Reader(process.stdout), _Reader(process.stderr)
    for reader in (out, err):
        reader.limit = max_output
        reader.start()
    reason = None
    try:
        reason = _watch(process, start + timeout, cancelled, max_memory)
    finally:
        # Also at a normal end: what a compiler leaves behind would hold the pipes open.
        kill_tree(process.pid, mark=mark, thorough=reason is not None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
        if not (out.ends_within(0.5) and err.ends_within(0.5)):
            kill_tree(process.pid, mark=mark, thorough=True)
        # A stream is closed only once its reader is done: closing under it can block.
        for reader in (out, err):
            reader.close()
    failures = {
        "timeout": f"timed out after {timeout:g} s",
        "cancel": "was cancelled",
        "memory": "took too much memory and was ended",
    }
    return Finished(
        process.returncode,
        out.text(),
        err.text(),
        failures[reason] if reason else None,
        is_timeout=reason == "timeout",
        is_cancelled=reason == "cancel",
        is_truncated=out.is_truncated or err.is_truncated,
        took=time.monotonic() - start,
    )


def kill_tree(pid: int, *, mark: str | None = None, thorough: bool) -> None:
    """Kills `pid` and what it started. `thorough` also looks for those that left the group."""
    doomed: dict[int, psutil.Process] = {}
    if thorough:
        with contextlib.suppress(psutil.Error):
            parent = psutil.Process(pid)
            doomed = {child.pid: child for child in parent.children(recursive=True)}
            doomed[pid] = parent
    if os.name != "nt":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    for process in doomed.values():
        with contextlib.suppress(psutil.Error):
            process.kill()
    if thorough and mark is not None:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get(MARK) == mark:
                    process.kill()


def _start(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    options: dict[str, Any] = {}
    if os.name == "nt":
        options["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
            subprocess, "CREATE_NO_WINDOW", 0
        )
    else:
        options["start_new_session"] = True
    return subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def _watch(
    process: subprocess.Popen[bytes],
    deadline: float,
    cancelled: Callable[[], bool] | None,
    max_memory: int | None,
) -> str | None:
    """Waits for the end; why it is to be killed, or None where it ended itself."""
    ended = threading.Event()

    def wait() -> None:
        process.wait()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    next_memory = time.monotonic() + MEMORY_POLL_SECONDS
    while not ended.wait(POLL_SECONDS):
        now = time.monotonic()
        if cancelled is not None and cancelled():
            return "cancel"
        if now > deadline:
            return "timeout"
        if max_memory is not None and now > next_memory:
            next_memory = now + MEMORY_POLL_SECONDS
            if _memory(process.pid) > max_memory:
                return "memory"
    return None


def _memory(pid: int) -> int:
    total = 0
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
    return total


class _Reader(threading.Thread):
    """Drains a stream so that the program never blocks, and keeps the beginning."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.limit = MAX_OUTPUT
        self.kept = bytearray()
        self.is_truncated = False

    def run(self) -> None:
        if self.stream is None:
            return
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self.stream.fileno(), 65536):
                room = self.limit - len(self.kept)
                self.kept += chunk[:room]
                self.is_truncated = self.is_truncated or len(chunk) > room

    def ends_within(self, seconds: float) -> bool:
        self.join(seconds)
        return not self.is_alive()

    def close(self) -> None:
        if self.ends_within(0.5) and self.stream is not None:
            self.stream.close()

    def text(self) -> str:
        return bytes(self.kept).decode("utf-8", "replace")
