"""Compiles a unit that does not compile as it is: all of it with stand-ins for the headers that
are missing, else its device slice: cut, ask the compiler, cut again, until it compiles."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from occlsp.reports.compile import Context, compile_unit, scratch_folder
from occlsp.reports.compiled import Attempt, CompileResult
from occlsp.reports.errors import front_end_errors
from occlsp.reports.facts import ReportWarning
from occlsp.reports.flags import Filtered
from occlsp.reports.preprocessed import Place
from occlsp.reports.slice import Slice
from occlsp.reports.standins import are_known, replaceable, write_standins

MAX_ROUNDS = 20
_ADDED = ("-Xcudafe=--error_limit=1000", "--expt-relaxed-constexpr")
"""All errors at once; and what PyTorch's builds say, of which our stand-ins make use."""
_SYSTEM = re.compile(
    r"/usr/(?:local/cuda|lib|include/(?:c\+\+|[\w-]*-linux-gnu|bits|sys|linux|asm|[^/]+$))"
)


def compile_slice(
    context: Context,
    unit: Path,
    arch: str,
    flags: Filtered,
    *,
    missing: list[str],
    failed: CompileResult | None = None,
    preprocessed: bytes | None = None,
    text: bytes | None = None,
    mended: Callable[[str], Filtered | None] | None = None,
) -> CompileResult:
    """Compiles what of `unit` (or `text`) is device code, with origin "slice"; all of it, with
    origin "standins", where that only takes stand-ins for the headers of libraries that we know.

    `missing`: includes to be stood in for. `failed` and `preprocessed` are the full compile's
    outcome, where there is one: its errors begin the cutting; where it took too long, PyTorch's
    headers are stood in for, and without them nothing is tried. `mended` gives other flags for
    what the compiler said with the stand-ins, or None. `context.timeout` bounds all rounds
    together. The message says what was left out; kernels that do not compile are warnings; the
    attempts say what was tried. A result without numbers is the last round's.
    """
    slicer = _Slicer(context, unit, arch, flags, text)
    return slicer.compiled(missing, failed, preprocessed, mended or (lambda _: None))


class _Slicer:
    def __init__(
        self,
        context: Context,
        unit: Path,
        arch: str,
        flags: Filtered,
        text: bytes | None,
    ) -> None:
        self._deadline = time.monotonic() + context.timeout
        self._context = replace(context, slow=None)
        self._unit = unit
        self._arch = arch
        self._flags = _sliced_with(flags)
        self._text = text
        self._took = 0.0
        self._standins = ""
        self._attempts: list[Attempt] = []

    def compiled(
        self,
        missing: list[str],
        failed: CompileResult | None,
        preprocessed: bytes | None,
        mended: Callable[[str], Filtered | None],
    ) -> CompileResult:
        """All rounds."""
        is_slow = failed is not None and failed.status == "timeout"
        if failed is not None and is_slow:
            missing = replaceable((str(self._unit), *failed.dependencies), self._text)
            if not missing:
                return failed
        if failed is None or preprocessed is None or missing:
            failed, preprocessed = self._with_standins(missing, is_slow=is_slow)
            while not failed.has_numbers and (flags := mended(failed.output)) is not None:
                self._flags = _sliced_with(flags)
                failed, preprocessed = self._with_standins(missing, is_slow=is_slow)
            if failed.origin == "standins" and failed.has_numbers:
                return self._told_whole(failed, missing)
            if failed.has_numbers or preprocessed is None:
                return self._told(failed, failed, missing, None)
        cut = Slice(preprocessed, self._is_own)
        result = self._cut_until_it_compiles(cut, failed)
        if result.has_numbers:
            places = {Place(e.file, e.line) for e in result.entries if e.file and e.line}
            if cut.add_default_instances(places):
                more = self._cut_until_it_compiles(cut, self._compile(cut.text))
                result = more if len(more.entries) > len(result.entries) else result
        return self._told(result, failed, missing, cut)

    def _with_standins(
        self, missing: list[str], *, is_slow: bool
    ) -> tuple[CompileResult, bytes | None]:
        """`is_slow`: the stand-ins come before the headers that they stand for."""
        is_known = bool(missing) and are_known(missing)
        made: list[bytes] = []
        with scratch_folder(self._context.cache) as folder:
            search = write_standins(missing, folder)
            self._standins = str(folder) + os.sep
            host = (*self._flags.host, "-idirafter", str(search))
            if is_slow:
                host = (f"-I{search}", *self._flags.host)
            result = compile_unit(
                replace(self._context, timeout=self._remaining()),
                self._unit,
                self._arch,
                replace(self._flags, host=host),
                text=self._text,
                origin="standins" if is_known else "slice",
                keep_preprocessed=made.append,
            )
            own = tuple(d for d in result.dependencies if not d.startswith(str(folder) + os.sep))
        self._took += result.took
        if is_known:
            self._attempts.append(Attempt("stand-ins", result.status, result.message, result.took))
        return replace(result, dependencies=own), made[-1] if made else None

    def _cut_until_it_compiles(self, cut: Slice, result: CompileResult) -> CompileResult:
        for _ in range(MAX_ROUNDS):
            if result.has_numbers or result.status != "error" or self._remaining() < 0.5:
                break
            if not cut.cut(front_end_errors(result.output)):
                break
            result = self._compile(cut.text)
        return result

    def _compile(self, text: bytes) -> CompileResult:
        result = compile_unit(
            replace(self._context, timeout=self._remaining()),
            self._unit,
            self._arch,
            self._flags,
            text=text,
            origin="slice",
        )
        self._took += result.took
        return result

    def _remaining(self) -> float:
        return max(self._deadline - time.monotonic(), 0.1)

    def _is_own(self, path: str) -> bool:
        """Whether a file may be cut: all but the toolkit's, the system's and our stand-ins.

        A library's headers may: they too can be older than the toolkit.
        """
        real = os.path.normpath(path)
        toolkit = self._context.compiler.toolkit
        if toolkit and real.startswith(str(toolkit)):
            return False
        if self._standins and real.startswith(self._standins):
            return False
        return _SYSTEM.match(real) is None

    def _told_whole(self, result: CompileResult, missing: list[str]) -> CompileResult:
        """The result of all of the unit with the stand-ins."""
        message = f"stand-ins for {', '.join(missing[:8])}; nothing cut"
        if not result.entries:
            message = f"{result.message} ({message})"
        self._attempts[-1] = replace(self._attempts[-1], message=message)
        return replace(result, message=message, took=self._took, attempts=tuple(self._attempts))

    def _told(
        self, result: CompileResult, first: CompileResult, missing: list[str], cut: Slice | None
    ) -> CompileResult:
        """The result of the slice, with what was left out of it."""
        told = self._without(result, first, missing, cut)
        took = self._took - sum(attempt.took for attempt in self._attempts)
        self._attempts.append(Attempt("slice", told.status, told.message, took))
        return replace(told, attempts=tuple(self._attempts))

    def _without(
        self, result: CompileResult, first: CompileResult, missing: list[str], cut: Slice | None
    ) -> CompileResult:
        dropped = cut.dropped if cut is not None else ()
        lost = "kernels that do not compile: " + ", ".join(dropped[:8]) if dropped else ""
        if lost and first.errors:
            lost += f" ({first.errors[0].text})"
        left_out = [
            f"{cut.cut_count} places cut that do not compile" if cut and cut.cut_count else "",
            f"without {', '.join(missing[:8])}" if missing else "",
            lost,
        ]
        message = "device code only: " + ("; ".join(filter(None, left_out)) or "all of it")
        warnings = (
            ReportWarning(
                "other", f"{name} does not compile in the device slice", source=first.unit
            )
            for name in dropped
        )
        told = replace(
            result,
            dependencies=first.dependencies,
            took=self._took,
            origin="slice",
        )
        if not result.has_numbers:
            return told
        unused = _not_instantiated(cut, result) if cut is not None and cut.cut_count else ()
        if not result.entries and (dropped or unused):
            if not dropped:
                message += "; what instantiates its kernels does not compile"
            return replace(told, status="error", message=message, errors=first.errors)
        return replace(
            told,
            message=message if result.entries else result.message,
            lost=(*dropped, *unused),
            warnings=(*result.warnings, *warnings),
        )


def _sliced_with(flags: Filtered) -> Filtered:
    return replace(flags, kept=tuple(dict.fromkeys((*flags.kept, *_ADDED))))


def _not_instantiated(cut: Slice, result: CompileResult) -> tuple[str, ...]:
    """The kernel templates without an entry: what was cut may have instantiated them."""
    places = {Place(e.file, e.line) for e in result.entries if e.file and e.line}
    names = (
        kernel.name.split("::")[-1] for kernel in cut.templates() if kernel.place not in places
    )
    return tuple(dict.fromkeys(names))
