"""What an expression is known to be while nothing sets the variables in it.

if (columns / heads == 64) kernel<<<rows, columns / heads>>>(p);    // 64 threads
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from occlsp.source import expressions as ast
from occlsp.source.numbers import Number
from occlsp.source.values import Abstract


class Pin(Struct, frozen=True):
    """An expression's value, and its variables as they were."""

    value: Number
    names: tuple[str, ...]
    variables: tuple[Abstract, ...]

    def holds(self, variables: Mapping[str, Abstract]) -> bool:
        """Whether nothing set a variable since: it would be another object."""
        pairs = zip(self.names, self.variables, strict=True)
        return all(variables.get(name) is one for name, one in pairs)


def pin(node: ast.Binary, value: Number, variables: Mapping[str, Abstract]) -> Pin | None:
    """An expression with its value; None where it holds anything but numbers of the function."""
    names = tuple(dict.fromkeys(_names(node)))
    found = [variables.get(name) for name in names]
    numbers = tuple([one for one in found if isinstance(one, Number)])
    return Pin(value, names, numbers) if len(numbers) == len(names) else None


def _names(node: ast.Node) -> Iterator[str]:
    """The variables in an expression; an empty name, which none has, for what is not arithmetic."""
    if isinstance(node, ast.Binary):
        yield from _names(node.left)
        yield from _names(node.right)
    elif not isinstance(node, ast.Literal):
        is_plain = isinstance(node, ast.Name) and node.arguments is None
        yield node.text if is_plain and isinstance(node, ast.Name) else ""
