"""A small run of the protocol fuzzer; `fuzz.py` beside it runs at any length."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).with_name("fuzz.py")


def test_every_request_gets_one_reply_whatever_is_sent() -> None:
    command = [sys.executable, str(FUZZ), "--messages", "1500", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1500 messages" in done.stdout
