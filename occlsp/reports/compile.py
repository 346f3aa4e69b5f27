"""Compiles one translation unit for one architecture, and reads the machine code that comes out.

To a cubin with line tables, in a folder of ours; the PTX of the same run goes to the cache. Free
text of the workspace (macros, folders) reaches the preprocessor in a file, since nvcc hands its
own arguments to a shell.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from occlsp.reports import messages
from occlsp.reports.cache import Cache
from occlsp.reports.compiled import CompileResult, Status
from occlsp.reports.cubin import read_cubin
from occlsp.reports.dependencies import Reads, read_dependencies
from occlsp.reports.digests import digest
from occlsp.reports.facts import Entry, Origin
from occlsp.reports.flags import Filtered
from occlsp.reports.invocation import ARCH, COPY, Invocation, prepare
from occlsp.reports.run import Finished, memory_limit, run
from occlsp.reports.toolchain import Compiler, clean_environment

log = logging.getLogger("occlsp.compile")

KEPT_OUTPUT = 65536
PTXAS_FAILED = 255
"""nvcc's exit status when ptxas refuses the code; others above 127 are those of a signal."""
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Context:
    """What every compile of a workspace shares."""

    compiler: Compiler
    cache: Cache | None = None
    workspaces: tuple[Path, ...] = ()
    """Nothing that lies in them is run."""
    env: Mapping[str, str] | None = None
    """The user's environment; None for this process's."""
    timeout: float = TIMEOUT
    """Seconds that one compile may take."""
    slow: float | None = None
    """A unit whose last compile took more seconds is not compiled; None: always compiled."""
    cancelled: Callable[[], bool] | None = None
    finish: Callable[[CompileResult], CompileResult] | None = None
    """Called with every fresh result before it is kept: to add what we cannot know here."""
    reads: Reads | None = None
    """Is told of every file that a run reads."""


def compile_unit(
    context: Context,
    unit: Path,
    arch: str,
    flags: Filtered,
    *,
    text: bytes | None = None,
    origin: Origin = "compile",
    debug: bool = False,
    keep_preprocessed: Callable[[bytes], None] | None = None,
) -> CompileResult:
    """Compiles `unit` (or `text` in its place) for `arch` ("sm_90a"), or answers from the cache.

    `debug` compiles with `-G`, for numbers marked so; `keep_preprocessed` is given what the
    preprocessor made, if it ran and came so far. Never raises on what the compiler does: see
    `CompileResult.status`.
    """
    blank = CompileResult(
        "failed",
        os.path.abspath(unit),  # noqa: PTH100  (links stay: the line table names the unit so)
        arch,
        dropped=flags.dropped,
        origin=origin,
        toolkit=context.compiler.version,
        is_debug=debug,
        time=time.time(),
    )
    if context.compiler.problem is not None and flags.ccbin is None:
        return replace(blank, message=context.compiler.problem)
    if not re.fullmatch(ARCH, arch):
        return replace(blank, message=f"{arch} is not the name of an architecture (sm_90, sm_90a)")
    try:
        content = Path(unit).read_bytes() if text is None else text
        os.fsencode(blank.unit)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return replace(blank, message=f"{unit} cannot be read: {reason}")
    key = _key(context, blank, content, flags)
    known = context.cache.lookup(key, context.reads) if context.cache is not None else None
    if known is not None and (known.ptx or not known.entries):
        return replace(known, dropped=flags.dropped)
    took = context.cache.took(blank.unit) if context.cache is not None else 0.0
    if context.slow is not None and took > context.slow:
        message = f"it took {took:.0f} s last time, so it is compiled on command only"
        return replace(blank, status="slow", message=message)
    try:
        with scratch_folder(context.cache) as scratch:
            invocation = prepare(
                context.compiler, Path(blank.unit), arch, flags, scratch, text, debug
            )
            return _compile(context, blank, invocation, key, keep_preprocessed)
    except OSError as error:
        return replace(blank, message=f"there is no room to compile in: {error}")


def _compile(
    context: Context,
    blank: CompileResult,
    invocation: Invocation,
    key: str,
    keep_preprocessed: Callable[[bytes], None] | None,
) -> CompileResult:
    started = time.time_ns()
    scratch = invocation.scratch
    env = clean_environment(
        os.environ if context.env is None else context.env, context.workspaces, scratch
    )
    done = run(
        invocation.argv,
        cwd=scratch,
        env=env,
        timeout=context.timeout,
        cancelled=context.cancelled,
        max_memory=memory_limit(),
    )
    if keep_preprocessed is not None and (made := invocation.preprocessed()) is not None:
        keep_preprocessed(made)
    includes = read_dependencies(invocation.dependency_file, scratch)
    if context.reads is not None:
        context.reads.files.update(whose_content_counts(includes or (), context.compiler))
    blank = replace(
        blank,
        took=done.took,
        ptxas_options=invocation.ptxas_options,
        dependencies=_own(includes, context.compiler, blank.unit),
    )
    result = _judge(blank, done, invocation)
    if context.finish is not None:
        result = context.finish(result)
    return _keep(context, result, invocation, key, includes, started)


def _judge(blank: CompileResult, done: Finished, invocation: Invocation) -> CompileResult:
    output = (done.stderr + done.stdout).replace(str(invocation.scratch) + os.sep, "")
    said = replace(blank, output=output[:KEPT_OUTPUT])
    if done.failure is not None:
        status: Status = (
            "timeout" if done.is_timeout else "cancelled" if done.is_cancelled else "failed"
        )
        return replace(said, status=status, message=f"the compile {done.failure}")
    found = tuple(
        replace(error, file=blank.unit) if error.file == COPY else error
        for error in messages.errors(output)
    )
    if done.returncode != 0:
        if messages.is_not_for_arch(found):
            message = f"not for {blank.arch}: {found[0].text}"
            return replace(said, status="not-for-arch", message=message, errors=found)
        is_crash = done.returncode not in range(128) and done.returncode != PTXAS_FAILED
        status = "error" if found and not is_crash else "failed"
        message = messages.summary(found, output)
        if is_crash:
            message = f"the compiler crashed (exit status {done.returncode}): {message}"
        return replace(said, status=status, message=message, errors=found)
    return _read_code(said, output, invocation)


def _read_code(said: CompileResult, output: str, invocation: Invocation) -> CompileResult:
    try:
        data = invocation.cubin.read_bytes()
    except OSError:
        return replace(said, message="the compiler ended well but made no code")
    report = read_cubin(data, said.unit, origin=said.origin, unit=said.unit)
    told = messages.warnings(output, said.arch, said.unit)
    if not data.startswith(b"\x7fELF"):
        return replace(said, message="the compiler made a file that is no cubin")
    printed = messages.spills(output)
    entries = tuple(
        _completed(entry, said, printed.get(entry.entry), invocation) for entry in report.entries
    )
    return replace(
        said,
        status="ok" if entries else "no-entry",
        entries=entries,
        warnings=(*report.warnings, *told),
        message=None if entries else "no kernel is instantiated in this file",
        output="",
    )


def _completed(
    entry: Entry, result: CompileResult, printed: messages.Spills | None, invocation: Invocation
) -> Entry:
    copy = str(invocation.scratch / COPY)
    is_copy = entry.file == copy
    lines = entry.spill_lines
    if any(line.file == copy for line in lines):
        lines = tuple(replace(x, file=result.unit) if x.file == copy else x for x in lines)
    entry = replace(
        entry,
        arch=entry.arch or result.arch,
        file=result.unit if is_copy else entry.file,
        spill_lines=lines,
        linked=not invocation.is_rdc,
        debug=result.is_debug,
        toolkit=result.toolkit,
        time=result.time,
    )
    if printed is None or entry.spill_stores is not None:
        return entry
    return replace(entry, spill_stores=printed.stores, spill_loads=printed.loads)


def _keep(
    context: Context,
    result: CompileResult,
    invocation: Invocation,
    key: str,
    includes: Sequence[str] | None,
    started: int,
) -> CompileResult:
    """Keeps what holds until a file changes; what changed meanwhile may not be what we saw."""
    cache = context.cache
    if cache is None:
        return result
    if not result.has_numbers or includes is None:
        if result.status in ("timeout", "error", "failed"):
            cache.note_took(result)
        return result
    hashed = whose_content_counts(includes, context.compiler)
    contents = cache.contents((path for path in hashed if path != result.unit), started)
    return cache.store(key, result, contents, ptx=invocation.ptx(), cubin=invocation.code())


def _key(context: Context, result: CompileResult, content: bytes, flags: Filtered) -> str:
    compiler = context.compiler
    parts = [
        result.unit,
        result.arch,
        result.origin,
        compiler.version,
        str(compiler.toolkit or compiler.path),
        "debug" if result.is_debug else "",
        *flags.key(),
    ]
    return digest(content, *(os.fsencode(part) for part in parts))


def whose_content_counts(includes: Iterable[str], compiler: Compiler) -> Iterator[str]:
    """The includes without the toolkit's, which are known by its version."""
    toolkit = _folder_of(compiler)
    for path in includes:
        if not (toolkit and os.path.realpath(path).startswith(toolkit)):
            yield path


def _own(includes: Sequence[str] | None, compiler: Compiler, unit: str) -> tuple[str, ...]:
    """The includes that a user could save: neither of the toolkit nor of the system."""
    toolkit = _folder_of(compiler)
    real = dict.fromkeys(os.path.realpath(path) for path in includes or () if path != unit)
    return tuple(
        path
        for path in real
        if not path.startswith(_SYSTEM) and not (toolkit and path.startswith(toolkit))
    )


_SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/local/include/", "/opt/rh/", "C:\\Program Files")


def _folder_of(compiler: Compiler) -> str | None:
    return os.path.realpath(compiler.toolkit) + os.sep if compiler.toolkit else None


@contextmanager
def scratch_folder(cache: Cache | None) -> Iterator[Path]:
    """A folder to work in, removed at the end. Raises OSError."""
    if cache is not None:
        with cache.scratch() as folder:
            yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="occlsp-") as name:
            yield Path(name)
