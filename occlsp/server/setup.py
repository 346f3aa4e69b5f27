"""Registers every handler: the one list of what the server answers.

Handlers are imported when they are first needed, so that `initialize` is answered at once.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from lsprotocol import types

from occlsp.server import logs
from occlsp.server.server import Server

PACKAGE = "occlsp.server.requests"


class Handler(NamedTuple):
    """Where a method's handler is, and what is said of it in the capabilities."""

    method: str
    place: str
    """`module:function` in `occlsp.server.requests`."""
    options: Any = None
    is_async: bool = False


KINDS: list[types.CodeActionKind | str] = [
    types.CodeActionKind.QuickFix,
    types.CodeActionKind.RefactorRewrite,
    "source.occlsp.compile",
]
HANDLERS = (
    Handler(types.INITIALIZED, "lifecycle:initialized"),
    Handler(types.TEXT_DOCUMENT_DID_SAVE, "lifecycle:did_save"),
    Handler(types.WORKSPACE_DID_CHANGE_CONFIGURATION, "lifecycle:did_change_configuration"),
    Handler(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, "lifecycle:did_change_watched_files"),
    Handler(types.TEXT_DOCUMENT_HOVER, "hover:hover"),
    Handler(
        types.TEXT_DOCUMENT_INLAY_HINT,
        "inlay_hint:inlay_hint",
        types.InlayHintOptions(resolve_provider=True),
    ),
    Handler(types.INLAY_HINT_RESOLVE, "inlay_hint:resolve"),
    Handler(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        "diagnostic:diagnostic",
        types.DiagnosticOptions(
            inter_file_dependencies=True, workspace_diagnostics=False, identifier="occlsp"
        ),
    ),
    Handler(
        types.TEXT_DOCUMENT_CODE_ACTION,
        "code_action:code_action",
        types.CodeActionOptions(code_action_kinds=KINDS, resolve_provider=False),
    ),
    Handler(
        types.TEXT_DOCUMENT_CODE_LENS,
        "code_lens:code_lens",
        types.CodeLensOptions(resolve_provider=False),
    ),
    Handler(
        types.TEXT_DOCUMENT_COMPLETION,
        "completion:completion",
        types.CompletionOptions(trigger_characters=["(", "<", ","]),
    ),
    Handler("occlsp/explorer", "explorer:explorer"),
    Handler("occlsp/status", "status:status"),
)
COMMANDS = (
    Handler("occlsp.compile", "commands:compile_file", is_async=True),
    Handler("occlsp.setArch", "commands:set_arch"),
    Handler("occlsp.whatif", "commands:whatif", is_async=True),
    Handler("occlsp.showReport", "commands:show_report"),
    Handler("occlsp.clearCache", "commands:clear_cache", is_async=True),
)


def create_server(log_level: str | None = None) -> Server:
    """A server with every handler; `log_level` as in `logs.configure`."""
    server = Server()
    for handler in HANDLERS:
        server.feature(handler.method, handler.options)(_lazy(handler))
    for command in COMMANDS:
        server.command(command.method)(_lazy(command))
    logs.configure(server, log_level)
    return server


def preload() -> None:
    """Imports what handlers need, in a thread, before the first is asked for."""
    for handler in (*HANDLERS, *COMMANDS):
        importlib.import_module(f"{PACKAGE}.{handler.place.partition(':')[0]}")
    importlib.import_module("pygal")  # draws a hover's curve: the first would wait for it


def _lazy(handler: Handler) -> Callable[..., Any]:
    """The handler, imported on the first call."""

    @functools.cache
    def function() -> Callable[..., Any]:
        module, _, name = handler.place.partition(":")
        found: Callable[..., Any] = getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
        return found

    # pygls passes itself to a first parameter of this name, and asks what kind a handler is.
    if handler.is_async:

        async def later(ls: Server, *arguments: Any) -> Any:
            return await function()(ls, *arguments)

        return later

    def now(ls: Server, *arguments: Any) -> Any:
        answer = function()(ls, *arguments)
        assert not inspect.isawaitable(answer)
        return answer

    return now
