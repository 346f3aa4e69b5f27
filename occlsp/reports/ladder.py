"""Compiles a unit that no compile commands tell of, by what works ever more often.

The recipe that last worked in this folder; bare; guessed include folders; a search of the
workspace for the headers that are missing; what the compiler's message asks for; a fragment
through the `.cu` that includes it; all of it with stand-ins for libraries' headers; the device
slice. A step is not tried where the preprocessor, asked first what is missing (0.1 s), already
tells that it must fail.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from occlsp.reports import definitions
from occlsp.reports.compile import Context, compile_unit, scratch_folder
from occlsp.reports.compiled import Attempt, CompileResult, Message
from occlsp.reports.dependencies import Reads
from occlsp.reports.flags import Filtered
from occlsp.reports.guess import WorkspaceFiles, guessed_folders
from occlsp.reports.outcome import remembered
from occlsp.reports.recipe import Recipe
from occlsp.reports.scan import missing_headers
from occlsp.reports.slicing import compile_slice
from occlsp.reports.standins import write_standins

SEARCH_ROUNDS = 6
MAX_INCLUDERS = 2
MIN_SECONDS = 0.5
"""With less than this left no other step is begun."""


def compile_without_commands(
    context: Context,
    unit: Path,
    arch: str,
    base: Filtered,
    *,
    root: Path,
    text: bytes | None = None,
    known_files: Iterable[Path] | None = None,
    retry: bool = False,
) -> CompileResult:
    """Compiles `unit` (or `text` in its place) for `arch` as well as can be without its flags.

    `base` are the flags to begin with, `root` is the workspace folder; `known_files` its files
    where they are listed already. All steps together take at most `context.timeout` seconds,
    and the slice of a unit that took longer as much again.
    The result's `attempts` say what was tried; its origin is "standins" where libraries' headers
    had to be stood in for, "slice" where host code had to be cut. What worked is remembered in the
    cache for the folder, and what came of the unit for the unit; `retry` tries again what timed
    out. Never raises on what the compiler does.
    """
    files = WorkspaceFiles(root, known_files)
    unit = Path(os.path.abspath(unit))  # noqa: PTH100  (links stay)
    return remembered(
        context,
        unit,
        arch,
        base,
        text,
        way=f"ladder\0{root}",
        files=files,
        retry=retry,
        work=lambda watched: _Ladder(watched, unit, arch, base, root, text, files).climb(),
    )


class _Ladder:
    def __init__(
        self,
        context: Context,
        unit: Path,
        arch: str,
        base: Filtered,
        root: Path,
        text: bytes | None,
        files: WorkspaceFiles,
    ) -> None:
        self._deadline = time.monotonic() + context.timeout
        self._reads = context.reads if context.reads is not None else Reads()
        self._context = replace(context, reads=self._reads)
        self._unit = unit
        self._arch = arch
        self._base = base
        self._root = root
        self._text = text
        self._files = files
        self._attempts: list[Attempt] = []
        self._preprocessed: bytes | None = None
        self._recipe = Recipe()
        self._missing: list[str] = []

    def climb(self) -> CompileResult:
        """The result of the first step that works, or of the last."""
        for path in definitions.build_files(self._unit, self._root):
            known = self._reads.files if path.is_file() else self._reads.absent
            known.add(str(path))
        result = self._full()
        is_slow = result.status == "timeout"
        if self._is_final(result) and not is_slow:
            return self._told(result)
        fragment = self._through_includers()
        if fragment is not None:
            return self._told(fragment)
        if self._remaining() < MIN_SECONDS:
            if not is_slow:
                return self._told(result)
            self._deadline = time.monotonic() + self._context.timeout
        if self._missing:
            self._look_behind()
        sliced = self._sliced(result)
        return self._told(sliced if sliced.has_numbers else result)

    def _sliced(self, failed: CompileResult) -> CompileResult:
        sliced = compile_slice(
            replace(self._context, timeout=max(self._remaining(), MIN_SECONDS)),
            self._unit,
            self._arch,
            self._recipe.added_to(self._base),
            missing=self._missing,
            failed=failed,
            preprocessed=self._preprocessed,
            text=self._text,
            mended=self._mended_flags,
        )
        self._attempts.extend(sliced.attempts)
        return sliced

    def _mended_flags(self, output: str) -> Filtered | None:
        """What the message asks for, once headers are stood in for."""
        mended = self._asked_for(output)
        if mended is None:
            return None
        self._recipe = mended
        return mended.added_to(self._base)

    # Compiling all of it

    def _full(self) -> CompileResult:
        """The steps that compile the unit as it is."""
        remembered = self._remembered()
        result: CompileResult | None = None
        if remembered is not None:
            self._recipe = remembered
            result = self._attempt(replace(remembered, step="remembered"))
            if self._is_final(result):
                return result
        recipe, self._missing = self._find_headers()
        self._reads.missing.update(self._missing)
        if self._missing:
            self._recipe = recipe
            return self._refused()
        if result is None or recipe.folders != self._recipe.folders:
            self._recipe = recipe
            result = self._attempt(recipe)
        while not self._is_final(result):
            mended = self._mended(result.output)
            if mended is None:
                break
            self._recipe = mended
            result = self._attempt(mended)
        if result.has_numbers:
            self._remember()
        return result

    def _mended(self, output: str) -> Recipe | None:
        """What may help."""
        return self._asked_for(output) or self._recipe.before_system(
            sorted(self._reads.files), guessed_folders(self._unit, self._root)
        )

    def _asked_for(self, output: str) -> Recipe | None:
        """What the message asks for."""
        demanded = definitions.demanded(output, self._unit, self._root)
        return self._recipe.mended(output) or self._recipe.with_definitions(demanded)

    def _find_headers(self) -> tuple[Recipe, list[str]]:
        """The least recipe whose headers are all there, and what is not anywhere."""
        recipe = Recipe(defines=definitions.unconditional(self._unit, self._root))
        missing = self._scan(recipe)
        if not missing:
            return recipe, []
        self._note_missing(recipe, missing)
        recipe = recipe.with_folders("guessed", guessed_folders(self._unit, self._root))
        return self._search(recipe, self._scan(recipe))

    def _search(self, recipe: Recipe, missing: list[str]) -> tuple[Recipe, list[str]]:
        """`recipe` with the folders of the workspace that hold what is missing; what is left."""
        for _ in range(SEARCH_ROUNDS):
            if not missing:
                break
            self._note_missing(recipe, missing)
            found = [self._files.folder_for(target, self._unit) for target in missing]
            extended = recipe.with_folders("search", [f for f in found if f is not None])
            if extended.folders == recipe.folders:
                break
            recipe = extended
            missing = self._scan(recipe)
        return recipe.with_own_first(self._reads.files), missing

    def _look_behind(self) -> None:
        """Finds what is asked for only once the missing headers are stood in for."""
        with scratch_folder(self._context.cache) as folder:
            for _ in range(SEARCH_ROUNDS):
                search = write_standins(self._missing, folder)
                more = [
                    name for name in self._scan(self._recipe, search) if name not in self._missing
                ]
                if not more:
                    break
                found = [self._files.folder_for(target, self._unit) for target in more]
                self._recipe = self._recipe.with_folders(
                    "search", [folder for folder in found if folder is not None]
                )
                self._missing += [
                    name for name, place in zip(more, found, strict=True) if place is None
                ]
        self._reads.missing.update(self._missing)

    def _scan(self, recipe: Recipe, standins: Path | None = None) -> list[str]:
        flags = recipe.added_to(self._base)
        if standins is not None:
            flags = replace(flags, host=(*flags.host, "-idirafter", str(standins)))
        context = replace(self._context, timeout=max(self._remaining(), MIN_SECONDS))
        return missing_headers(context, self._unit, self._arch, flags, self._text)

    def _note_missing(self, recipe: Recipe, missing: list[str]) -> None:
        self._attempts.append(Attempt(recipe.step, "error", f"missing: {', '.join(missing[:8])}"))

    def _refused(self) -> CompileResult:
        names = ", ".join(self._missing[:8])
        message = f"headers are missing: {names}; name their folders in `compile.args` (-I…)"
        errors = tuple(
            Message(f"{name}: not found in the workspace or the toolkit", str(self._unit), 1)
            for name in self._missing
        )
        return CompileResult(
            "error",
            str(self._unit),
            self._arch,
            message=message,
            errors=errors,
            dropped=self._base.dropped,
            toolkit=self._context.compiler.version,
            time=time.time(),
        )

    def _attempt(self, recipe: Recipe) -> CompileResult:
        result = compile_unit(
            replace(self._context, timeout=max(self._remaining(), MIN_SECONDS)),
            self._unit,
            self._arch,
            recipe.added_to(self._base),
            text=self._text,
            keep_preprocessed=self._keep_preprocessed,
        )
        self._attempts.append(Attempt(recipe.step, result.status, result.message, result.took))
        return result

    def _keep_preprocessed(self, made: bytes) -> None:
        self._preprocessed = made

    def _is_final(self, result: CompileResult) -> bool:
        """Whether no further step can help, or none may be begun."""
        is_over = result.status in ("timeout", "cancelled", "slow", "failed")
        return result.has_numbers or is_over or self._remaining() < MIN_SECONDS

    def _remaining(self) -> float:
        return self._deadline - time.monotonic()

    def _told(self, result: CompileResult) -> CompileResult:
        return replace(result, attempts=tuple(self._attempts))

    # A fragment, through what includes it

    def _through_includers(self) -> CompileResult | None:
        """The entries of the unit from a `.cu` that includes it; None where there are none."""
        if self._text is not None:
            return None
        for includer, _ in zip(
            self._files.includers(self._unit), range(MAX_INCLUDERS), strict=False
        ):
            if self._remaining() < MIN_SECONDS:
                break
            context = replace(self._context, timeout=self._remaining())
            other = _Ladder(
                context, includer, self._arch, self._base, self._root, None, self._files
            )
            result = other._full()
            status = result.status if result.entries else "no-entry"
            self._attempts.append(Attempt("fragment", status, str(includer), result.took))
            own = tuple(e for e in result.entries if e.file and is_same_file(e.file, self._unit))
            if own:
                return replace(result, unit=str(self._unit), entries=own)
        return None

    # What worked here before

    def _remembered(self) -> Recipe | None:
        cache = self._context.cache
        return (
            cache.noted(_note_name(self._root, self._unit), Recipe) if cache is not None else None
        )

    def _remember(self) -> None:
        if self._context.cache is not None:
            self._context.cache.note(_note_name(self._root, self._unit), self._recipe)


def is_same_file(one: str, other: Path) -> bool:
    """Whether both are one file, links resolved."""
    return os.path.realpath(one) == os.path.realpath(other)


def working_flags(context: Context, unit: Path, base: Filtered, root: Path) -> Filtered:
    """The flags by which the ladder last compiled units of this folder; `base` where it did not."""
    path = Path(os.path.abspath(unit))  # noqa: PTH100
    name = _note_name(root, path)
    recipe = context.cache.noted(name, Recipe) if context.cache is not None else None
    return recipe.added_to(base) if recipe is not None else base


def _note_name(root: Path, unit: Path) -> str:
    return f"recipe\0{root}\0{unit.parent}"
