"""All that the server knows for one client: open documents, folders, settings, trust.

Everything here runs on the event loop. A request takes a `View` and works on what is in it,
which never changes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types

from occlsp.analysis.findings import findings
from occlsp.analysis.results import Finding
from occlsp.reports.local_gpus import LocalGpu
from occlsp.server import tasks, uris
from occlsp.server.background import Background
from occlsp.server.compiles import Compiles
from occlsp.server.configuration import TOML, Configuration, FolderSettings
from occlsp.server.convert import SOURCE, Converter, range_of
from occlsp.server.documents import Document, Documents
from occlsp.server.folder import Folder, modified, owner, project_of
from occlsp.server.refresh import Refresh
from occlsp.server.status import status_of
from occlsp.server.trust import Trust
from occlsp.server.view import View
from occlsp.source.text import LineIndex, PositionEncoding

if TYPE_CHECKING:
    from occlsp.server.server import Server

log = logging.getLogger("occlsp.session")

LARGE = 200 * 1024
"""Bytes of a text whose opening may take its parse."""
SETTLE = 0.050
"""Seconds after an edit when the other open files are looked at again."""


class Session:
    """The state of one connection."""

    def __init__(self, server: Server, params: types.InitializeParams, encoding: str) -> None:
        self._server = server
        self.encoding = cast(PositionEncoding, encoding)
        self.documents = Documents(self.encoding)
        self.configuration = Configuration(server, params.initialization_options)
        self.trust = Trust(server)
        self.refresh = Refresh(server, lambda: self.documents, self.diagnostics)
        self._gpus: tuple[LocalGpu, ...] = ()
        self._is_loaded: set[str] = set()
        self._settling: set[str] = set()
        self._status_due = False
        self._status_told: dict[str, Any] = {}
        self.folders: dict[str, Folder] = {
            path: Folder(path, is_project=True) for path in _roots(params)
        }
        self.background = Background(server, self)
        self.compiles = Compiles(server, self)
        self.is_settled = False
        """The first look at the folders is over."""
        self.is_starting = False
        """The settings are being read for the first time: until then requests wait."""

    # -- what requests see ---------------------------------------------------------------------

    def view(self, uri: str) -> View | None:
        """The document that the client calls `uri`; None where it is not open or not ours."""
        document = self.documents.get(uri)
        if document is None:
            return None
        folder = self.folder(document.path)
        folder.settle(document.path)
        snapshot = folder.snapshot

        def lines(path: str) -> LineIndex | None:
            opened = self.documents.at(path)
            if opened is not None:
                return opened.index
            file = snapshot.sources.file(path)
            return file.lines if file is not None else None

        converter = Converter(self._server.client, self.encoding, lines, self.documents.uri)
        return View(document, snapshot, self.encoding, converter)

    def unsettled(self, message: Any) -> Callable[[], bool] | None:
        """What is to be done, piece by piece, before a request for an open document can be answered
        at once: it is to be looked at again. None where nothing is."""
        if not isinstance(message, dict) or "id" not in message:
            return None
        params = message.get("params")
        named = params.get("textDocument") if isinstance(params, dict) else None
        uri = named.get("uri") if isinstance(named, dict) else None
        document = self.documents.get(uri) if isinstance(uri, str) else None
        if document is None:
            return None
        folder, path = self.existing_folder(document.path), document.path
        return (lambda: folder.settle_some(path)) if folder and folder.is_due(path) else None

    def version(self, path: str) -> int | None:
        """The version of an open file; None for one that is only on disk."""
        document = self.documents.at(path)
        return document.version if document is not None else None

    def diagnostics(self, uri: str) -> tuple[list[types.Diagnostic], str]:
        """The findings of a document, and a word that changes when they do."""
        view = self.view(uri)
        if view is None:
            return [], "none"
        found: tuple[Finding, ...] = tuple(findings(view.snapshot, view.path))
        items = [d for finding in found if (d := view.converter.diagnostic(finding)) is not None]
        return items, f"{hash((found, tuple(map(_place, items)))) & 0xFFFFFFFFFFFF:x}"

    def existing_folder(self, path: str) -> Folder | None:
        """The folder that a file lies in, or whose reports it is one of; None where there is
        none."""
        found = owner(path, self.folders)
        if found is not None:
            return self.folders[found]
        return next((f for f in self.folders.values() if path in f.watched), None)

    def folder(self, path: str) -> Folder:
        """The folder that a file belongs to, made where there is none yet."""
        found = owner(path, self.folders)
        if found is None:
            found, is_project = project_of(path)
            self._add(found, is_project=is_project)
            self._server.spawn(self._load([found]))
        return self.folders[found]

    def status(self, uri: str | None = None) -> dict[str, Any]:
        """What `occlsp/status` tells: of the folder of a document, or of the first."""
        path = uris.to_path(uri) if uri is not None else None
        folder = self.existing_folder(path) if path is not None else None
        folder = folder or next(iter(self.folders.values()), None)
        return status_of(folder, self.background.doing, self.compiles)

    # -- what the client tells -----------------------------------------------------------------

    def start(self, preload: Callable[[], None]) -> None:
        """After `initialized`: reads the settings and does `preload`, in a thread; then
        everything else may be answered."""
        self.is_starting = True
        self._server.spawn(self._start(preload))

    async def _start(self, preload: Callable[[], None]) -> None:
        try:
            await asyncio.gather(asyncio.to_thread(preload), self._load(list(self.folders)))
            self.background.start()
        finally:
            self.is_starting = False
            self._server.resume()

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Takes a document in."""
        document = self.documents.open(params.text_document)
        if document is None:
            return
        is_large = len(document.text) > LARGE
        if is_large:
            self._server.turns.allow()
        self._take(document, modified(document), may_be_long=is_large)
        self.background.read(self.folder(document.path).path, document.path)
        self.refresh.opened(document.uri)

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Takes an edit in."""
        document = self.documents.change(params.text_document, params.content_changes)
        if document is not None:
            self._take(document, time.time())
            self.refresh.edited(document.uri)

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forgets the text: what the disk holds counts again."""
        document = self.documents.close(params.text_document.uri)
        if document is not None:
            self.refresh.closed(document.uri)
            folder = self.folder(document.path)
            folder.closed(document.path)
            self.background.read(folder.path, document.path)

    def did_change_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Folders come and go."""
        for gone in params.event.removed:
            self.folders.pop(uris.to_path(gone.uri) or "", None)
        came = [path for f in params.event.added if (path := uris.to_path(f.uri)) is not None]
        for path in came:
            self._add(path, is_project=True)
        for document in self.documents:
            self._take(document, modified(document))
        self._server.spawn(self._load(came))
        self.refresh.news()

    def did_change_configuration(self, params: types.DidChangeConfigurationParams) -> None:
        """Settings have changed: asks for them, where the client can be asked."""
        self.configuration.pushed(params.settings)
        self.reload_settings()

    def reload_settings(self) -> None:
        """Reads the settings of all folders again."""
        self._server.spawn(self._load(list(self.folders)))

    def did_save(self, uri: str) -> None:
        """A document is on the disk as it is open."""
        document = self.documents.get(uri)
        if document is not None:
            self.background.read(self.folder(document.path).path, document.path)
            self._server.spawn(self.compiles.on_save(document.path))

    def set_architectures(self, names: tuple[str, ...]) -> None:
        """What the user chose, for all folders; nothing chosen: as the settings say."""
        for folder in self.folders.values():
            folder.chosen = names
            folder.choose_architectures()
        self.refresh.news()
        self.status_changed()

    async def clear_cache(self) -> str:
        """Empties the cache of compiles, and forgets its numbers; where it is."""
        place = await self.background.call(f"{tasks.__name__}:clear_cache", None, str)
        for folder in self.folders.values():
            folder.take_reports({}, [name for name in folder.reports if tasks.is_cached(name)])
        self.refresh.news()
        return place

    async def close(self) -> None:
        """Ends all work and every child process."""
        self.refresh.close()
        await asyncio.gather(self.compiles.close(), self.background.close())

    # -- what the background tells -------------------------------------------------------------

    def take_gpus(self, found: tuple[LocalGpu, ...]) -> None:
        """The GPUs of this machine are known."""
        self._gpus = found
        for folder in self.folders.values():
            folder.take_gpus(found)
        self.refresh.news()
        self.status_changed()

    def status_changed(self) -> None:
        """Tells the client, where it wants to know; once a moment."""
        if self._server.client.status and not self._status_due:
            self._status_due = True
            self._server.loop.call_later(0.05, self._tell_status)

    def _tell_status(self) -> None:
        self._status_due = False
        told = self.status()
        if told != self._status_told:
            self._status_told = told
            self._server.tell("occlsp/status", told)

    # -- inside --------------------------------------------------------------------------------

    def _take(self, document: Document, when: float, *, may_be_long: bool = False) -> None:
        folder = self.folder(document.path)
        folder.put(document, when)

        def settle_some() -> bool:
            if may_be_long:
                self._server.turns.allow()
            return folder.settle_some(document.path)

        self._server.go_on(settle_some)
        self.settle(folder)

    def settle(self, folder: Folder) -> None:
        """Takes in, soon, what the open files of a folder say in view of all that is known."""
        if folder.path not in self._settling:
            self._settling.add(folder.path)
            self._server.loop.call_later(SETTLE, self._settle_next, folder)

    def _settle_next(self, folder: Folder) -> None:
        if folder.settle_some():
            self._server.turns.label = "looking again at an open file"
            self._server.loop.call_soon(self._settle_next, folder)
            return
        self._settling.discard(folder.path)
        if folder.is_news:
            folder.is_news = False
            self.refresh.news()

    def _add(self, path: str, *, is_project: bool) -> None:
        folder = self.folders[path] = Folder(path, is_project=is_project)
        folder.take_gpus(self._gpus)

    async def _load(self, paths: list[str]) -> None:
        """Reads the settings of folders and puts them in force."""
        for path, settings in (await self.configuration.load(paths)).items():
            folder = self.folders.get(path)
            if folder is not None:
                folder.configure(settings)
                known = self.trust.known(path, folder.snapshot.settings.trusted)
                if known is not None:
                    folder.set_trust(known)
                self._show_problems(settings)
        self.background.survey(paths)
        if not self._is_loaded.issuperset(paths):
            self._is_loaded.update(paths)
            self.background.scan(paths)
        self.refresh.news()
        self.status_changed()

    def _show_problems(self, settings: FolderSettings) -> None:
        """What is wrong in `occlsp.toml`, as diagnostics of that file."""
        index = LineIndex(settings.toml_text or b"")
        items = [
            types.Diagnostic(
                range=range_of(index, problem.span, self.encoding),
                message=problem.message.removeprefix(f"{TOML}: "),
                severity=types.DiagnosticSeverity.Warning,
                source=SOURCE,
            )
            for problem in settings.problems
        ]
        self.refresh.settings_file(uris.from_path(str(settings.toml)), items)


def _roots(params: types.InitializeParams) -> list[str]:
    """The workspace folders that are directories on this machine."""
    found = [folder.uri for folder in params.workspace_folders or ()]
    if not found and params.root_uri:
        found = [params.root_uri]
    paths = [path for uri in found if (path := uris.to_path(uri)) is not None]
    if not found and params.root_path:
        paths = [params.root_path]
    return list(dict.fromkeys(paths))


def _place(item: types.Diagnostic) -> tuple[Any, ...]:
    start, end = item.range.start, item.range.end
    return start.line, start.character, end.line, end.character
