"""Whether a report still speaks of the kernel that is in the source.

A report that holds the kernel's fingerprint is compared by it: comments and layout make nothing
stale, nor does an include that comes into view later. For a log, which holds no content, the time
counts since when the kernel has been as it is: the file's time when it was first seen, and the
time of each edit since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from msgspec import Struct

from occlsp.analysis.sources import SourceFile
from occlsp.reports.facts import Entry
from occlsp.source.facts import FileFacts, Kernel

SLACK = 2.0
"""Seconds that a file's time may be after its report's: files are copied and checked out in any
order, and file systems round."""


MOST_EDITS = 1000
"""Edits whose time is remembered."""


class Age(Struct, frozen=True):
    """How an entry stands to the kernel."""

    is_stale: bool
    is_certain: bool = True
    """False where only the times of files speak."""
    why: str | None = None
    """Why it is stale, or why that is not known; None: it is of this very source."""


class _Since(Struct, frozen=True):
    time: float
    is_edit: bool


@dataclass(frozen=True)
class History:
    """Since when each kernel has been as it is. Undoing an edit brings the older time back."""

    since: Mapping[tuple[str, str, str], _Since] = field(default_factory=dict)
    """By path, kernel and fingerprint."""
    paths: frozenset[str] = frozenset()
    same: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Fingerprint → those that the very same source had while less of its includes was known."""

    @staticmethod
    def of(files: Iterable[tuple[FileFacts, float]]) -> History:
        """The history of files that were seen once, each with the time of its modification."""
        since: dict[tuple[str, str, str], _Since] = {}
        paths = []
        for facts, time in files:
            paths.append(facts.path)
            first = _Since(time - SLACK, is_edit=False)
            for kernel in facts.kernels:
                since.setdefault(_key(facts.path, kernel), first)
        return History(since, frozenset(paths))

    def seen(self, facts: FileFacts, time: float) -> History:
        """The history after a file was seen like this at `time` (seconds since the epoch): on
        the first sight the file's modification, later the time of the edit."""
        is_edit = facts.path in self.paths
        since = _Since(time if is_edit else time - SLACK, is_edit)
        new = {
            key: since
            for kernel in facts.kernels
            if (key := _key(facts.path, kernel)) not in self.since
        }
        if not new and is_edit:
            return self
        return History(_bounded({**self.since, **new}), self.paths | {facts.path}, self.same)

    def understood(self, before: SourceFile, after: SourceFile) -> History:
        """The history after more is known of what a file includes, while nothing that its kernels
        see has changed but, maybe, the texts of some."""
        old = {
            (kernel.qualified_name, _text(before, kernel)): kernel.fingerprint
            for kernel in before.facts.kernels
        }
        came: dict[str, frozenset[str]] = {}
        for kernel in after.facts.kernels:
            now = kernel.fingerprint
            earlier = old.get((kernel.qualified_name, _text(after, kernel)))
            if earlier and now and earlier != now:
                known = self.same.get(now, frozenset()) | self.same.get(earlier, frozenset())
                came[now] = known | {earlier}
        return replace(self, same={**self.same, **came}) if came else self

    def age(self, path: str, kernel: Kernel, entry: Entry) -> Age:
        """Whether `entry` is of `kernel` as it now is."""
        if entry.fingerprint is not None and kernel.fingerprint:
            same = self.same.get(kernel.fingerprint, frozenset())
            if entry.fingerprint == kernel.fingerprint or entry.fingerprint in same:
                return Age(is_stale=False)
            return Age(is_stale=True, why="the kernel changed since it was compiled")
        since = self.since.get(_key(path, kernel))
        if entry.time is None or since is None:
            return Age(
                is_stale=False,
                is_certain=False,
                why="whether the source changed since is not known",
            )
        if entry.time >= since.time:
            return Age(is_stale=False, is_certain=False)
        if since.is_edit:
            return Age(is_stale=True, why="the kernel was edited after the report")
        return Age(is_stale=True, is_certain=False, why="the source is newer than the report")


def _bounded(since: dict[tuple[str, str, str], _Since]) -> dict[tuple[str, str, str], _Since]:
    """Without the oldest edits, once there are many: nobody undoes that far."""
    if len(since) <= MOST_EDITS:
        return since
    edits = [key for key, one in since.items() if one.is_edit]
    if len(edits) <= MOST_EDITS:
        return since
    forgotten = set(edits[: MOST_EDITS // 2])
    return {key: one for key, one in since.items() if key not in forgotten}


def _text(file: SourceFile, kernel: Kernel) -> bytes:
    return file.text[kernel.span.start : kernel.span.end]


def _key(path: str, kernel: Kernel) -> tuple[str, str, str]:
    return path, kernel.qualified_name, kernel.fingerprint
