"""Whether nobody can call a function but who is in view: no other unit can name it.

namespace { void launch(int threads) { kernel<<<1, threads>>>(); } }
struct Test { void run(int threads) { launch(threads); } };  // in a unit, which nobody includes
"""

from __future__ import annotations

import re

from occlsp.source.collect import Origin
from occlsp.source.includes import UNITS
from occlsp.source.naming import is_namespace
from occlsp.source.syntax import Function
from occlsp.source.view import scope_names

_STATIC = re.compile(rb"\bstatic\b")


def is_internal(origin: Origin, function: Function) -> bool:
    """Whether a function is a template, or is named in its own file alone."""
    scope = scope_names(function.qualified_name)[:-1]
    is_static = _STATIC.search(origin.syntax.code, *_head(function)) is not None
    if function.is_template:
        return True
    if scope and scope[-1] in origin.view.bases and not is_static:
        return False  # it may be virtual, and called by who knows a base alone
    if scope and scope[-1] in origin.view.class_templates:
        return True
    if "(anonymous namespace)" in function.qualified_name:
        return True
    if is_static and (not scope or is_namespace(origin.syntax.code, scope[-1])):
        return True
    return bool(scope) and _is_declared_here(origin, function, scope[-1])


def _head(function: Function) -> tuple[int, int]:
    return function.span.start, function.body.start


def _is_declared_here(origin: Origin, function: Function, name: str) -> bool:
    """Whether the class of a member is one that a unit declares for itself."""
    if not origin.path.endswith(UNITS):
        return False
    declared = rb"\b(?:struct|class)\s+" + name.encode() + rb"\s*(?:final\s*)?\{"
    return re.search(declared, origin.syntax.code[: function.span.start]) is not None
