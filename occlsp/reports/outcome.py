"""What came of a unit after all that was tried for it, remembered: failures as well as numbers.

Kept while everything that was read is as it was and everything that was looked for is still not
there, under the same source, flags, time limit, architecture and toolkit. What may pass by itself
(a timeout, a crash) is kept for an hour only and tried again when asked; what was cancelled, or
never ran, is not kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from occlsp.reports.compile import Context
from occlsp.reports.compiled import CompileResult
from occlsp.reports.dependencies import Reads
from occlsp.reports.digests import digest
from occlsp.reports.flags import Filtered
from occlsp.reports.guess import WorkspaceFiles

PASSING_SECONDS = 3600.0
"""How long a timeout or a crash is believed."""
_SEARCHED = frozenset({"-iquote", "-isystem", "-idirafter"})
_USUAL = ("/usr/include", "/usr/local/include")


def remembered(
    context: Context,
    unit: Path,
    arch: str,
    flags: Filtered,
    text: bytes | None,
    *,
    way: str,
    files: WorkspaceFiles,
    retry: bool,
    work: Callable[[Context], CompileResult],
) -> CompileResult:
    """What `work` gives, or gave before, if that still holds.

    `way` tells apart what may be done with the same flags. Headers that `work` found nowhere are
    looked for by name in `files` before an old outcome is believed. `retry` does again what
    timed out or crashed.
    """
    cache = context.cache
    key = _key(context, unit, arch, flags, text, way)
    if cache is None or key is None:
        return work(context)
    known = cache.lookup(key)
    if known is not None and _is_still_so(known, unit, files, retry=retry):
        return replace(known, dropped=flags.dropped)
    started = time.time_ns()
    reads = Reads()
    result = work(replace(context, reads=reads))
    result = replace(result, missing=tuple(sorted(reads.missing)))
    lifetime = _lifetime(result)
    if lifetime == 0.0:
        return result
    ours = str(cache.directory) + os.sep
    read = (path for path in reads.files if path != str(unit) and not path.startswith(ours))
    absent = {*reads.absent, *_candidates(context, unit, flags, reads)}
    contents = {path: "" for path in absent if not os.path.lexists(path)}
    contents.update(cache.contents(read, started))
    until = None if lifetime is None else time.time() + lifetime
    kept = cache.store(key, replace(result, is_cached=False), contents, until=until)
    return replace(kept, is_cached=result.is_cached)


def _is_still_so(known: CompileResult, unit: Path, files: WorkspaceFiles, *, retry: bool) -> bool:
    if known.entries and known.ptx is None:
        return False
    if retry and _lifetime(known) is not None:
        return False
    return all(files.folder_for(name, unit) is None for name in known.missing)


def _lifetime(result: CompileResult) -> float | None:
    """Seconds that the outcome is believed; None: while the files stay as they are."""
    statuses = {result.status, *(attempt.status for attempt in result.attempts)}
    if "cancelled" in statuses or result.status == "slow":
        return 0.0
    if result.has_numbers or statuses.isdisjoint({"timeout", "failed"}):
        return None
    has_run = result.took or any(attempt.took for attempt in result.attempts)
    return PASSING_SECONDS if has_run else 0.0


def _candidates(context: Context, unit: Path, flags: Filtered, reads: Reads) -> Iterator[str]:
    """Where the missing headers would be found if they came."""
    folders = dict.fromkeys((str(unit.parent), *_USUAL))
    folders.update((b, None) for a, b in pairwise(flags.host) if a in _SEARCHED)
    folders.update((word[2:], None) for word in flags.host if word.startswith("-I"))
    if context.compiler.toolkit is not None:
        folders[str(context.compiler.toolkit / "include")] = None
    folders.update((os.path.dirname(path), None) for path in reads.files)  # noqa: PTH120
    for name in reads.missing:
        yield from (os.path.join(folder, name) for folder in folders)  # noqa: PTH118


def _key(
    context: Context, unit: Path, arch: str, flags: Filtered, text: bytes | None, way: str
) -> str | None:
    try:
        content = unit.read_bytes() if text is None else text
        compiler = context.compiler
        parts = (
            *("outcome", way, str(unit), arch, f"{context.timeout:g}"),
            *(compiler.version, str(compiler.toolkit or compiler.path)),
            *flags.key(),
        )
        return digest(content, *(os.fsencode(part) for part in parts))
    except (OSError, ValueError):
        return None
