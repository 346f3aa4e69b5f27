"""What the compiler says of compiled code: frozen facts, each with where it was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Origin = Literal["compile", "standins", "slice", "record", "binary", "dump", "log"]
"""How the numbers came to be: compiled here, compiled whole with stand-ins for libraries' headers,
compiled from the device slice, recorded from the user's own build, read from a compiled file, from
`cuobjdump` or `nvlink` text, from `ptxas -v` text in a log. In the order of trust where two
disagree and neither is newer."""


@dataclass(frozen=True, slots=True)
class LineSpills:
    """Spill instructions on one source line, in bytes per thread."""

    file: str
    line: int
    """1-based."""
    stores: int
    loads: int


@dataclass(frozen=True, slots=True)
class Entry:
    """The resources of one kernel entry on one architecture. None is unknown, never zero."""

    entry: str
    """The mangled name, internal-linkage hashes included."""
    arch: str | None
    """"sm_90a"; None when the text does not say."""
    name: str | None = None
    """Demangled."""
    registers: int | None = None
    static_smem: int | None = None
    """Bytes, without what the system reserves."""
    spill_stores: int | None = None
    spill_loads: int | None = None
    stack: int | None = None
    """The frame of the entry itself, in bytes."""
    cumulative_stack: int | None = None
    barriers: int | None = None
    cmem: dict[str, int] = field(default_factory=dict)
    linked: bool = True
    """False for `-rdc` compiles, whose numbers are those before linking."""
    debug: bool = False
    file: str | None = None
    """Where the line table puts the kernel's name, as the compiler wrote it."""
    line: int | None = None
    """1-based."""
    source: str = ""
    """The file it was read in."""
    origin: Origin = "log"
    max_threads: int | None = None
    required_block: tuple[int, int, int] | None = None
    max_registers: int | None = None
    """The cap that launch bounds or `-maxrregcount` put on the compiler."""
    cluster: tuple[int, int, int] | None = None
    parameter_bytes: int | None = None
    spill_lines: tuple[LineSpills, ...] = ()
    unit: str | None = None
    """The translation unit that it was compiled from, where that is known."""
    toolkit: str | None = None
    time: float | None = None
    """Seconds since the epoch: the compile's, or the report file's modification."""
    fingerprint: str | None = None
    """The kernel's `Kernel.fingerprint` at the compile, where it is known."""


@dataclass(frozen=True, slots=True)
class ReportWarning:
    """A warning of the tools that changes what the numbers mean."""

    kind: str
    """"min-blocks-ignored", "maxrregcount-overridden", "setmaxnreg-ignored",
    "insufficient-registers", "spills", "local-memory", "ambiguous", "truncated", "other"."""
    message: str
    entry: str | None = None
    arch: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All that was read in one file (or stream, or compile)."""

    source: str
    entries: tuple[Entry, ...] = ()
    warnings: tuple[ReportWarning, ...] = ()
    not_kernels: tuple[str, ...] = ()
    """Device functions that the text has properties of."""
