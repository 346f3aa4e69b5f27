"""One compile as a task for a worker process: everything it needs, as plain data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from occlsp.reports.cache import Cache, default_directory
from occlsp.reports.commanded import compile_with_flags
from occlsp.reports.commandline import Dropped
from occlsp.reports.compile import TIMEOUT, Context
from occlsp.reports.compile_commands import CompileCommands, find, load
from occlsp.reports.compiled import CompileResult
from occlsp.reports.flags import Filtered, filter_flags
from occlsp.reports.ladder import compile_without_commands
from occlsp.reports.toolchain import Compiler, Missing, find_compiler
from occlsp.reports.worker import Control

FUNCTION = "occlsp.reports.compile_task:compile_one"
USUAL = ("-std=c++17", "--expt-relaxed-constexpr", "--extended-lambda", "-w")
"""Flags of a file that no compile command tells of."""
SLOW = 30.0
"""Seconds of a compile above which the next is on command only."""


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """A unit, an architecture and the settings that matter."""

    unit: str
    arch: str
    root: str
    """The workspace folder: where compile commands are looked for."""
    workspaces: tuple[str, ...] = ()
    """Nothing that lies in these folders is run."""
    nvcc: str | None = None
    commands: str | None = None
    args: tuple[str, ...] = ()
    timeout: float = TIMEOUT
    slow: float | None = SLOW
    """None on command."""
    debug: bool = False
    """With `-G`, for numbers marked so."""
    text: bytes | None = None
    """In place of what is on the disk."""
    cache: str | None = None
    """The cache's folder; None: the user's."""
    retry: bool = False
    """Whether to do again what timed out or crashed not long ago."""


def context_of(request: CompileRequest, control: Control) -> Context | Missing:
    """The compiler and the cache for a request, or why there is no compiler."""
    workspaces = tuple(Path(folder) for folder in request.workspaces or (request.root,))
    compiler = find_compiler(request.nvcc, workspaces)
    if isinstance(compiler, Missing):
        return compiler
    return Context(
        compiler,
        cache_of(request.cache),
        workspaces,
        timeout=request.timeout,
        slow=request.slow,
        cancelled=control.cancelled,
    )


def command_flags(request: CompileRequest) -> tuple[Filtered | None, tuple[Dropped, ...]]:
    """The flags of the unit's compile command, None without one, and the commands ignored."""
    workspaces = [Path(folder) for folder in request.workspaces or (request.root,)]
    refused: list[Dropped] = []
    for command in commands_of(request).of(request.unit):
        filtered = command.filtered(workspaces, os.environ)
        if isinstance(filtered, Filtered):
            return filtered, tuple(refused)
        refused.append(Dropped(" ".join(command.words)[:200], filtered, is_refused=True))
    return None, tuple(refused)


def base_flags(
    request: CompileRequest, compiler: Compiler, refused: tuple[Dropped, ...] = ()
) -> Filtered:
    """The flags where there is no compile command: the usual ones, the settings', and the folders
    of the libraries that came with the compiler."""
    workspaces = [Path(folder) for folder in request.workspaces or (request.root,)]
    own = filter_flags(
        [*USUAL, *request.args], Path(request.root), workspaces=workspaces, env=os.environ
    )
    beside = [word for path in compiler.library_folders for word in ("-idirafter", str(path))]
    return Filtered(dropped=refused).plus(own).plus(Filtered(host=tuple(beside)))


def commands_of(request: CompileRequest) -> CompileCommands:
    """The compile commands of the workspace, read again when the file changed."""
    path = find(Path(request.root), request.commands)
    try:
        stamp = path.stat().st_mtime_ns if path is not None else 0
    except OSError:
        stamp = 0
    return _load(path, stamp)


def compile_one(request: CompileRequest, control: Control) -> CompileResult:
    """Compiles one unit with the flags of the build, or as well as can be without them."""
    context = context_of(request, control)
    if isinstance(context, Missing):
        return CompileResult("failed", request.unit, request.arch, message=str(context))
    control.say(f"{Path(request.unit).name} for {request.arch}")
    unit = Path(request.unit)
    flags, refused = command_flags(request)
    if flags is None and not request.debug:
        return compile_without_commands(
            context,
            unit,
            request.arch,
            base_flags(request, context.compiler, refused),
            root=Path(request.root),
            text=request.text,
            retry=request.retry,
        )
    return compile_with_flags(
        context,
        unit,
        request.arch,
        flags or base_flags(request, context.compiler, refused),
        root=Path(request.root),
        text=request.text,
        debug=request.debug,
        retry=request.retry,
    )


def defaults() -> Filtered:
    """The flags where neither build nor settings nor the environment say any."""
    return filter_flags(USUAL, Path(os.sep), workspaces=())


def cache_of(directory: str | None) -> Cache:
    """One cache a folder and process, so that digests and index stay in memory."""
    return _cache(Path(directory) if directory is not None else default_directory())


_cache = lru_cache(maxsize=8)(Cache)


@lru_cache(maxsize=4)
def _load(path: Path | None, stamp: int) -> CompileCommands:
    return load(path)
