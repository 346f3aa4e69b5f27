"""Compiles of a check: what is told of them has an order, whichever ends first."""

from __future__ import annotations

import threading

import pytest

from occlsp.cli import check_compile
from occlsp.reports.compile_task import CompileRequest
from occlsp.reports.compiled import CompileResult
from occlsp.reports.facts import Report
from occlsp.reports.worker import Control


def test_what_was_not_compiled_is_told_in_the_order_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    units = ["a.cu", "b.cu", "c.cu"]
    is_done = {unit: threading.Event() for unit in units}
    waits_for = {"a.cu": "b.cu", "b.cu": "c.cu"}

    def backwards(request: CompileRequest, control: Control) -> CompileResult:
        if later := waits_for.get(request.unit):
            is_done[later].wait(10)
        is_done[request.unit].set()
        return CompileResult("failed", request.unit, request.arch, message="no")

    monkeypatch.setattr(check_compile, "compile_one", backwards)
    reports: list[Report] = []
    problems: list[str] = []
    asked = [CompileRequest(unit, "sm_90", "/w") for unit in units]
    check_compile.compile_all(asked, 3, reports, problems, lambda what, done, total: None)
    assert problems == [f"{unit}: not compiled for sm_90: no" for unit in units]
    assert reports == []
