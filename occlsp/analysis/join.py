"""The join of source, reports and model: what each kernel and each launch can come to.

A `Row` is one kernel entry on one architecture at one launch (or, with no launch in view, at the
maximum of its launch bounds), with every configuration that it can have there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from occlsp.analysis.cases import Case, Resources, Shape, compute, shape, smem_function
from occlsp.analysis.entries import Choice, entries_on
from occlsp.analysis.freshness import Age
from occlsp.analysis.opt_in import verdict
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import KernelSite, LaunchSite
from occlsp.occupancy.capabilities import Limits, limits
from occlsp.occupancy.checks import InvalidInput
from occlsp.occupancy.search import best_block
from occlsp.reports.facts import Entry
from occlsp.source.facts import Attribute, Kernel, Launch, Triple, Value, Value3

T = TypeVar("T")
FRESH = Age(is_stale=False)


class Row(Struct, frozen=True):
    """One kernel entry, architecture and launch."""

    site: KernelSite
    entry: Entry | None
    """None: no report for it on this architecture; occupancies are upper bounds then."""
    arch: str
    limits: Limits
    launch: LaunchSite | None
    """None: not launched in view; the cases are at the maximum of its launch bounds."""
    cases: tuple[Case, ...]
    """Every configuration known; empty where the block is not known."""
    is_covered: bool
    """What holds for all cases holds for all that it can be."""
    is_candidate: bool
    """Several entries, or kernels, may be what runs here; this is one."""
    may_mix: bool
    """Some cases may combine values that never occur together."""
    resources: Resources
    age: Age = FRESH

    @property
    def worst(self) -> Case | None:
        """The case with the least occupancy."""
        return min(self.cases, key=lambda case: case.result.active_warps, default=None)

    @property
    def best(self) -> Case | None:
        """The case with the most occupancy."""
        return max(self.cases, key=lambda case: case.result.active_warps, default=None)

    @property
    def is_shown(self) -> bool:
        """There is an occupancy to show: the blocks are known, not merely bounded from below."""
        return bool(self.cases) and not any(case.is_least for case in self.cases)

    @property
    def is_bound(self) -> bool:
        """The occupancy is an upper bound."""
        return any(case.is_bound for case in self.cases)

    @property
    def why(self) -> str | None:
        """Why there is no occupancy."""
        if self.is_shown:
            return None
        if self.launch is None:
            return "no launch of it is in view, and it has no launch bounds"
        return self.launch.launch.block.why or "the block size is not known"


class LaunchJoin(Struct, frozen=True):
    """A launch with all it may run, on every architecture in force."""

    site: LaunchSite
    kernels: tuple[KernelSite, ...]
    rows: tuple[Row, ...]

    def on(self, arch: str) -> tuple[Row, ...]:
        """The rows on one architecture."""
        return tuple(row for row in self.rows if row.arch == arch)


class KernelJoin(Struct, frozen=True):
    """A kernel with its entries, and the rows that its figure rests on."""

    site: KernelSite
    by_arch: Mapping[str, tuple[Entry, ...]]
    """The entries on each architecture in force."""
    launches: tuple[LaunchSite, ...]
    rows: tuple[Row, ...]
    """Those of its known launches; with none, at the maximum of its launch bounds."""

    def on(self, arch: str) -> tuple[Row, ...]:
        """The rows on one architecture."""
        return tuple(row for row in self.rows if row.arch == arch)

    def entries_on(self, arch: str) -> tuple[Entry, ...]:
        """The entries on one architecture."""
        return self.by_arch.get(arch, ())

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries on all architectures in force."""
        return tuple(entry for entries in self.by_arch.values() for entry in entries)


def of_launch(snapshot: Snapshot, site: LaunchSite) -> LaunchJoin:
    """Everything that one launch may run. No rows for what is not meant for NVIDIA's GPUs."""
    return _kept(snapshot, ("launch", *site.key), lambda: _of_launch(snapshot, site))


def of_place(snapshot: Snapshot, sites: Sequence[LaunchSite]) -> LaunchJoin:
    """Launches that stand at one place as one: what a macro's use makes there."""
    joins = [of_launch(snapshot, site) for site in sites]
    if len(joins) == 1:
        return joins[0]
    kernels = {id(kernel.kernel): kernel for one in joins for kernel in one.kernels}
    rows = tuple(row for one in joins for row in one.rows)
    return LaunchJoin(sites[0], tuple(kernels.values()), rows)


def of_kernel(snapshot: Snapshot, site: KernelSite) -> KernelJoin:
    """A kernel, its entries and the figures of its launches."""
    key = ("kernel", site.path, site.kernel.name_span.start)
    return _kept(snapshot, key, lambda: _of_kernel(snapshot, site))


def entries_of(snapshot: Snapshot, site: KernelSite) -> tuple[Entry, ...]:
    """All entries that are a kernel, or may be, of every architecture."""
    key = ("entries", site.path, site.kernel.name_span.start)
    return _kept(snapshot, key, lambda: snapshot.entries.of_kernel(site, snapshot.sources))


def entries_here(snapshot: Snapshot, site: KernelSite, arch: str) -> tuple[Entry, ...]:
    """The entries that are a kernel, or may be, on one architecture."""
    return _choice(snapshot, site, arch).entries


def _choice(snapshot: Snapshot, site: KernelSite, arch: str) -> Choice:
    def make() -> Choice:
        is_only = len(snapshot.architectures.names) == 1
        here = entries_on(entries_of(snapshot, site), arch, is_only=is_only)
        return snapshot.entries.choice(site, here)

    return _kept(snapshot, ("choice", site.path, site.kernel.name_span.start, arch), make)


def admitted_threads(kernel: Kernel, entry: Entry | None, launch: Launch | None) -> int | None:
    """The largest block that the kernel admits; None where it has no bound, or an unknown one.

    Several possible bounds: the largest, as no launch below it is known to fail.
    """
    bound = _source_bound(kernel, launch)
    if bound is not None:
        if bound.values:
            return max(bound.values)
        if bound.max is not None:
            return bound.max
    if entry is not None and entry.max_threads is not None:
        return entry.max_threads
    return None


def _source_bound(kernel: Kernel, launch: Launch | None) -> Value | None:
    known = launch.template_args_known if launch is not None else None
    if known is not None:
        for instance in kernel.per_instance:
            if instance.template_args == known:
                return instance.max_threads
    return kernel.launch_bounds.max_threads if kernel.launch_bounds is not None else None


def _of_launch(snapshot: Snapshot, site: LaunchSite) -> LaunchJoin:
    kernels = snapshot.sources.launched(site)
    if site.launch.hip_only or site.launch.inactive:
        return LaunchJoin(site, kernels, ())
    rows: list[Row] = []
    for kernel in kernels:
        if not kernel.kernel.inactive:
            rows += _launch_rows(snapshot, site, kernel, is_one_of_several=len(kernels) > 1)
    order = {arch: index for index, arch in enumerate(snapshot.architectures.names)}
    return LaunchJoin(site, kernels, tuple(sorted(rows, key=lambda row: order[row.arch])))


def _launch_rows(
    snapshot: Snapshot, site: LaunchSite, kernel: KernelSite, *, is_one_of_several: bool
) -> list[Row]:
    opted = verdict(snapshot.sources, site, kernel)
    preferred = carveout(snapshot, kernel, site.launch)
    known = shape(block_of(kernel.kernel, site.launch), site.launch.dynamic_smem)
    rows = []
    for arch in snapshot.architectures.names:
        entries: tuple[Entry | None, ...] = _choice(snapshot, kernel, arch).of(site.launch) or (
            None,
        )
        for entry in entries:
            max_threads = admitted_threads(kernel.kernel, entry, site.launch)
            resources = Resources.of(kernel.kernel, entry, max_threads, preferred, opted)
            cases = _cases(limits(arch), resources, known, site.launch)
            rows.append(
                Row(
                    kernel,
                    entry,
                    arch,
                    limits(arch),
                    site,
                    cases,
                    is_covered=len(cases) == len(known.pairs),
                    is_candidate=is_one_of_several or len(entries) > 1,
                    may_mix=known.may_mix,
                    age=_age(snapshot, kernel, entry),
                    resources=resources,
                )
            )
    return rows


def _cases(row: Limits, resources: Resources, known: Shape, launch: Launch) -> tuple[Case, ...]:
    if known.is_least and launch.follows_occupancy_api:
        return _suggested(row, resources, launch)
    found = (
        compute(row, resources, block, dynamic, known.is_least) for block, dynamic in known.pairs
    )
    return tuple(case for case in found if case is not None)


def _suggested(row: Limits, resources: Resources, launch: Launch) -> tuple[Case, ...]:
    """The block that `cudaOccupancyMaxPotentialBlockSize` gives, once the registers are known."""
    dynamic = smem_function(launch.dynamic_smem)
    if resources.registers is None or dynamic is None:
        return ()
    try:
        best = best_block(
            row, resources.registers, resources.static_smem or 0, dynamic, **resources.options()
        )
    except InvalidInput:
        return ()
    if best is None:
        return ()
    case = compute(row, resources, (best.block, 1, 1), best.dynamic_smem)
    return (case,) if case is not None else ()


def _of_kernel(snapshot: Snapshot, site: KernelSite) -> KernelJoin:
    launches = snapshot.sources.launches_of(site)
    rows = tuple(
        row
        for launch in launches
        for row in of_launch(snapshot, launch).rows
        if row.site == site and row.is_shown
    )
    rows = rows or tuple(_bounds_rows(snapshot, site))
    return KernelJoin(
        site,
        {arch: entries_here(snapshot, site, arch) for arch in snapshot.architectures.names},
        launches,
        rows,
    )


def all_rows(snapshot: Snapshot, site: KernelSite) -> tuple[Row, ...]:
    """A row for each entry, architecture and launch in view, known or not; for entries and
    architectures that no launch runs, at the maximum of the launch bounds."""
    kernel = of_kernel(snapshot, site)
    rows = [
        row
        for launch in kernel.launches
        for row in of_launch(snapshot, launch).rows
        if row.site == site
    ]
    launched = {(row.arch, row.entry.entry if row.entry else None) for row in rows}
    archs = {row.arch for row in rows}
    rows += [
        row
        for row in _bounds_rows(snapshot, site)
        if (row.arch, row.entry.entry if row.entry else None) not in launched
        and (row.entry is not None or row.arch not in archs)
    ]
    return tuple(rows)


def _bounds_rows(snapshot: Snapshot, site: KernelSite) -> Iterator[Row]:
    """At the maximum of the launch bounds, for each entry."""
    kernel = site.kernel
    if kernel.inactive:
        return
    for arch in snapshot.architectures.names:
        row = limits(arch)
        found: tuple[Entry | None, ...] = entries_here(snapshot, site, arch) or (None,)
        for entry in found:
            max_threads = admitted_threads(kernel, entry, None)
            resources = Resources.of(kernel, entry, max_threads, snapshot.settings.carveout)
            block = _required_block(kernel, entry)
            if block is None and max_threads is not None and _has_bounds(kernel):
                block = (max_threads, 1, 1)
            dynamic = None if kernel.uses_dynamic_smem else 0
            case = compute(row, resources, block, dynamic) if block is not None else None
            yield Row(
                site,
                entry,
                arch,
                row,
                None,
                (case,) if case is not None else (),
                is_covered=case is not None,
                is_candidate=len(found) > 1,
                may_mix=False,
                age=_age(snapshot, site, entry),
                resources=resources,
            )


def _has_bounds(kernel: Kernel) -> bool:
    return kernel.launch_bounds is not None or bool(kernel.per_instance)


def _required_block(kernel: Kernel, entry: Entry | None) -> Triple | None:
    if kernel.block_size is not None and kernel.block_size.value is not None:
        return kernel.block_size.value
    return entry.required_block if entry is not None else None


def block_of(kernel: Kernel, launch: Launch) -> Value3:
    """The block of a launch: the kernel's `__block_size__` where the launch leaves it to it."""
    if kernel.block_size is not None and (
        launch.block.value == (1, 1, 1) or not launch.block.text.strip()
    ):
        return kernel.block_size
    return launch.block


_CACHE_CONFIG = {
    "cudaFuncCachePreferShared": 100,
    "cudaFuncCachePreferL1": 0,
    "cudaFuncCachePreferEqual": 50,
}


def carveout(snapshot: Snapshot, kernel: KernelSite, launch: Launch | None) -> int | None:
    """The preferred share of shared memory in percent: the setting, else the one call in view."""
    if snapshot.settings.carveout is not None:
        return snapshot.settings.carveout
    asked: set[int | None] = set()
    for site in snapshot.sources.attributes_by_name.get(kernel.kernel.name, ()):
        call = site.attribute
        if call.inactive or call.attribute == "max_dynamic_smem":
            continue
        if call.guarded or (kernel.kernel.is_template and not _same_instance(call, launch)):
            asked.add(None)
        elif call.attribute == "carveout":
            asked.add(call.value.value)
        else:
            name = call.value.text.split("::")[-1].strip().replace("CU_FUNC_CACHE_", "")
            asked.add(_CACHE_CONFIG.get(name))
    share = asked.pop() if len(asked) == 1 else None
    return share if share is not None and 0 <= share <= 100 else None


def _same_instance(call: Attribute, launch: Launch | None) -> bool:
    return (
        launch is not None
        and call.template_args_known is not None
        and call.template_args_known == launch.template_args_known
    )


def _age(snapshot: Snapshot, site: KernelSite, entry: Entry | None) -> Age:
    return snapshot.history.age(site.path, site.kernel, entry) if entry is not None else FRESH


def _kept(snapshot: Snapshot, key: tuple[Any, ...], make: Callable[[], T]) -> T:
    found: T | None = snapshot.memo.get(key)
    if found is None:
        found = make()
        snapshot.memo[key] = found
    return found
