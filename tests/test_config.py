"""Settings: which source wins, and what is said of a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from occlsp.analysis.checks import CHECKS
from occlsp.config import Settings, Source, load, read_toml


def toml(tmp_path: Path, text: str) -> Source:
    path = tmp_path / "occlsp.toml"
    path.write_text(text, "utf-8")
    source, problem = read_toml(path)
    assert source is not None, problem
    return source


def test_nothing_set_is_the_defaults() -> None:
    loaded = load([])
    assert loaded.settings == Settings()
    assert loaded.problems == ()


def test_later_sources_win_and_null_is_not_set(tmp_path: Path) -> None:
    project = toml(tmp_path, 'arch = ["sm_80", "sm_90"]\n[hints]\nkernels = false\n')
    editor = Source("settings", {"arch": None, "hints": {"kernels": None, "launches": False}})
    flags = Source("command line", {"gpu": "T4"})
    loaded = load([project, editor, flags])
    assert loaded.settings.arch == ("sm_80", "sm_90")
    assert (loaded.settings.hints.kernels, loaded.settings.hints.launches) == (False, False)
    assert loaded.settings.gpu == "T4"
    assert loaded.origins["arch"] == "occlsp.toml"
    assert loaded.origins["gpu"] == "command line"


def test_dotted_keys_and_one_architecture_as_text() -> None:
    loaded = load([Source("initializationOptions", {"arch": "sm_75", "compile.mode": "off"})])
    assert loaded.settings.arch == ("sm_75",)
    assert loaded.settings.compile.mode == "off"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = true", "occlsp.toml: unknown setting `colour`; known are arch, carveout"),
        ("carveout = 101", "occlsp.toml: `carveout`: Expected `int` <= 100"),
        ("gpu = 4", "occlsp.toml: `gpu`: Expected `str | null`, got `int`"),
        ('[compile]\nmode = "always"', "occlsp.toml: `compile.mode`: Invalid enum value 'always'"),
        ("compile = 3", "occlsp.toml: unknown setting `compile`"),
        (
            '[diagnostics.severity]\nspills = "loud"',
            "`diagnostics.severity.spills`: Invalid enum value 'loud'; accepted are error, warning",
        ),
        ("trusted = true", "`trusted` is not taken from a workspace"),
        ('[compile]\nnvcc = "/tmp/nvcc"', "`compile.nvcc` is not taken from a workspace"),
    ],
)
def test_a_bad_value_costs_itself_alone_and_is_told(tmp_path: Path, text: str, said: str) -> None:
    loaded = load([toml(tmp_path, 'reports = ["*.log"]\n' + text)])
    assert loaded.settings == Settings(reports=("*.log",))
    assert len(loaded.problems) == 1
    assert said in loaded.problems[0]


def test_severities_are_single_settings() -> None:
    """A bad one costs itself alone, and an editor's leaves the project's others."""
    project = Source(
        "occlsp.toml", {"diagnostics": {"severity": {"spills": "bad", "partial-warp": "off"}}}
    )
    editor = Source("settings", {"diagnostics": {"severity": {"no-report": "hint"}}})
    loaded = load([project, editor])
    assert loaded.settings.diagnostics.severity == {"partial-warp": "off", "no-report": "hint"}
    assert len(loaded.problems) == 1


def test_names_that_nobody_knows() -> None:
    values = {
        "arch": ["sm_91", "sm_80"],
        "gpu": "Nope",
        "diagnostics": {"severity": {"nosuch": "off", "spills": "off"}},
    }
    loaded = load([Source("occlsp.toml", values)], CHECKS)
    assert loaded.settings.arch == ("sm_80",)
    assert loaded.settings.gpu is None
    assert loaded.settings.diagnostics.severity == {"spills": "off"}
    for key, problem in zip(
        ("arch", "gpu", "diagnostics.severity.nosuch"), loaded.problems, strict=True
    ):
        assert problem.startswith(f"occlsp.toml: `{key}`: unknown ")
        assert "; known are " in problem


def test_a_broken_file_names_its_path_and_place(tmp_path: Path) -> None:
    path = tmp_path / "occlsp.toml"
    path.write_bytes(b'gpu = "T4\n')
    source, problem = read_toml(path)
    assert source is None
    assert problem is not None
    assert str(path) in problem
    assert "line" in problem


def test_no_file_is_no_problem(tmp_path: Path) -> None:
    assert read_toml(tmp_path / "occlsp.toml") == (None, None)
