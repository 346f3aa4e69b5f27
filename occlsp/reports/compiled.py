"""What came of compiling one translation unit for one architecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from occlsp.reports.commandline import Dropped
from occlsp.reports.facts import Entry, Origin, Report, ReportWarning

Status = Literal[
    "ok", "no-entry", "not-for-arch", "error", "timeout", "cancelled", "failed", "slow"
]
"""ok: there are entries. no-entry: it compiles, and no kernel is instantiated in it.
not-for-arch: the code needs another architecture, or the toolkit does not know this one.
error: the compiler refused the source. timeout, cancelled: it was ended. failed: the compiler
itself is at fault (missing, crashed, made no code). slow: not tried, since it took long before."""


@dataclass(frozen=True, slots=True)
class Message:
    """An error of the compiler, for the place that it names."""

    text: str
    file: str | None = None
    line: int | None = None
    """1-based."""
    entry: str | None = None
    """The mangled entry, where ptxas names that instead of a line."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a unit."""

    step: str
    """"command", "remembered", "bare", "guessed", "search", "mended", "fragment",
    "stand-ins", "slice"."""
    status: Status
    message: str | None = None
    """What was wrong, in one line."""
    took: float = 0.0
    """Seconds."""


@dataclass(frozen=True, slots=True)
class CompileResult:
    """One compile. Numbers of an earlier one stay valid as old numbers when this has none."""

    status: Status
    unit: str
    """Absolute path of the translation unit."""
    arch: str
    entries: tuple[Entry, ...] = ()
    warnings: tuple[ReportWarning, ...] = ()
    message: str | None = None
    """One line for a status: what is wrong and the way out; None where nothing is."""
    errors: tuple[Message, ...] = ()
    output: str = ""
    """What the compiler printed, at most 64 KiB; empty where it went well."""
    dependencies: tuple[str, ...] = ()
    """The files that the unit includes, without those of the toolkit and the system."""
    dropped: tuple[Dropped, ...] = ()
    origin: Origin = "compile"
    toolkit: str = ""
    """The version, "13.0.88"."""
    is_debug: bool = False
    """Compiled with `-G`."""
    ptx: str | None = None
    """Path in the cache; gone when the cache had to make room."""
    cubin: str | None = None
    ptxas_options: tuple[str, ...] = ()
    """What ptxas was given beside architecture and files, for the what-if."""
    took: float = 0.0
    """Seconds of the compile itself."""
    time: float = 0.0
    """When it was compiled, in seconds since the epoch."""
    attempts: tuple[Attempt, ...] = ()
    """Where there was more than one way: what was tried, the last with this outcome."""
    lost: tuple[str, ...] = ()
    """Of a device slice: the names of the kernels that do not compile, or that what was cut may
    have instantiated. What was known of them before stays valid as old numbers."""
    missing: tuple[str, ...] = ()
    """Headers that were found nowhere, as they are written."""
    is_cached: bool = False
    """Answered from the cache; nothing ran."""

    @property
    def report(self) -> Report:
        """The same as a report, whose source is the unit."""
        return Report(self.unit, self.entries, self.warnings)

    @property
    def has_numbers(self) -> bool:
        """Whether this replaces what was known before (also by "there is no kernel")."""
        return self.status in ("ok", "no-entry", "not-for-arch")
