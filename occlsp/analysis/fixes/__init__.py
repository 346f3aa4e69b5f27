"""Quick fixes: one module each, offered for the launches and kernels in a range."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from occlsp.analysis import join
from occlsp.analysis.findings.table import findings, is_silent
from occlsp.analysis.fixes import block_size, launch_bounds, min_blocks, opt_in, partial_warp
from occlsp.analysis.results import Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite
from occlsp.source.text import Span


def fixes(snapshot: Snapshot, path: str, span: Span) -> tuple[Fix, ...]:
    """The fixes for what `span` touches, those for findings first; at most one preferred."""
    found = [*_launches(snapshot, path, span), *_kernels(snapshot, path, span)]
    codes = {finding.code for finding in findings(snapshot, path) if _touches(finding.span, span)}
    ranked = sorted(found, key=lambda fix: (not codes & set(fix.codes), fix.disabled is not None))
    return tuple(_for_codes(ranked, codes))


def _for_codes(found: list[Fix], codes: set[str]) -> Iterator[Fix]:
    """Each fix with the codes that are really there; one that resolves none is a rewrite."""
    is_taken = False
    for fix in found:
        present = tuple(code for code in fix.codes if code in codes)
        is_preferred = fix.is_preferred and not is_taken
        is_taken |= is_preferred
        kind = fix.kind if present else "refactor.rewrite"
        yield replace(fix, codes=present, is_preferred=is_preferred, kind=kind)


def _launches(snapshot: Snapshot, path: str, span: Span) -> Iterator[Fix]:
    facts = snapshot.sources.facts(path)
    for launch in facts.launches if facts is not None else ():
        whole = Span(launch.callee_span.start, launch.config_span.end)
        if is_silent(launch) or not _touches(whole, span):
            continue
        site = LaunchSite(path, launch)
        yield from opt_in.fixes(snapshot, site)
        yield from block_size.fixes(snapshot, site)
        yield from launch_bounds.launch_fixes(snapshot, site)
        yield from partial_warp.fixes(snapshot, site)


def _kernels(snapshot: Snapshot, path: str, span: Span) -> Iterator[Fix]:
    for site in snapshot.sources.kernels_of(path):
        kernel = site.kernel
        bounds = kernel.launch_bounds.span if kernel.launch_bounds is not None else None
        if kernel.inactive or not (
            _touches(kernel.name_span, span) or (bounds is not None and _touches(bounds, span))
        ):
            continue
        joined = join.of_kernel(snapshot, site)
        yield from min_blocks.fixes(snapshot, joined)
        yield from launch_bounds.kernel_fixes(snapshot, joined)
        if len(joined.launches) == 1:
            (launch,) = joined.launches
            yield from block_size.fixes(snapshot, launch)


def _touches(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end
