"""Whether the names that settings hold are known: architectures, GPUs, findings."""

from __future__ import annotations

from collections.abc import Mapping

from occlsp.config import Check
from occlsp.occupancy import UnknownArchitecture, UnknownGpu, gpu, limits


def _architecture(name: str) -> str | None:
    try:
        limits(name)
    except UnknownArchitecture as error:
        return str(error)
    return None


def _gpu(name: str) -> str | None:
    try:
        gpu(name)
    except UnknownGpu as error:
        return str(error)
    return None


def _finding(code: str) -> str | None:
    from occlsp.analysis.findings.table import BY_CODE

    if code in BY_CODE:
        return None
    return f"unknown finding '{code}'; known are {', '.join(BY_CODE)}"


CHECKS: Mapping[str, Check] = {
    "arch": _architecture,
    "gpu": _gpu,
    "diagnostics.severity": _finding,
}
"""For `occlsp.config.load`."""
