"""Concrete configurations: everything that one launch can be, as far as it is known.

Where a value is not known, the case that is easiest to run stands for all: what fails even so
fails for certain, and an occupancy computed from it is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from msgspec import Struct

from occlsp.analysis.opt_in import MAY, Verdict
from occlsp.occupancy.capabilities import Limits
from occlsp.occupancy.checks import InvalidInput
from occlsp.occupancy.model import Occupancy, occupancy
from occlsp.occupancy.search import Options
from occlsp.occupancy.sizes import BlockExpression, DynamicSmem
from occlsp.reports.facts import Entry
from occlsp.source.facts import Kernel, Triple, Value, Value3

MOST_CASES = 64
"""More combinations than this tell nobody anything: the extremes stand for them."""


class Case(Struct, frozen=True):
    """One configuration and what the model says of it."""

    block: Triple
    threads: int
    registers: int | None
    static_smem: int | None
    dynamic_smem: int | None
    result: Occupancy
    is_least: bool = False
    """The block is only the smallest that it can be."""

    @property
    def is_bound(self) -> bool:
        """The occupancy is an upper bound: a resource is not known. None is less than 0."""
        unknown = self.registers is None or self.static_smem is None or self.dynamic_smem is None
        return unknown and self.result.blocks_per_sm > 0


class Resources(Struct, frozen=True):
    """What a kernel takes before the launch has its say. None is unknown."""

    registers: int | None
    static_smem: int | None
    barriers: int | None
    max_threads: int | None
    carveout: int | None
    opt_in: Verdict = MAY

    @staticmethod
    def of(
        kernel: Kernel,
        entry: Entry | None,
        max_threads: int | None,
        carveout: int | None,
        opt_in: Verdict = MAY,
    ) -> Resources:
        """The compiler's numbers where there are any, else what the source declares."""
        static = entry.static_smem if entry is not None else None
        return Resources(
            entry.registers if entry is not None else None,
            static if static is not None else kernel.static_smem,
            entry.barriers if entry is not None else None,
            max_threads,
            carveout,
            opt_in,
        )

    def options(self) -> Options:
        """What the model takes beside registers and sizes."""
        return {
            "opt_in": self.opt_in.is_opted_in,
            "max_dynamic_smem": self.opt_in.limit,
            "carveout": self.carveout,
            "barriers": self.barriers,
            "launch_bounds": self.max_threads,
        }


def compute(
    row: Limits,
    resources: Resources,
    block: Triple,
    dynamic_smem: int | None,
    is_least: bool = False,
) -> Case | None:
    """One case; None for a block or size that is no configuration at all (zero, absurd)."""
    threads = math.prod(block)
    try:
        result = occupancy(
            row,
            threads,
            resources.registers or 0,
            resources.static_smem or 0,
            dynamic_smem or 0,
            **resources.options(),
        )
    except InvalidInput:
        return None
    return Case(
        block,
        threads,
        resources.registers,
        resources.static_smem,
        dynamic_smem,
        result,
        is_least,
    )


class Shape(Struct, frozen=True):
    """All (block, dynamic shared memory) pairs of a launch, before registers and limits."""

    pairs: tuple[tuple[Triple, int | None], ...]
    is_least: bool
    """The blocks are lower bounds."""
    may_mix: bool
    """Values were combined that may never occur together."""


def shape(block: Value3, dynamic_smem: Value) -> Shape:
    """The pairs that a launch can be. A block that is not known has at least one thread."""
    blocks, is_least = _blocks(block)
    pairs: list[tuple[Triple, int | None]] = []
    sizes: tuple[int | None, ...] = ()
    if dynamic_smem.block_expression is not None:
        pairs = [(b, of_block(dynamic_smem, math.prod(b))) for b in blocks]
        may_mix = are_combined(blocks)
    else:
        sizes = _sizes(dynamic_smem)
        pairs = list(product(blocks, sizes))
        may_mix = are_combined(blocks) or (len(blocks) > 1 and len(sizes) > 1)
    if len(pairs) > MOST_CASES:
        pairs = [min(pairs, key=_demand), max(pairs, key=_demand)]
    return Shape(tuple(pairs), is_least, may_mix)


def are_combined(triples: Sequence[Triple]) -> bool:
    """Whether each value of one dimension stands with each of another, as where they are known
    apart: some of such blocks may never occur."""
    kinds = [len(set(dimension)) for dimension in zip(*triples, strict=True)]
    return max(kinds, default=0) < math.prod(kinds) == len(set(triples))


def of_block(dynamic_smem: Value, threads: int) -> int | None:
    """Dynamic shared memory at a block size: a constant, an expression in `block`, or unknown."""
    size = smem_function(dynamic_smem)
    try:
        return size(threads) if callable(size) else size
    except InvalidInput:
        return None


def smem_function(dynamic_smem: Value) -> DynamicSmem | None:
    """Dynamic shared memory for a search over block sizes; None where it is not known."""
    if dynamic_smem.block_expression is not None:
        return _expression(dynamic_smem.block_expression)
    return dynamic_smem.value


@lru_cache(maxsize=512)
def _expression(text: str) -> DynamicSmem | None:
    try:
        return BlockExpression(text)
    except InvalidInput:
        return None


def _blocks(block: Value3) -> tuple[tuple[Triple, ...], bool]:
    if block.values is not None:
        return block.values, False
    least = block.min if block.min is not None else (1, 1, 1)
    x, y, z = (max(1, number) if number is not None else 1 for number in least)
    return ((x, y, z),), True


def _sizes(value: Value) -> tuple[int | None, ...]:
    if value.values:
        return value.values
    return (None,)


def _demand(pair: tuple[Triple, int | None]) -> tuple[int, int]:
    return math.prod(pair[0]), pair[1] or 0
