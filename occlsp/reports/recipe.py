"""How a unit without compile commands was made to compile: to be tried again beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from occlsp.reports import errors
from occlsp.reports.flags import Filtered
from occlsp.reports.includes import STANDARD, SYSTEM, included_by, namesakes

REMOVED_NAMES = {
    "cudaThreadSynchronize": "cudaDeviceSynchronize",
    "cudaThreadExit": "cudaDeviceReset",
    "cudaThreadGetLimit": "cudaDeviceGetLimit",
    "cudaThreadSetLimit": "cudaDeviceSetLimit",
    "cudaThreadGetCacheConfig": "cudaDeviceGetCacheConfig",
    "cudaThreadSetCacheConfig": "cudaDeviceSetCacheConfig",
}
"""Names that the runtime dropped, and what they are called now."""
NEWER_LANGUAGE = "--std=c++20"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is added to the flags."""

    step: str = "bare"
    folders: tuple[str, ...] = ()
    """Searched after all others: a repository's own `math.h` must not shadow the system's."""
    first: tuple[str, ...] = ()
    """Searched before the system's for once, see `before_system`."""
    defines: tuple[str, ...] = ()
    """`NAME=VALUE`."""
    is_rdc: bool = False
    language: str | None = None

    def added_to(self, base: Filtered) -> Filtered:
        """`base` with this recipe."""
        kept = base.kept
        if self.language is not None:
            kept = (*(word for word in kept if not word.startswith("--std")), self.language)
        host = [f"-I{folder}" for folder in self.first]
        # GCC passes over a folder's first mention where it is among the last ones, too.
        after = [folder for folder in self.folders if folder not in self.first]
        host += [word for folder in after for word in ("-idirafter", folder)]
        host += [f"-D{definition}" for definition in self.defines]
        return replace(
            base,
            kept=kept,
            host=(*base.host, *host),
            is_rdc=base.is_rdc or self.is_rdc,
        )

    def with_folders(self, step: str, folders: list[Path]) -> Recipe:
        """The recipe with more folders to search."""
        added = (*self.folders, *(str(folder) for folder in folders))
        return replace(self, step=step, folders=tuple(dict.fromkeys(added)))

    def with_definitions(self, definitions: Iterable[str]) -> Recipe | None:
        """The recipe with more macros; None where it has them all."""
        new = tuple(word for word in definitions if word not in self.defines)
        return replace(self, step="mended", defines=(*self.defines, *new)) if new else None

    def before_system(self, read: Iterable[str], guessed: Iterable[Path]) -> Recipe | None:
        """The recipe with the folders first, of its own and those `guessed`, that hold a header
        named as one of the system's that was `read`: `#include <error.h>` may mean the
        repository's own. None where there is none, or they are first already."""
        folders = dict.fromkeys((*self.folders, *map(str, guessed)))
        first = tuple(folder for folder in folders if namesakes(folder, read))
        is_new = not set(first) <= set(self.first)
        return replace(self, step="mended", first=first) if is_new else None

    def with_own_first(self, read: Iterable[str]) -> Recipe:
        """The recipe with those of its folders first whose every header named as one of the
        system's is meant: files of the workspace include it, none of the system's does, and it
        is none of C's own."""
        clashes = {folder: found for folder in self.folders if (found := namesakes(folder, read))}
        if not clashes:
            return self
        own = included_by(name for name in read if not name.startswith(SYSTEM))
        systems = included_by(name for name in read if name.startswith(SYSTEM))
        meant = {name for name in own if name not in systems and not STANDARD.fullmatch(name)}
        first = (folder for folder, found in clashes.items() if found <= meant)
        return replace(self, first=tuple(dict.fromkeys((*self.first, *first))))

    def mended(self, output: str) -> Recipe | None:
        """What the compiler's message asks for on top of this; None: nothing that we know."""
        names = sorted(errors.undefined_names(output) & REMOVED_NAMES.keys())
        renamed = self.with_definitions([f"{name}={REMOVED_NAMES[name]}" for name in names])
        if renamed is not None:
            return renamed
        if not self.is_rdc and errors.wants_separate_compilation(output):
            return replace(self, step="mended", is_rdc=True)
        if self.language is None and errors.wants_newer_language(output):
            return replace(self, step="mended", language=NEWER_LANGUAGE)
        return None
