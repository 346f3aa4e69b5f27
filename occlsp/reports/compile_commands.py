"""Finds and reads `compile_commands.json`: how a build compiles each file."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from occlsp.reports.commandline import peel, split_command

if TYPE_CHECKING:
    from occlsp.reports.flags import Filtered

NAME = "compile_commands.json"
MAX_BYTES = 512 << 20
PLACES = (
    "build*",
    "out",
    "out/*",
    "out/build/*",
    "cmake-build-*",
    "build*/*",
    ".build*",
    "_build*",
)
"""Where builds put it, below the root; the newest of what is found counts."""
MAX_FOLDERS = 200


@dataclass(frozen=True, slots=True)
class Command:
    """How the build compiles one file."""

    file: str
    """Absolute, links kept."""
    directory: Path
    text: str | tuple[str, ...]
    """The whole command, launchers included: as one string (split when asked for) or as words."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(split_command(self.text)) if isinstance(self.text, str) else self.text

    @property
    def is_cuda(self) -> bool:
        """Whether a CUDA compiler is run, as far as can be seen."""
        return peel(self.words).compiler is not None

    def filtered(
        self, workspaces: Sequence[Path], env: Mapping[str, str] | None = None
    ) -> Filtered | str:
        """What of its flags may be used; why none where it is no compile of CUDA."""
        from occlsp.reports.flags import filter_flags  # most folders have no commands

        peeled = peel(self.words)
        if peeled.compiler is None:
            return peeled.reason or "not a compile of CUDA"
        return filter_flags(
            peeled.arguments,
            self.directory,
            workspaces=workspaces,
            dialect="nvcc" if peeled.compiler.startswith("nvcc") else "clang",
            env={**(env or {}), **_flags_of(peeled.environment)},
        )


@dataclass(frozen=True, slots=True)
class CompileCommands:
    """All commands of one file, by the file that each compiles."""

    path: str | None = None
    """Where it was read; None: there is none."""
    commands: Mapping[str, tuple[Command, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, file: str | Path) -> tuple[Command, ...]:
        """The commands for a file, however its path is written."""
        name = os.path.abspath(file)  # noqa: PTH100
        return self.commands.get(name) or self.commands.get(os.path.realpath(name)) or ()

    def near(self, file: str | Path) -> Command | None:
        """A command for a file that has none (a header): of the same folder, else the nearest."""
        name = os.path.abspath(file)  # noqa: PTH100
        stem = Path(name).stem
        best: tuple[int, bool, Command] | None = None
        for other, commands in self.commands.items():
            candidate = (_shared(other, name), Path(other).stem == stem, commands[0])
            if (best is None or candidate[:2] > best[:2]) and commands[0].is_cuda:
                best = candidate
        return best[2] if best else None

    def units(self) -> tuple[str, ...]:
        """The files that a CUDA compiler compiles."""
        return tuple(
            file
            for file, commands in self.commands.items()
            if commands[0].file == file and any(command.is_cuda for command in commands)
        )


def find(root: Path, setting: str | None = None) -> Path | None:
    """The `compile_commands.json` of a workspace: the setting's, the root's, the newest of the
    usual build folders'. A setting may name the file or its folder."""
    if setting:
        path = root / setting
        return path / NAME if path.is_dir() else path
    if (root / NAME).is_file():
        return root / NAME
    found = [folder / NAME for folder in _folders(root) if (folder / NAME).is_file()]
    return max(found, key=_age, default=None)


def load(path: Path | None) -> CompileCommands:
    """Reads the file. What is broken costs the entry, or the file, and is told in `problems`."""
    if path is None:
        return CompileCommands()
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            return _broken(path, f"it has {size >> 20} MiB, more than is read")
        entries = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        return _broken(path, f"it cannot be read: {error.strerror}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _broken(path, f"it is not valid JSON: {error}; run the build's configuration again")
    if not isinstance(entries, list):
        return _broken(path, "it is not a list of commands")
    commands: dict[str, list[Command]] = {}
    problems: list[str] = []
    for index, entry in enumerate(entries):
        command = _command(entry, path.parent)
        if isinstance(command, str):
            problems.append(f"{path}: entry {index + 1} is ignored: {command}")
        else:
            commands.setdefault(command.file, []).append(command)
            real = os.path.realpath(command.file)
            if real != command.file:
                commands.setdefault(real, []).append(command)
    if len(problems) > 5:
        problems[5:] = [f"{path}: and {len(problems) - 5} more entries like these"]
    return CompileCommands(
        str(path), {file: tuple(found) for file, found in commands.items()}, tuple(problems)
    )


def _command(entry: Any, folder: Path) -> Command | str:
    if not isinstance(entry, dict):
        return "it is not an object"
    file, directory = entry.get("file"), entry.get("directory", "")
    if not isinstance(file, str) or not file or "\0" in file:
        return "it has no `file`"
    if not isinstance(directory, str) or "\0" in directory:
        return "its `directory` is not a string"
    text = entry.get("arguments", entry.get("command"))
    if isinstance(text, list) and all(isinstance(word, str) for word in text):
        text = tuple(text)
    elif not isinstance(text, str):
        return "it has neither `arguments` nor a `command`"
    base = folder / directory
    return Command(os.path.abspath(base / file), base, text)  # noqa: PTH100


def _flags_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Of what a command sets in its environment, nvcc's flags alone count."""
    names = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
    return {name: environment[name] for name in names if name in environment}


def _folders(root: Path) -> list[Path]:
    found: list[Path] = []
    for place in PLACES:
        with contextlib.suppress(OSError):
            found += itertools.islice(root.glob(place), MAX_FOLDERS)
    return found


def _shared(one: str, other: str) -> int:
    """How many folders two paths have in common."""
    pairs = zip(Path(one).parts, Path(other).parts, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _broken(path: Path, why: str) -> CompileCommands:
    return CompileCommands(str(path), problems=(f"{path}: {why}",))
