"""Direct reading equals `ptxas -v`: a sample of `compare_ptxas.py`, which does it at full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from occlsp.reports.read import read_report
from tests.reports.compare_ptxas import (
    KERNELS,
    Totals,
    compare_file,
    compare_links,
    compare_matching,
    keys_of,
)
from tests.reports.compilers import real_nvcc


@pytest.mark.slow
def test_a_sample_of_real_compiles(tmp_path: Path) -> None:
    nvcc = str(real_nvcc().path)
    totals = Totals()
    keys = [key for path in sorted(KERNELS.glob("*.cu*")) for key in keys_of(path)]
    objects = []
    for name, archs in {
        "templates.cu": ("sm_80",),
        "spilling.cu": ("sm_75", "sm_90"),
        "separate.cu": ("sm_80", "sm_90"),
        "separate_callee.cu": ("sm_80", "sm_90"),
        "clusters.cu": ("sm_100",),
    }.items():
        objects.append(compare_file(nvcc, KERNELS / name, archs, tmp_path, totals))
        compare_matching(read_report(objects[-1]).entries, keys, totals)
    compare_links(nvcc, objects, tmp_path, totals)
    assert totals.differences == []
    assert sum(totals.compared.values()) > 300
    assert set(totals.by_line) == {"shown at a line that names it", "matched"}
    assert set(totals.by_name) == {"matched"}


@pytest.mark.slow
def test_spills_are_on_the_lines_where_they_happen(tmp_path: Path) -> None:
    totals = Totals()
    output = compare_file(
        str(real_nvcc().path), KERNELS / "spilling.cu", ("sm_90",), tmp_path, totals
    )
    spilling = [entry for entry in read_report(output).entries if entry.spill_stores]
    assert len(spilling) >= 4
    text = (KERNELS / "spilling.cu").read_text("utf-8").splitlines()
    for entry in spilling:
        assert sum(line.stores for line in entry.spill_lines) == entry.spill_stores
        assert sum(line.loads for line in entry.spill_lines) == entry.spill_loads
        assert all(line.file == str(KERNELS / "spilling.cu") for line in entry.spill_lines)
        assert all(text[line.line - 1].strip() not in ("", "}") for line in entry.spill_lines)
