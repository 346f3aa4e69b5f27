"""What a file includes, as one: many files include just the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from occlsp.source.facts import TemplateParameter
from occlsp.source.namespaces import Directive
from occlsp.source.setting_macros import NO_SETTING, Setting
from occlsp.source.text import Span

if TYPE_CHECKING:
    from occlsp.source.view import FileIndex

T = TypeVar("T")


class Included:
    """The indexes of what a file includes, in order: kept while only the file itself changes."""

    def __init__(self, indexes: Sequence[FileIndex]) -> None:
        self.indexes = tuple(indexes)
        self._names: dict[str, frozenset[str]] = {}
        self._cached: dict[tuple[str, str], list] = {}  # type: ignore[type-arg]

    def found(self, table: str, name: str) -> list:  # type: ignore[type-arg]
        """All declarations of a name, with the paths of their files."""
        if name not in self._declared(table):
            return []
        found = self._cached.get((table, name))
        if found is None:
            found = self._cached[table, name] = [
                (index.path, item)
                for index in self.indexes
                for item in getattr(index, table).get(name, ())
            ]
        return found

    def _declared(self, table: str) -> frozenset[str]:
        """All names of a table: most of those that are asked for are declared nowhere."""
        if table not in self._names:
            tables = [getattr(index, table) for index in self.indexes]
            self._names[table] = frozenset().union(*tables)
        return self._names[table]

    @cached_property
    def directives(self) -> frozenset[Directive]:
        """Those that `using` has in no function."""
        return frozenset().union(*(index.directives.everywhere for index in self.indexes))

    @cached_property
    def directives_inside(self) -> dict[str, Sequence[tuple[Span, Directive]]]:
        """Those in functions, by file."""
        return {i.path: i.directives.inside for i in self.indexes if i.directives.inside}

    @cached_property
    def setting(self) -> Setting:
        """The macros that set variables."""
        return NO_SETTING.joined(index.setting() for index in self.indexes)

    @cached_property
    def bases(self) -> dict[str, str]:
        """Class → its base clause: of several classes of a name, the last one's."""
        return merged([index.bases for index in self.indexes])

    @cached_property
    def rebased(self) -> frozenset[str]:
        """Classes of which there are several with different bases."""
        return rebased_in([(index.bases, index.rebased) for index in self.indexes])

    @cached_property
    def class_templates(self) -> dict[str, tuple[TemplateParameter, ...]]:
        """Class template → its parameters: of several of a name, the last one's."""
        return merged([index.class_templates for index in self.indexes])

    @cached_property
    def value_names(self) -> frozenset[str]:
        """The names of all macros and constants."""
        return self._declared("defines") | self._declared("constants")

    @cached_property
    def launching_macros(self) -> frozenset[str]:
        """The macros whose bodies launch a kernel or set an attribute."""
        return frozenset().union(*(index.launching_macros for index in self.indexes))

    @cached_property
    def kernel_macros(self) -> frozenset[str]:
        """The macros that define kernels."""
        return frozenset().union(*(index.kernel_macros for index in self.indexes))


def merged(tables: Sequence[dict[str, T]]) -> dict[str, T]:
    """All of some tables: of several of a name, the last one's."""
    found: dict[str, T] = {}
    for table in tables:
        found.update(table)
    return found


def rebased_in(tables: Sequence[tuple[dict[str, str], frozenset[str]]]) -> frozenset[str]:
    """Classes that have different bases in some tables, or several of them in one."""
    found: dict[str, str] = {}
    several: set[str] = set()
    for bases, others in tables:
        several |= others
        several.update(name for name in found.keys() & bases.keys() if found[name] != bases[name])
        found.update(bases)
    return frozenset(several)
