"""Compiles a unit with the flags of its build; its device slice where that fails or is too slow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from occlsp.reports.compile import Context, compile_unit
from occlsp.reports.compiled import Attempt, CompileResult
from occlsp.reports.errors import missing_header
from occlsp.reports.flags import Filtered
from occlsp.reports.guess import WorkspaceFiles
from occlsp.reports.outcome import remembered
from occlsp.reports.scan import missing_headers
from occlsp.reports.slicing import compile_slice


def compile_with_flags(
    context: Context,
    unit: Path,
    arch: str,
    flags: Filtered,
    *,
    root: Path,
    text: bytes | None = None,
    debug: bool = False,
    retry: bool = False,
) -> CompileResult:
    """Compiles `unit` (or `text` in its place) for `arch` with `flags`, else its device slice.

    Each of the two takes at most `context.timeout` seconds. `debug` (`-G`) tries no slice. What
    came of it is remembered, see `occlsp.reports.outcome`; `root` is the workspace folder. Never
    raises on what the compiler does: see `CompileResult.status`.
    """

    def work(watched: Context) -> CompileResult:
        made: list[bytes] = []
        result = compile_unit(
            watched,
            unit,
            arch,
            flags,
            text=text,
            debug=debug,
            keep_preprocessed=made.append,
        )
        if debug or result.status not in ("error", "timeout"):
            return result
        return _sliced(watched, unit, arch, flags, text, result, made)

    return remembered(
        context,
        unit,
        arch,
        flags,
        text,
        way="debug" if debug else "command",
        files=WorkspaceFiles(root),
        retry=retry,
        work=work,
    )


def _sliced(
    context: Context,
    unit: Path,
    arch: str,
    flags: Filtered,
    text: bytes | None,
    failed: CompileResult,
    made: list[bytes],
) -> CompileResult:
    """The slice's numbers, else `failed`; either with what was tried."""
    missing: list[str] = []
    if missing_header(failed.output) is not None:
        missing = missing_headers(context, unit, arch, flags, text)
        if context.reads is not None:
            context.reads.missing.update(missing)
    sliced = compile_slice(
        context,
        unit,
        arch,
        flags,
        missing=missing,
        failed=failed,
        preprocessed=made[-1] if made else None,
        text=text,
    )
    attempt = Attempt("command", failed.status, failed.message, failed.took)
    result = sliced if sliced.has_numbers else failed
    return replace(result, attempts=(attempt, *sliced.attempts))
