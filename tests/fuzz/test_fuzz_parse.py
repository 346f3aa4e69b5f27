"""A small run of the source analysis' fuzzer; `fuzz_parse.py` beside it runs at any length."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).with_name("fuzz_parse.py")


def run(*options: str) -> str:
    command = [sys.executable, str(FUZZ), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_edited_file_reads_as_if_it_were_new() -> None:
    assert "60 streams of edits" in run("--edits", "60", "--files", "0", "--no-shapes")


def test_mutated_files_are_read() -> None:
    assert "200 mutated files" in run("--edits", "0", "--files", "200", "--no-shapes")


@pytest.mark.slow
def test_no_shape_of_a_text_takes_longer_than_a_second() -> None:
    assert "none took longer" in run("--edits", "0", "--files", "0")
