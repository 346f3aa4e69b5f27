"""Calls that set attributes of kernels: which attribute, which value."""

from __future__ import annotations

from typing import Literal

from occlsp.source.facts import Value
from occlsp.source.syntax import (
    Expr,
    RawCall,
)

ATTRIBUTE_CALLS = frozenset(
    f"{prefix}{name}"
    for prefix in ("cuda", "cu", "hip")
    for name in ("FuncSetAttribute", "FuncSetCacheConfig", "FuncSetSharedMemConfig")
)


_OPT_IN = ("MaxDynamicSharedMemorySize", "MAX_DYNAMIC_SHARED_SIZE_BYTES")


_CARVEOUT = ("PreferredSharedMemoryCarveout", "PREFERRED_SHARED_MEMORY_CARVEOUT")


CACHE_CONFIG = {
    "PreferShared": 100,
    "PREFER_SHARED": 100,
    "PreferL1": 0,
    "PREFER_L1": 0,
    "PreferEqual": 50,
    "PREFER_EQUAL": 50,
}
"""What share of the carveout a cache preference asks for, in percent."""


def attribute_kind(
    raw: RawCall,
) -> tuple[Literal["max_dynamic_smem", "carveout", "cache_config"] | None, Expr | None]:
    arguments = raw.arguments
    if raw.name.endswith("CacheConfig") and len(arguments) >= 2:
        return "cache_config", arguments[1]
    if raw.name.endswith("SetAttribute") and len(arguments) >= 3:
        if any(word in arguments[1].text for word in _OPT_IN):
            return "max_dynamic_smem", arguments[2]
        if any(word in arguments[1].text for word in _CARVEOUT):
            return "carveout", arguments[2]
    return None, None


def cache_value(expr: Expr) -> Value:
    for name, percent in CACHE_CONFIG.items():
        if name in expr.text:
            return Value(expr.text.strip(), (percent,), percent, percent, None, expr.span)
    return Value(expr.text.strip(), why="not a known preference", span=expr.span)
