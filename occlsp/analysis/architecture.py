"""Which architectures the numbers are for, and who said so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from occlsp.config import Settings
from occlsp.occupancy import UnknownArchitecture, UnknownGpu, arch_name, gpu, limits

DEFAULT = "sm_90"


class Architectures(Struct, frozen=True):
    """The architectures in force, the primary one first."""

    names: tuple[str, ...]
    origin: str
    """Where they come from, for people: "settings", "build flags", …"""
    problems: tuple[str, ...] = ()
    """Names that were given and are not known."""

    @property
    def primary(self) -> str:
        """The one that errors are judged on."""
        return self.names[0]


def choose(
    settings: Settings,
    build_flags: Sequence[str] = (),
    local_gpus: Sequence[str] = (),
    reports: Iterable[str] = (),
    said_by: str = "settings",
) -> Architectures:
    """The first source that names a known architecture.

    `build_flags` are the architectures of the compile commands ("sm_80", "compute_90"),
    `local_gpus` those of the GPUs in this machine, `reports` that of every entry in the reports
    found: the one with most entries becomes the primary. `said_by` names who made the setting.
    """
    problems: list[str] = []
    flags = _of_gpu_first(settings.gpu, build_flags)
    ranked = [name for name, _ in sorted(Counter(reports).items(), key=_most_then_newest)]
    for names, origin in (
        (settings.arch, said_by),
        (flags, "the setting `gpu`" if flags and not build_flags else "build flags"),
        (local_gpus, "the local GPU"),
        (ranked, "the reports found"),
    ):
        known = _known(names, problems)
        if known:
            return Architectures(known, origin, tuple(problems))
    return Architectures(
        (DEFAULT,), "the default, as nothing names an architecture", tuple(problems)
    )


def _of_gpu_first(name: str | None, build_flags: Sequence[str]) -> tuple[str, ...]:
    """The architecture of a GPU that the settings name leads those of the build; with no build
    it is the one."""
    try:
        wanted = gpu(name).arch if name is not None else None
    except UnknownGpu:
        wanted = None
    if wanted is None:
        return tuple(build_flags)
    same = [flag for flag in build_flags if canonical(flag) == wanted]
    if build_flags and not same:
        return tuple(build_flags)
    return (*(same or [wanted]), *(flag for flag in build_flags if flag not in same))


def canonical(arch: str) -> str:
    """The name that stands for the limits: "sm_90" for "sm_90a"; unknown names as they are."""
    try:
        return arch_name(arch)
    except UnknownArchitecture:
        return arch


def _known(names: Iterable[str], problems: list[str]) -> tuple[str, ...]:
    """One spelling for each set of limits, in order."""
    found: dict[str, str] = {}
    for name in names:
        try:
            key = arch_name(name)
        except UnknownArchitecture as error:
            problems.append(str(error))
            continue
        spelled = name if name.startswith("sm_") else key
        found.setdefault(key, spelled)
    return tuple(found.values())


def _most_then_newest(item: tuple[str, int]) -> tuple[int, int, int]:
    name, count = item
    try:
        row = limits(name)
    except UnknownArchitecture:
        return (-count, 0, 0)
    return (-count, -row.major, -row.minor)
