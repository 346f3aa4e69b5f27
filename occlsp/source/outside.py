"""Names that a header leaves to the files that include it: they define them before they do.

#define THREADS 128
#include "kernels.cuh"

The members of types that they hand to its templates are looked for in these files, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from occlsp.source.collect import Origin
from occlsp.source.conversion import evaluate_text
from occlsp.source.macros import Place as At
from occlsp.source.names import StaticScope
from occlsp.source.numbers import Number
from occlsp.source.syntax import Expr
from occlsp.source.text import Span
from occlsp.source.values import Abstract, Dim, join_values
from occlsp.source.view import View, parts

MAX_INCLUDING = 8
"""Files that include one: with more, it is a library's, and they are not asked."""
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+|k[A-Z]\w*")
_NOWHERE = Span(0, 0)
_END = 1 << 60


class Including(NamedTuple):
    """A file that includes the header."""

    view: View
    origin: Callable[[], Origin | None]
    means: Callable[[str], bool]
    """Whether what it includes under this name is the header."""


class Outside:
    """What names of one header mean to all files that include it, as far as these are in view."""

    def __init__(
        self,
        including: Callable[[], Sequence[Including]],
        declaring: Callable[[str, str], int],
        asking: set[str],
    ) -> None:
        """`declaring`: how many files declare a member of a class. `asking` is shared by all
        headers: what they ask others for asks no further."""
        self._including = including
        self._declaring = declaring
        self._asking = asking
        self.is_asked = False
        """Whether what is known of the header may follow from these files."""

    def __call__(self, name: str) -> Abstract | None:
        """The values that any of them gives a name; None where one of them may give none."""
        if self._asking or not _CONSTANT.fullmatch(name):
            return None
        including = self._including()
        self.is_asked |= bool(including)
        if not all(one.view.macros.is_macro(name) or one.view.constants(name) for one in including):
            return None
        self._asking.add(name)
        try:
            return _joined(name, including)
        finally:
            self._asking.clear()

    def member(self, name: str) -> Abstract | None:
        """The value of a member of a class, which is declared once; None where none of the files
        sees it."""
        names = [part for part, _ in parts(name)]
        if self._asking or len(names) < 2:
            return None
        including = self._including()
        self.is_asked |= bool(including)
        if not including or self._declaring(names[-2], names[-1]) != 1:
            return None
        self._asking.add(name)
        try:
            scopes = [StaticScope(one.view, At(one.view.path, _END)) for one in including]
            found = (scope.constant(name, None) for scope in scopes)
            return next((value for value in found if value is not None), None)
        finally:
            self._asking.clear()


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
