"""Launches that fail, or must not be reported: kinds that people met in the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from occlsp.analysis.findings import findings
from occlsp.analysis.snapshot import Snapshot
from occlsp.reports.facts import Entry
from occlsp.source.text import LineIndex
from tests.analysis.compiled import report
from tests.analysis.golden import PATH, snapshot

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
CODES = {
    "block_too_large": "block-too-large",
    "zero_occupancy": "zero-occupancy",
    "block_over_launch_bounds": "exceeds-launch-bounds",
    "dynamic_smem_needs_opt_in": "dynamic-smem-opt-in",
    "dynamic_smem_over_opt_in": "dynamic-smem-opt-in",
    "smem_over_device_max": "smem-too-large",
}
"""The descriptions in the cases → our codes."""


def _case(path: Path) -> tuple[dict[str, Any], str]:
    case = json.loads(path.read_text("utf-8"))
    return case, path.with_suffix(".cu").read_text("utf-8")


def _errors(made: Snapshot, source: str) -> dict[int, set[str]]:
    index = LineIndex(source.encode())
    found: dict[int, set[str]] = {}
    for one in findings(made, PATH):
        if one.severity == "error":
            found.setdefault(index.line_of(one.span.start) + 1, set()).add(one.code)
    return found


def _judge(case: dict[str, Any], found: dict[int, set[str]]) -> None:
    for wanted in case["findings"]:
        here = found.pop(wanted["line"], set())
        if wanted.get("code") is None:
            assert not here, wanted
        elif "by_arch" not in wanted and not (wanted.get("optional") and not here):
            assert here == {CODES[wanted["code"]]}, wanted
    assert not found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_with_the_numbers_of_the_case(path: Path) -> None:
    case, source = _case(path)
    entries = [
        Entry(name, case["compiled_here"]["arch"], registers=registers)
        for name, registers in case["compiled_here"]["registers"].items()
    ]
    _judge(case, _errors(snapshot(source, *entries), source))


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_with_the_real_compiler(path: Path) -> None:
    case, source = _case(path)
    made = snapshot(source).with_reports((report(source, PATH),))
    _judge(case, _errors(made, source))


@pytest.mark.parametrize(
    ("arch", "wanted"),
    [("sm_75", True), ("sm_61", True), ("sm_86", False), ("sm_90", False), ("sm_80", False)],
)
def test_shared_memory_by_architecture(arch: str, *, wanted: bool) -> None:
    _, source = _case(Path(__file__).parent / "cases" / "dynamic_opt_in_present.json")
    found = _errors(snapshot(source, arch=(arch,)), source)
    assert ("smem-too-large" in found.get(7, set())) == wanted


@pytest.mark.parametrize(
    ("arch", "wanted"),
    [("sm_86", True), ("sm_120", True), ("sm_89", True), ("sm_80", False), ("sm_90", False)],
)
def test_static_and_dynamic_by_architecture(arch: str, *, wanted: bool) -> None:
    _, source = _case(Path(__file__).parent / "cases" / "static_plus_dynamic.json")
    found = _errors(snapshot(source, arch=(arch,)), source)
    assert ("smem-too-large" in found.get(18, set())) == wanted
