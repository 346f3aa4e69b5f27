"""What the server's tests share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from client import Client


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The user's home: no settings, no answers, no cache of the machine that the tests run on."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace."""
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def start(workspace: Path, home: Path) -> Iterator[Callable[..., Client]]:
    """Starts servers on the workspace, and stops those that still run."""
    running: list[Client] = []

    def start_one(root: Path | None = workspace, **arguments: Any) -> Client:
        client = Client(root, home=home, **arguments)
        running.append(client)
        return client

    yield start_one
    for client in running:
        client.stop()
