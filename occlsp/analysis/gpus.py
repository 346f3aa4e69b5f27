"""The GPU model in force, where it is of the architecture asked about."""

from __future__ import annotations

from occlsp.analysis.architecture import canonical
from occlsp.analysis.snapshot import Snapshot
from occlsp.occupancy import Gpu, UnknownGpu, gpu


def gpu_of(snapshot: Snapshot) -> Gpu | None:
    """The model chosen; None where there is none, or the table does not know it."""
    if snapshot.gpu is None:
        return None
    try:
        return gpu(snapshot.gpu)
    except UnknownGpu:
        return None


def gpu_on(snapshot: Snapshot, arch: str) -> Gpu | None:
    """The model chosen, if it is of this architecture: its SMs run no other code."""
    found = gpu_of(snapshot)
    return found if found is not None and found.arch == canonical(arch) else None
