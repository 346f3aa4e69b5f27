"""Against a baseline: the limiter changed, occupancy fell, spills grew, or a kernel stopped
fitting.

`occlsp check --baseline FILE` compares with the numbers of an earlier run; `--write-baseline`
keeps new ones. In the editor nothing is compared.
"""

from __future__ import annotations

from occlsp.analysis.findings.rule import Rule

RULE = Rule(
    code="regressed",
    severity="warning",
    summary="against a baseline: limiter changed, occupancy fell, spills grew",
    page=__doc__ or "",
)
