"""The source facts of a workspace, indexed by kernel: who launches it, who sets its attributes.

An index is immutable; `with_file` gives a new one that shares all that did not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeVar

from msgspec import Struct

from occlsp.source.facts import Attribute, FileFacts, Kernel, Launch
from occlsp.source.mask import mask
from occlsp.source.text import LineIndex

ANONYMOUS = "(anonymous namespace)"
LaunchKey = tuple[str, int, tuple[str, ...], tuple[str, ...]]
MOST_INCLUDED = 1500
"""Files that one file's includes are followed to."""


class KernelSite(Struct, frozen=True):
    """A kernel and the file that it is written in."""

    path: str
    kernel: Kernel


class LaunchSite(Struct, frozen=True):
    """A launch and the file that it is written in."""

    path: str
    launch: Launch

    @property
    def key(self) -> LaunchKey:
        """What tells it from every other one: a macro's use can make several at one place."""
        launch = self.launch
        made = (launch.kernel, *launch.template_args)
        sizes = (launch.grid.text, launch.block.text, launch.dynamic_smem.text)
        return self.path, launch.span.start, made, sizes


class AttributeSite(Struct, frozen=True):
    """An attribute-setting call and the file that it is written in."""

    path: str
    attribute: Attribute


S = TypeVar("S", KernelSite, LaunchSite, AttributeSite)
Table = Mapping[str, tuple[S, ...]]
"""Sites by simple name."""


@dataclass(frozen=True)
class Tables:
    """What one file says, by the names of kernels."""

    kernels: Table[KernelSite] = field(default_factory=dict)
    launches: Table[LaunchSite] = field(default_factory=dict)
    attributes: Table[AttributeSite] = field(default_factory=dict)

    @staticmethod
    def of(facts: FileFacts) -> Tables:
        """The tables of one file's facts."""
        kernels: dict[str, list[KernelSite]] = {}
        launches: dict[str, list[LaunchSite]] = {}
        attributes: dict[str, list[AttributeSite]] = {}
        for kernel in facts.kernels:
            kernels.setdefault(kernel.name, []).append(KernelSite(facts.path, kernel))
        for launch in facts.launches:
            site = LaunchSite(facts.path, launch)
            for name in launched_names(launch):
                launches.setdefault(simple_name(name), []).append(site)
        for attribute in facts.attributes:
            name = simple_name(attribute.kernel) if attribute.kernel else ""
            attributes.setdefault(name, []).append(AttributeSite(facts.path, attribute))
        return Tables(_joined([kernels]), _joined([launches]), _joined([attributes]))


_NO_TABLES = Tables()


@dataclass(frozen=True)
class SourceFile:
    """One file: its facts and its text (empty where nobody needs it)."""

    facts: FileFacts
    text: bytes = b""
    index: LineIndex | None = field(default=None, repr=False, compare=False)
    """The lines of `text`, where they are known."""

    @cached_property
    def tables(self) -> Tables:
        """What the facts say, by the names of kernels."""
        return Tables.of(self.facts)

    @cached_property
    def masked(self) -> bytes:
        """`text` with comments and literals blanked: offsets are the same in both."""
        return mask(self.text)

    @cached_property
    def lines(self) -> LineIndex:
        """Where the lines start."""
        return self.index if self.index is not None else LineIndex(self.text)


def _nothing(path: str) -> SourceFile | None:
    return None


@dataclass(frozen=True)
class Sources:
    """All files in view."""

    files: Mapping[str, SourceFile] = field(default_factory=dict)
    by_name: Table[KernelSite] = field(default_factory=dict)
    launches_by_name: Table[LaunchSite] = field(default_factory=dict)
    attributes_by_name: Table[AttributeSite] = field(default_factory=dict)
    """Calls that may be for any kernel are under the empty name."""
    read: Callable[[str], SourceFile | None] = _nothing
    """A file's text where `files` holds the facts alone; must not block for long."""
    _resolved: dict[LaunchKey, tuple[KernelSite, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _launches: dict[tuple[str, int], tuple[LaunchSite, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @staticmethod
    def of(
        files: Iterable[SourceFile], read: Callable[[str], SourceFile | None] = _nothing
    ) -> Sources:
        """An index of `files`."""
        table = {file.facts.path: file for file in files}
        all_tables = [file.tables for file in table.values()]
        return Sources(
            table,
            _joined(tables.kernels for tables in all_tables),
            _joined(tables.launches for tables in all_tables),
            _joined(tables.attributes for tables in all_tables),
            read,
        )

    def with_file(self, file: SourceFile) -> Sources:
        """The index after `file` replaced what was under its path."""
        return self._replace(file.facts.path, file)

    def without(self, path: str) -> Sources:
        """The index after the file at `path` went away."""
        return self._replace(path, None)

    def _replace(self, path: str, file: SourceFile | None) -> Sources:
        files = dict(self.files)
        old = files.pop(path, None)
        if file is not None:
            files[path] = file
        gone = old.tables if old is not None else _NO_TABLES
        came = file.tables if file is not None else _NO_TABLES
        return Sources(
            files,
            _patched(self.by_name, path, gone.kernels, came.kernels),
            _patched(self.launches_by_name, path, gone.launches, came.launches),
            _patched(self.attributes_by_name, path, gone.attributes, came.attributes),
            self.read,
        )

    def facts(self, path: str) -> FileFacts | None:
        """What the file at `path` says; None where it is not in view."""
        file = self.files.get(path)
        return file.facts if file is not None else None

    def file(self, path: str) -> SourceFile | None:
        """The file with its text, read where the index holds the facts alone."""
        file = self.files.get(path)
        if file is not None and file.text:
            return file
        return self.read(path) or file

    def kernels_of(self, path: str) -> tuple[KernelSite, ...]:
        """The kernels written in one file: definitions, and declarations of what has none. One
        in a macro's body is none of them: the uses of the macro are."""
        facts = self.facts(path)
        if facts is None:
            return ()
        return tuple(
            KernelSite(path, kernel)
            for kernel in facts.kernels
            if not kernel.in_macro and (kernel.is_definition or not self._has_definition(kernel))
        )

    def _has_definition(self, kernel: Kernel) -> bool:
        return any(
            site.kernel.is_definition and site.kernel.qualified_name == kernel.qualified_name
            for site in self.by_name.get(kernel.name, ())
        )

    def launched(self, site: LaunchSite) -> tuple[KernelSite, ...]:
        """The kernels that a launch may run: one where it is known, none where none is in view."""
        key = site.key
        found = self._resolved.get(key)
        if found is None:
            names = launched_names(site.launch)
            found = tuple(
                {id(k.kernel): k for name in names for k in self._named(name, site)}.values()
            )
            self._resolved[key] = found
        return found

    def launches_of(self, site: KernelSite) -> tuple[LaunchSite, ...]:
        """The launches in view that may run a kernel, in the order of files and offsets."""
        key = (site.path, site.kernel.name_span.start)
        found = self._launches.get(key)
        if found is None:
            found = tuple(
                launch
                for launch in self.launches_by_name.get(site.kernel.name, ())
                if any(found.kernel is site.kernel for found in self.launched(launch))
            )
            self._launches[key] = found
        return found

    def attributes_of(self, name: str) -> tuple[AttributeSite, ...]:
        """Attribute-setting calls that name a kernel of this (simple) name, or may."""
        return self.attributes_by_name.get(simple_name(name), ()) + self.attributes_by_name.get(
            "", ()
        )

    def named(self, name: str) -> tuple[KernelSite, ...]:
        """The kernels that a name, as far as it is qualified, may mean: definitions first."""
        return tuple(self._matching(name))

    def _named(self, name: str, site: LaunchSite) -> list[KernelSite]:
        found = self._matching(name)
        if len(found) > 1:
            found = self._in_sight(_in_scope(found, site), site.path)
        if len(found) > 1:
            found = _fitting(found, site.launch)
        return found

    def _in_sight(self, found: list[KernelSite], path: str) -> list[KernelSite]:
        """Those of the launching file, else those of what it includes; else all."""
        here = [kernel for kernel in found if kernel.path == path]
        if here or len({kernel.path for kernel in found}) == 1:
            return here or found
        closure = self.closure(path)
        return [kernel for kernel in found if kernel.path in closure] or found

    def closure(self, path: str) -> set[str]:
        """The files that a file includes, directly or not, as far as they are in view."""
        seen: set[str] = set()
        waiting = [path]
        while waiting and len(seen) < MOST_INCLUDED:
            facts = self.facts(waiting.pop())
            for included in facts.includes if facts is not None else ():
                if included not in seen:
                    seen.add(included)
                    waiting.append(included)
        return seen

    def includers(self, path: str) -> set[str]:
        """The files in view that include a file, directly or not."""
        direct: dict[str, list[str]] = {}
        for other, file in self.files.items():
            for included in file.facts.includes:
                direct.setdefault(included, []).append(other)
        seen: set[str] = set()
        waiting = [path]
        while waiting:
            for other in direct.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen

    def _matching(self, name: str) -> list[KernelSite]:
        parts = _parts(name)
        found = [
            kernel
            for kernel in self.by_name.get(parts[-1], ())
            if _ends_with(_parts(kernel.kernel.qualified_name), parts)
        ]
        return [kernel for kernel in found if kernel.kernel.is_definition] or found


def simple_name(name: str) -> str:
    """The last component of a qualified name, without template arguments."""
    return _parts(name)[-1]


@lru_cache(maxsize=4096)
def _parts(name: str) -> tuple[str, ...]:
    bare = name.split("<", 1)[0].strip() if not name.startswith("<") else name
    parts = [part.strip() for part in bare.split("::")]
    return tuple([part for part in parts if part not in ("", ANONYMOUS)]) or (bare,)


def _ends_with(parts: tuple[str, ...], tail: tuple[str, ...]) -> bool:
    return parts[-len(tail) :] == tail


def _in_scope(found: list[KernelSite], site: LaunchSite) -> list[KernelSite]:
    """Those of the innermost of the launch's namespaces and classes that has any."""
    scope = _parts(site.launch.function or "")[:-1]

    def depth(kernel: KernelSite) -> int:
        own = _parts(kernel.kernel.qualified_name)[:-1]
        return len(own) if scope[: len(own)] == own else -1

    deepest = max(depth(kernel) for kernel in found)
    return [kernel for kernel in found if depth(kernel) == deepest]


def _fitting(found: list[KernelSite], launch: Launch) -> list[KernelSite]:
    """Overloads that take this many arguments, and the specialisation of these arguments."""
    if launch.api == "<<<>>>":
        count = len(launch.arguments)
        found = [k for k in found if _takes(k.kernel, count)] or found
    given = len(launch.template_args)
    found = [k for k in found if _can_be_given(k.kernel, given)] or found
    if launch.template_args_known is not None:
        exact = [k for k in found if k.kernel.template_arguments == launch.template_args_known]
        found = exact or [k for k in found if k.kernel.template_arguments is None] or found
    return found


def _can_be_given(kernel: Kernel, count: int) -> bool:
    """Whether so many template arguments can be written: the rest has defaults or is deduced,
    which a number that no parameter's type holds cannot be."""
    parameters = kernel.template_parameters
    is_special = kernel.template_arguments is not None
    if is_special or any(parameter.is_pack for parameter in parameters):
        return True
    types = " ".join(kernel.parameters)
    return count <= len(parameters) and all(
        parameter.default is not None
        or parameter.kind in ("typename", "class", "template")
        or (parameter.name is not None and parameter.name in types)
        for parameter in parameters[count:]
    )


def _takes(kernel: Kernel, count: int) -> bool:
    if any("..." in parameter for parameter in kernel.parameters):
        return True
    return len(kernel.parameters) == count


def launched_names(launch: Launch) -> tuple[str, ...]:
    """The names of the kernels that a launch may run; none where that is not known."""
    return launch.candidates or ((launch.kernel,) if launch.kernel_known else ())


def _joined(tables: Iterable[Mapping[str, Sequence[S]]]) -> Table[S]:
    joined: dict[str, list[S]] = {}
    for table in tables:
        for name, sites in table.items():
            joined.setdefault(name, []).extend(sites)
    return {name: tuple(sites) for name, sites in joined.items()}


def _patched(table: Table[S], path: str, gone: Table[S], came: Table[S]) -> Table[S]:
    """`table` with the sites of one file replaced; the very same where there were none."""
    if not gone and not came:
        return table
    patched = dict(table)
    for name in {**gone, **came}:
        kept = tuple(site for site in patched.get(name, ()) if site.path != path)
        sites = kept + came.get(name, ())
        if sites:
            patched[name] = sites
        else:
            patched.pop(name, None)
    return patched
