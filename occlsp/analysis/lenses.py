"""Code lenses: the figure above kernels and launches, with the command that tells more."""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis import join
from occlsp.analysis.hints import kernel_label, launch_label
from occlsp.analysis.results import Lens
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite

WHATIF = "occlsp.whatif"
SHOW_REPORT = "occlsp.showReport"


def lenses(snapshot: Snapshot, path: str) -> tuple[Lens, ...]:
    """The lenses of a file, in the order of the text. The first argument of a command, the
    document's URI, is for the server to put in front."""
    return tuple(sorted(_lenses(snapshot, path), key=lambda lens: lens.span))


def _lenses(snapshot: Snapshot, path: str) -> Iterator[Lens]:
    facts = snapshot.sources.facts(path)
    if facts is None:
        return
    for site in snapshot.sources.kernels_of(path):
        if site.kernel.inactive:
            continue
        label = kernel_label(snapshot, join.of_kernel(snapshot, site))
        if label:
            yield Lens(site.kernel.name_span, label, WHATIF, (site.kernel.qualified_name,))
    for launch in facts.launches:
        if launch.inactive or launch.hip_only:
            continue
        label = launch_label(snapshot, join.of_launch(snapshot, LaunchSite(path, launch)))
        if label:
            yield Lens(launch.span, label, SHOW_REPORT)
