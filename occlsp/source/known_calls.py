"""Calls whose effect on variables is known: queries of the runtime, and what leaves them alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from occlsp.source import types
from occlsp.source.effects import Change
from occlsp.source.lexer import Token, split_arguments
from occlsp.source.numbers import INT, unknown
from occlsp.source.syntax import Function
from occlsp.source.view import View

if TYPE_CHECKING:
    from occlsp.source.variables import Variables

_POTENTIAL = re.compile(r"^(?:cuda|cu|hip)OccupancyMaxPotentialBlockSize\w*$")
_QUERY = re.compile(
    r"^(?:cuda|cu|hip)(?:DeviceGetAttribute|OccupancyMax\w+|OccupancyAvailable\w+|"
    r"GetDeviceProperties\w*|DeviceGet\w*|GetDevice\w*|FuncGetAttributes?|RuntimeGetVersion|"
    r"DriverGetVersion|DeviceComputeCapability)$"
)
_FIRST = frozenset(("cu", "hi"))
"""What the names of queries begin with."""

_COPIES = re.compile(
    r"^(?:cuda|cu|cudnn|cublas|nccl|hip|mem|str|f?printf|snprintf|sprintf|assert|static_assert|"
    r"make_|get_|is_|div_?up|divup|ceil|round|min|max|std|check|Check|size|emplace|push_back|"
    r"malloc|free|fill|accumulate|transform|reserve|resize|set_|at$|empty|zeros|data_ptr|"
    r"[A-Z][A-Z0-9_]+$)"
)
"""Functions by whose names nobody expects their arguments to change: C interfaces (which cannot
take references), containers, macros that check."""

_OF_OBJECTS = re.compile(r"^(?:get_|resize|reserve|fill|transform|emplace|push_back|at$)")
"""Those of them that do so as members, or of `std`: by itself, one may be anybody's."""
_CHANGES = frozenset(["", "swap", "exchange", "tie", "iter_swap"])
_READS = re.compile(
    r"^(?:f?printf|assert|static_assert|accumulate|(?:min|max)_element|begin|end|size|is_|get_|"
    r"[cC]heck)"
)
"""Functions that only read the array that they are given."""
_FROM = re.compile(r"^(?:cuda|cu|cudnn|cublas|nccl|hip|mem|str|snprintf|sprintf)")
"""Those that write to the first of their arguments, if to any that an array can be."""


def apply_known_call(tokens: Sequence[Token], interpreter: Variables) -> bool:
    """Applies a query of the runtime that the statement makes; False where it makes none."""
    for index in [at for at, one in enumerate(tokens) if one.text[:2] in _FIRST]:
        text = tokens[index].text
        if not _QUERY.match(text):
            continue
        opening = next((i for i in range(index + 1, len(tokens)) if tokens[i].text == "("), None)
        if opening is None:
            return False
        from occlsp.source.lexer import matching

        inside = tokens[opening + 1 : matching(tokens, opening)]
        arguments = split_arguments(inside)
        results = 2 if _POTENTIAL.match(text) else 1
        for argument in arguments[:results]:
            _answer(argument, text, interpreter)
        return True
    return False


def _answer(argument: list[Token], call: str, interpreter: Variables) -> None:
    """The variable that a query writes to."""
    name = next((t.text for t in argument if t.kind == "name"), None)
    if name is None:
        return
    path = "".join(t.text for t in argument if t.text not in ("&", "(", ")", "*"))
    interpreter.spoil(name, f"{name} is asked of the runtime")
    answer = replace(
        unknown(f"{call}() answers it at run time", INT, device=True),
        occupancy=_POTENTIAL.match(call) is not None,
    )
    interpreter.parted.add(name)
    interpreter.state.variables[path if path.isidentifier() or "." in path else name] = answer


def may_change(change: Change, view: View, *, is_array: bool = False) -> bool:
    """Whether a statement may change a variable that it changes, or gives to a call by name.

    A function that is not in view may where nothing takes its result (`is_statement`), and may
    change the elements of an array unless it is known for reading them.
    """
    last = (change.callee or "").rsplit("::", 1)[-1]
    if last in _CHANGES:
        return True
    position, is_array = change.position, is_array and not change.part
    found = [item.function for _, item in view.functions(last)]
    if found:
        return _takes_reference(found, position, is_array=is_array)
    if view.kernels(last) or types.size(last) is not None:
        return False
    if is_array:
        return not (_READS.match(last) or (position and _FROM.match(last)))
    is_copied = _COPIES.match(last) and not (change.is_bare and _OF_OBJECTS.match(last))
    if is_copied or view.defines(last):
        return False
    # What stands in a branch of `#if` that the build's flags would turn on is meant, if called.
    found = [item.function for one in view.indexes for item in one.functions.get(last, ())]
    if found:
        return _takes_reference(found, position)
    if not change.is_statement or last[:1].isupper():
        return False
    declared = view.variables.prototypes(last)
    return not declared or any(any(one[position : position + 1]) for one in declared)


def _takes_reference(
    functions: Sequence[Function], position: int, *, is_array: bool = False
) -> bool:
    """Whether any of some functions may change the argument at a position, or an array's elements
    that it is given there."""
    kinds = [one.parameters[position].type for one in functions if position < len(one.parameters)]
    if is_array:
        return any(not re.search(r"\bconst\b", kind) for kind in kinds)
    return any(map(types.is_reference, kinds))
