"""Statements that macros make: what they expand to may declare and assign."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from occlsp.source.effects import declarations
from occlsp.source.lexer import Token, matching
from occlsp.source.state import join_states

if TYPE_CHECKING:
    from occlsp.source.variables import Variables
    from occlsp.source.view import View

_NAME = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"[A-Z_][A-Z0-9_]*")
_END = Token("op", ";", -1)


def apply_macro(tokens: Sequence[Token], start: int, to: Variables) -> None:
    """The statement at `start`, which uses macros, as any of the definitions in view has it."""
    variants = to.view.macros.variants(tokens, to.place(start))
    written = [_statements(variant) for variant in variants]
    entry = to.state
    result = None
    for variant, statements in zip(variants, written, strict=True):
        to.state = entry.fork() if len(variants) > 1 else entry
        if statements is None:
            to.side_effects(variant)
        for statement in statements or ():
            to.one_effect(statement, start)
        result = (
            to.state if result is None else join_states(result, to.state, guarded=entry.guarded)
        )
    to.state = result or entry


def _statements(tokens: Sequence[Token]) -> list[list[Token]] | None:
    """The statements of an expansion; None where there are blocks in it."""
    found: list[list[Token]] = []
    statement: list[Token] = []
    depth = 0
    for token in (*tokens, _END):
        text = token.text
        if text == "{" and (not statement or statement[-1].text in (")", "else", "do", "try")):
            return None
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if text != ";" or depth > 0:
            statement.append(token)
            continue
        found.append(statement)
        statement = []
    return found


def may_break(text: str, view: View) -> bool:
    """Whether a macro in a text may leave the loop that is around it."""
    return any(
        "break" in definition.define.body.text or "goto" in definition.define.body.text
        for word in set(_NAME.findall(text))
        if view.macros.is_macro(word)
        for definition in view.defines(word)
    )


def macro_end(tokens: Sequence[Token], text: str) -> int:
    """Behind a macro that stands where a statement begins, with no semicolon; 0 for none."""
    if len(tokens) < 4 or tokens[0].kind != "name":
        return 0
    if tokens[1].text != "(":
        return int(_is_lone_macro(tokens, text))
    if tokens[0].text in ("alignas", "decltype", "__align__", "__attribute__", "sizeof"):
        return 0
    close = matching(tokens, 1)
    following = tokens[close + 1] if close + 1 < len(tokens) else None
    return close + 1 if following is not None and following.kind == "name" else 0


def _is_lone_macro(tokens: Sequence[Token], text: str) -> bool:
    """Whether the first token is a macro on a line of its own, before a declaration: no type."""
    between = text[tokens[0].start + len(tokens[0].text) : tokens[1].start]
    is_alone = "\n" in between and _MACRO.fullmatch(tokens[0].text) is not None
    return is_alone and declarations(tokens[1:]) is not None
