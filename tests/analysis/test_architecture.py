"""Which architectures the numbers are for, and who said so."""

from __future__ import annotations

from occlsp.analysis.architecture import choose
from occlsp.config import Settings


def test_the_first_source_that_names_one() -> None:
    named = Settings(arch=("sm_86", "sm_90a"))
    found = choose(named, ["sm_80"], ["sm_75"], ["sm_70"])
    assert (found.names, found.origin) == (("sm_86", "sm_90a"), "settings")
    found = choose(Settings(), ["sm_80", "compute_90", "sm_90"], ["sm_75"], ["sm_70"])
    assert (found.names, found.origin) == (("sm_80", "sm_90"), "build flags")
    found = choose(Settings(), [], ["sm_75"], ["sm_70"])
    assert (found.names, found.origin) == (("sm_75",), "the local GPU")


def test_reports_are_ranked_by_their_entries() -> None:
    found = choose(Settings(), reports=["sm_80", "sm_90", "sm_90", "sm_80", "sm_70"])
    assert (found.names, found.origin) == (("sm_90", "sm_80", "sm_70"), "the reports found")


def test_the_default_is_said_to_be_one() -> None:
    found = choose(Settings())
    assert found.names == ("sm_90",)
    assert found.origin == "the default, as nothing names an architecture"


def test_unknown_names_are_told_and_the_next_source_counts() -> None:
    found = choose(Settings(arch=("sm_1",)), ["sm_80"])
    assert (found.names, found.origin) == (("sm_80",), "build flags")
    (problem,) = found.problems
    assert problem.startswith("unknown architecture 'sm_1'; known are sm_50")


def test_the_gpu_in_the_settings_leads() -> None:
    assert choose(Settings(gpu="A100"), [], ["sm_75"]).names == ("sm_80",)
    assert choose(Settings(gpu="H100 SXM"), ["sm_80", "sm_90a"]).names == ("sm_90a", "sm_80")
    assert choose(Settings(gpu="T4"), ["sm_80"]).names == ("sm_80",)
