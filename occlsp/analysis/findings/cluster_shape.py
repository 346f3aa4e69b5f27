"""A cluster that is too large, or a grid that is not a multiple of it.

From sm_90 on blocks can be launched in clusters: up to 8 blocks on every GPU, up to 16 where the
kernel has `cudaFuncAttributeNonPortableClusterSizeAllowed`; the grid has to be a multiple of the
cluster in each dimension. Else the launch fails. How many clusters fit at once depends on the
GPU's layout, which is not computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from occlsp.analysis.findings.rule import Draft, Rule, Scene, at_kernel
from occlsp.analysis.join import LaunchJoin
from occlsp.analysis.sources import KernelSite
from occlsp.occupancy import InvalidInput, cluster_problems, limits
from occlsp.source.facts import Triple

NON_PORTABLE = b"NonPortableClusterSize"
"""Part of every name of the attribute that admits more than 8 blocks."""


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    site = launch.site.launch
    cluster = _cluster(launch)
    archs = [arch for arch in scene.snapshot.architectures.names if limits(arch).has_clusters]
    if cluster is None or not archs or scene.primary not in archs:
        return
    grid = site.grid.value if not _grid_counts_clusters(launch) else None
    try:
        problems = cluster_problems(limits(archs[0]), cluster, grid, non_portable=True)
        if not problems:
            portable = cluster_problems(limits(archs[0]), cluster, grid)
            if not portable or _may_be_non_portable(scene):
                return
            yield Draft(site.config_span, portable[0], is_certain=False)
            return
    except InvalidInput:
        return
    yield Draft(
        site.config_span,
        f"{problems[0]}; the launch fails",
        related=tuple(at_kernel(kernel) for kernel in launch.kernels[:1]),
    )


def _cluster(launch: LaunchJoin) -> Triple | None:
    site = launch.site.launch
    if site.cluster is not None:
        return site.cluster.value
    shapes = {_of_kernel(kernel) for kernel in launch.kernels}
    shape = shapes.pop() if len(shapes) == 1 else None
    return shape if shape is not None and math.prod(shape) > 1 else None


def _of_kernel(kernel: KernelSite) -> Triple | None:
    dims = kernel.kernel.cluster_dims
    return dims.value if dims is not None else None


def _grid_counts_clusters(launch: LaunchJoin) -> bool:
    """A cluster given by `__block_size__` makes the grid count clusters."""
    return any(kernel.kernel.block_size is not None for kernel in launch.kernels)


def _may_be_non_portable(scene: Scene) -> bool:
    file = scene.file()
    return file is None or NON_PORTABLE in file.text


RULE = Rule(
    code="cluster-shape",
    severity="error",
    summary="cluster too large, or the grid is not a multiple of it",
    page=__doc__ or "",
    launches=check,
    family="grid",
)
