"""`occlsp record`: runs a compiler as given and keeps the resource report of what it made."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from occlsp.reports.record import Built

NOT_FOUND = 127
"""The shell's exit status for a program that is not there."""


@click.command(
    "record",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: cmake -DCMAKE_CUDA_COMPILER_LAUNCHER='occlsp;record;--' …",
)
@click.option(
    "--reports-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="OCCLSP_REPORTS_DIR",
    help="Also leave one small report file for each product here, for `occlsp check --reports`.",
)
@click.option("--verbose", is_flag=True, help="Say on standard error what was recorded.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def command(reports_dir: Path | None, verbose: bool, command: tuple[str, ...]) -> None:
    """Run COMMAND (a compiler) as it is given, and keep the resource report of what it made.

    Output, exit status and products are the compiler's own. The report goes to the cache, where
    editors and `occlsp check` find it.

    Example: occlsp record -- nvcc -c saxpy.cu -o saxpy.o
    """
    words = command[1:] if command[0] == "--" else command
    if not words:
        raise click.UsageError("which compiler? For example: occlsp record -- nvcc -c a.cu")
    started = time.time()
    # An interrupt goes to the compiler too, and it decides; with a handler of ours (and not
    # "ignored", which it would inherit) we outlive it.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        # Without a pipe between, so that the compiler sees the terminal that it would see.
        process = subprocess.Popen(words)
    except OSError as error:
        click.echo(f"occlsp record: {words[0]}: {error.strerror}", err=True)
        sys.exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_FOUND - 1)
    from occlsp.reports import record  # while the compiler runs

    status = process.wait()
    if not verbose:  # in a build's sandbox the cache is not to be written, which is as it should be
        logging.disable()
    if status == 0:
        try:
            for built in record.products(words, Path.cwd()):
                _record(built, reports_dir, started, is_verbose=verbose)
        except Exception as error:
            # Whatever is wrong with us, the build is not to fail for it.
            if verbose:
                click.echo(f"occlsp record: {error}", err=True)
    _end_like(status)


def _record(built: Built, folder: Path | None, started: float, *, is_verbose: bool) -> None:
    from occlsp.reports import record
    from occlsp.reports.cache import Cache

    report = record.read(built, started)
    if report is None:
        return
    record.keep(built, report, Cache(), started)
    left = record.leave(built, report, folder) if folder is not None else None
    if is_verbose:
        where = f", in {left}" if left else ""
        count = len(report.entries)
        click.echo(f"occlsp record: {built.product}: {count} kernel entries{where}", err=True)


def _end_like(status: int) -> None:
    """Ends as the compiler did, by a signal where it was one."""
    if status < 0 and os.name != "nt":
        with contextlib.suppress(OSError):  # some signals cannot be caught in the first place
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)
