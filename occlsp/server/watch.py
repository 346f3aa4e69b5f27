"""Files that change on disk: the client tells, or we look.

Neovim on Linux watches nothing for us, and no client watches what lies outside the workspace: for
those files times are looked at every two seconds, in a thread, since a network disk may hang.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from lsprotocol import types

from occlsp.server import uris
from occlsp.server.folder import owner

if TYPE_CHECKING:
    from occlsp.server.server import Server

log = logging.getLogger("occlsp.watch")

PERIOD = 2.0
MAX_POLLED = 5000
SOURCES = "**/*.{cu,cuh,h,hh,hpp,hxx,inl,inc,c,cc,cpp,cxx}"
REPORTS = "**/*.{log,o,obj,cubin,fatbin}"
SETTINGS = "**/{occlsp.toml,compile_commands.json}"
Stamp = tuple[int, int] | None
"""Modification in nanoseconds, and size; None: there is no such file."""
UNKNOWN: Stamp = (-1, -1)
"""The first look tells what it is."""


class Watch:
    """Tells which files have changed, by whichever way there is."""

    def __init__(
        self,
        server: Server,
        folders: Callable[[], Iterable[str]],
        files: Callable[[], Mapping[str, Stamp]],
        changed: Callable[[list[str]], None],
    ) -> None:
        """`folders` are those of the workspace, `files` all files and directories whose change
        matters now, each as it was read last (or UNKNOWN); `changed` is called with those that
        are different."""
        self._server = server
        self._folders = folders
        self._files = files
        self._changed = changed
        self._stamps: dict[str, Stamp] = {}

    async def start(self, globs: Iterable[str]) -> None:
        """Registers with the client where it can watch; looks by ourselves at what is left."""
        if self._server.client.watches_files:
            await self._register([SETTINGS, SOURCES, REPORTS, *globs])
        self._server.spawn(self._poll())

    async def _register(self, patterns: list[str]) -> None:
        watchers = [
            types.FileSystemWatcher(pattern)
            for pattern in dict.fromkeys(patterns)
            if not PurePath(pattern).is_absolute() and not pattern.startswith("..")
        ]
        registration = types.Registration(
            id="occlsp-files",
            method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            register_options=types.DidChangeWatchedFilesRegistrationOptions(watchers),
        )
        try:
            await self._server.request(
                types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams([registration])
            )
        except Exception as error:
            log.info("the client does not watch files: %s", error)

    async def _poll(self) -> None:
        while True:
            await self._look()
            await asyncio.sleep(PERIOD)

    async def _look(self) -> None:
        folders = list(self._folders())
        files = {
            path: stamp
            for path, stamp in self._files().items()
            if not self._server.client.watches_files or owner(path, folders) is None
        }
        stamps = await asyncio.to_thread(_stamps, list(files)[:MAX_POLLED])
        before = {**files, **self._stamps}
        changed = [path for path, stamp in stamps.items() if before[path] not in (stamp, UNKNOWN)]
        self._stamps = stamps
        if changed:
            self._server.turns.label = "files changed"
            self._changed(changed)

    def told(self, changes: Iterable[types.FileEvent]) -> None:
        """The client has seen changes."""
        paths = [path for change in changes if (path := uris.to_path(change.uri)) is not None]
        if paths:
            self._changed(paths)


def _stamps(paths: Iterable[str]) -> dict[str, Stamp]:
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)  # noqa: PTH116  (thousands, every two seconds)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size
