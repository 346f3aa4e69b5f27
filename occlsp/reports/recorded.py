"""The files that `occlsp record` leaves: one report each, as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from occlsp.reports.facts import Report

SUFFIX = ".occlsp.json"
MARK = b'{"occlsp_report":'
"""How such a file begins."""


@dataclass(frozen=True, slots=True)
class _File:
    occlsp_report: int
    """The version of the form."""
    report: Report


def encode(report: Report) -> bytes:
    """The content of a file that holds `report`."""
    import msgspec

    return msgspec.json.encode(_File(1, report)) + b"\n"


def decode(data: bytes, source: str) -> Report:
    """The report in such a file. Raises ValueError where it is broken."""
    import msgspec

    try:
        return msgspec.json.decode(data, type=_File).report
    except msgspec.MsgspecError as error:
        raise ValueError(f"not a report of `occlsp record`: {error}") from error
