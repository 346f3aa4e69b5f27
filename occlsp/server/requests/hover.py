"""`textDocument/hover`: limits, allocated sizes, headroom and provenance of what is there."""

from __future__ import annotations

from lsprotocol import types

from occlsp.analysis.hover import hover as analyse
from occlsp.server.server import Server


def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """The hover of a kernel, launch bounds or launch; None elsewhere."""
    view = ls.session.view(params.text_document.uri)
    if view is None:
        return None
    offset = view.offset(params.position)
    found = analyse(view.snapshot, view.path, offset, picture=ls.client.pictures)
    if found is None:
        return None
    kind = types.MarkupKind.Markdown if ls.client.markdown else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, found.markdown), view.range(found.span))
