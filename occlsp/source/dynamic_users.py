"""Who uses dynamic shared memory: what declares it, and what calls that."""

from __future__ import annotations

from bisect import bisect_left

from occlsp.source.fragment import words
from occlsp.source.syntax import FileSyntax


def dynamic_users(syntax: FileSyntax) -> frozenset[str]:
    """Functions and classes of a file that declare `extern __shared__`, directly or by a call."""
    names: set[str] = set()
    for shared in syntax.shared:
        if shared.is_extern and shared.function is not None:
            names |= _names_of(syntax, shared.function)
        elif shared.is_extern and shared.in_macro is not None:
            names.add(shared.in_macro)
    if not names:
        return frozenset()
    for _ in range(3):
        places = sorted(place for name in names for place in words(syntax.masked, name.encode()))
        more: set[str] = set()
        for index, function in enumerate(syntax.functions):
            if function.name not in names:
                first = bisect_left(places, function.body.start)
                if first < len(places) and places[first] < function.body.end:
                    more |= _names_of(syntax, index)
        if more <= names:
            break
        names |= more
    kernels = {kernel.name for kernel in syntax.kernels}
    return frozenset(names - kernels)


def _names_of(syntax: FileSyntax, index: int) -> set[str]:
    function = syntax.functions[index]
    names = {function.name}
    parts = function.qualified_name.split("::")
    if function.name.startswith("operator") and len(parts) > 1:
        names.add(parts[-2])
    return {name for name in names if name.isidentifier()}
