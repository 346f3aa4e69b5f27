"""Which names of a body decide the values that are asked for, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from occlsp.source.effects import NO_TYPE, SPECIFIERS
from occlsp.source.type_syntax import BUILTIN_WORDS

_WORD = re.compile(r"\b[A-Za-z_]\w*")
_SET = re.compile(
    r"\b([A-Za-z_]\w*)(?:\s*(?:\.|->)\s*\w+|\s*\[[^\];{}]*\])*\s*"
    r"(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
)
_STEPPED = re.compile(r"(?:\+\+|--)\s*([A-Za-z_]\w*)")
_DECLARED = re.compile(r"(?:\w\s+|[*&>,\[]\s*)([A-Za-z_]\w*)\s*(?=[({\[;,:)\]]|\Z)")
"""What may be a declarator without `=`, a captured or a tied variable."""
_CONTROL = re.compile(r"\b(?:if|while|for|switch|case|assert)\b|[\x01\x02\x03]")
"""What stands there is read for what it says of a variable."""
_ASSIGNS = re.compile(r"<<=|>>=|(?<![=!<>])=(?!=)")
_SHARES = re.compile(r"(?<!&)&\s*\w+\s*[=({:]|\[[&=]")
"""A reference that is declared, or a lambda that captures."""
_CALLED = re.compile(r"[A-Za-z_]\w*(?=\s*\()")
_ASKS_DEVICE = re.compile(
    r"(?:device|arch|compute_?cap|propert|occupancy|sm_|cc_)\w*\s*\(|_(?:sm|cc)\s*\(", re.I
)
"""Calls whose results say what the device can do."""
_ASKS = re.compile(r"\b(?:if|while|switch)\b")
_FLAG = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(?:true|false|-?\d+)\s*[;,]")
_MOST = 4000
_NO_VARIABLES = (
    NO_TYPE
    | SPECIFIERS
    | BUILTIN_WORDS
    | {"true", "false", "nullptr", "NULL", "break", "continue", "this", "dim3", "void"}
)


def relevant_positions(
    text: str,
    names: set[str],
    parameters: Iterable[str] = (),
    assigns: Callable[[str], bool] = lambda name: False,
    until: int | None = None,
) -> list[int]:
    """Where any of `names` may change; `names` grows by those that decide their values.

    What stands behind `until` decides nothing. A statement that only uses a variable says nothing
    of it: the names beside it count only where it is set, shared, compared, or handed to a macro
    that `assigns` what it is given.
    """
    by_name = _occurrences(text, frozenset(parameters), len(text) if until is None else until)
    names |= _asked(text, by_name)
    pending = [name for name in names if name in by_name]
    seen = set(names)
    positions: list[int] = []
    for name in pending:
        done = -1
        for position in by_name[name]:
            if position < done:
                positions.append(position)
                continue
            start, end = _sentence(text, position)
            if end - start > _MOST:
                positions.append(position)
                continue
            if not _decides(text, start, position, len(name), end, assigns):
                if _may_change(text, position, position + len(name)):
                    positions.append(position)
                continue
            positions.append(position)
            done = end
            for match in _WORD.finditer(text, start, end):
                other = match.group()
                if other not in seen:
                    seen.add(other)
                    if other in by_name:
                        pending.append(other)
    names |= seen
    positions.sort()
    return positions


@lru_cache(maxsize=32)
def _occurrences(text: str, parameters: frozenset[str], until: int) -> dict[str, list[int]]:
    """Where what may be a body's own variable stands, by its name."""
    variables = (parameters | _variables(text)) - _NO_VARIABLES
    by_name: dict[str, list[int]] = {}
    for match in _WORD.finditer(text, 0, until):
        name = match.group()
        if name in variables:
            by_name.setdefault(name, []).append(match.start())
    return by_name


def _asked(text: str, by_name: dict[str, list[int]]) -> set[str]:
    """Variables that the device answers or a literal sets, and that a condition asks: they guard
    what follows."""
    found = {
        name
        for name in set(_FLAG.findall(text))
        if name in by_name and any(_asks(text, position) for position in by_name[name])
    }
    for match in _ASKS_DEVICE.finditer(text):
        start, end = _sentence(text, match.start())
        if end - start > _MOST or not ("=" in text[start:end] or "&" in text[start:end]):
            continue
        for word in _WORD.findall(text, start, end):
            places = by_name.get(word, []) if word not in found else []
            if any(_asks(text, position) for position in places):
                found.add(word)
    return found


def _asks(text: str, position: int) -> bool:
    """Whether a name stands in a condition, or in the statement that one guards."""
    return _ASKS.search(text, *_sentence(text, position)) is not None


def last_that_counts(text: str, event: int) -> int:
    """Behind the statement that holds an offset, and all that may run before it again."""
    if "goto" in text or _LAMBDA.search(text, 0, event):
        return len(text)
    depth = max(0, text.count("{", 0, event) - text.count("}", 0, event))
    position = event
    for match in _BRACES.finditer(text, event) if depth else ():
        depth += 1 if match.group() == "{" else -1
        position = match.end()
        if depth == 0:
            break
    end = text.find(";", position)
    return len(text) if end < 0 or depth else end + 1


_BRACES = re.compile(r"[{}]")
_LAMBDA = re.compile(r"\]\s*(?:\([^{};]*\))?[^{};()=\[\]]*\{")


def _variables(text: str) -> set[str]:
    """Names that may be a body's own variables, or that it sets."""
    found = set(_SET.findall(text))
    found.update(_STEPPED.findall(text))
    found.update(_DECLARED.findall(text))
    return found


def _may_change(text: str, start: int, end: int) -> bool:
    """Whether the name is declared, stepped, read into, or given to a call as it is."""
    before = text[max(0, start - 40) : start].rstrip()[-2:]
    behind = text[end : end + 40].lstrip()[:2]
    if before in ("++", "--", ">>") or behind in ("++", "--"):
        return True
    last = before[-1:]
    if not last or last in "(," or last in "_>*&" or last.isalnum():
        return behind[:1] in (")", ",", ".", "-", "[", "", ";", ":")
    return False


def _decides(
    text: str, start: int, position: int, length: int, end: int, assigns: Callable[[str], bool]
) -> bool:
    """Whether the statement from `start` to `end` may give the name at `position` a value."""
    behind = position + length
    ahead = text[start:position]
    last = ahead.rstrip()[-1:]
    if last == "&":
        return True
    assigned = _ASSIGNS.search(text, behind, end)
    if assigned is not None and (
        ahead.count("[") <= ahead.count("]") or not text[behind : assigned.start()].strip()
    ):
        return True
    if _CONTROL.search(text, start, end) or _SHARES.search(text, start, end):
        return True
    if (
        last
        and (last.isalnum() or last in "_>*,")
        and text[behind:end].lstrip()[:1]
        in (
            "(",
            "{",
            "[",
        )
    ):
        return True
    return any(assigns(name) for name in _CALLED.findall(text, start, position))


def _sentence(text: str, position: int) -> tuple[int, int]:
    """The statement around a position, roughly: from a semicolon or brace to the next."""
    start = (
        max(
            text.rfind(";", 0, position), text.rfind("{", 0, position), text.rfind("}", 0, position)
        )
        + 1
    )
    end = text.find(";", position)
    end = len(text) if end < 0 else end
    brace = text.find("{", position, end)
    if brace >= 0 and _CONTROL.search(text, start, brace):
        end = brace  # what the condition guards is a statement of its own
    return start, end


@lru_cache(maxsize=4096)
def assigns_parameter(parameters: tuple[str, ...], body: str) -> bool:
    """Whether a macro's body gives one of its parameters a value."""
    for parameter in parameters:
        name = parameter.removesuffix("...").strip() or "__VA_ARGS__"
        if re.search(rf"\b{re.escape(name)}\b[^;=!<>]*(?:<<|>>|[-+*/%&|^])?=(?!=)", body):
            return True
    return False
