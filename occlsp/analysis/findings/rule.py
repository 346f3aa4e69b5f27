"""What a finding's module says of itself, and how all of them reach a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from occlsp.analysis import join
from occlsp.analysis.cases import Case
from occlsp.analysis.join import KernelJoin, LaunchJoin, Row
from occlsp.analysis.results import Finding, Related, Severity
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import AttributeSite, KernelSite, LaunchSite, SourceFile
from occlsp.analysis.words import instance_name
from occlsp.source.facts import FileFacts
from occlsp.source.text import Span

MOST_RELATED = 8
RANK: dict[Severity, int] = {"error": 0, "warning": 1, "information": 2, "hint": 3}


class Draft(Struct, frozen=True):
    """What a rule found, before configuration and comments have their say."""

    span: Span
    message: str
    arch: str | None = None
    """None: the same on every architecture."""
    is_certain: bool = True
    """False: not on the primary architecture, or not for every value: information at most."""
    severity: Severity | None = None
    """Where it is milder than the rule's own."""
    related: tuple[Related, ...] = ()
    estimated: bool = False


class Scene(Struct, frozen=True):
    """One file of a snapshot: what rules look at."""

    snapshot: Snapshot
    path: str
    facts: FileFacts

    @property
    def primary(self) -> str:
        """The architecture that errors are judged on."""
        return self.snapshot.architectures.primary

    def launch(self, site: LaunchSite) -> LaunchJoin:
        """A launch and all it may run."""
        return join.of_launch(self.snapshot, site)

    def kernel(self, site: KernelSite) -> KernelJoin:
        """A kernel, its entries and figures."""
        return join.of_kernel(self.snapshot, site)

    def file(self) -> SourceFile | None:
        """The file with its text."""
        return self.snapshot.sources.file(self.path)


LaunchCheck = Callable[[Scene, LaunchJoin], Iterator[Draft]]
KernelCheck = Callable[[Scene, KernelJoin], Iterator[Draft]]
AttributeCheck = Callable[[Scene, AttributeSite], Iterator[Draft]]


class Rule(Struct, frozen=True):
    """One row of the table of findings; `page` is its manual, made from the module's docstring."""

    code: str
    severity: Severity
    summary: str
    """When it is told, in one line of Markdown."""
    page: str
    launches: LaunchCheck | None = None
    kernels: KernelCheck | None = None
    attributes: AttributeCheck | None = None
    is_on: bool = True
    """Told by default."""
    family: Literal["block", "grid", "smem"] | None = None
    """Of two rules of one family, one launch shows the first, or the one that is certain: they
    blame the same value."""


class Judgement(Struct, frozen=True):
    """Where a launch fails."""

    is_certain: bool
    archs: tuple[str, ...]
    """The architectures on which it fails, for all it can be or for some."""
    row: Row
    case: Case
    failing: tuple[Row, ...]
    """On the architecture of `row`."""
    considered: int
    """Rows on that architecture."""
    cases: tuple[int, int] = (1, 1)
    """How many of its configurations fail there, of how many."""

    @property
    def extent(self) -> str:
        """Like " (1 of the 2 kernels that may run here)"; empty where all are meant."""
        count = len(self.failing)
        if self.considered > count:
            return f" ({count} of the {self.considered} kernels that may run here)"
        bad, all_of_them = self.cases
        if all_of_them > bad:
            return f" ({bad} of the {all_of_them} sizes that it can have)"
        return ""


def judge(scene: Scene, launch: LaunchJoin, fails: Callable[[Row, Case], bool]) -> Judgement | None:
    """The rules for errors: certain where every value, entry and bound fails on the primary
    architecture, or on all of them; uncertain where only some do; None where none is known to."""
    names = scene.snapshot.architectures.names
    every: list[str] = []
    some: dict[str, list[tuple[Row, Case]]] = {}
    for arch in names:
        rows = launch.on(arch)
        bad = [(row, case) for row in rows for case in row.cases if fails(row, case)]
        if not bad:
            continue
        count = sum(len(row.cases) for row in rows)
        if len(bad) == count and all(row.is_covered for row in rows):
            every.append(arch)
        elif any(row.may_mix for row, _ in bad):
            continue
        some[arch] = bad
    if not some:
        return None
    on_primary = scene.primary in every
    arch = scene.primary if on_primary else next(iter(every or some))
    row, case = max(some[arch], key=lambda pair: _demand(pair[1]))
    is_known_changed = row.age.is_stale and row.age.is_certain
    return Judgement(
        is_certain=(on_primary or len(every) == len(names)) and not is_known_changed,
        archs=tuple(some),
        row=row,
        case=case,
        failing=tuple({id(bad_row): bad_row for bad_row, _ in some[arch]}.values()),
        considered=len(launch.on(arch)),
        cases=(len(some[arch]), sum(len(row.cases) for row in launch.on(arch))),
    )


def draft(launch: LaunchJoin, judgement: Judgement, message: str, **more: object) -> Draft:
    """A draft at a launch's configuration that carries the judgement's certainty."""
    built = Draft(
        launch.site.launch.config_span,
        message,
        arch=judgement.row.arch,
        is_certain=judgement.is_certain,
        related=(at_kernel(judgement.row.site), *_other_kernels(judgement)),
    )
    return replace(built, **more)


def _demand(case: Case) -> tuple[int, int, int]:
    """What makes one failure worse than another."""
    return case.registers or 0, (case.static_smem or 0) + (case.dynamic_smem or 0), case.threads


def _other_kernels(judgement: Judgement) -> Iterator[Related]:
    """The other instantiations that fail, with what they take."""
    others = [row for row in judgement.failing if row is not judgement.row and row.entry]
    for row in others[:MOST_RELATED]:
        if row.entry is not None and row.worst is not None:
            reason = row.worst.result.reason or f"{row.entry.registers} registers"
            yield Related(
                row.site.path,
                row.site.kernel.name_span,
                f"`{instance_name(row.entry)}`: {reason.removeprefix('0 blocks fit: ')}",
            )


def at_kernel(site: KernelSite) -> Related:
    """The kernel's name, as the other place of a launch finding."""
    return Related(site.path, site.kernel.name_span, f"the kernel `{site.kernel.name}`")


def finding(rule: Rule, path: str, found: Draft, severity: Severity) -> Finding:
    """The draft as users see it."""
    return Finding(
        rule.code,
        severity,
        path,
        found.span,
        found.message,
        found.arch,
        found.related,
        found.estimated,
    )


Outcome = Literal["all", "some", "none"]


def outcome(values: tuple[object, ...] | None, fails: Callable[[object], bool]) -> Outcome:
    """For how many of the values that it can have something fails; unknown is none."""
    if not values:
        return "none"
    bad = sum(map(bool, map(fails, values)))
    return "all" if bad == len(values) else "some" if bad else "none"
