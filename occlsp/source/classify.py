"""What an opening brace at namespace or class scope opens, told from the text before it."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from occlsp.source.brackets import match_angle
from occlsp.source.text import IDENTIFIER

Kind = Literal["namespace", "linkage", "class", "enum", "function", "block"]

_LABEL = re.compile(rb"\s*(?:public|private|protected)\s*:(?!:)")
_NAMESPACE = re.compile(rb"\bnamespace\b([^()=]*)\Z")
_TEMPLATE = re.compile(rb"\btemplate\s*(<)")
_ENUM = re.compile(rb"(?:[\w\s]*\s)?enum\b([^()=]*)\Z")
_CLASS = re.compile(rb"(?:[\w\s]*\s)?(?:class|struct|union)\b")
_ATTRIBUTE = re.compile(
    rb"\s*(?:\[\[[^\]]*\]\]|(?:__attribute__|" + IDENTIFIER + rb")\s*"
    rb"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))"
)
_CLASS_NAME = re.compile(
    rb"\s*(?:" + IDENTIFIER + rb"\s+)*?(" + IDENTIFIER + rb"(?:\s*::\s*" + IDENTIFIER + rb")*)"
    rb"\s*(?:final\s*)?(?:<|:(?!:)|\Z)"
)
_PARENTHESES = re.compile(rb"\([^()]*\)")
_ASSIGNMENT = re.compile(rb"(?<![=!<>+\-*/%&|^])=(?!=)")
_STATEMENT = re.compile(rb"\s*(?:if|for|while|switch|do|else|try|catch|return|case)\b")
_LONGEST = 16384


class Opening(NamedTuple):
    """What a brace opens, and the names that it adds to the scope."""

    kind: Kind
    names: tuple[str, ...] = ()


BLOCK = Opening("block")
FUNCTION = Opening("function")


def classify(head: bytes) -> Opening:
    """Tells what the brace after `head` opens; `head` starts where the declaration does."""
    head = head.strip()
    if len(head) > _LONGEST:
        return BLOCK
    while (label := _LABEL.match(head)) is not None:
        head = head[label.end() :].lstrip()
    if not head or head[-1:] in b"=,":
        return BLOCK
    namespace = _NAMESPACE.search(head)
    if namespace is not None:
        return Opening("namespace", _namespace_names(namespace[1]))
    if head.endswith(b"extern"):
        return Opening("linkage")
    rest = _after_template_heads(head)
    enum = _ENUM.match(rest)
    if enum is not None:
        return Opening("enum", _enum_names(enum[1]))
    return _class(rest) or (FUNCTION if _is_function(rest) else BLOCK)


def _namespace_names(piece: bytes) -> tuple[str, ...]:
    words = re.sub(rb"\[\[[^\]]*\]\]|\binline\b", b" ", piece).replace(b"::", b" ").split()
    if b"::" not in piece:
        words = words[-1:]
    return tuple(word.decode("utf-8", "replace") for word in words) or ("",)


def _enum_names(piece: bytes) -> tuple[str, ...]:
    """The name of a scoped enumeration: that of an unscoped one adds nothing to the scope."""
    match = re.match(rb"\s*(?:class|struct)\s+(?:\[\[[^\]]*\]\]\s*)?(" + IDENTIFIER + rb")", piece)
    return (match[1].decode("utf-8", "replace"),) if match is not None else ()


def _after_template_heads(head: bytes) -> bytes:
    while (match := _TEMPLATE.search(head)) is not None:
        closing = match_angle(head, match.start(1), len(head))
        if closing is None:
            break
        head = head[closing + 1 :].lstrip()
    return head


def _class(rest: bytes) -> Opening | None:
    keyword = _CLASS.match(rest)
    if keyword is None:
        return None
    position = keyword.end()
    while (attribute := _ATTRIBUTE.match(rest, position)) is not None:
        position = attribute.end()
    if position >= len(rest):
        return Opening("class", ("",))
    match = _CLASS_NAME.match(rest, position)
    if match is None:
        return None if b"(" in rest else BLOCK
    names = re.findall(IDENTIFIER, match[1])
    return Opening("class", tuple(name.decode("utf-8", "replace") for name in names))


def _is_function(rest: bytes) -> bool:
    if b"(" not in rest or _STATEMENT.match(rest) is not None:
        return False
    if b"operator" in rest:
        return True
    outside = rest
    for _ in range(8):
        outside, count = _PARENTHESES.subn(b" ", outside)
        if not count:
            break
    assignment = _ASSIGNMENT.search(outside)
    return assignment is None
