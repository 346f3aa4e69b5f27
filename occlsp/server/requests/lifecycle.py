"""Notifications about the session itself: start, saves, settings, files on disk."""

from __future__ import annotations

import asyncio

from lsprotocol import types

from occlsp.server.server import Server

WARM_AFTER = 2.0
"""Seconds after the start, when what was opened first has been answered."""


def initialized(ls: Server, params: types.InitializedParams) -> None:
    """The client is ready: registers what cannot be said in the capabilities, reads settings."""
    from occlsp.server.setup import preload

    ls.session.start(preload)
    if ls.client.pictures:
        ls.spawn(_warm_pictures())


async def _warm_pictures() -> None:
    """Loads what draws pictures, in a thread, before the first hover asks for one."""
    await asyncio.sleep(WARM_AFTER)
    await asyncio.to_thread(_load_pictures)


def _load_pictures() -> None:
    from occlsp.analysis.curve import warm

    warm()


def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    """A file is on disk as it is open: time to compile."""
    ls.session.did_save(params.text_document.uri)


def did_change_configuration(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    """Settings have changed."""
    ls.session.did_change_configuration(params)


def did_change_watched_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    """Files on disk have changed."""
    ls.session.background.told(params.changes)
