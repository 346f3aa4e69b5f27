"""Names that a header leaves to the files that include it: they define them before they do.

#define THREADS 128
#include "kernels.cuh"

The members of types that they hand to its templates are looked for in these files, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from occlsp.source.collect import Origin
from occlsp.source.conversion import evaluate_text
from occlsp.source.macros import Place as At
from occlsp.source.names import StaticScope
from occlsp.source.numbers import Number
from occlsp.source.syntax import Expr
from occlsp.source.text import Span
from occlsp.source.values import Abstract, Dim, join_values
from occlsp.source.view import View, parts

if TYPE_CHECKING:
    from occlsp.source.entries import Entry

MAX_INCLUDING = 8
"""Files that include one: with more, it is a library's, and they are not asked."""
MAX_DERIVING = 16
"""Files that declare classes of one name with bases."""
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+|k[A-Z]\w*")
_NOWHERE = Span(0, 0)
_END = 1 << 60


class Including(NamedTuple):
    """A file that includes the header."""

    view: View
    origin: Callable[[], Origin | None]
    means: Callable[[str], bool]
    """Whether what it includes under this name is the header."""


class Declared:
    """Which files declare classes and members of them, as long as no file changes."""

    def __init__(self, files: Mapping[str, Entry]) -> None:
        self._files = files
        self._members: dict[tuple[str, str], list[str]] = {}
        self._deriving: dict[str, list[str]] | None = None
        self.inherited: dict[str, Abstract | None] = {}
        """What members are that were looked for in all of these, whichever header asked."""

    def members(self, of_class: str, name: str) -> list[str]:
        """The files that declare a member of this name in a class of this name."""
        key = (of_class, name)
        if key not in self._members:
            self._members[key] = [
                path
                for path, file in self._files.items()
                if name in file.index.constants
                and any(one.scope[-1:] == (of_class,) for one in file.index.constants[name])
            ]
        return self._members[key]

    def deriving(self, of_class: str) -> list[str]:
        """The files that declare a class of this name with bases."""
        if self._deriving is None:
            self._deriving = {}
            for path, file in self._files.items():
                for name in file.index.bases:
                    self._deriving.setdefault(name, []).append(path)
        return self._deriving.get(of_class, [])


class Outside:
    """What names of one header mean to all files that include it, as far as these are in view."""

    def __init__(
        self,
        including: Callable[[], Sequence[Including]],
        declared: Callable[[], Declared],
        view: Callable[[str], View],
        asking: set[str],
    ) -> None:
        """`view` is that of any file. `asking` is shared by all headers: what they ask others for
        asks no further."""
        self._including = including
        self._declared = declared
        self._view = view
        self._asking = asking
        self.is_asked = False
        """Whether what is known of the header may follow from these files."""
        self.classes: set[str] = set()
        """The classes that were looked for in all files that declare them."""

    def __call__(self, name: str) -> Abstract | None:
        """The values that any of them gives a name; None where one of them may give none."""
        if self._asking or not _CONSTANT.fullmatch(name):
            return None
        including = self._including()
        self.is_asked = True  # by what comes later, too, where nobody includes it yet
        if not all(one.view.macros.is_macro(name) or one.view.constants(name) for one in including):
            return None
        self._asking.add(name)
        try:
            return _joined(name, including)
        finally:
            self._asking.clear()

    def member(self, name: str) -> Abstract | None:
        """The value of a member of a class: where it is declared once, as a file that includes
        this one sees it; where nowhere, of the bases of the class in all files that declare it."""
        names = [part for part, _ in parts(name)]
        if self._asking or len(names) < 2:
            return None
        including = self._including()
        self.is_asked = True
        if not including:
            return None
        declared = self._declared()
        own, deriving = declared.members(names[-2], names[-1]), declared.deriving(names[-2])
        if own and len({*own, *deriving}) > 1:
            return None  # which of the classes is meant is not known
        self._asking.add(name)
        try:
            if not own:
                self.classes.add(names[-2])
                if name not in declared.inherited:
                    declared.inherited[name] = self._inherited(name, deriving)
                return declared.inherited[name]
            found = (_seen_from(one.view, name) for one in including)
            return next((value for value in found if value is not None), None)
        finally:
            self._asking.clear()

    def _inherited(self, name: str, deriving: Sequence[str]) -> Abstract | None:
        if len(deriving) > MAX_DERIVING:
            return None
        result: Abstract | None = None
        for path in deriving:
            value = _seen_from(self._view(path), name)
            if value is None:
                return None
            result = value if result is None else join_values(result, value, "classes differ")
        return result


def _seen_from(view: View, name: str) -> Abstract | None:
    return StaticScope(view, At(view.path, _END)).constant(name, None)


def _joined(name: str, including: Sequence[Including]) -> Abstract | None:
    result: Abstract | None = None
    for one in including:
        origin = one.origin()
        if origin is None:
            return None
        for include in origin.syntax.includes:
            active = one.view.macros.active(include.conditions, origin.path)
            if active is False or not one.means(include.target):
                continue
            scope = StaticScope(one.view, At(origin.path, include.span.start))
            value = evaluate_text(Expr(name, _NOWHERE), scope, None)
            result = value if result is None else join_values(result, value, "includers differ")
    if isinstance(result, Number):
        return result if result.values is not None else None
    return result if isinstance(result, Dim) else None
