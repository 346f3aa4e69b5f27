"""Literals and floating-point arithmetic: single precision is rounded as the program would."""

from __future__ import annotations

import math
import re
import struct
from functools import lru_cache

from occlsp.source.numbers import (
    BOOL,
    INT,
    LONG,
    UINT,
    ULONG,
    IntType,
    Number,
    binary,
    known,
    unknown,
)
from occlsp.source.values import (
    Abstract,
    Real,
)

_SUFFIX = re.compile(r"[uUlLzZ]*$")


_ESCAPES = {"n": 10, "t": 9, "0": 0, "r": 13, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8}


@lru_cache(maxsize=1024)
def literal(text: str) -> Abstract:
    """The value of a number, character or boolean literal."""
    if text in ("true", "false"):
        return known(int(text == "true"), BOOL)
    if text.startswith("'"):
        inner = text[1:-1]
        char = IntType(8, signed=True)
        if len(inner) == 1 and inner.isascii():
            return known(ord(inner), char)
        if len(inner) == 2 and inner[0] == "\\" and inner[1] in _ESCAPES:
            return known(_ESCAPES[inner[1]], char)
        return unknown("a character literal")
    digits = text.replace("'", "")
    hexadecimal = digits[:2] in ("0x", "0X")
    if not hexadecimal and re.search(r"[.eEfF]", digits):
        number = float(digits.rstrip("fFlL"))
        return _single(number) if digits[-1] in "fF" else Real(number)
    suffix = _SUFFIX.search(digits)
    letters = suffix.group().lower() if suffix else ""
    digits = digits[: len(digits) - len(letters)]
    if len(digits) > 24:
        return unknown("the literal is too large")
    try:
        if hexadecimal or digits[:2] in ("0b", "0B"):
            value = int(digits, 0)
        elif len(digits) > 1 and digits[0] == "0":
            value = int(digits, 8)
        else:
            value = int(digits)
    except ValueError:
        return unknown("no number")
    decimal = digits[0] != "0" or len(digits) == 1
    for type_ in (INT, UINT, LONG, ULONG):
        if "u" in letters and type_.signed:
            continue
        if "u" not in letters and not type_.signed and decimal:
            continue
        if ("l" in letters or "z" in letters) and type_.bits < 64:
            continue
        if value <= type_.highest:
            return known(value, type_)
    return unknown("the literal is too large")


def _single(value: float) -> Real:
    try:
        return Real(struct.unpack("f", struct.pack("f", value))[0], 32)
    except OverflowError:
        return Real(math.inf, 32)


def real_of(value: Abstract, bits: int) -> Real | None:
    if isinstance(value, Real):
        return value
    if isinstance(value, Number) and value.value is not None:
        return Real(float(value.value), 64) if bits == 64 else _single(float(value.value))
    return None


def real_binary(op: str, left: Abstract, right: Abstract) -> Abstract:
    bits = max(v.bits for v in (left, right) if isinstance(v, Real))
    a, b = real_of(left, bits), real_of(right, bits)
    if a is None or b is None:
        return unknown("a floating-point value is not known")
    try:
        match op:
            case "+":
                result = a.value + b.value
            case "-":
                result = a.value - b.value
            case "*":
                result = a.value * b.value
            case "/":
                result = a.value / b.value
            case "<" | ">" | "<=" | ">=" | "==" | "!=":
                sign = (a.value > b.value) - (a.value < b.value)
                return binary(op, known(sign), known(0))
            case _:
                return unknown(f"operator {op} is not evaluated")
    except (ZeroDivisionError, OverflowError):
        return unknown("a floating-point value is not known")
    return Real(result) if bits == 64 else _single(result)


def rounded(name: str, value: Abstract) -> Abstract:
    single = name.endswith("f") or (isinstance(value, Real) and value.bits == 32)
    number = real_of(value, 32 if single else 64)
    if number is None or not math.isfinite(number.value):
        return unknown("a floating-point value is not known")
    if name.startswith("sqrt"):
        if number.value < 0:
            return unknown("a floating-point value is not known")
        result = math.sqrt(number.value)
    elif name.startswith("round"):
        result = math.copysign(math.floor(abs(number.value) + 0.5), number.value)
    else:
        result = float(
            math.ceil(number.value) if name.startswith("ceil") else math.floor(number.value)
        )
    return _single(result) if single else Real(result)
