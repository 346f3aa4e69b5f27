"""Two launches in a row that can be one kernel.

Two launches on the same stream with equal grid and block, where the second reads what the first
wrote at the same index and nothing between uses it. `occlsp fuse` shows the verdict with every
factor. A model speaks here (`estimated`), so it is off by default.
"""

from __future__ import annotations

from occlsp.analysis.findings.rule import Rule

RULE = Rule(
    code="fusable",
    severity="hint",
    summary="two launches in a row that can be one kernel (estimated)",
    page=__doc__ or "",
    is_on=False,
)
