"""The compiler's answers to other launch bounds, as the analysis takes them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from occlsp.reports.whatif import Row


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The rows of one entry on one architecture, as `occlsp.reports.whatif` gives them."""

    entry: str
    """The mangled name."""
    arch: str
    rows: tuple[Row, ...]
