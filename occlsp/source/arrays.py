"""Local arrays: how long they are, and what their elements begin with."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from occlsp.source import types
from occlsp.source.conversion import converted
from occlsp.source.effects import Declaration
from occlsp.source.lexer import Token, matching, split_arguments
from occlsp.source.numbers import known, unknown
from occlsp.source.values import Abstract, Place, join_values, to_number

if TYPE_CHECKING:
    from occlsp.source.variables import Variables

MAX_ELEMENTS = 64


def elements(item: Declaration, start: int, variables: Variables) -> dict[str, Abstract]:
    """`int sizes[] = {32, 64}`: the elements by their keys, and `sizes[]`: how many."""
    tokens = list(item.initial or ())
    close = matching(tokens, 0)
    dimension = tokens[1:close]
    rest = tokens[close + 1 :]
    if len(rest) < 3 or [t.text for t in rest[:2]] != ["=", "{"] or rest[-1].text != "}":
        return {}
    parts = split_arguments(rest[2:-1])
    parts = parts[:-1] if parts and not parts[-1] else parts
    if not all(parts) or len(parts) > MAX_ELEMENTS:
        return {}
    length = len(parts)
    if dimension:
        declared = to_number(variables.evaluated(dimension, start)).value
        if declared != length:
            return {}
    scope = variables.scope_here()
    found: dict[str, Abstract] = {f"{item.name}[]": known(length)}
    for index, part in enumerate(parts):
        value = converted(variables.evaluated(part, start), item.type, scope)
        found[f"{item.name}[{index}]"] = value
    return found


def of_range(item: Declaration, start: int, variables: Variables) -> Abstract:
    """What runs over a range: any of an array's elements, or of those that are listed."""
    tokens = list(item.initial or ())
    values: list[Abstract] = []
    if len(tokens) > 2 and (tokens[0].text, tokens[-1].text) == ("{", "}"):
        parts = split_arguments(tokens[1:-1])[:MAX_ELEMENTS]
        values = [variables.evaluated(part, start) for part in parts]
    elif len(tokens) == 1:
        array = variables.evaluated(tokens, start)
        values = variables.scope_here().elements(array.key) if isinstance(array, Place) else []
    why = f"{item.name} runs over a range"
    if not values:
        return unknown(why)
    scope, kind = variables.scope_here(), types.plain(item.type)
    values = [converted(value, kind, scope) for value in values]
    return reduce(lambda one, other: join_values(one, other, why), values)


def extents(item: Declaration, start: int, variables: Variables) -> str:
    """The extents of an array, `[3][?]` where the second is not known."""
    tokens = list(item.initial or ())
    found = ""
    while tokens and tokens[0].text == "[":
        close = matching(tokens, 0)
        extent, tokens = tokens[1:close], tokens[close + 1 :]
        count = to_number(variables.evaluated(extent, start)).value if extent else None
        if not extent and not found:
            count = _initial_values(item, tokens, variables)
        found += "[?]" if count is None else f"[{count}]"
    return found


def _initial_values(item: Declaration, tokens: list[Token], variables: Variables) -> int | None:
    """How many values `= {…}` gives an array, whose further extents come first."""
    opening = next((i for i, token in enumerate(tokens) if token.text == "{"), None)
    if opening is None or matching(tokens, opening) != len(tokens) - 1:
        return None
    parts = split_arguments(tokens[opening + 1 : -1])
    parts = parts[:-1] if parts and not parts[-1] else parts
    kind = variables.scope_here().type_text(item.type)
    is_one_each = types.integer(kind) or types.floating(kind) or kind.endswith("*")
    if not is_one_each or tokens[0].text == "[":
        # Without braces of their own several values make one element.
        is_one_each = all(part and part[0].text in ("{", kind) for part in parts)
    return len(parts) if is_one_each else None
