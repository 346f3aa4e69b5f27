"""Lets the processor go to others first: what runs beside an editor must not make it wait."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

NICE = 5
"""A third of what a process has that somebody waits for: a build on all cores does not end a
compile of ours by its time limit."""
_AGAIN = 0.11
"""Seconds after which Linux takes the next change of a session's share, whoever made the last."""
_has_stepped_back = False


def step_back() -> None:
    """This process, and what it starts from now on, yields to those that others wait for; access
    to disks follows. Does nothing where the system does not let it."""
    global _has_stepped_back
    _has_stepped_back = True
    with contextlib.suppress(OSError):
        if os.name == "nt":
            import psutil

            psutil.Process().nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS"))  # noqa: B009
        else:
            os.nice(NICE)
    with contextlib.suppress(AttributeError, OSError):
        # It takes the processor from nobody when it wakes up.
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    session_follows(os.getpid())


def session_follows(leader: int) -> None:
    """The session that process `leader` began yields, too, where this process does: Linux deals
    the processor out among sessions, and what is nice counts within one alone."""
    if not _has_stepped_back:
        return
    share = Path(f"/proc/{leader}/autogroup")
    with contextlib.suppress(OSError):
        try:
            share.write_text(str(NICE))
        except BlockingIOError:
            time.sleep(_AGAIN)
            share.write_text(str(NICE))
