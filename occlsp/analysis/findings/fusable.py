"""Two launches in a row that can be one kernel.

Two launches on the same stream with equal grid and block, where the second reads what the first
wrote at the same index and nothing between uses it. `occlsp fuse` shows the verdict with every
factor. A model speaks here (`estimated`), so it is off by default.
"""

from __future__ import annotations

from collections.abc import Iterator

from occlsp.analysis.advice.neighbours import Pair, pairs
from occlsp.analysis.findings.rule import Draft, Rule, Scene
from occlsp.analysis.join import LaunchJoin
from occlsp.analysis.results import Related
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.words import listing


def fusable(snapshot: Snapshot, path: str) -> tuple[Pair, ...]:
    """The pairs of a file that are worth it, kept with the snapshot."""
    key = ("fusable", path)
    found: tuple[Pair, ...] | None = snapshot.memo.get(key)
    if found is None:
        found = tuple(p for p in pairs(snapshot, path) if p.judgement.verdict == "beneficial")
        snapshot.memo[key] = found
    return found


def of_launch(snapshot: Snapshot, path: str, start: int) -> Pair | None:
    """The pair whose second launch stands at an offset, where the finding is asked for."""
    if snapshot.settings.diagnostics.severity.get("fusable", "off") == "off":
        return None
    found = (p for p in fusable(snapshot, path) if p.second.site.launch.span.start == start)
    return next(found, None)


def summary(pair: Pair) -> str:
    """The fact, marked as an estimate."""
    first, second = pair.first.name, pair.second.name
    names = listing(f"`{name}`" for name in pair.intermediates)
    return (
        f"estimated: `{first}` and `{second}` can be one kernel, score "
        f"{pair.judgement.score or 0:.2f}: `{second}` reads at the same index what `{first}` "
        f"writes to {names}"
    )


def check(scene: Scene, launch: LaunchJoin) -> Iterator[Draft]:
    site = launch.site
    pair = of_launch(scene.snapshot, site.path, site.launch.span.start)
    if pair is None:
        return
    first = pair.first.site.launch.config_span
    yield Draft(
        site.launch.config_span,
        f"{summary(pair)}; `occlsp fuse` shows every factor",
        arch=scene.primary,
        related=(Related(site.path, first, f"the launch of `{pair.first.name}`"),),
        estimated=True,
    )


RULE = Rule(
    code="fusable",
    severity="hint",
    summary="two launches in a row that can be one kernel (estimated)",
    page=__doc__ or "",
    launches=check,
    is_on=False,
)
