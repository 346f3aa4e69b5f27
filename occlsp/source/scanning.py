"""Reads the CUDA sources of folders, over the cores that there are.

Each file is parsed once: those that others include first, then every other source together with
its evaluation, for which nothing but what it includes need be in view. What follows from the whole
workspace (who calls a function of a header, which names are kernels anywhere) is evaluated, or
evaluated again, when all is there: so how many processes work on it makes no difference to what is
found. What they send is small, as texts are dropped.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from occlsp.source.copies import Copies
from occlsp.source.crew import Crew, Died, cores
from occlsp.source.entries import MAX_FILE, Entry, drop_text
from occlsp.source.files import nothing_known
from occlsp.source.finding import MAX_FILES, includable_files, source_files
from occlsp.source.includes import UNITS
from occlsp.source.store import Row, Store, payload
from occlsp.source.workspace import Evaluated, Workspace

MAX_TEXTS = 16 << 20
"""Bytes of the texts that are kept from the first look at them until they are parsed."""
MAX_KEPT = 8 << 20
"""Bytes of the texts that are kept from parsing to evaluation; others are read again."""
KEPT_AT_ONCE = 200
"""Files that go to the store together."""


def scan_folder(
    paths: Sequence[str],
    *,
    root: str | None = None,
    include_dirs: Sequence[str] = (),
    defines: Mapping[str, str] | None = None,
    jobs: int | None = None,
    store: Store | None = None,
    told: Callable[[str], None] = lambda path: None,
) -> tuple[Workspace, dict[str, str]]:
    """A workspace of every CUDA source below `paths`, and of each that could not be read, why.

    `jobs` processes (default: the cores there are), this one among them. `store`: what an earlier
    run read is taken from there, and what this one reads is left there. `told` hears of each
    source as it is done.
    """
    files: list[str] = []
    errors: dict[str, str] = {}
    for path, error in source_files(paths):
        if error is None:
            files.append(path)
        else:
            errors[path] = error
    known = store.find if store is not None else nothing_known
    workspace = Workspace(root, include_dirs, defines, known=known)
    workspace.add_known([*files, *islice(includable_files(paths), MAX_FILES)])
    for path, error in read_all(workspace, files, jobs or cores(), store):
        told(path)
        if error is not None:
            errors[path] = error
    return workspace, errors


def read_all(
    workspace: Workspace, sources: Sequence[str], processes: int, store: Store | None = None
) -> Iterator[tuple[str, str | None]]:
    """Reads and evaluates sources with all that they include, in a workspace that is empty but
    for their names. Yields each as it is done, or why it cannot be."""
    reading = _Reading(workspace, sources, processes, store)
    try:
        yield from reading.first()
        yield from reading.units()
        workspace.arrange(sources)
        reading.aliased()
        yield from reading.rest()
    finally:
        reading.keep()


class Task(NamedTuple):
    """A file to be parsed."""

    path: str
    keeps_text: bool = False
    """For its evaluation."""
    aliases: frozenset[str] = frozenset()
    """The macros that it sees for `__global__`."""


class _Reading:
    """One reading of all files of a workspace."""

    def __init__(
        self, workspace: Workspace, sources: Sequence[str], processes: int, store: Store | None
    ) -> None:
        self.workspace = workspace
        self.sources = dict.fromkeys(sources)
        """Without those that cannot be read."""
        self.wanted = frozenset(sources)
        self.processes = processes
        self.store = store
        self.texts = _Texts()
        sizes, self.included = workspace.look_around(sources, self.texts, MAX_TEXTS)
        self.unread = sorted(sizes, key=lambda path: -sizes[path])
        """The largest first: what is done last is small, so that no process waits for another."""
        self.told: set[str] = set()
        self.rows: list[Row] = []
        """What is to be kept for the next run."""

    def is_first(self, path: str) -> bool:
        """Whether what is known of others may depend on a file."""
        return path in self.included or not path.endswith(UNITS)

    def first(self) -> Iterator[tuple[str, str]]:
        """Parses what others include or ask; yields sources that cannot be read."""
        kept = 0
        tasks = [Task(p, p in self.wanted) for p in self.unread if self.is_first(p)]
        work = partial(_parsed, self.texts)
        for index, read in Crew(work, self.processes, _sent).run(tasks):
            path = tasks[index].path
            entry = self.take(path, read)
            if entry is None:
                self.workspace.miss(path)
                if path in self.wanted:
                    yield self.leave_out(path, read)
            elif entry.syntax is not None:
                kept += len(entry.syntax.text)
                if kept > MAX_KEPT:
                    drop_text(entry)

    def units(self) -> Iterator[tuple[str, str | None]]:
        """Parses and evaluates the sources that nobody includes."""
        units = [path for path in self.unread if not self.is_first(path)]
        work = partial(_read_unit, self.workspace, self.texts)
        for index, read in Crew(work, self.processes, _sent).run(units):
            path = units[index]
            self.told.add(path)
            if self.take(path, read) is None:
                self.workspace.forget(path)
                yield self.leave_out(path, read)
            else:
                yield path, None

    def aliased(self) -> None:
        """Parses again what turns out to see other macros for `__global__`."""
        tasks = [Task(path, aliases=names) for path, names in self.workspace.aliased().items()]
        work = partial(_parsed, self.texts)
        for index, read in Crew(work, self.processes, _sent).run(tasks):
            self.take(tasks[index].path, read)

    def rest(self) -> Iterator[tuple[str, str | None]]:
        """Evaluates what was not, or when there was less in view."""
        stale = [path for path in self.sources if not self.workspace.is_current(path)]
        for path in self.sources.keys() - self.told - set(stale):
            yield path, None
        # What takes long are headers whose callers are in many files: first, and one at a time.
        rank = {path: number for number, path in enumerate(self.unread)}
        stale.sort(key=lambda path: (path.endswith(UNITS), rank.get(path, len(rank))))
        crew = Crew(partial(_evaluated, self.workspace), self.processes, most=1)
        for index, found in crew.run(stale):
            path = stale[index]
            if isinstance(found, (str, Died)):
                self.workspace.leave_out(path)
                yield self.leave_out(path, found)
            else:
                self.workspace.evaluated(path, found)
                if path not in self.told:
                    yield path, None
        self.workspace.settle()
        for path in stale:
            if path in self.sources:
                self.put_down(path, self.workspace.entry(path, evaluate=False))

    def take(self, path: str, read: object) -> Entry | None:
        """Takes in a file as this process or another read it."""
        packed = read if isinstance(read, bytes) else None
        entry = pickle.loads(packed) if packed is not None else read
        if not isinstance(entry, Entry):
            return None
        if packed is not None or entry.local is None:
            self.workspace.enter(path, entry, is_source=path in self.wanted)
        if entry.syntax is None:
            self.put_down(path, entry, packed)
        return entry

    def leave_out(self, path: str, why: object) -> tuple[str, str]:
        """A source that cannot be read."""
        self.sources.pop(path, None)
        return path, str(why)

    def put_down(self, path: str, entry: Entry, packed: bytes | None = None) -> None:
        """Has a file kept for the next run."""
        if self.store is not None:
            self.rows.append((path, entry, packed or payload(entry)))
            if len(self.rows) >= KEPT_AT_ONCE:
                self.keep()

    def keep(self) -> None:
        """Keeps what there is for the next run."""
        if self.store is not None:
            self.store.keep_packed(self.rows)
        self.rows.clear()


class _Texts(dict[str, bytes]):
    """Texts that are looked at once more. A child that is not forked reads them itself."""

    def __init__(self) -> None:
        super().__init__()
        self.copies = Copies()
        """What of them was just parsed."""

    def __reduce__(self) -> tuple[type[_Texts], tuple[()]]:
        return _Texts, ()


def _parsed(texts: _Texts, task: Task) -> Entry | str | None:
    """A file as it is parsed; why it cannot be read, or None where there is nothing to read."""
    try:
        text = texts.pop(task.path, None) or _text(task.path)
        if isinstance(text, str):
            return text
        if task.aliases and not any(name.encode() in text for name in task.aliases):
            return None
        entry = texts.copies.entry(task.path, text, task.aliases)
    except Exception as error:  # a fault in one file costs that one
        return not_analysed(error)
    if not task.keeps_text:
        drop_text(entry)
    return entry


def _read_unit(workspace: Workspace, texts: _Texts, path: str) -> Entry | str:
    """A source that nobody includes, parsed and evaluated; why it cannot be."""
    try:
        text = texts.pop(path, None) or _text(path)
        if isinstance(text, str):
            return text
        workspace.read(path, text, texts.copies.entry(path, text))
        return workspace.entry(path)
    except Exception as error:  # a fault in one file costs that one
        return not_analysed(error)


def _evaluated(workspace: Workspace, path: str) -> Evaluated | str:
    try:
        local = workspace.local(path)
        entry = workspace.entry(path, evaluate=False)
    except Exception as error:  # a fault in one file costs that one
        return not_analysed(error)
    return local, entry.local_key, entry.errors


def _text(path: str) -> bytes | str:
    """A file's bytes, or why they cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 -- once for each file
            text = file.readall()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if len(text) > MAX_FILE:
        return f"is larger than {MAX_FILE >> 20} MiB: not read"
    return text


def _sent(read: Entry | str | None) -> object:
    """What a process sends of a file to the one that asked: as it is kept for the next run, but
    where its text is wanted."""
    return payload(read) if isinstance(read, Entry) and read.syntax is None else read


def not_analysed(error: Exception) -> str:
    """What is told of a file in which the analysis itself failed."""
    return f"cannot be analysed ({type(error).__name__}: {error})"
