"""What a workspace keeps of one file, and how names mean kernels."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from occlsp.source.facts import Attribute, FileFacts, Kernel, Launch, SourceError
from occlsp.source.indexing import called_names, index_file
from occlsp.source.local_facts import LocalFacts
from occlsp.source.parse import Parsed, alias_names
from occlsp.source.stepping import Since, Step
from occlsp.source.syntax import FileSyntax
from occlsp.source.view import FileIndex

MAX_FILE = 16 << 20
"""Bytes: a larger file is no source that anybody wrote."""


def read_file(path: str) -> bytes | None:
    """A file's bytes; None where it cannot be read or is too large."""
    try:
        status = os.stat(path)  # noqa: PTH116 -- asked thousands of times, here and below
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
            return None
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.readall()
    except OSError:
        return None


def is_file(path: str) -> bool:
    try:
        return os.path.isfile(path)  # noqa: PTH113 -- asked thousands of times
    except (OSError, ValueError):
        return False


@dataclass(slots=True)
class Entry:
    """One file as a workspace keeps it; small and pickled without its text."""

    digest: bytes
    index: FileIndex
    targets: tuple[str, ...]
    """Include targets as written."""
    alias_names: frozenset[str]
    syntax: FileSyntax | None
    """None where it was dropped: it is read again when facts are asked for."""
    is_open: bool = False
    aliases: frozenset[str] = frozenset()
    local: LocalFacts | None = None
    local_key: bytes = b""
    local_version: int = -1
    world: bytes = b""
    """Of an entry that was kept: digest of all that was in view when `local` was read."""
    facts: FileFacts | None = None
    facts_key: tuple[bytes, int] = (b"", -1)
    errors: tuple[SourceError, ...] = ()
    resolved: tuple[str, ...] = field(default_factory=tuple)
    resolved_at: int = -1
    calls: bytes = b""
    """What `calls_of` gives; empty where nobody asked yet."""
    parsed: Parsed | None = None
    """For open files: what an edit is read from."""
    fuller: Entry | None = None
    """For open files: what they were before much of them was read again, for the edit that takes
    it back."""
    waited: int = 0
    """For how many edits it was kept."""

    @property
    def exports(self) -> bytes:
        """Digest of what others see of the file; made where they ask, as nobody does of a unit."""
        return self.index.exports()

    def handed_on(self, **changes: Any) -> Entry:
        """The file for another workspace, without what edits of it are read from."""
        return replace(self, parsed=None, fuller=None, **changes)


def parsed_entry(
    path: str,
    syntax: FileSyntax,
    digest: bytes,
    aliases: frozenset[str] = frozenset(),
    before: tuple[Entry, Step] | None = None,
) -> Entry:
    """What to keep of a parsed file; `before` is what it was before an edit, and what that did."""
    since, names = None, None
    if before is not None and before[0].syntax is not None:
        old, step = before
        since = Since(old.index, before[0].syntax, step)
        names = old.alias_names if step.same_macros else None
    index = index_file(path, syntax, since)
    return Entry(
        digest,
        index,
        tuple(include.target for include in syntax.includes),
        alias_names(syntax) if names is None else names,
        syntax,
        aliases=aliases,
    )


class KernelNames:
    """Whether names are kernels of the workspace, and which were asked for."""

    def __init__(self, files: Mapping[str, Collection[str]]) -> None:
        self._files = files
        self.answers: dict[str, bool] = {}

    def __call__(self, name: str) -> bool:
        answer = self.answers[name] = self.now(name)
        return answer

    def now(self, name: str) -> bool:
        """Whether a name is one at this moment; not taken as asked."""
        return bool(self._files.get(name))


def calls_of(file: Entry) -> bytes:
    """The names of functions that a file may call, a zero around each."""
    if not file.calls and file.syntax is not None:
        file.calls = b"\0%b\0" % b"\0".join(sorted(called_names(file.syntax)))
    return file.calls


def drop_text(file: Entry) -> None:
    """Keeps of a file's text only what it may call."""
    calls_of(file)
    file.syntax = None
    file.parsed = None
    file.fuller = None


def means(written: str, kernel: Kernel) -> bool:
    """Whether a name as written can mean a kernel: its last parts are the kernel's."""
    parts = [part for part in written.split("::") if part]
    whole = [part for part in kernel.qualified_name.split("::") if part]
    whole = [part for part in whole if part != "(anonymous namespace)"]
    return whole[-len(parts) :] == parts if parts else False


Instantiating = dict[str, list[tuple[str | None, tuple[str, ...]]]]
"""Kernel's last name → its name as it is written (None: just so) with template arguments."""


def instantiating(local: LocalFacts) -> Instantiating:
    """The template arguments that a file gives kernels: in launches and attribute calls (those of
    macros are the macro's own; the uses of it are listed too), and in specialisations."""
    found: Instantiating = {}
    uses: list[Launch | Attribute] = [*local.launches, *local.attributes]
    for use in uses:
        parts = [part for part in (use.kernel or "").split("::") if part]
        if parts and use.template_args_known and not use.in_macro:
            found.setdefault(parts[-1], []).append((use.kernel, use.template_args_known))
    for _, kernel in local.kernels:
        if kernel.template_arguments:
            found.setdefault(kernel.name, []).append((None, kernel.template_arguments))
    return found
