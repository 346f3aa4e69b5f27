"""Where types and template arguments stand in expressions."""

from __future__ import annotations

from occlsp.source.lexer import Token, spelled

BUILTIN_WORDS = frozenset(
    [
        "bool",
        "char",
        "short",
        "int",
        "long",
        "unsigned",
        "signed",
        "float",
        "double",
        "void",
        "wchar_t",
        "char8_t",
        "char16_t",
        "char32_t",
        "size_t",
        "ptrdiff_t",
        "ssize_t",
        "uint",
        "ushort",
        "uchar",
        "ulong",
        "int8_t",
        "uint8_t",
        "int16_t",
        "uint16_t",
        "int32_t",
        "uint32_t",
        "int64_t",
        "uint64_t",
        "intptr_t",
        "uintptr_t",
    ]
)


TYPE_WORDS = BUILTIN_WORDS | {"const", "volatile", "struct", "typename", "enum", "class"}


def template_arguments(
    tokens: list[Token] | tuple[Token, ...], at: int, *, is_template: bool = False
) -> tuple[tuple[str, ...], int] | None:
    """Template arguments that begin at `at` and the index behind them; None for a comparison.

    Where what stands before them is known as a template, they may hold conditions.
    """
    ends = (";", "{", "}") if is_template else ("&&", "||", ";", "?", "{", "}")
    if at >= len(tokens) or tokens[at].text != "<":
        return None
    depth = 0
    brackets = 0
    parts: list[list[Token]] = [[]]
    for index in range(at, min(len(tokens), at + 400)):
        token = tokens[index]
        text = token.text if token.kind == "op" else ""
        if text in ends and brackets == 0:
            return None
        if text in ("(", "["):
            brackets += 1
        elif text in (")", "]"):
            brackets -= 1
            if brackets < 0:
                return None
        elif brackets == 0 and text == "<":
            depth += 1
            if depth == 1:
                continue
        elif brackets == 0 and text in (">", ">>"):
            closing = len(text)
            if closing > depth:
                return None
            if depth == closing:
                if closing == 2:
                    parts[-1].append(Token("op", ">", token.start))
                return _closed(tokens, parts, index + 1)
            depth -= closing
        elif brackets == 0 and depth == 1 and text == ",":
            parts.append([])
            continue
        parts[-1].append(token)
    return None


def _closed(
    tokens: list[Token] | tuple[Token, ...], parts: list[list[Token]], after: int
) -> tuple[tuple[str, ...], int] | None:
    following = tokens[after] if after < len(tokens) else None
    if following is not None and (following.kind in ("name", "number", "char", "string")):
        return None
    return tuple(spelled(part) for part in parts if part), after


def may_be_type(tokens: list[Token] | tuple[Token, ...]) -> bool:
    """Whether the tokens between brackets can be a type: names, `::`, template arguments, `*`."""
    if not tokens:
        return False
    index = 0
    seen_name = False
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "name":
            if token.text in ("sizeof", "true", "false", "nullptr", "this"):
                return False
            if seen_name and token.text not in TYPE_WORDS:
                previous = tokens[index - 1].text
                if previous != "::" and previous not in TYPE_WORDS:
                    return False
            seen_name = True
            index += 1
            found = template_arguments(tokens, index)
            if found is not None:
                index = found[1]
            continue
        if token.text == "::":
            index += 1
            continue
        if token.text in ("*", "&") and seen_name:
            return all(t.text in ("*", "&", "const") for t in tokens[index:])
        return False
    return seen_name
