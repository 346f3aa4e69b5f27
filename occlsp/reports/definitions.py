"""Macros that a workspace's own build files define, for units whose compile commands are unknown.

Read as text, nothing is run. Only literal values count, and only where no condition of the build
file stands before them, except for a macro that the source itself demands (`#error`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

NAMES = ("CMakeLists.txt", "Makefile", "setup.py")
MAX_BYTES = 1 << 20
_DEFINE = re.compile(r"(?<![\w$])-D([A-Za-z_]\w*)(?:=(\w+))?(?=[\s\"'),]|$)")
_COMMAND = re.compile(
    r"^\s*(?:(if|endif|function|endfunction|macro|endmacro)\s*\(|(add_definitions|add_compile_definitions|target_compile_definitions"
    r"|add_compile_options|target_compile_options|set|list)\s*\(([^()]*)\))",
    re.IGNORECASE | re.MULTILINE,
)
_FLAGS = re.compile(r"\s*(?:APPEND\s+)?\w*(?:CUDA|NVCC|DEFINITIONS)\w*\s", re.IGNORECASE)
_BARE = re.compile(r"([A-Za-z_]\w*)(?:=(\w+))?")
_KEYWORDS = frozenset({"PRIVATE", "PUBLIC", "INTERFACE"})
_ERROR = re.compile(r"#error\b(.*)")
_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]{3,}\b")


def unconditional(unit: Path, root: Path) -> tuple[str, ...]:
    """`NAME=VALUE` of every macro that the build files from the unit's folder to the root define
    for CUDA whatever their options are; the nearest file wins."""
    found: dict[str, str] = {}
    for content in _contents(unit, root, NAMES[:1]):
        depth = 0
        for command in _COMMAND.finditer(content):
            block = (command[1] or "").lower()
            if block:
                depth += -1 if block.startswith("end") else 1
            elif depth == 0:
                for name, value in _defined(command[2].lower(), command[3]):
                    found.setdefault(name, value)
    return tuple(f"{name}={value}" for name, value in found.items())


def demanded(output: str, unit: Path, root: Path) -> tuple[str, ...]:
    """`NAME=VALUE` of the macros that an `#error` in `output` names and a build file can define."""
    names = {name for line in _ERROR.findall(output) for name in _MACRO.findall(line)}
    found: dict[str, str] = {}
    for content in _contents(unit, root, NAMES) if names else ():
        for name, value in _DEFINE.findall(content):
            if name in names:
                found.setdefault(name, value or "1")
    return tuple(f"{name}={value}" for name, value in sorted(found.items()))


def build_files(unit: Path, root: Path, names: tuple[str, ...] = NAMES) -> Iterator[Path]:
    """The build files that count for a unit, there or not, the nearest first."""
    for folder in unit.parents:
        yield from (folder / name for name in names)
        if folder == root or not folder.is_relative_to(root):
            break


def _contents(unit: Path, root: Path, names: tuple[str, ...]) -> Iterator[str]:
    for path in build_files(unit, root, names):
        with contextlib.suppress(OSError), path.open("rb") as stream:
            yield stream.read(MAX_BYTES).decode("utf-8", "replace")


def _defined(word: str, arguments: str) -> list[tuple[str, str]]:
    if word in ("set", "list") and not _FLAGS.match(arguments):
        return []
    found = [(name, value or "1") for name, value in _DEFINE.findall(arguments)]
    if word in ("add_compile_definitions", "target_compile_definitions"):
        words = [w for w in arguments.split() if w not in _KEYWORDS]
        words = words if word.startswith("add") else words[1:]
        bare = [match for text in words if (match := _BARE.fullmatch(text))]
        found.extend((match[1], match[2] or "1") for match in bare)
    return found
