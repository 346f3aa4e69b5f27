"""How far a long run is: one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from occlsp.cli.check_sources import Progress

REFRESH_SECONDS = 0.1


@contextmanager
def progress() -> Iterator[Progress]:
    """What to call with the step, how many are done, and of how many (0: not known)."""
    if not sys.stderr.isatty():
        yield lambda text, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    # Without rich's own thread: processes are forked while this is on.
    bar = Bar(
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
    )
    last = 0.0
    with bar:
        task = bar.add_task("", total=None)

        def show(text: str, done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last < REFRESH_SECONDS and done != total:
                return
            last = time.monotonic()
            bar.update(task, description=text, completed=done, total=total or None, refresh=True)

        yield show
