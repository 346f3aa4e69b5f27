"""The compiled reference header, once a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.occupancy.oracle import Reference, compiler, headers


def needed(found: object, what: str) -> None:
    """Skips, saying what to install; in CI a missing part is a failure."""
    if not found:
        missing = f"{what} is missing; `pip install --group test` brings the headers"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """The newest header: the package's, or a toolkit's."""
    needed(compiler(), "a C++ compiler")
    found = headers("cuda_occupancy.h")
    needed(found, "cuda_occupancy.h")
    return Reference(found[0], tmp_path_factory.mktemp("reference"))


@pytest.fixture(scope="session")
def all_references(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Reference]:
    """Every header on this machine, the older ones of toolkits included."""
    needed(compiler(), "a C++ compiler")
    found = headers("cuda_occupancy.h")
    needed(found, "cuda_occupancy.h")
    folder = tmp_path_factory.mktemp("references")
    return {include: Reference(include, folder) for include in found}
