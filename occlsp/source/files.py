"""The files of a workspace: their declarations, and which of them each includes.

Texts of files that are not open are dropped once they are read: what stays is small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from occlsp.source.entries import (
    Entry,
    KernelNames,
    calls_of,
    drop_text,
    is_file,
    parsed_entry,
    read_file,
)
from occlsp.source.includes import IncludeResolver, written_includes
from occlsp.source.parse import parse
from occlsp.source.rereading import reread
from occlsp.source.syntax import FileSyntax
from occlsp.source.view import View

MAX_CLOSURE = 1_500
"""Files that one file's includes are followed to."""


Known = Callable[[str, bytes], Entry | None]
"""What an earlier run read of a file, by its path and the digest of its content."""


def nothing_known(path: str, digest: bytes) -> Entry | None:
    """For a workspace that asks no earlier run."""
    return None


class Files:
    """Sources by path, with what each includes. See `occlsp.source.workspace.Workspace`."""

    def __init__(
        self,
        root: str | None = None,
        include_dirs: Sequence[str] = (),
        defines: Mapping[str, str] | None = None,
        reader: Callable[[str], bytes | None] | None = read_file,
        known: Known = nothing_known,
    ) -> None:
        self.root = root
        self._known = known
        self.include_dirs = tuple(include_dirs)
        self.defines = dict(defines or {})
        self._reader = reader
        self._files: dict[str, Entry] = {}
        self._given: set[str] = set()
        self._missing: set[str] = set()
        self._version = 0
        self._graph = 0
        """Counts changes of what files include that may change what others reach."""
        self._links = 0
        """Counts changes of what files include."""
        self._resolver = self._new_resolver()
        self._views: dict[str, tuple[bytes, View, KernelNames]] = {}
        self._closures: dict[str, tuple[tuple[int, int], tuple[str, ...]]] = {}
        self._below: dict[tuple[str, ...], tuple[tuple[int, int], tuple[str, ...]]] = {}
        """What is reached by way of included files, in the same state as `_closures`."""
        self._digests: dict[tuple[str, bool], tuple[tuple[str, ...], int, bytes]] = {}
        """Of closures, as long as they are the same and no file was replaced."""
        self._including: tuple[tuple[int, int], dict[str, list[str]]] = ((-1, -1), {})
        self._kernel_files: dict[str, set[str]] = {}
        """Kernel name → the files that declare one."""
        self._mentioning: dict[str, set[str]] = {}
        """Kernel name → the files that may launch one, set its attributes or instantiate it."""
        self._calling_files: dict[bytes, set[str]] = {}
        """Name → the files that may call a function of it, and some that did before."""
        self._uncounted: set[str] = set()
        """Files of which that is not looked up yet: most scans ask for it once, at the end."""
        self._order: dict[str, int] = {}
        """File → its place among all, by when it came."""
        self._came = 0
        self._replaced = 0
        """Counts the files that another took the place of: others may see something else there."""

    def _new_resolver(self) -> IncludeResolver:
        exists = is_file if self._reader is not None else (lambda path: False)
        return IncludeResolver(self.root, self.include_dirs, exists)

    # Files

    def paths(self) -> list[str]:
        """The files that were given, sorted."""
        return sorted(self._given)

    def add_known(self, paths: Iterable[str]) -> None:
        """Files of the workspace that includes may mean, though nobody gave their text yet."""
        for path in paths:
            self._resolver.add(path)

    def update(self, path: str, text: bytes, *, is_open: bool = True) -> None:
        """Gives a file's text. `is_open`: keep what is needed to answer edits quickly."""
        digest = blake2b(text, digest_size=16).digest()
        self._given.add(path)
        old = self._files.get(path)
        if old is not None and old.digest == digest and (old.syntax is not None or not is_open):
            old.is_open = is_open
            return
        self._missing.discard(path)
        self._resolver.add(path)
        if is_open or old is not None or self._recalled(path, digest) is None:
            self._store(path, text, digest, is_open=is_open)

    def read(self, path: str, text: bytes, file: Entry) -> None:
        """Takes in a source as it was parsed, with the macros that it sees."""
        self._given.add(path)
        self._take_in(path, text, file)

    def _recalled(self, path: str, digest: bytes) -> Entry | None:
        """A file as an earlier run read it; None where none did, or it sees other macros now."""
        entry = self._known(path, digest)
        if entry is None:
            return None
        self.enter(path, entry, is_source=False)
        return entry if self._aliases(path) == entry.aliases else None

    def _store(self, path: str, text: bytes, digest: bytes, *, is_open: bool) -> Entry:
        old = self._files.get(path)
        aliases = old.aliases if old is not None else frozenset()
        parsed, base, fuller, waited = reread(old, text, aliases)
        if base is None or base.parsed is None or base.syntax is not base.parsed.syntax:
            file = parsed_entry(path, parsed.syntax, digest, aliases)
        elif base.parsed is parsed:
            file = replace(base)
        else:
            before = (base, parsed.step) if parsed.step is not None else None
            file = parsed_entry(path, parsed.syntax, digest, aliases, before)
        file.is_open = is_open
        file.parsed, file.fuller = (parsed, fuller) if is_open else (None, None)
        file.waited = waited
        if old is not None:
            file.local, file.local_key = old.local, old.local_key
            file.local_version, file.errors = old.local_version, old.errors
            if old.targets == file.targets:
                file.resolved, file.resolved_at = old.resolved, old.resolved_at
            else:
                self._graph += 1
        return self._take_in(path, text, file)

    def _take_in(self, path: str, text: bytes, file: Entry) -> Entry:
        """Takes in a file that was parsed; again, where it sees other macros than were known."""
        old = self._files.get(path)
        self._links += old is None or old.targets != file.targets
        self._put(path, file)
        self._version += 1
        wanted = self._aliases(path)
        if wanted != file.aliases and wanted and any(name.encode() in text for name in wanted):
            again = parsed_entry(path, parse(text, aliases=wanted), file.digest, wanted)
            file.aliases, file.syntax = wanted, again.syntax
            self._forget_kernels(path)
            file.index = again.index
            self._put(path, file)
        return file

    def loaded(self) -> set[str]:
        """All files in view: those that were given, and those that they include."""
        return set(self._files)

    def adopt(self, path: str, entry: Entry, *, is_source: bool = True) -> None:
        """Takes over what another process read."""
        if is_source or path not in self._files:
            self._resolver.add(path)
            self.enter(path, entry, is_source=is_source)

    def enter(self, path: str, entry: Entry, *, is_source: bool) -> None:
        """Takes in a file as it is, in the place of what is known of it."""
        if is_source:
            self._given.add(path)
        # A file that nobody looked for is in nobody's includes.
        self._graph += path in self._files or path in self._missing or self._reader is None
        self._links += 1
        self._missing.discard(path)
        self._put(path, entry)
        self._version += 1

    def _put(self, path: str, entry: Entry) -> None:
        self._forget_kernels(path)
        self._replaced += path in self._files
        self._files[path] = entry
        self._uncounted.add(path)
        if path not in self._order:
            self._came += 1
            self._order[path] = self._came
        for name in entry.index.kernels:
            self._kernel_files.setdefault(name, set()).add(path)
        for name in entry.index.mentions:
            self._mentioning.setdefault(name, set()).add(path)

    def _forget_kernels(self, path: str) -> None:
        old = self._files.get(path)
        if old is None:
            return
        tables = (old.index.kernels, self._kernel_files), (old.index.mentions, self._mentioning)
        for names, table in tables:
            for name in names:
                files = table.get(name, set())
                files.discard(path)
                if not files:
                    table.pop(name, None)  # words that are typed are many

    def calling(self, name: str) -> list[str]:
        """The files in view that may call a function of this name, in their order."""
        in_view = self._uncounted & self._files.keys()
        is_edited = {path for path in in_view if self._files[path].is_open}
        for path in in_view - is_edited:
            for called in calls_of(self._files[path]).split(b"\0"):
                self._calling_files.setdefault(called, set()).add(path)
        self._uncounted = is_edited
        word = b"\0%b\0" % name.encode()
        found = (self._calling_files.get(name.encode(), set()) | is_edited) & self._files.keys()
        calling = [path for path in found if word in calls_of(self._files[path])]
        return sorted(calling, key=self._order.__getitem__)

    def remove(self, path: str) -> None:
        """Forgets a file, which is not there any more."""
        if path in self._files:
            self._resolver.remove(path)
        self.forget(path)

    def forget(self, path: str) -> None:
        """Forgets what was read of a file."""
        self.leave_out(path)
        self._forget_kernels(path)
        self._order.pop(path, None)
        if self._files.pop(path, None) is not None:
            self._views.pop(path, None)
            self._graph += 1
            self._links += 1
            self._version += 1

    def leave_out(self, path: str) -> None:
        """Keeps a file only for those that include it."""
        self._given.discard(path)

    def close(self, path: str) -> None:
        """The file is not edited any more: its text need not be kept."""
        file = self._files.get(path)
        if file is not None:
            file.is_open = False
            self._slim(path, file)

    def _slim(self, path: str, file: Entry) -> None:
        if not file.is_open and self._reader is not None:
            drop_text(file)
            if file.local is not None:
                file.local.memory = None
            self._views.pop(path, None)

    def _load(self, path: str) -> Entry | None:
        """A file by path, read from disk where it was never given."""
        file = self._files.get(path)
        if file is not None or self._reader is None or path in self._missing:
            return file
        text = self._reader(path)
        if text is None:
            self._missing.add(path)
            return None
        digest = blake2b(text, digest_size=16).digest()
        file = self._recalled(path, digest)
        if file is None:
            file = self._store(path, text, digest, is_open=False)
            self._slim(path, file)
        return file

    def _syntax(self, path: str, file: Entry) -> FileSyntax | None:
        if file.syntax is None and self._reader is not None:
            text = self._reader(path)
            if text is None:
                return None
            digest = blake2b(text, digest_size=16).digest()
            if digest != file.digest:
                file = self._store(path, text, digest, is_open=file.is_open)
            else:
                file.syntax = parse(text, aliases=file.aliases)
        return file.syntax

    # Includes

    def includes(self, path: str) -> tuple[str, ...]:
        """The files that a file includes directly, as far as they are in view."""
        file = self._files.get(path)
        if file is None:
            return ()
        if file.resolved_at != self._resolver.generation:
            found = dict.fromkeys(self._resolver.resolve_all(file.targets, path))
            file.resolved = tuple([p for p in found if p is not None and p != path])
            file.resolved_at = self._resolver.generation
        return file.resolved

    def closure(self, path: str) -> tuple[str, ...]:
        """A file and all that it includes, in the order in which a compiler reads them."""
        kept = self._closures.get(path)
        state = (self._graph, self._resolver.generation)
        if kept is not None and kept[0] == state:
            return kept[1]
        targets = self.includes(path)
        below = self._below.get(targets)
        if below is None or below[0] != state:
            below = self._below[targets] = (state, self._reached("", targets))
        # Most files include just what another does, and none includes itself.
        found = below[1] if path not in below[1] else self._reached(path, targets)
        self._closures[path] = (state, (*found, path))
        return self._closures[path][1]

    def digest_of_closure(self, path: str, *, own: bool) -> bytes:
        """Digest of what a file includes: of what others see of it, or of all and of its `own`."""
        closure, files = self.closure(path), self._files
        key = (path, own)
        known = self._digests.get(key)
        if known is None or known[0] is not closure or known[1] != self._replaced:
            if own:
                parts = [files[other].digest for other in closure]
            else:
                parts = [files[other].exports for other in closure[:-1]]
            digest = blake2b(b"".join(parts), digest_size=16).digest()
            known = self._digests[key] = (closure, self._replaced, digest)
        return known[2]

    def _reached(self, path: str, targets: Sequence[str]) -> tuple[str, ...]:
        """All that is included by way of some files, but for one that includes them."""
        order: list[str] = []
        seen = {path}
        stack = [(path, iter(targets))]
        while stack:
            current, following = stack[-1]
            for other in following:
                if other not in seen and len(seen) < MAX_CLOSURE:
                    seen.add(other)
                    if self._load(other) is not None:
                        stack.append((other, iter(self.includes(other))))
                        break
            else:
                stack.pop()
                order.append(current)
        return tuple(order[:-1])

    def including(self) -> dict[str, list[str]]:
        """The files in view that include a file directly."""
        state = (self._links, self._resolver.generation)
        if self._including[0] != state:
            found: dict[str, list[str]] = {}
            for path in self._files:
                for other in self.includes(path):
                    found.setdefault(other, []).append(path)
            self._including = (state, found)
        return self._including[1]

    def look_around(
        self, sources: Iterable[str], texts: dict[str, bytes], most: int
    ) -> tuple[dict[str, int], set[str]]:
        """Takes in what an earlier run read of sources and of all that they include. Gives the
        files of which none did, with their sizes, and those that others include, or seem to.
        Their `texts` are kept, up to so many bytes in all.

        Which macros a file saw that is taken in is looked at by `aliased`, once all are there."""
        pending = list(sources)
        wanted, seen = set(pending), set(pending)
        unread: dict[str, int] = {}
        included: set[str] = set()
        for path in pending:
            text = self._reader(path) if self._reader is not None else None
            entry = None
            if text is not None and self._known is not nothing_known:
                entry = self._known(path, blake2b(text, digest_size=16).digest())
            if entry is None:
                unread[path] = size = len(text or b"")
                if text is not None and size <= most:
                    texts[path] = text
                    most -= size
            else:
                self.enter(path, entry, is_source=path in wanted)
            targets = written_includes(text or b"") if entry is None else entry.targets
            for other in self._resolver.resolve_all(targets, path):
                if other is not None and other != path:
                    included.add(other)
                    if other not in seen:
                        seen.add(other)
                        pending.append(other)
        return unread, included

    def arrange(self, sources: Iterable[str]) -> None:
        """Puts files in the order of `sources`, with the others behind that they include, as if
        they had been read one after the other. Files that none includes are forgotten."""
        pending = [path for path in sources if path in self._files]
        seen = set(pending)
        others: list[str] = []
        for path in pending:
            new = [p for p in self.includes(path) if p in self._files and p not in seen]
            seen.update(new)
            others += new
            pending += new
        ordered = [*pending[: len(pending) - len(others)], *sorted(others)]
        for path in self._files.keys() - seen:
            self._forget_kernels(path)
        self._files = {path: self._files[path] for path in ordered}
        self._order = {path: number for number, path in enumerate(ordered)}
        self._came = len(ordered)
        self._links += 1
        self._version += 1

    def refresh(self, digest: Callable[[str], bytes]) -> bool:
        """Forgets what has another content now; whether anything has."""
        self._missing.clear()
        changed = [path for path, file in self._files.items() if file.digest != digest(path)]
        for path in changed:
            self.forget(path)
        return bool(changed)

    def miss(self, path: str) -> None:
        """Takes in that a file cannot be read."""
        self._missing.add(path)

    def aliased(self) -> dict[str, frozenset[str]]:
        """The macros for `__global__` that files see, where they were not known as they were read;
        all that is included has been entered."""
        seen: dict[str, set[str]] = {}
        including = self.including()
        for path, file in self._files.items():
            pending, reached = [path] if file.alias_names else [], {path}
            while pending:
                for other in including.get(pending.pop(), ()):
                    if other not in reached:
                        reached.add(other)
                        pending.append(other)
                        seen.setdefault(other, set()).update(file.alias_names)
        return {
            path: frozenset(seen.get(path, ()))
            for path, file in self._files.items()
            if file.aliases != seen.get(path, frozenset())
        }

    def _aliases(self, path: str) -> frozenset[str]:
        """Macros for `__global__` that a file sees."""
        names: set[str] = set()
        for other in self.closure(path):
            if other != path:
                names |= self._files[other].alias_names
        return frozenset(names)
