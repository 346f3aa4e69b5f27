"""A zero grid dimension, or one past the hardware's.

A grid needs at least one block in each dimension, and has at most 2^31-1 blocks in x and 65535
in y and z: else the launch fails with "invalid configuration argument" (9). A grid that may be
empty at run time needs a check before the launch.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.findings.values import triples
from occlsp.analysis.join import LaunchJoin
from occlsp.source.facts import Triple

DIMENSIONS: Triple = (2**31 - 1, 65535, 65535)


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    site = launch.site.launch
    found = triples([site.grid], problem)
    if found is not None:
        message, is_certain = found
        yield Draft(site.config_span, message, is_certain=is_certain)


def problem(grid: Triple) -> str | None:
    """What keeps every GPU from launching this grid."""
    for axis, size, most in zip("xyz", grid, DIMENSIONS, strict=True):
        if size == 0:
            return f"grid dimension {axis} is 0: a launch needs at least one block"
        if size < 0 or size > most:
            swap = "; x can have up to 2^31-1" if axis != "x" else ""
            return f"grid dimension {axis} is {size}, the hardware takes 1 to {most}{swap}"
    return None


RULE = Rule(
    code="grid-shape",
    severity="error",
    summary="a zero grid dimension, or one past the hardware's (x 2^31-1, y and z 65535)",
    page=__doc__ or "",
    launches=check,
    family="grid",
)
