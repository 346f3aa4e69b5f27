"""Candidates by an estimated cost: waves over occupancy, without a unit, within one space."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from occlsp.analysis.advice.correlation import Gate, gate
from occlsp.analysis.advice.space import Configuration, Space, Values
from occlsp.occupancy import InvalidInput, Occupancy, occupancy


class Ranked(Struct, frozen=True):
    """One candidate with what the model says of it, and its measured time."""

    configuration: Configuration
    blocks_per_sm: int
    occupancy: float
    """0 to 1."""
    limiter: str | None
    waves: float
    """At least 1; infinite where nothing fits."""
    cost: float
    """Waves over occupancy; infinite for what cannot launch."""
    reason: str | None = None
    """Why it cannot launch, or has no numbers."""
    time: float | None = None
    """Measured, in the unit of its file."""

    @property
    def can_launch(self) -> bool:
        """The cost is finite."""
        return math.isfinite(self.cost)


class Ranking(Struct, frozen=True):
    """A space in the order of cost."""

    space: Space
    ranked: tuple[Ranked, ...]
    """The lowest cost first; candidates of one cost in the order of the space."""
    gate: Gate
    notes: tuple[str, ...] = ()


def rank(space: Space, times: Mapping[tuple[int, ...], float] | None = None) -> Ranking:
    """The candidates of a space by cost; `times` by the values of the space's names."""
    seen: dict[tuple[int, int, int], Occupancy | str] = {}
    found = [_ranked(space, configuration, seen) for configuration in space.configurations]
    if times:
        found = [
            replace(one, time=times.get(key(space, one.configuration.values))) for one in found
        ]
    pairs = [(one.cost, one.time) for one in found if one.time is not None]
    # Stable: candidates of one cost stay as the space lists them.
    found.sort(key=lambda one: one.cost)
    return Ranking(space, tuple(found), gate(pairs), tuple(_notes(space)))


def key(space: Space, values: Values) -> tuple[int, ...]:
    """What a candidate's measurements are found by."""
    return tuple(values[name] for name in space.names)


def cost_of(waves: float, share: float) -> float:
    """Waves over occupancy; infinite where nothing is resident."""
    return waves / share if share > 0 else math.inf


def waves_of(grid: int | None, blocks_per_sm: int, sms: int | None) -> float:
    """At least 1: a grid that leaves SMs empty still takes one wave."""
    if not blocks_per_sm:
        return math.inf
    if grid is None or sms is None:
        return 1.0
    return max(1.0, grid / (blocks_per_sm * sms))


def _ranked(
    space: Space, one: Configuration, seen: dict[tuple[int, int, int], Occupancy | str]
) -> Ranked:
    found = _occupancy(space, one, seen)
    if isinstance(found, str):
        return Ranked(one, 0, 0.0, None, math.inf, math.inf, found)
    if one.grid == 0:
        why = "the grid has no blocks"
        return Ranked(
            one, found.blocks_per_sm, found.occupancy, found.limiter, math.inf, math.inf, why
        )
    waves = waves_of(one.grid, found.blocks_per_sm, space.gpu.sms if space.gpu else None)
    return Ranked(
        one,
        found.blocks_per_sm,
        found.occupancy,
        found.limiter,
        waves,
        cost_of(waves, found.occupancy),
        found.reason,
    )


def _occupancy(
    space: Space, one: Configuration, seen: dict[tuple[int, int, int], Occupancy | str]
) -> Occupancy | str:
    """The exact core's answer, or why there is none; candidates often share it."""
    if one.registers is None:
        return "no row of model.registers is for it"
    threads = math.prod(one.block)
    inputs = (threads, one.registers, one.smem)
    found = seen.get(inputs)
    if found is None:
        try:
            found = occupancy(space.limits, threads, one.registers, 0, one.smem)
        except InvalidInput as error:
            found = str(error)
        seen[inputs] = found
    for axis, size, most in zip("xyz", one.block, space.limits.block_dims, strict=True):
        if size > most:
            return f"block {axis} is {size}, at most {most} can be launched"
    return found


def _notes(space: Space) -> list[str]:
    notes = []
    has_grid = any(one.grid is not None for one in space.configurations)
    if not has_grid:
        notes.append("no grid: waves are taken as 1; give [bench] a grid_x")
    elif space.gpu is None:
        notes.append("no GPU model: waves are taken as 1; give the file a gpu")
    if space.excluded:
        notes.append(f"{space.excluded} candidates are ruled out by constraints")
    return notes
