"""The facts of a whole workspace, kept up to date file by file.

A file's facts follow from its own text and from what it includes (macros, constants, functions,
types); the instantiations of its kernels and the arguments of its functions also from the files
that use them. Each of these is kept as long as what it depends on is unchanged. Texts of files
that are not open are dropped once they are read: what stays is small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import Any

from msgspec import structs

from occlsp.source import kernel_facts as heads
from occlsp.source.beside import Beside
from occlsp.source.callers import Callers, Elsewhere, Mains
from occlsp.source.collect import Origin
from occlsp.source.entries import (
    Entry,
    Instantiating,
    KernelNames,
    instantiating,
    means,
    read_file,
)
from occlsp.source.facts import FileFacts, InstanceBounds, Kernel, SourceError
from occlsp.source.files import Files, Known, nothing_known
from occlsp.source.included import Included
from occlsp.source.includes import UNITS
from occlsp.source.local_facts import LocalFacts, local_facts
from occlsp.source.outside import MAX_INCLUDING, Declared, Including, Outside
from occlsp.source.pieces import Pieces, finished
from occlsp.source.places import are_same, moved_elsewhere, places_of
from occlsp.source.reuse import Memory, Reuse, nothing_beside
from occlsp.source.syntax import FileSyntax, RawKernel
from occlsp.source.unchanged import Variables
from occlsp.source.untouched import moved_facts
from occlsp.source.view import FileIndex, View

Evaluated = tuple[LocalFacts | None, bytes, tuple[SourceError, ...]]
"""A file's facts, the state of what they follow from, and its errors."""

_HERE_ALONE = frozenset(
    (
        *("_views", "_closures", "_below", "_alike", "_resolver", "_known"),
        *("_outsides", "_including", "_instantiating", "_mains", "_calling_files", "_beside"),
        "_digests",
    )
)
"""What is not handed to another process: it is made again."""
MAX_BORROWED = 8
"""Files whose texts are kept that were read again for another's sake."""
MAX_ALIKE = 8
"""Sets of included files whose declarations are kept by name."""
MAX_CALLING = 10
"""Files that call one function: with more, what they all give is not looked for."""


class Workspace(Files):
    """Sources by path, and the facts of each with all the others in view.

    `reader` gives the bytes of included files that were never given by `update`; with None
    nothing is read, and only files that were given are in view. Paths are absolute strings.
    """

    def __init__(
        self,
        root: str | None = None,
        include_dirs: Sequence[str] = (),
        defines: Mapping[str, str] | None = None,
        reader: Callable[[str], bytes | None] | None = read_file,
        known: Known = nothing_known,
    ) -> None:
        """`known` gives what an earlier run read of a file with this content."""
        super().__init__(root, include_dirs, defines, reader, known)
        self._world = (-1, b"")
        self._outsides: dict[str, Outside] = {}
        self._alike: dict[tuple[int, ...], Included] = {}
        """What the last few files that were read include, by the identities of the indexes."""
        self._mains: tuple[int, Mains] = (-1, {})
        self._members = (-1, Declared({}))
        """How many files declare members of classes, as far as they were asked for with all as it
        is now."""
        self._asking: set[str] = set()
        self._borrowed: dict[str, None] = {}
        """Files whose texts were read again for another's sake, the last one last."""
        self._instantiating: dict[str, tuple[LocalFacts, Instantiating]] = {}
        self._beside = self._new_beside()
        self.shared: frozenset[str] = frozenset()
        """Variables that units share, in a workspace for what stands beside others."""
        self._is_apart = False

    def _new_beside(self) -> Beside | None:
        if self._reader is None:
            return None
        find, forget = (lambda path: self._files.get(path)), (lambda: self._mains[1].clear())
        return Beside(find, self._reader, self._apart, forget)

    def _apart(self, beside: Beside) -> Workspace:
        """A workspace for what stands beside the files of this one."""
        apart = Workspace(self.root, self.include_dirs, self.defines, beside.read, beside.known)
        apart._resolver = self._resolver
        apart._is_apart = True
        return apart

    def entry(self, path: str, *, evaluate: bool = True) -> Entry:
        """A file as another workspace can adopt it: evaluated, without its text."""
        if evaluate:
            self.local(path)
        file = self._files[path]
        self._slim(path, file)
        asks = file.local is not None and file.local.asks_callers
        world = self.world() if asks else b""
        return file.handed_on(syntax=None, facts=None, world=world)

    def world(self) -> bytes:
        """Digest of all files in view: what calls from anywhere depend on."""
        if self._world[0] != self._version:
            self._world = self._version, self._others(None)
        return self._world[1]

    def _others(self, path: str | None) -> bytes:
        """Digest of all files in view but one."""
        digest = blake2b(digest_size=16)
        for other in sorted(self._files):
            if other != path:
                digest.update(other.encode("utf-8", "surrogateescape") + self._files[other].digest)
        return digest.digest()

    def is_current(self, path: str) -> bool:
        """Whether a file's launches are known as they are now, with nothing to be read anew."""
        file = self._files.get(path)
        if file is None or file.local is None or file.local_key != self._key(path):
            return False
        return self._others_same(file, file.local)

    def _key(self, path: str) -> bytes:
        """Digest of all that a file's facts follow from."""
        return self._files[path].digest + self._environment(path)

    def _environment(self, path: str) -> bytes:
        """Digest of all that a file's functions see of others."""
        return self.digest_of_closure(path, own=False)

    def _view(self, path: str) -> View:
        closure = self.closure(path)
        key = self.digest_of_closure(path, own=True) + self._around(path)
        kept = self._views.get(path)
        if kept is not None and kept[0] == key:
            return kept[1]
        indexes = [self._files[other].index for other in closure]
        included = kept[1].included if kept is not None else None
        if included is None or list(map(id, included.indexes)) != list(map(id, indexes[:-1])):
            included = self._included(indexes[:-1])
        names = KernelNames(self._kernel_files)
        outside = self._outsides.get(path)
        if outside is None:
            including = partial(self._including_views, path)
            outside = Outside(including, self._declared, self._view, self._asking)
            self._outsides[path] = outside
        view = View(path, indexes, self.defines, names, included, outside)
        self._views[path] = (key, view, names)
        self._look_for_variables(path, view)
        return view

    def _look_for_variables(self, path: str, view: View) -> None:
        """Has a unit's variables looked for anew: others may share them now, or no more."""
        if path.endswith(UNITS):
            syntax, is_shared = partial(self._syntax_of, path), partial(self._is_shared, path)
            view.variables = Variables(view, syntax, is_shared, self._is_apart)

    def _included(self, indexes: Sequence[FileIndex]) -> Included:
        """What a file includes: most include just what another did."""
        key = tuple(map(id, indexes))
        found = self._alike.pop(key, None) or Included(indexes)
        self._alike[key] = found
        if len(self._alike) > MAX_ALIKE:
            del self._alike[next(iter(self._alike))]
        return found

    def _is_shared(self, path: str, name: str) -> bool:
        """Whether a unit may share a variable with others."""
        if self._is_apart or self._beside is None:
            return name in self.shared
        return name in self._beside.externs(path, self.closure(path))

    def _including_files(self, path: str) -> list[str]:
        """The files that include a header, where they are few."""
        found = [] if path.endswith(UNITS) else self.including().get(path, [])
        return found if len(found) <= MAX_INCLUDING else []

    def _including_views(self, path: str) -> list[Including]:
        return [
            Including(
                self._view(other), partial(self._origin, other), partial(self._is, path, other)
            )
            for other in self._including_files(path)
        ]

    def _declared(self) -> Declared:
        if self._members[0] != self._version:
            self._members = (self._version, Declared(self._files))
        return self._members[1]

    def _is(self, path: str, source: str, target: str) -> bool:
        return self._resolver.resolve(target, source) == path

    def _around(self, path: str) -> bytes:
        """What the files that include one are as they are now, where they were asked."""
        outside = self._outsides.get(path)
        if outside is None or not outside.is_asked:
            return b""
        deriving = chain.from_iterable(map(self._declared().deriving, sorted(outside.classes)))
        return b"".join(map(self._key, (*self._including_files(path), *deriving)))

    def local(self, path: str) -> LocalFacts | None:
        """Launches and attributes of one file, without its kernels' instantiations."""
        file = self._placed(path)
        if file is None:
            return None
        key = self._key(path)
        if file.local is not None and file.local_key == key and self._others_same(file, file.local):
            return file.local
        return finished(self._reading(path, file, key))

    def reading(self, path: str) -> Pieces[None]:
        """Finds, where it is not known, what `facts` needs of one file; between two pieces of this
        work anything may be asked and told."""
        file = self._placed(path)
        if file is not None and not self.is_current(path):
            yield from self._reading(path, file, self._key(path))

    def _placed(self, path: str) -> Entry | None:
        """A file, with what it says of places in others as they are now."""
        file = self._load(path)
        if file is not None and file.local is not None and file.local.places:
            moved = moved_elsewhere(file.local, self._files)
            if moved is None:  # to be read again, where that can be
                moved, file.local_key = replace(file.local, places={}, memory=None), b""
            file.local = moved
        return file

    def _reading(self, path: str, file: Entry, key: bytes) -> Pieces[LocalFacts | None]:
        syntax = self._syntax(path, file)
        file = self._files[path]
        if syntax is None:
            return None
        version = self._version
        view = self._view(path)
        self._look_for_variables(path, view)
        names = self._views[path][2]
        environment = self._environment(path) + self._around(path)
        if self._beside is not None:
            self._beside.begin()
        before = self.remembered(path, environment)
        is_same = self._beside.is_same if self._beside is not None else nothing_beside
        keeps = file.is_open
        others = partial(self._others, path)
        reuse = Reuse(
            path, before, environment, syntax, view, names.now, is_same, others, keeps=keeps
        )
        local = moved_facts(path, syntax, view, reuse)
        if local is None:
            local = yield from self._read_anew(path, syntax, view, reuse)
        self._give_back()
        if path in self._files:
            file = self._files[path]
            file.local, file.local_key, file.errors = local, key, syntax.errors
            file.local_version, file.world, file.facts = version, b"", None
        return local

    def _read_anew(
        self, path: str, syntax: FileSyntax, view: View, reuse: Reuse
    ) -> Pieces[LocalFacts]:
        names = self._views[path][2]
        list(reuse.readings())
        callers = Callers(self._calling, reuse, mains=self._calls_of_mains())
        callers.beside = partial(self._calling_beside, reuse.memory)
        local = yield from local_facts(path, syntax, view, callers, reuse)
        if self._beside is not None:
            local.beside = reuse.seen_beside(self._beside.looked_at())
        reuse.memory.kernel_names.update(names.answers)
        reuse.memory.variables.update(view.variables.answers)
        local.kernel_names = dict(reuse.memory.kernel_names)
        local.places = places_of(path, local, self._files, is_open=reuse.keeps)
        local.asks_callers |= self._outsides[path].is_asked and not path.endswith(UNITS)
        if reuse.keeps:
            yield from reuse.memory.declared.prepare()
            reuse.memory.told = replace(local, memory=None)
            reuse.memory.others = reuse.others() if local.asks_callers else b""
        else:
            local.memory = None
        return local

    def _calling_beside(self, memory: Memory, path: str, name: str) -> list[Elsewhere] | None:
        """The units beside a file that may call a function; None where they are no program."""
        found = self._beside.calling(path, name) if self._beside is not None else None
        known = None if found is None else tuple([(one.path, one.key) for one in found])
        memory.beside[path, name] = known
        return found

    def remembered(self, path: str, environment: bytes) -> Memory | None:
        """What is kept of an earlier reading of a file, where it is now in this environment."""
        local = self._files[path].local
        return local.memory if local is not None else None

    def memory(self, path: str) -> Memory | None:
        """What is kept of the reading of an open file, which is read again where it was not open
        when it was read."""
        local = self.local(path)
        if local is not None and local.memory is None:
            self._files[path].local_key = b""
            local = self.local(path)
        return local.memory if local is not None else None

    def _others_same(self, file: Entry, local: LocalFacts) -> bool:
        """Whether what launches follow from beyond a file and its includes is as it was: which
        names are kernels, and the calls from anywhere."""
        files = self._kernel_files
        if any(bool(files.get(name)) != answer for name, answer in local.kernel_names.items()):
            return False
        if not are_same(local.places, self._files):
            return False
        if local.beside and self._beside is not None and not self._beside.is_same(local.beside):
            return False
        is_now = file.local_version == self._version
        return not local.asks_callers or is_now or (bool(file.world) and file.world == self.world())

    def _calling(self, name: str, path: str, most: int) -> list[Elsewhere] | None:
        """The files in view that call a function of this name; where they are many, those that see
        `path`, and None where these are more than `most`."""
        calling = self.calling(name)
        if len(calling) > MAX_CALLING:
            calling = [other for other in calling if path in self.closure(other)]
            if len(calling) > most:
                return None
        return [self.caller(path) for path in calling]

    def reach(self, path: str) -> tuple[str, ...]:
        """A unit and all that it includes, read where nobody gave them; the texts of the last few
        are kept. None where it cannot be read."""
        text = self._reader(path) if self._reader is not None and path not in self._files else None
        if text is not None:
            self._store(path, text, blake2b(text, digest_size=16).digest(), is_open=False)
            self._borrowed[path] = None
            self._give_back()
        return self.closure(path) if path in self._files else ()

    def caller(self, path: str) -> Elsewhere:
        """A file in view as one that may call functions of others."""
        return Elsewhere(path, self._key(path), partial(self._origin, path))

    def _calls_of_mains(self) -> Mains:
        """The calls in `main` of files, as far as they were asked for with all as it is now."""
        if self._mains[0] != self._version:
            self._mains = (self._version, {})
        return self._mains[1]

    def _give_back(self) -> None:
        """Drops what was read again for another file's sake, but for the last few: the next file
        may ask for them, too."""
        for other in list(self._borrowed)[:-MAX_BORROWED]:
            del self._borrowed[other]
            if other in self._files:
                self._slim(other, self._files[other])

    def _syntax_of(self, path: str) -> FileSyntax | None:
        if self._files[path].syntax is None:
            self._borrowed[path] = None
        return self._syntax(path, self._files[path])

    def _origin(self, path: str) -> Origin | None:
        syntax = self._syntax_of(path)
        return None if syntax is None else Origin(path, syntax, self._view(path))

    def facts(self, path: str) -> FileFacts:
        """All that is known of one file; empty where it is not in the workspace."""
        local = self.local(path)
        if local is None:
            return FileFacts(path, errors=(SourceError("the file cannot be read", 1),))
        file = self._files[path]
        key = (file.local_key, self._version)
        if file.facts is not None and file.facts_key == key:
            return file.facts
        file.facts = FileFacts(
            path,
            self._kernels(path, local),
            local.launches,
            local.attributes,
            file.errors,
            self.includes(path),
            local.macros_may_set_attributes,
            local.ignores,
        )
        file.facts_key = key
        if not file.is_open:
            self._slim(path, file)
        return file.facts

    def _kernels(self, path: str, local: LocalFacts) -> tuple[Kernel, ...]:
        kernels = []
        declared = [kernel for _, kernel in local.kernels if kernel.launch_bounds is not None]
        for number, (raw, known) in enumerate(local.kernels):
            kernel = heads.declared_bounds(known, declared)
            if kernel.is_template:
                arguments = self._instantiations(path, kernel)
                find = partial(self._instances, path, raw, known, arguments)
                bounds = local.bounds_of(number, raw.span, known, arguments, find)
                kernel = structs.replace(kernel, instantiations=arguments, per_instance=bounds)
            kernels.append(kernel)
        return tuple(kernels)

    def _instances(
        self, path: str, raw: RawKernel, kernel: Kernel, arguments: tuple[tuple[str, ...], ...]
    ) -> tuple[InstanceBounds, ...]:
        if not arguments or not heads.depends_on_template(raw, kernel.template_parameters):
            return ()
        return heads.instances(raw, path, self._view(path), arguments)

    def _instantiations(self, path: str, kernel: Kernel) -> tuple[tuple[str, ...], ...]:
        """Template arguments in view: of launches, of attribute calls, explicit ones."""
        found: dict[tuple[str, ...], None] = {}
        for other in self._users(path, kernel.name):
            local = self.local(other)
            if local is None:
                continue
            for written, arguments in self._naming(other, local).get(kernel.name, ()):
                if written is None or means(written, kernel):
                    found[arguments] = None
        return tuple(found)

    def _naming(self, path: str, local: LocalFacts) -> Instantiating:
        kept = self._instantiating.get(path)
        if kept is None or kept[0] is not local:
            kept = self._instantiating[path] = (local, instantiating(local))
        return kept[1]

    def _users(self, path: str, name: str) -> list[str]:
        """Files that name a kernel where they launch something, its own first."""
        users = [path]
        mentioning = self._mentioning.get(name, ())
        users += [
            other for other in sorted(mentioning, key=self._order.__getitem__) if other != path
        ]
        return users

    def evaluated(self, path: str, found: Evaluated) -> None:
        """Takes in what another process found in a file with all in view that is in view here."""
        file = self._files[path]
        file.local, file.local_key, file.errors = found
        file.local_version, file.world = self._version, b""
        self._slim(path, file)

    def settle(self) -> None:
        """Takes in that all facts were found with everything in view that is in view now."""
        for file in self._files.values():
            file.local_version = self._version

    def __getstate__(self) -> dict[str, object]:
        state = {k: v for k, v in self.__dict__.items() if k not in _HERE_ALONE}
        state["_findable"] = self._resolver.known()
        state["_files"] = {
            path: file.handed_on(syntax=None if self._reader is not None else file.syntax)
            for path, file in self._files.items()
        }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        findable = state.pop("_findable")
        self.__dict__.update(state)
        self._known = nothing_known
        self._views = {}
        self._alike = {}
        self._closures = {}
        self._below = {}
        self._digests = {}
        self._including = ((-1, -1), {})
        self._outsides = {}
        self._mains = (-1, {})
        self._instantiating = {}
        self._calling_files = {}
        self._uncounted = set(self._files)
        self._resolver = self._new_resolver()
        self._beside = self._new_beside()
        self.add_known(findable)
