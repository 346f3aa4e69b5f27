"""The table of findings, in the order of the documentation, and the findings of a file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice

from msgspec.structs import replace

from occlsp.analysis.findings import (
    block_shape,
    block_too_large,
    cluster_shape,
    cooperative_too_large,
    dynamic_smem_opt_in,
    exceeds_launch_bounds,
    fusable,
    grid_shape,
    low_occupancy,
    min_blocks_unmet,
    no_report,
    partial_warp,
    regressed,
    smem_too_large,
    spills,
    stale_report,
    static_smem_too_large,
    tail_effect,
    zero_occupancy,
)
from occlsp.analysis.findings.rule import MOST_RELATED, RANK, Draft, Rule, Scene, finding
from occlsp.analysis.results import Finding, Related, Severity
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import AttributeSite, LaunchSite
from occlsp.analysis.templates import may_run
from occlsp.config import Settings, SeverityName
from occlsp.source.facts import Launch

RULES: tuple[Rule, ...] = (
    zero_occupancy.RULE,
    block_too_large.RULE,
    grid_shape.RULE,
    exceeds_launch_bounds.RULE,
    block_shape.RULE,
    dynamic_smem_opt_in.RULE,
    static_smem_too_large.RULE,
    smem_too_large.RULE,
    cooperative_too_large.RULE,
    cluster_shape.RULE,
    spills.RULE,
    min_blocks_unmet.RULE,
    low_occupancy.RULE,
    partial_warp.RULE,
    tail_effect.RULE,
    regressed.RULE,
    fusable.RULE,
    stale_report.RULE,
    no_report.RULE,
)
BY_CODE: dict[str, Rule] = {rule.code: rule for rule in RULES}


def findings(snapshot: Snapshot, path: str) -> tuple[Finding, ...]:
    """The findings of one file, in the order of the text."""
    key = ("findings", path)
    found: tuple[Finding, ...] | None = snapshot.memo.get(key)
    if found is None:
        found = _joined(sorted(_findings(snapshot, path), key=lambda f: (f.span, f.code)))
        snapshot.memo[key] = found
    return found


def _joined(found: list[Finding]) -> tuple[Finding, ...]:
    """One finding a place: a macro's use can make several launches. The worst is told, the
    others are related to it."""
    joined = []
    for _, group in groupby(found, key=lambda one: (one.span, one.code)):
        worst, *others = sorted(group, key=lambda one: RANK[one.severity])
        messages = dict.fromkeys(one.message for one in others if one.message != worst.message)
        related = (Related(worst.path, worst.span, message) for message in messages)
        more = tuple(islice(related, MOST_RELATED))
        joined.append(replace(worst, related=(*worst.related, *more)) if more else worst)
    return tuple(joined)


def severity_of(rule: Rule, settings: Settings) -> SeverityName:
    """What the configuration makes of a rule."""
    return settings.diagnostics.severity.get(rule.code, rule.severity if rule.is_on else "off")


def _findings(snapshot: Snapshot, path: str) -> Iterator[Finding]:
    facts = snapshot.sources.facts(path)
    if facts is None:
        return
    scene = Scene(snapshot, path, facts)
    active = [rule for rule in RULES if severity_of(rule, snapshot.settings) != "off"]
    drafts: list[tuple[Rule, Draft]] = []
    for launch in facts.launches:
        if not is_silent(launch):
            drafts += _of_launch(scene, active, LaunchSite(path, launch))
    for site in snapshot.sources.kernels_of(path):
        if not site.kernel.inactive and not site.kernel.in_macro:
            kernel = scene.kernel(site)
            drafts += [
                (rule, found)
                for rule in active
                if rule.kernels is not None
                for found in rule.kernels(scene, kernel)
            ]
    for attribute in facts.attributes:
        if not (attribute.inactive or attribute.guarded or attribute.in_macro):
            drafts += _of_attribute(scene, active, AttributeSite(path, attribute))
    for rule, found in drafts:
        severity = _severity(rule, found, snapshot.settings)
        if not is_ignored(snapshot, path, rule.code, found.span.start, found.span.end):
            yield finding(rule, path, found, severity)


def is_silent(launch: Launch) -> bool:
    """Whether nothing at all may be said of a launch."""
    return (
        launch.inactive or launch.hip_only or launch.in_macro or launch.in_uninstantiated_template
    )


def _of_launch(scene: Scene, active: list[Rule], site: LaunchSite) -> list[tuple[Rule, Draft]]:
    """At most one of each family; where the launch fails, nothing milder is said of it."""
    launch = scene.launch(site)
    found: list[tuple[Rule, Draft]] = []
    for rule in active:
        if rule.launches is None or (site.launch.guarded and rule.severity == "error"):
            continue
        for each in rule.launches(scene, launch):
            if site.launch.is_selected and rule.severity == "error" and not each.is_certain:
                continue  # what fails may be what never gets there
            rival = next((other for other in found if rule.family == other[0].family), None)
            if rule.family is None or rival is None:
                found.append((rule, each))
            elif each.is_certain and not rival[1].is_certain:
                found[found.index(rival)] = (rule, each)
    errors = [(rule, each) for rule, each in found if rule.severity == "error"]
    if errors and not may_run(scene.snapshot.sources, site):
        return []
    return errors if any(each.is_certain for _, each in errors) else found


def _of_attribute(
    scene: Scene, active: list[Rule], site: AttributeSite
) -> list[tuple[Rule, Draft]]:
    found = [
        (rule, each)
        for rule in active
        if rule.attributes is not None
        for each in rule.attributes(scene, site)
    ]
    return found if found and may_run(scene.snapshot.sources, site) else []


def _severity(rule: Rule, found: Draft, settings: Settings) -> Severity:
    configured = settings.diagnostics.severity.get(rule.code)
    severity: Severity = rule.severity
    if configured is not None and configured != "off":
        severity = configured
    elif found.severity is not None:
        severity = found.severity
    if not found.is_certain and RANK[severity] < RANK["information"]:
        return "information"
    return severity


def is_ignored(
    snapshot: Snapshot, path: str, code: str, start: int, end: int | None = None
) -> bool:
    """Whether a comment on one of the lines from `start` to `end` (byte offsets) ignores it."""
    facts = snapshot.sources.facts(path)
    if facts is None or not facts.ignores:
        return False
    file = snapshot.sources.file(path)
    if file is None:
        return False
    first, last = file.lines.line_of(start), file.lines.line_of(start if end is None else end)
    found = (facts.ignores.get(line) for line in range(first, last + 1))
    return any(codes is not None and (not codes or code in codes) for codes in found)
