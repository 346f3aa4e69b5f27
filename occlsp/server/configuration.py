"""Settings per folder: read from every source, kept, and what was wrong in them told.

Sources, later wins: `occlsp.toml` at the folder's root, `initializationOptions` (flat), the
client's settings (`workspace/configuration`, section `occlsp`, asked for each folder; or what
`workspace/didChangeConfiguration` carries, where the client cannot be asked).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from occlsp.server import uris
from occlsp.source.text import LineIndex, Span

if TYPE_CHECKING:
    from occlsp.config import Loaded, Source
    from occlsp.server.server import Server

log = logging.getLogger("occlsp.configuration")

TOML = "occlsp.toml"
SECTION = "occlsp"
_AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
_KEY = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a settings file, and where."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """The settings in force for one folder."""

    loaded: Loaded
    toml: Path
    toml_text: bytes | None
    """None where there is no such file."""
    problems: tuple[Problem, ...]
    """Of the file."""
    stamp: tuple[int, int] | None
    """The file's modification and size just before it was read; None where there was none."""


class Configuration:
    """The settings of the client and of the folders' files, merged on `load`."""

    def __init__(self, server: Server, options: object) -> None:
        """`options` are the client's `initializationOptions`, whatever they are."""
        self._server = server
        self._options = _table(options, "initializationOptions")
        self._pushed: dict[str, Any] = {}
        self._told: set[str] = set()

    def pushed(self, settings: object) -> None:
        """Takes what `workspace/didChangeConfiguration` carries, with the section or without."""
        table = _table(settings, "settings")
        inner = table.get(SECTION, table)
        self._pushed = _table(inner, "settings")

    async def load(self, folders: Iterable[str]) -> dict[str, FolderSettings]:
        """The settings of each folder, from all sources as they are now."""
        folders = list(folders)
        client = await self._ask(folders)
        return {
            folder: await asyncio.to_thread(self._merge, folder, said)
            for folder, said in zip(folders, client, strict=True)
        }

    def _merge(self, folder: str, said: dict[str, Any]) -> FolderSettings:
        from occlsp.analysis.checks import CHECKS
        from occlsp.config import Source, load, read_toml

        path = Path(folder) / TOML
        stamp = _stamp(path)
        file, problem = read_toml(path)
        sources: list[Source] = [] if file is None else [file]
        sources.append(Source("initializationOptions", self._options))
        sources.append(Source("settings", said))
        loaded = load(sources, CHECKS)
        text = _read(path)
        problems = [] if problem is None else [Problem(_place(text or b"", problem), problem)]
        for message in loaded.problems:
            self._tell(message if not message.startswith(TOML) else f"{folder}: {message}")
            if message.startswith(TOML):
                problems.append(Problem(_place(text or b"", message), message))
        if problem is not None:
            self._tell(problem)
        return FolderSettings(loaded, path, text, tuple(problems), stamp)

    def _tell(self, message: str) -> None:
        """Once for each message: settings are merged often."""
        if message not in self._told:
            self._told.add(message)
            log.warning("%s", message)

    async def _ask(self, folders: list[str]) -> list[dict[str, Any]]:
        """What the client has set for each folder."""
        if not self._server.client.configuration or not folders:
            return [self._pushed for _ in folders]
        items = [
            types.ConfigurationItem(scope_uri=uris.from_path(folder), section=SECTION)
            for folder in folders
        ]
        try:
            answer = await asyncio.wait_for(
                self._server.request(
                    types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items=items)
                ),
                timeout=2,
            )
        except Exception as error:
            log.warning("the client gives no settings: %s", error or type(error).__name__)
            answer = None
        said = [_table(value, "settings") for value in answer or ()]
        return [*said, *({} for _ in folders)][: len(folders)]


def _table(value: object, name: str) -> dict[str, Any]:
    """`value` as a table of settings. Anything else counts as nothing, and is told."""
    if value is None or (isinstance(value, list) and not value):
        return {}  # Lua writes an empty table as an array
    if not isinstance(value, dict):
        log.warning("%s: a table of settings is expected, not %r", name, value)
        return {}
    return {str(key): item for key, item in value.items()}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _place(text: bytes, message: str) -> Span:
    """Where in the file a message is about: the key's name, or the place that it names."""
    index = LineIndex(text)
    if found := _AT_LINE.search(message):
        return index.line_span(int(found.group(1)) - 1)
    key = _KEY.search(message)
    if key is None:
        return index.line_span(0)
    *tables, name = key.group(1).split(".")
    start = 0
    for table in tables:
        header = re.compile(rb"^[ \t]*\[[ \t]*" + re.escape(table.encode()) + rb"[ \t]*\]", re.M)
        if match := header.search(text, start):
            start = match.end()
    pattern = re.compile(rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?=[\w.\"' \t-]*=)")
    found_key = pattern.search(text, start) or pattern.search(text)
    return Span(*found_key.span()) if found_key else index.line_span(0)
