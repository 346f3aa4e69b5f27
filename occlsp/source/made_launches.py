"""Launches in the bodies of macros: what their uses make of them decides what they can be.

#define LAUNCH(n) { dim3 block(THREADS); kernel<n><<<grid, block>>>(p); }
void f(int* p) { const int THREADS = 128; LAUNCH(4) }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from occlsp.source.facts import Launch, Triple, Value, Value3
from occlsp.source.shown import MAX_VALUES

T = TypeVar("T", int, Triple)
Choose = Callable[[list[int]], int]
Bounds = tuple[int | None, int | None, int | None]
_NO_BOUNDS: Bounds = (None, None, None)


def decided(launches: Sequence[Launch]) -> list[Launch]:
    """The launches of a file, with those in bodies of its macros as all uses of them make them,
    where the body alone does not say it. No use may be missing."""
    made: dict[int, list[Launch]] = {}
    for launch in launches:
        if launch.made_by is not None and not launch.inactive:
            made.setdefault(launch.made_by.start, []).append(launch)
    return [
        _of_uses(launch, made[launch.span.start])
        if launch.in_macro and launch.span.start in made
        else launch
        for launch in launches
    ]


def _of_uses(launch: Launch, uses: Sequence[Launch]) -> Launch:
    return replace(
        launch,
        grid=_triples(launch.grid, [one.grid for one in uses]),
        block=_triples(launch.block, [one.block for one in uses]),
        dynamic_smem=_numbers(launch.dynamic_smem, [one.dynamic_smem for one in uses]),
    )


def _triples(body: Value3, uses: Sequence[Value3]) -> Value3:
    if body.values is not None:
        return body
    values = _values([one.values for one in uses])
    return replace(
        body,
        values=values,
        min=_bounds([one.min or _NO_BOUNDS for one in uses], min),
        max=_bounds([one.max or _NO_BOUNDS for one in uses], max),
        why=None if values is not None else _why(uses),
    )


def _numbers(body: Value, uses: Sequence[Value]) -> Value:
    if body.values is not None:
        return body
    values = _values([one.values for one in uses])
    return replace(
        body,
        values=values,
        min=_bound([one.min for one in uses], min),
        max=_bound([one.max for one in uses], max),
        why=None if values is not None else _why(uses),
    )


def _values(found: Sequence[tuple[T, ...] | None]) -> tuple[T, ...] | None:
    """All that the uses can be; None where one is not known, or they are too many."""
    known = [values for values in found if values is not None]
    values = sorted({value for one in known for value in one})
    return tuple(values) if len(known) == len(found) and len(values) <= MAX_VALUES else None


def _bounds(found: Sequence[Bounds], choose: Choose) -> Bounds | None:
    x, y, z = (_bound([bounds[index] for bounds in found], choose) for index in range(3))
    return None if (x, y, z) == _NO_BOUNDS else (x, y, z)


def _bound(bounds: Sequence[int | None], choose: Choose) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return choose(known) if len(known) == len(bounds) else None


def _why(uses: Sequence[Value | Value3]) -> str:
    return next((one.why for one in uses if one.why), "many values")
