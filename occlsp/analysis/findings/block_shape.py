"""A block other than the one that the kernel requires.

`__block_size__((16, 16, 1))` (`.reqntid`) fixes the block: each launch must have exactly this
shape, or leave it to the attribute by giving the grid alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.findings import block_too_large
from occlsp.analysis.findings.rule import Draft, Rule, Scene, at_kernel
from occlsp.analysis.findings.values import triples
from occlsp.analysis.join import LaunchJoin, block_of
from occlsp.analysis.sources import KernelSite
from occlsp.analysis.words import block_text
from occlsp.source.facts import Triple


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    site = launch.site.launch
    required = [_required(launch, kernel) for kernel in launch.kernels]
    if not required or None in required:
        return

    def problem(block: Triple) -> str | None:
        if block_too_large.problem(block) or block in required:
            return None
        wanted = required[0] or block
        return (
            f"a block of {block_text(block)} threads, but `{launch.kernels[0].kernel.name}` "
            f"requires {block_text(wanted)}; launch that, or give the grid alone"
        )

    found = triples([block_of(kernel.kernel, site) for kernel in launch.kernels], problem)
    if found is not None:
        message, is_certain = found
        yield Draft(
            site.config_span,
            message,
            is_certain=is_certain,
            related=(at_kernel(launch.kernels[0]),),
        )


def _required(launch: LaunchJoin, kernel: KernelSite) -> Triple | None:
    """The one block that the source, or else every entry that may run, requires."""
    if kernel.kernel.block_size is not None:
        return kernel.kernel.block_size.value
    shapes = {
        row.entry.required_block if row.entry is not None else None
        for row in launch.rows
        if row.site == kernel
    }
    return shapes.pop() if len(shapes) == 1 else None


RULE = Rule(
    code="block-shape",
    severity="error",
    summary="a block other than the one `__block_size__` (`.reqntid`) requires",
    page=__doc__ or "",
    launches=check,
    family="block",
)
