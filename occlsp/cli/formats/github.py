"""Annotations of GitHub's workflow commands: one line a finding, shown in the pull request."""

from __future__ import annotations

from collections.abc import Iterable

from occlsp.analysis.results import Severity
from occlsp.cli.formats.located import Located

_COMMANDS: dict[Severity, str] = {
    "error": "error",
    "warning": "warning",
    "information": "notice",
    "hint": "notice",
}


def github(findings: Iterable[Located]) -> str:
    """One workflow command a line; hints are notices."""
    return "".join(_annotation(found) + "\n" for found in findings)


def _annotation(found: Located) -> str:
    region = found.region
    properties = {
        "file": found.path,
        "line": str(region.line),
        "endLine": str(region.end_line),
        "col": str(region.character + 1),
        "endColumn": str(region.end_character),
        "title": f"occlsp: {found.finding.code}",
    }
    if region.end_line != region.line:
        del properties["col"], properties["endColumn"]  # only within one line, GitHub says
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[found.finding.severity]} {told}::{_data(found.finding.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
