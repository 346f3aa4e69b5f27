"""A block above 1024 threads, a dimension out of range, or a zero dimension.

No GPU launches it: "invalid configuration argument" (9). x and y can be at most 1024, z at most
64, their product at most 1024, and none can be zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.findings.values import triples
from occlsp.analysis.join import LaunchJoin, block_of
from occlsp.analysis.words import block_text
from occlsp.source.facts import Triple

MOST = 1024
DIMENSIONS: Triple = (1024, 1024, 64)


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    site = launch.site.launch
    if not launch.kernels:
        values = [site.block]
    else:
        values = [block_of(site_.kernel, site) for site_ in launch.kernels]
    found = triples(values, problem)
    if found is not None:
        message, is_certain = found
        yield Draft(site.config_span, message, is_certain=is_certain)


def problem(block: Triple) -> str | None:
    """What keeps every GPU from launching this block."""
    zero = [axis for axis, size in zip("xyz", block, strict=True) if size == 0]
    if zero:
        return f"block dimension {zero[0]} is 0: a block needs at least one thread"
    threads = math.prod(block)
    if threads > MOST:
        how = f" ({block_text(block)})" if block[1:] != (1, 1) else ""
        return f"{threads} threads per block{how}, above the {MOST} that any GPU launches"
    for axis, size, most in zip("xyz", block, DIMENSIONS, strict=True):
        if size > most:
            return f"block dimension {axis} is {size}, above the {most} that any GPU launches"
        if size < 0:
            return f"block dimension {axis} is {size}: it is taken as {size % 2**32}"
    return None


RULE = Rule(
    code="block-too-large",
    severity="error",
    summary="above 1024 threads, a dimension out of range, or a zero dimension",
    page=__doc__ or "",
    launches=check,
    family="block",
)
