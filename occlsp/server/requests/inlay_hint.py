"""`textDocument/inlayHint` and its resolve: labels at the ends of lines.

The tooltip is the hover, which few users open and which is most of the answer's size: where the
client can ask for it later, it is sent then.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from occlsp.analysis.hints import hints
from occlsp.server import convert
from occlsp.server.server import Server


def inlay_hint(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    """The hints of the lines in a range."""
    view = ls.session.view(params.text_document.uri)
    if view is None:
        return None
    later = ls.client.resolves_tooltips
    return [
        types.InlayHint(
            position=convert.end_of_line(view.index, hint.offset, view.encoding),
            label=hint.label,
            padding_left=True,
            tooltip=None if later else _tooltip(ls, hint.tooltip),
            data=[view.document.uri, view.document.version, hint.offset, hint.kind]
            if later
            else None,
        )
        for hint in hints(view.snapshot, view.path, view.span(params.range), tooltips=not later)
    ]


def resolve(ls: Server, hint: types.InlayHint) -> types.InlayHint:
    """The hint with its tooltip; as it came, where its text has changed since."""
    data: Any = hint.data
    if not isinstance(data, (list, tuple)) or len(data) != 4:
        return hint
    uri, version, offset, kind = data
    view = ls.session.view(uri) if isinstance(uri, str) else None
    if view is None or view.document.version != version or not isinstance(offset, int):
        return hint
    line = view.index.line_span(view.index.line_of(offset))
    for found in hints(view.snapshot, view.path, line):
        if found.offset == offset and found.kind == kind:
            hint.tooltip = _tooltip(ls, found.tooltip)
            break
    return hint


def _tooltip(ls: Server, text: str) -> types.MarkupContent | str | None:
    if not text:
        return None
    return types.MarkupContent(types.MarkupKind.Markdown, text) if ls.client.markdown else text
