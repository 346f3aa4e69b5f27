"""Who uses dynamic shared memory: what declares it, and what calls that."""

from __future__ import annotations

from bisect import bisect_left

from occlsp.source.mentions import Mentions
from occlsp.source.syntax import FileSyntax


def dynamic_users(syntax: FileSyntax, before: FileSyntax | None = None) -> frozenset[str]:
    """Functions and classes of a file that declare `extern __shared__`, directly or by a call.

    `before` is the file before an edit: what names them there is not looked for again.
    """
    names: set[str] = set()
    for shared in syntax.shared:
        if shared.is_extern and shared.function is not None:
            names |= _names_of(syntax, shared.function)
        elif shared.is_extern and shared.in_macro is not None:
            names.add(shared.in_macro)
    if not names:
        return frozenset()
    mentions = Mentions(syntax.masked, before.mentions if before is not None else None)
    latest = names
    for _ in range(3):
        places = sorted(place for name in latest for place in mentions.places(name))
        more: set[str] = set()
        for index, function in enumerate(syntax.functions):
            if function.name not in names:
                first = bisect_left(places, function.body.start)
                if first < len(places) and places[first] < function.body.end:
                    more |= _names_of(syntax, index)
        latest = more - names
        if not latest:
            break
        names = names | latest
    mentions.settle(())
    syntax.mentions = mentions
    kernels = {kernel.name for kernel in syntax.kernels}
    return frozenset(names - kernels)


def _names_of(syntax: FileSyntax, index: int) -> set[str]:
    function = syntax.functions[index]
    names = {function.name}
    parts = function.qualified_name.split("::")
    if function.name.startswith("operator") and len(parts) > 1:
        names.add(parts[-2])
    return {name for name in names if name.isidentifier()}
