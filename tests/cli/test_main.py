"""`occlsp` itself: help, and one line for what cannot be used."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from occlsp.cli.main import COMMANDS, main


def test_alone_it_prints_help() -> None:
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 0
    assert result.stdout == CliRunner().invoke(main, ["--help"], prog_name="main").stdout
    assert "Usage:" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert f"occlsp {name}" in result.stdout or f"occlsp;{name}" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["--nosuch"],
        ["record"],  # whose options may be the compiler's
        *([name, "--nosuch=1"] for name in COMMANDS if name != "record"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_used_is_one_line(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    assert line.startswith("occlsp: ")
