"""What no launch can have, refused with a message that names the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

LARGEST = 2**31 - 1
"""The largest size or number that a launch or a report can carry."""
LARGEST_REGISTERS = 65535
"""Far above any register count (255 at most), and still a number to explain, not to refuse."""
LARGEST_BLOCK = 2**32 - 1
"""Threads of a block are counted in 32 bits, before any limit is looked at."""


class InvalidInput(ValueError):
    """A value that no launch can have; `field` is the parameter's name."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(f"{field}: {message}")


def check_configuration(
    block: object,
    registers: object,
    static_smem: object,
    dynamic_smem: object,
    max_dynamic_smem: object,
    carveout: object,
    barriers: object,
    launch_bounds: object,
) -> None:
    """Raises `InvalidInput` for the first value that is no integer, or out of all range."""
    check_integer("block", block, 1, LARGEST_BLOCK)
    check_integer("registers", registers, 0, LARGEST_REGISTERS)
    check_integer("static_smem", static_smem, 0, LARGEST)
    check_integer("dynamic_smem", dynamic_smem, 0, LARGEST)
    if max_dynamic_smem is not None:
        check_integer("max_dynamic_smem", max_dynamic_smem, 0, LARGEST)
    if carveout is not None:
        check_integer("carveout", carveout, 0, 100)
    if barriers is not None:
        check_integer("barriers", barriers, 0, LARGEST_REGISTERS)
    if launch_bounds is not None:
        check_integer("launch_bounds", launch_bounds, 1, LARGEST)


def check_integer(field: str, value: object, least: int, most: int) -> None:
    """Raises `InvalidInput` unless `value` is an integer from `least` to `most`."""
    if not is_integer(value):
        raise InvalidInput(field, f"{value!r} is not an integer")
    if value < least:
        raise InvalidInput(field, f"{value} is too small, at least {least} is needed")
    if value > most:
        raise InvalidInput(field, f"{value} is absurd, at most {most} can be meant")


def is_integer(value: object) -> TypeGuard[int]:
    """Whether `value` counts something: True and False are answers, not numbers."""
    return isinstance(value, int) and not isinstance(value, bool)


def dimensions(field: str, value: int | Sequence[int], most: int = LARGEST_BLOCK) -> list[int]:
    """`value` as [x, y, z], the missing ones 1.

    Raises `InvalidInput` for none or more than three, or one that is not from 1 to `most`.
    """
    if isinstance(value, int):
        check_integer(field, value, 1, most)
        return [value, 1, 1]
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise InvalidInput(field, f"{value!r} is neither an integer nor dimensions [x, y, z]")
    if not 1 <= len(value) <= 3:
        raise InvalidInput(field, f"{len(value)} dimensions, there are one to three")
    for axis, size in zip("xyz", value, strict=False):
        check_integer(f"{field}.{axis}", size, 1, most)
    return [*value, 1, 1][:3]


def block_threads(value: int | Sequence[int]) -> int:
    """The threads of a block given by its number or by its dimensions.

    Raises `InvalidInput`, also where the product does not fit into 32 bits.
    """
    x, y, z = dimensions("block", value)
    if x * y * z > LARGEST_BLOCK:
        raise InvalidInput("block", f"{x} × {y} × {z} threads do not fit into 32 bits")
    return x * y * z
