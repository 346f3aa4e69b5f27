"""What the analysis answers with: plain data with byte offsets, for any front end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from occlsp.source.text import Span

Severity = Literal["error", "warning", "information", "hint"]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains a finding."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
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


@dataclass(frozen=True, slots=True)
class Hint:
    """A label at the end of a line, at most 30 characters, that stands alone."""

    offset: int
    label: str
    tooltip: str
    """Markdown that reads well as plain text."""
    kind: Literal["kernel", "launch", "spill"]


@dataclass(frozen=True, slots=True)
class Hover:
    """What to show for a place, as Markdown that reads well as plain text."""

    span: Span
    markdown: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `span` of the file by `text`. An empty span inserts."""

    path: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A quick fix. `edits` are empty where `disabled` says why it cannot be offered."""

    title: str
    edits: tuple[Edit, ...]
    codes: tuple[str, ...] = ()
    """The findings that it resolves."""
    is_preferred: bool = False
    disabled: str | None = None
    kind: Literal["quickfix", "refactor.rewrite"] = "quickfix"


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above a kernel or launch, with the command that it runs."""

    span: Span
    title: str
    command: str
    arguments: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """A block size that can be typed here, with the occupancy that it gives."""

    span: Span
    label: str
    detail: str
    sort: int
