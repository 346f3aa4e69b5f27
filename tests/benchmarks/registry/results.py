"""Results on disk, with the commit that they are of, and two of them compared."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.registry.measure import seconds

VERSION = 1
NOTICED = 0.1
"""A median that moved by less than this share is no change, whatever its spread."""
ROOT = Path(__file__).parents[3]


def document(categories: list[dict[str, Any]]) -> dict[str, Any]:
    """The results with where they come from."""
    return {
        "version": VERSION,
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "categories": categories,
    }


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def read(path: Path) -> dict[str, Any]:
    """Results from a file. Raises ValueError that names it."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise ValueError(f"{path}: no results of this registry")
    return found


@dataclass(frozen=True)
class Change:
    """One strategy of one problem in both."""

    name: str
    before: float
    after: float
    """Median seconds."""
    is_certain: bool
    """The quartile ranges do not touch, and the medians are a tenth apart."""

    @property
    def ratio(self) -> float:
        """After over before: above 1 is slower."""
        return self.after / self.before if self.before else float("inf")

    @property
    def verdict(self) -> str:
        """ "slower", "faster" or "same"."""
        if not self.is_certain:
            return "same"
        return "slower" if self.ratio > 1 else "faster"

    def __str__(self) -> str:
        return (
            f"{self.name}: {seconds(self.before)} → {seconds(self.after)} "
            f"({self.ratio:.2f} ×, {self.verdict})"
        )


def compare(before: dict[str, Any], after: dict[str, Any]) -> tuple[list[Change], list[str]]:
    """What both have, the largest slowdown first, and the names that only one has."""
    old, new = dict(_rows(before)), dict(_rows(after))
    changes = [_change(name, old[name], new[name]) for name in old if name in new]
    changes.sort(key=lambda change: -change.ratio)
    return changes, sorted(old.keys() ^ new.keys())


def _rows(results: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for category in results["categories"]:
        for problem in category["problems"]:
            for row in problem["strategies"]:
                if "median" in row:
                    yield f"{category['id']}/{problem['id']}/{row['id']}", row


def _change(name: str, before: dict[str, Any], after: dict[str, Any]) -> Change:
    one, other = before["median"], after["median"]
    (low, high), (from_, to) = before["quartiles"], after["quartiles"]
    apart = high < from_ or to < low
    return Change(name, one, other, apart and abs(other - one) > NOTICED * one)
