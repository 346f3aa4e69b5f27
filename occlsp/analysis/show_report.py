"""All that is known of the kernels of a file, as one page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis import join
from occlsp.analysis.findings.table import findings
from occlsp.analysis.hover import kernel_text, launch_text
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite


def show_report(snapshot: Snapshot, path: str) -> str:
    """The page: the kernels of the file, its launches, its findings, its reports' warnings."""
    return "\n\n".join(_parts(snapshot, path)) + "\n"


def _parts(snapshot: Snapshot, path: str) -> Iterator[str]:
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    yield f"# Occupancy of {name}"
    architectures = snapshot.architectures
    yield f"Architectures: {', '.join(architectures.names)} (from {architectures.origin})"
    file = snapshot.sources.file(path)
    sites = snapshot.sources.kernels_of(path)
    facts = snapshot.sources.facts(path)
    if file is None or facts is None or not (sites or facts.launches):
        yield "No kernel and no launch is in this file."
        return
    for site in sites:
        if site.kernel.inactive:
            continue
        kernel = join.of_kernel(snapshot, site)
        line = file.lines.line_of(site.kernel.name_span.start) + 1
        yield f"## Line {line}: kernel `{site.kernel.qualified_name}`"
        yield kernel_text(snapshot, kernel)
        warnings = [
            f"- {warning.message}"
            for entry in kernel.entries
            for warning in snapshot.entries.warnings.get(entry.entry, ())
        ]
        if warnings:
            yield "\n".join(["The compiler says:", *dict.fromkeys(warnings)])
    for launch in facts.launches:
        line = file.lines.line_of(launch.span.start) + 1
        yield f"## Line {line}: launch of `{launch.kernel}`"
        yield launch_text(snapshot, join.of_launch(snapshot, LaunchSite(path, launch)))
    found = findings(snapshot, path)
    if found:
        yield "## Findings"
        yield "\n".join(
            f"- Line {file.lines.line_of(one.span.start) + 1}: {one.severity} "
            f"`{one.code}`: {one.message}"
            for one in found
        )
