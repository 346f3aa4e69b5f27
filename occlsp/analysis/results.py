"""What the analysis answers with: plain data with byte offsets, for any front end."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from occlsp.source.text import Span

Severity = Literal["error", "warning", "information", "hint"]


class Related(Struct, frozen=True):
    """Another place that explains a finding."""

    path: str
    span: Span
    message: str


class Finding(Struct, frozen=True):
    """Something worth saying about one place."""

    code: str
    severity: Severity
    path: str
    span: Span
    message: str
    """The fact first, then the way out."""
    arch: str | None = None
    """The architecture that it was found on; None where it holds for every one."""
    related: tuple[Related, ...] = ()
    estimated: bool = False
    """A model speaks, not a compiler."""


class Hint(Struct, frozen=True):
    """A label at the end of a line, at most 30 characters, that stands alone."""

    offset: int
    label: str
    tooltip: str
    """Markdown that reads well as plain text."""
    kind: Literal["kernel", "launch", "spill"]


class Hover(Struct, frozen=True):
    """What to show for a place, as Markdown that reads well as plain text."""

    span: Span
    markdown: str


class Edit(Struct, frozen=True):
    """Replace `span` of the file by `text`. An empty span inserts."""

    path: str
    span: Span
    text: str


class Fix(Struct, frozen=True):
    """A quick fix. `edits` are empty where `disabled` says why it cannot be offered."""

    title: str
    edits: tuple[Edit, ...]
    codes: tuple[str, ...] = ()
    """The findings that it resolves."""
    is_preferred: bool = False
    disabled: str | None = None
    kind: Literal["quickfix", "refactor.rewrite"] = "quickfix"
    is_trusted: bool | None = None
    """Whether measurements of the kernel bear the model's ranking out; None: too few are known."""


class Lens(Struct, frozen=True):
    """A line above a kernel or launch, with the command that it runs."""

    span: Span
    title: str
    command: str
    arguments: tuple[object, ...] = ()


class Completion(Struct, frozen=True):
    """A block size that can be typed here, with the occupancy that it gives."""

    span: Span
    label: str
    detail: str
    sort: int


class ExplorerPoint(Struct, frozen=True):
    """One configuration and its occupancy: what the sliders of the explorer set."""

    block: int
    """Threads per block."""
    registers: int
    static_smem: int
    dynamic_smem: int
    """Bytes, as `static_smem`."""
    blocks_per_sm: int
    active_warps: int
    max_warps: int
    occupancy: float
    """0 to 1."""
    limiter: str
    limiters: tuple[str, ...]
    limits: dict[str, int | None]
    allocated: dict[str, int]
    reason: str | None
    """Of a zero, in words."""


class ExplorerFix(Struct, frozen=True):
    """A quick fix that sets the block size, offered at a point of the curve."""

    block: int
    title: str
    edits: tuple[Edit, ...]
    disabled: str | None = None
    is_preferred: bool = False


class ExplorerWhatIf(Struct, frozen=True):
    """What the compiler would make of other launch bounds."""

    max_threads: int | None
    min_blocks: int | None
    registers: int
    spill_bytes: int
    blocks_per_sm: int
    occupancy: float
    limiter: str
    is_current: bool
    is_best: bool
    """No other row beats it in both occupancy and spills."""


class ExplorerArchitecture(Struct, frozen=True):
    """The kernel on one architecture: where it stands, and how occupancy moves around it."""

    arch: str
    point: ExplorerPoint
    block_curve: tuple[tuple[int, float], ...]
    register_curve: tuple[tuple[int, float], ...]
    smem_curve: tuple[tuple[int, float], ...]
    """(value, occupancy) with the two other inputs as in `point`; shared memory is dynamic."""
    max_dynamic_smem: int
    """Bytes that a block can have beside its static shared memory."""
    levers: tuple[str, ...]
    source: str
    """Where the numbers come from and how old they are, in words."""
    stale: bool = False
    estimated: bool = False
    """Of sliders moved away from the compiler's numbers, or a bound."""
    whatif: tuple[ExplorerWhatIf, ...] = ()


class Explorer(Struct, frozen=True):
    """The answer to the custom request `occlsp/explorer`, for the kernel at a position."""

    kernel: str
    instance: str | None
    """Demangled name of the entry shown, where there are several."""
    path: str
    span: Span
    """The kernel's name, or the launch's configuration."""
    launch_line: int | None
    """1-based; None where no launch is known."""
    architectures: tuple[ExplorerArchitecture, ...]
    fixes: tuple[ExplorerFix, ...] = ()
    why: str | None = None
    """Why there are no numbers, where there are none."""
