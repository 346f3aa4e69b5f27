"""Who uses dynamic shared memory: what declares it, and what calls that."""

from __future__ import annotations

import re

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
        found = re.compile(
            rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\b"
        )
        more: set[str] = set()
        for index, function in enumerate(syntax.functions):
            if function.name not in names and found.search(syntax.masked, *function.body):
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
