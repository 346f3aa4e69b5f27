"""Local lambdas: their parameters, and their values as variables hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from occlsp.source.effects import declarations
from occlsp.source.lexer import Token, spelled, split_arguments, tokenize
from occlsp.source.values import Abstract, Lambda

_PARAMETERS = re.compile(r"\((.*)\)", re.S)


def lambda_parameters(head: str) -> list[tuple[str, str]]:
    """Type and name of each parameter of a lambda whose head this is."""
    match = _PARAMETERS.search(head[head.find("]") :] if "]" in head else "")
    if match is None:
        return []
    found = []
    for part in split_arguments(tokenize(match[1])):
        declared = declarations(part)
        if declared:
            found.append((declared[0].type, declared[0].name))
    return found


def lambda_value(tokens: Sequence[Token]) -> Abstract:
    """The lambda that tokens make."""
    text = spelled(tokens)
    brace = text.find("{")
    parameters = lambda_parameters(text[:brace])
    return Lambda(tuple(parameters), text[brace:])
