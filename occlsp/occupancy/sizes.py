"""Sizes with units, and as expressions in the block size."""

from __future__ import annotations

from collections.abc import Callable

from occlsp.occupancy.checks import LARGEST, InvalidInput
from occlsp.occupancy.expressions import NoValue, parse_expression, parse_size

DynamicSmem = int | Callable[[int], int]
"""Bytes of dynamic shared memory per block, or a function of the block's threads."""

__all__ = ["BlockExpression", "DynamicSmem", "parse_size"]


def _block(block: int) -> int:
    return block


_NAMES = dict.fromkeys(("block", "block_size", "blocksize", "blockdim.x", "threads"), _block)


class BlockExpression:
    """A size as an expression in `block`: `4*block`, `(block/32)*128`, `max(block, 64) * 8`.

    The language is that of `occlsp.occupancy.expressions`, with one name: `block` (or
    `blockDim.x`, `block_size`). Calling it with the block's threads gives bytes. Raises
    `InvalidInput` that names the expression and the place; at a call, for a division by zero,
    or a result below zero or past 32 bits.
    """

    __slots__ = ("_run", "field", "text")

    def __init__(self, text: str, field: str = "dynamic_smem") -> None:
        self.text = text
        self.field = field
        self._run = parse_expression(text, _NAMES, field)

    def __call__(self, block: int) -> int:
        try:
            size = self._run(block)
        except NoValue as error:
            raise InvalidInput(self.field, f"`{self.text}` {error} at block = {block}") from None
        if not 0 <= size <= LARGEST:
            raise InvalidInput(self.field, f"`{self.text}` is {size} bytes at block = {block}")
        return size

    def __repr__(self) -> str:
        return f"BlockExpression({self.text!r})"
