"""Types and template arguments as sources and compilers spell them, brought to one spelling.

`const unsigned *` in a source is `unsigned int const*` in a demangled name, `half2` is `__half2`,
`0x100` is `256u` and `std::uint64_t` is `unsigned long`. What is still different after that may be
an alias of the source's own: only builtin types and literals are ever told to be different.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(
    r"\(anonymous namespace\)|\{[^{}]{0,200}\}(?:#\d+)?|'[^']{0,20}'"
    r"|[A-Za-z_$]\w*|::|\.\.\.|&&|\d[\w.']*|\S"
)
_LITERAL = re.compile(
    r"(?:\((?P<type>[\w: ]+)\))?(?P<sign>-?)(?P<digits>0[xX][\da-fA-F]+|0[bB][01]+|\d+)[uUlLzZ]*"
)
_INLINE_NAMESPACE = re.compile(
    r"\b(?:(?:CUB|THRUST)_\d+_\w+|_V2|__cxx11|(?<=std::)__\w+|__detail_inline|__nv_\w+_inline)::"
)
_INTERNAL = re.compile(r"\b_INTERNAL_\w+::")
_DROPPED = frozenset(
    re.findall(
        r"\w+",
        "struct class enum union typename template constexpr register inline static extern"
        " restrict __restrict __restrict__ __grid_constant__",
    )
)
_DEEPEST = 60
"""Nesting of a type that is still taken apart; real ones have a third of that."""
_BUILTIN = frozenset(
    re.findall(
        r"\w+",
        "void bool char short int long signed unsigned float double wchar_t char8_t char16_t"
        " char32_t __int128 __half __half2 __nv_bfloat16 __nv_bfloat162",
    )
)
"""Names that are no alias of another type."""
_ALIASES = {
    "half": "__half",
    "half2": "__half2",
    "nv_half": "__half",
    "nv_half2": "__half2",
    "nv_bfloat16": "__nv_bfloat16",
    "nv_bfloat162": "__nv_bfloat162",
    "uint": "unsigned int",
    "ushort": "unsigned short",
    "ulong": "unsigned long",
    "uchar": "unsigned char",
    "size_t": "unsigned long",
    "ssize_t": "long",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
    "cudaTextureObject_t": "unsigned long long",
    "cudaSurfaceObject_t": "unsigned long long",
    "cudaStream_t": "CUstream_st*",
    "cudaEvent_t": "CUevent_st*",
    "cuComplex": "float2",
    "cuFloatComplex": "float2",
    "cuDoubleComplex": "double2",
    "cufftComplex": "float2",
    "cufftDoubleComplex": "double2",
    "cufftReal": "float",
    "cufftDoubleReal": "double",
    "curandState": "curandStateXORWOW",
    "curandState_t": "curandStateXORWOW",
    "curandStateXORWOW_t": "curandStateXORWOW",
    "curandStatePhilox4_32_10_t": "curandStatePhilox4_32_10",
    "curandStateMRG32k3a_t": "curandStateMRG32k3a",
}


@lru_cache(maxsize=16384)
def normalise_parameter(text: str) -> str:
    """A parameter's type: without the `const` of the value itself, arrays as pointers."""
    kind = re.sub(r"\[[^\]]*\]$", "*", normalise_type(text))
    while kind.endswith((" const", " volatile")):
        kind = kind.rpartition(" ")[0]
    return kind


@lru_cache(maxsize=16384)
def normalise_argument(text: str) -> str:
    """A template argument: a value in decimal ("true" and "false" for truth), or a type."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")") and _closes(text):
        text = text[1:-1].strip()
    if re.fullmatch(r"'[^'\\]'", text):
        return str(ord(text[1]))
    literal = _LITERAL.fullmatch(re.sub(r"'|(?<=\))\s+|(?<=-)\s+", "", text))
    if literal is None:
        return normalise_type(text)
    kind = normalise_type(literal["type"]) if literal["type"] else ""
    digits = literal["digits"]
    is_octal = digits.startswith("0") and digits.isdigit() and len(digits) > 1
    value = int(literal["sign"] + digits, 8 if is_octal else 0)
    if kind == "bool":
        return "true" if value else "false"
    return f"({kind}){value}" if kind and not _is_builtin(kind) else str(value)


@lru_cache(maxsize=16384)
def normalise_type(text: str) -> str:
    """A type, as the demangler would spell it without inline namespaces."""
    if _depth(text) > _DEEPEST:
        return text
    tokens = _TOKEN.findall(strip_internal(text))
    kind, rest = _type([token for token in tokens if token not in _DROPPED])
    return kind + "".join(rest)


def strip_internal(name: str) -> str:
    """A qualified name without the namespaces that libraries and compilers put in between."""
    return _INTERNAL.sub("", _INLINE_NAMESPACE.sub("", name))


def compare(one: str, other: str) -> bool | None:
    """Whether two normalised types or arguments are the same; None where one may be an alias."""
    if one == other or _unqualified(one) == _unqualified(other):
        return True
    truths = {"true": "1", "false": "0"}
    if truths.get(one, one) == truths.get(other, other):
        return True
    return False if _is_certain(one) and _is_certain(other) else None


def split_arguments(text: str) -> list[str]:
    """The parts of a list, at the commas that are in no bracket."""
    parts: list[str] = []
    depth = start = 0
    for index, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ">)]}" and text[index - 1 : index + 1] != "->":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


def _depth(text: str) -> int:
    """How deep brackets are nested, at least."""
    depth = deepest = 0
    for char in text:
        if char in "<(":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ">)":
            depth -= 1
    return deepest


def _closes(text: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return index == len(text) - 1
    return False


def _unqualified(text: str) -> str:
    return re.sub(r"(?:\(anonymous namespace\)|\w+)::", "", text)


def _is_builtin(kind: str) -> bool:
    return all(word in _BUILTIN or word in ("const", "volatile") for word in kind.split())


def _is_certain(text: str) -> bool:
    """Whether it cannot be the alias of something else: a literal, or made of builtin types."""
    words = re.findall(r"[A-Za-z_]\w*|\d+", text)
    return bool(words) and all(
        word in _BUILTIN or word in ("const", "volatile", "true", "false") or word.isdigit()
        for word in words
    )


def _type(tokens: list[str]) -> tuple[str, list[str]]:
    """The type at the start of the tokens, and the tokens behind it."""
    words: list[str] = []
    qualifiers: set[str] = set()
    name = ""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in ("const", "volatile"):
            qualifiers.add(token)
        elif token in _BUILTIN and not name:
            words.append(token)
        elif not name and not words and (token == "::" or _starts_name(token)):
            name, at = _name(tokens, at)
            continue
        else:
            break
        at += 1
    base = _builtin(words) if words else _ALIASES.get(name.removeprefix("std::"), name)
    base += "".join(f" {qualifier}" for qualifier in sorted(qualifiers))
    while at < len(tokens) and tokens[at] in ("*", "&", "&&", "const", "volatile"):
        base += f" {tokens[at]}" if tokens[at].isalpha() else tokens[at]
        at += 1
    return base, tokens[at:]


def _starts_name(token: str) -> bool:
    return token[0].isalpha() or (token[0] in "_$'({" and len(token) > 1)


def _name(tokens: list[str], at: int) -> tuple[str, int]:
    """A qualified name with its template arguments, and where it ends."""
    name = ""
    while at < len(tokens):
        token = tokens[at]
        if token == "<":
            end = _closing(tokens, at)
            arguments = split_arguments(_join(tokens[at + 1 : end]))
            name += "<" + ", ".join(map(normalise_argument, arguments)) + ">"
            at = end + 1
        elif token == "::" or (_starts_name(token) and (not name or name.endswith("::"))):
            name += token
            at += 1
        else:
            break
    return name.removeprefix("::"), at


def _closing(tokens: list[str], at: int) -> int:
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index] in "<(") - (tokens[index] in ">)")
        if depth == 0:
            return index
    return len(tokens)


def _join(tokens: list[str]) -> str:
    """Text of the tokens, with a space wherever two words would run together."""
    return re.sub(r"(?<=\w) (?!\w)|(?<!\w) (?=\w)", "", " ".join(tokens))


def _builtin(words: list[str]) -> str:
    """`long unsigned int` → "unsigned long"."""
    rest = [word for word in words if word not in ("signed", "unsigned", "int")]
    sign = "unsigned " if "unsigned" in words else ""
    if rest == ["char"] and "signed" in words:
        return "signed char"
    return sign + (" ".join(rest) or "int")
