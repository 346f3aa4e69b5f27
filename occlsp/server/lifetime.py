"""Ends the server when its client is gone: no orphan keeps a core or a file busy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

log = logging.getLogger("occlsp.lifetime")
PERIOD = 0.4
"""Seconds between two looks. The end of standard input is seen at once, without this."""


async def watch(client: int, gone: Callable[[], None]) -> None:
    """Calls `gone` when the process `client` has ended.

    A process that cannot be seen from the start (the client runs in a container, or on another
    machine) is not watched.
    """
    import psutil  # not before `initialize` is answered

    try:
        process = psutil.Process(client)
    except (psutil.Error, ValueError, OverflowError):
        log.debug("process %s cannot be seen: not watched", client)
        return
    while _lives(process):
        await asyncio.sleep(PERIOD)
    log.info("the client (process %d) has ended", client)
    gone()


def _lives(process: object) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
