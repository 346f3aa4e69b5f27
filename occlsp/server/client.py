"""What the client can do, read once from its capabilities."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types
from pygls.capabilities import get_capability

VSCODE = frozenset({"Visual Studio Code", "VSCodium", "code-server"})
PASS_OVER = VSCODE | {"Neovim"}
"""Clients that pass over a notification that they do not know without a word to the user."""


@dataclass(frozen=True, slots=True)
class Client:
    """One yes or no for each thing that makes a difference to what we send."""

    name: str = ""
    pulls_diagnostics: bool = False
    """And can be told to pull again: findings also change when a compile is done, and a client
    that would not hear of it (Neovim) gets them pushed."""
    related_information: bool = False
    code_description: bool = False
    diagnostic_version: bool = False
    refresh_hints: bool = False
    refresh_lenses: bool = False
    inlay_hints: bool = False
    resolves_tooltips: bool = False
    code_lenses: bool = False
    markdown: bool = False
    pictures: bool = False
    """Shows `data:` images in hovers; no capability tells, so that the name has to."""
    code_action_literals: bool = False
    preferred_actions: bool = False
    disabled_actions: bool = False
    document_changes: bool = False
    configuration: bool = False
    watches_configuration: bool = False
    watches_files: bool = False
    progress: bool = False
    show_document: bool = False
    status: bool = False
    """Wants the notification `occlsp/status`."""

    @classmethod
    def of(cls, params: types.InitializeParams) -> Client:
        """Reads the capabilities; whatever is missing or odd there is a no."""
        capabilities = params.capabilities

        def can(path: str) -> bool:
            return bool(get_capability(capabilities, path))

        def has(path: str) -> bool:
            return get_capability(capabilities, path) is not None

        formats = get_capability(capabilities, "text_document.hover.content_format") or ()
        markdown = types.MarkupKind.Markdown in formats
        return cls(
            name=params.client_info.name if params.client_info else "",
            pulls_diagnostics=has("text_document.diagnostic")
            and can("workspace.diagnostics.refresh_support"),
            related_information=can("text_document.publish_diagnostics.related_information")
            or can("text_document.diagnostic.related_information"),
            code_description=can("text_document.publish_diagnostics.code_description_support")
            or can("text_document.diagnostic.code_description_support"),
            diagnostic_version=can("text_document.publish_diagnostics.version_support"),
            refresh_hints=can("workspace.inlay_hint.refresh_support"),
            refresh_lenses=can("workspace.code_lens.refresh_support"),
            inlay_hints=has("text_document.inlay_hint"),
            resolves_tooltips="tooltip"
            in (get_capability(capabilities, "text_document.inlay_hint.resolve_support.properties")
                or ()),
            code_lenses=has("text_document.code_lens"),
            markdown=markdown,
            pictures=markdown
            and params.client_info is not None
            and params.client_info.name in VSCODE,
            code_action_literals=has("text_document.code_action.code_action_literal_support"),
            preferred_actions=can("text_document.code_action.is_preferred_support"),
            disabled_actions=can("text_document.code_action.disabled_support"),
            document_changes=can("workspace.workspace_edit.document_changes"),
            configuration=can("workspace.configuration"),
            watches_configuration=can("workspace.did_change_configuration.dynamic_registration"),
            watches_files=can("workspace.did_change_watched_files.dynamic_registration"),
            progress=can("window.work_done_progress"),
            show_document=can("window.show_document.support"),
            status=_experimental(capabilities)
            or (params.client_info is not None and params.client_info.name in PASS_OVER),
        )  # fmt: skip


def _experimental(capabilities: types.ClientCapabilities) -> bool:
    experimental = capabilities.experimental
    return isinstance(experimental, dict) and bool(experimental.get("occlspStatus"))


def offered(
    capabilities: types.ServerCapabilities, client: Client, supports: types.ClientCapabilities
) -> types.ServerCapabilities:
    """`capabilities` less what this client has no use for."""
    document = supports.text_document
    if not client.inlay_hints:
        capabilities.inlay_hint_provider = None
    if not client.code_lenses:
        capabilities.code_lens_provider = None
    if not client.pulls_diagnostics:
        capabilities.diagnostic_provider = None
    if document is None or document.completion is None:
        capabilities.completion_provider = None
    if document is None or document.code_action is None:
        capabilities.code_action_provider = None
    return capabilities
