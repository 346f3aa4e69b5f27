"""What `occlsp calc` answers in JSON, and how an answer is made from one configuration."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from occlsp.occupancy import (
    Allocated,
    BlockExpression,
    Candidate,
    DynamicSmem,
    Gpu,
    InvalidInput,
    Limiter,
    Limits,
    LimitSet,
    Occupancy,
    Options,
    UnknownArchitecture,
    UnknownGpu,
    best_block,
    block_threads,
    gpu,
    limits,
    occupancy,
    sweep,
    waves,
)


class Question(Struct, forbid_unknown_fields=True, frozen=True):
    """One configuration; sizes are bytes. Null is as good as absent."""

    arch: str
    regs: int
    block: int | list[int] | None = None
    static_smem: int | None = 0
    dynamic_smem: int | str | None = 0
    """A string is an expression in `block`."""
    opt_in: bool | None = True
    max_dynamic_smem: int | None = None
    carveout: int | None = None
    barriers: int | None = None
    launch_bounds: int | None = None
    grid: int | list[int] | None = None
    gpu: str | None = None
    id: Any = None


class Answer(Struct, frozen=True):
    """The contract's shape of one answer; what is not set is left out."""

    id: Any
    blocks_per_sm: int
    active_warps: int
    max_warps: int
    occupancy: float
    limiter: Limiter
    limiters: tuple[Limiter, ...]
    limits: LimitSet
    allocated: Allocated
    reason: str | None
    block: int | UnsetType = UNSET
    """The best block size, 0 where none fits; set where it was asked for."""
    waves: float | UnsetType | None = UNSET
    full_waves: int | UnsetType | None = UNSET
    tail: float | UnsetType | None = UNSET
    """The share of the machine that is idle in the last wave."""
    note: str | UnsetType = UNSET
    """Said of limits that are provisional."""


class Failure(Struct, frozen=True):
    """The answer to a line that cannot be understood."""

    id: Any
    error: str


def answer(
    question: Question, row: Limits | None = None, sms: int | None = None, *, best: bool = False
) -> Answer:
    """The answer; with `best`, for the best block size instead of the given one.

    `row` and `sms` are a device's own, where the question's `arch` and `gpu` are not to be asked.
    Raises `ValueError` with a message that names the field.
    """
    row = row or limits(question.arch)
    if question.gpu is not None:
        sms = matching_gpu(question.gpu, row).sms
    if best:
        chosen = best_candidate(question, row)
        block: int | UnsetType = chosen.block if chosen.result.blocks_per_sm else 0
        result = chosen.result
    else:
        block, result = UNSET, given(question, row)
    wave_count: float | UnsetType | None = UNSET
    full_waves: int | UnsetType | None = UNSET
    tail: float | UnsetType | None = UNSET
    if question.grid is not None:
        if sms is None:
            raise InvalidInput("grid", "give the gpu too, whose SMs it is to fill")
        found = waves(question.grid, result.blocks_per_sm, sms)
        wave_count, full_waves, tail = (
            (found.waves, found.full_waves, found.tail) if found else (None, None, None)
        )
    return Answer(
        question.id,
        result.blocks_per_sm,
        result.active_warps,
        result.max_warps,
        result.occupancy,
        result.limiter,
        result.limiters,
        result.limits,
        result.allocated,
        result.reason,
        block,
        wave_count,
        full_waves,
        tail,
        UNSET if row.provisional is None else row.provisional,
    )


def given(question: Question, row: Limits) -> Occupancy:
    """The occupancy of the question's own block."""
    block = question.block
    if block is None:
        raise InvalidInput("block", "missing; give an integer or dimensions [x, y, z]")
    dynamic = question.dynamic_smem or 0
    if isinstance(dynamic, str):
        dynamic = expression(dynamic)(block_threads(block))
    return occupancy(
        row,
        block,
        question.regs,
        question.static_smem or 0,
        dynamic,
        opt_in=question.opt_in is not False,
        max_dynamic_smem=question.max_dynamic_smem,
        carveout=question.carveout,
        barriers=question.barriers,
        launch_bounds=question.launch_bounds,
    )


def options(question: Question) -> Options:
    """The optional inputs of the core."""
    return {
        "opt_in": question.opt_in is not False,
        "max_dynamic_smem": question.max_dynamic_smem,
        "carveout": question.carveout,
        "barriers": question.barriers,
        "launch_bounds": question.launch_bounds,
    }


def dynamic_smem(question: Question) -> DynamicSmem:
    """The dynamic shared memory as a number or a function of the block size."""
    size = question.dynamic_smem or 0
    return expression(size) if isinstance(size, str) else size


def best_candidate(question: Question, row: Limits) -> Candidate:
    """The best block size; where none fits, the smallest, whose result says why."""
    inputs = (row, question.regs, question.static_smem or 0, dynamic_smem(question))
    found = best_block(*inputs, **options(question))
    return found or sweep(*inputs, **options(question))[0]


def matching_gpu(name: str, row: Limits) -> Gpu:
    """The model, which must be of the architecture: other SMs hold other numbers of blocks."""
    model = gpu(name)
    if model.arch != row.name:
        raise InvalidInput("gpu", f"{model.name} is {model.arch}, not {row.name}")
    return model


expression = lru_cache(256)(BlockExpression)
"""Lines repeat their expressions."""


def words(error: Exception) -> str:
    """The message of a `ValueError` of the core, the field first and as it is called here."""
    if isinstance(error, UnknownArchitecture):
        return f"arch: {error}"
    if isinstance(error, UnknownGpu):
        return f"gpu: {error}"
    field, colon, problem = str(error).partition(":")
    return f"{'regs' if field == 'registers' else field}{colon}{problem}"
