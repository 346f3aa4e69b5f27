"""The warnings of ptxas and nvlink that change what the numbers mean."""

from __future__ import annotations

import re

from occlsp.reports.facts import ReportWarning

_TOOL = re.compile(r"(?:(?:ptxas|nvlink)\S*|info|fatal)\s*(?:info|warning|error|fatal)?\s*:\s*(.*)")
_KINDS = (
    ("min-blocks-ignored", re.compile(r"\.minnctapersm (?:will be|is) ignored")),
    ("maxrregcount-overridden", re.compile(r"(?i)overriding .*(?:maxrregcount|register limit)")),
    ("setmaxnreg-ignored", re.compile(r"'setmaxnreg' ignored|C7508")),
    ("insufficient-registers", re.compile(r"(?i)insufficient register|C7602")),
    ("spills", re.compile(r"Registers are spilled to local memory")),
    ("local-memory", re.compile(r"Local memory used for function")),
)
_OTHER = re.compile(r"\b(?:ptxas|nvlink)\S*\s+(?:warning|error|fatal)\s*:|:\s*\(C\d+\)")
_NAME = re.compile(r"(?:for entry|entry function|function|for) (?:'([^']+)'|(_Z\w+|\w+)(?= is\b))")

_LONGEST = 2048
"""Characters of a line that are looked at, so that no line takes long."""


def read_warning(text: str, source: str) -> ReportWarning | None:
    """The warning that a line of a log is, if it is one."""
    text = text[:_LONGEST]
    kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), None)
    if kind is None and not _OTHER.search(text):
        return None
    tool = _TOOL.search(text)
    name = _NAME.search(text)
    return ReportWarning(
        kind or "other",
        (tool.group(1) if tool else text).strip(),
        entry=(name.group(1) or name.group(2)) if name else None,
        source=source,
    )
