"""Types as written, and what is known of them: integer types, sizes, what a reference is."""

from __future__ import annotations

import re
from functools import lru_cache

from occlsp.source.numbers import BOOL, INT, LONG, UINT, ULONG, IntType

_CHAR = IntType(8, signed=True)
_UCHAR = IntType(8, signed=False)
_SHORT = IntType(16, signed=True)
_USHORT = IntType(16, signed=False)

_NAMED: dict[str, IntType] = {
    "bool": BOOL,
    "char": _CHAR,
    "int": INT,
    "size_t": ULONG,
    "ssize_t": LONG,
    "ptrdiff_t": LONG,
    "uint": UINT,
    "ushort": _USHORT,
    "uchar": _UCHAR,
    "ulong": ULONG,
    "wchar_t": INT,
    "char8_t": _UCHAR,
    "char16_t": _USHORT,
    "char32_t": UINT,
    "int8_t": _CHAR,
    "uint8_t": _UCHAR,
    "int16_t": _SHORT,
    "uint16_t": _USHORT,
    "int32_t": INT,
    "uint32_t": UINT,
    "int64_t": LONG,
    "uint64_t": ULONG,
    "intptr_t": LONG,
    "uintptr_t": ULONG,
    "intmax_t": LONG,
    "uintmax_t": ULONG,
    "byte": _UCHAR,
}

_SIZES: dict[str, int] = {
    "float": 4,
    "double": 8,
    "long double": 16,
    "half": 2,
    "__half": 2,
    "half2": 4,
    "__half2": 4,
    "__half_raw": 2,
    "nv_half": 2,
    "nv_half2": 4,
    "nv_bfloat16": 2,
    "nv_bfloat162": 4,
    "__nv_bfloat16": 2,
    "__nv_bfloat162": 4,
    "__nv_bfloat16_raw": 2,
    "__nv_fp8_e4m3": 1,
    "__nv_fp8_e5m2": 1,
    "__nv_fp8_storage_t": 1,
    "__nv_fp8x2_e4m3": 2,
    "__nv_fp8x4_e4m3": 4,
    "dim3": 12,
    "cuComplex": 8,
    "cuFloatComplex": 8,
    "cuDoubleComplex": 16,
    "cudaTextureObject_t": 8,
    "cudaSurfaceObject_t": 8,
}
for _base, _size in (
    ("char", 1),
    ("uchar", 1),
    ("short", 2),
    ("ushort", 2),
    ("int", 4),
    ("uint", 4),
    ("float", 4),
    ("long", 8),
    ("ulong", 8),
    ("longlong", 8),
    ("ulonglong", 8),
    ("double", 8),
):
    for _count in (1, 2, 3, 4):
        _SIZES[f"{_base}{_count}"] = _size * _count

_NOISE = re.compile(
    r"\b(?:const|volatile|constexpr|static|inline|typename|struct|class|enum|register|mutable|"
    r"extern|thread_local|__restrict__|__restrict|__shared__|__device__|__constant__|__host__|"
    r"alignas\s*\([^()]*\)|__align__\s*\([^()]*\))(?!\w)"
)
_WORDS = frozenset(["unsigned", "signed", "short", "long", "int", "char"])


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """The type without qualifiers, storage and references, single-spaced."""
    text = _NOISE.sub(" ", text)
    text = re.sub(r"\[\[[^\]]*\]\]", " ", text)
    text = re.sub(r"&+\s*$", "", text)
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s*(::|[<>,*&])\s*", r"\1", text).removeprefix("::")


@lru_cache(maxsize=4096)
def integer(text: str) -> IntType | None:
    """The integer type that `text` names; None for any other type."""
    name = plain(text).removeprefix("std::").removeprefix("cuda::std::").removeprefix("cute::")
    if name in _NAMED:
        return _NAMED[name]
    words = name.split(" ")
    if not words or any(word not in _WORDS for word in words):
        return None
    signed = "unsigned" not in words
    if "char" in words:
        bits = 8
    elif "short" in words:
        bits = 16
    elif "long" in words:
        bits = 64
    else:
        bits = 32
    return IntType(bits, signed)


@lru_cache(maxsize=1024)
def floating(text: str) -> int | None:
    """32 or 64 for float and double; None for any other type."""
    return {"float": 32, "double": 64}.get(plain(text))


@lru_cache(maxsize=4096)
def size(text: str) -> int | None:
    """Bytes of a built-in type, of the toolkit's vector types, or of a pointer."""
    name = plain(text)
    if name.endswith("*"):
        return 8
    kind = integer(name)
    if kind is not None:
        return max(kind.bits // 8, 1)
    return _SIZES.get(name)


@lru_cache(maxsize=4096)
def is_reference(text: str) -> bool:
    """Whether a parameter of this type can change its argument."""
    bare = text.rstrip()
    return bare.endswith("&") and not re.search(r"\bconst\b", bare)


@lru_cache(maxsize=4096)
def is_constant(text: str) -> bool:
    """Whether a variable of this type keeps its first value."""
    return re.search(r"\b(?:const|constexpr)\b", text) is not None and not re.search(
        r"\bconst\b[^*]*\*\s*$", text
    )


def passed(kind: str) -> str:
    """The type of a parameter: an array is handed over as a pointer."""
    if not kind.endswith("]") or "(" in kind:
        return kind
    base, _, inner = kind.partition("[")
    rest = inner.partition("]")[2]
    return f"{base}(*){rest}" if rest else f"{base}*"
