"""`textDocument/completion`: block sizes, with the occupancy each would give."""

from __future__ import annotations

from lsprotocol import types

from occlsp.analysis.completion import completions
from occlsp.server.server import Server


def completion(ls: Server, params: types.CompletionParams) -> types.CompletionList | None:
    """The sizes that can be typed here; None where it is no place for one."""
    view = ls.session.view(params.text_document.uri)
    if view is None:
        return None
    found = completions(view.snapshot, view.path, view.offset(params.position))
    if not found:
        return None
    return types.CompletionList(
        is_incomplete=False,
        items=[
            types.CompletionItem(
                label=item.label,
                detail=item.detail,
                kind=types.CompletionItemKind.Value,
                sort_text=f"{item.sort:04}",
                text_edit=types.TextEdit(view.range(item.span), item.label),
            )
            for item in found
        ],
    )
