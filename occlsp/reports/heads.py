"""Reads the head of a C++ declaration, in text whose strings are masked; never raises."""

from __future__ import annotations

import re

from occlsp.reports.outline import past_angles

_TEMPLATE = re.compile(rb"\s*template\s*<")
_NAME = re.compile(rb"([A-Za-z_]\w*)\s*\(")
_ATTRIBUTE = re.compile(rb"\b(?:__attribute__|__declspec)\s*(?=\()")
_PARENS = re.compile(rb"[()]")
_NESTING = re.compile(rb"[(){}\[\]<>,]")


def past_templates(head: bytes) -> int:
    """Where the `template<…>` parts of a head end."""
    position = 0
    while found := _TEMPLATE.match(head, position):
        past = past_angles(head, found.end() - 1, len(head))
        if past is None:
            break
        position = past
    return position


def is_explicit(head: bytes) -> bool:
    """Whether it is a specialisation or an explicit instantiation."""
    return re.match(rb"\s*template\s*(?:<\s*>|[^<\s])", head) is not None


def is_template(head: bytes) -> bool:
    """Whether it declares a template that is still to be instantiated."""
    return _TEMPLATE.match(head) is not None and not is_explicit(head)


def has_all_defaults(head: bytes) -> bool:
    """Whether every parameter of the template has a default argument."""
    found = _TEMPLATE.match(head)
    past = past_angles(head, found.end() - 1, len(head)) if found else None
    if found is None or past is None:
        return False
    parameters = split_commas(head[found.end() : past - 1])
    return all(b"=" in parameter or b"..." in parameter for parameter in parameters)


def function_name(head: bytes) -> bytes:
    """The name before the parameter list, without qualification; empty where there is none."""
    plain = without_attributes(head)
    name = _NAME.search(plain, past_templates(plain))
    return name.group(1) if name else b""


def parameter_list(head: bytes) -> tuple[int, int] | None:
    """The offsets of a function's `(` and past its `)`."""
    plain = without_attributes(head)
    opening = plain.find(b"(", past_templates(plain))
    if opening < 0:
        return None
    closing = _past_parens(plain, opening)
    return None if closing is None else (opening, closing)


def without_attributes(head: bytes) -> bytes:
    """`head` with `__attribute__((…))` blanked."""
    position = 0
    while found := _ATTRIBUTE.search(head, position):
        past = _past_parens(head, found.end()) or len(head)
        head = head[: found.start()] + b" " * (past - found.start()) + head[past:]
        position = past
    return head


def without_parameter(parameters: bytes, offset: int) -> bytes:
    """The inside of a parameter list less the parameter at `offset`, on one line."""
    kept, start = [], 0
    for part in split_commas(parameters):
        words = b" ".join(row for row in part.split(b"\n") if not row.startswith(b"#"))
        if not start <= offset < start + len(part) + 1:
            kept.append(b" ".join(words.split()))
        start += len(part) + 1
    return b", ".join(kept)


def split_commas(text: bytes) -> list[bytes]:
    """The parts between commas that no bracket holds."""
    parts, depth, start = [], 0, 0
    for found in _NESTING.finditer(text):
        token = found.group()
        if token == b"," and depth == 0:
            parts.append(text[start : found.start()])
            start = found.end()
        elif token in b"([{<":
            depth += 1
        elif token in b")]}>":
            depth -= 1
    return [*parts, text[start:]]


def _past_parens(text: bytes, opening: int) -> int | None:
    depth = 0
    for bracket in _PARENS.finditer(text, opening):
        depth += 1 if bracket.group() == b"(" else -1
        if depth == 0:
            return bracket.end()
    return None
