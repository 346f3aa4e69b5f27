"""`textDocument/codeLens`: a line above kernels and launches, off by default."""

from __future__ import annotations

from lsprotocol import types

from occlsp.analysis.lenses import lenses
from occlsp.server.server import Server


def code_lens(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens] | None:
    """The lenses of a document; none where they are not switched on."""
    view = ls.session.view(params.text_document.uri)
    if view is None or not view.snapshot.settings.lens.enabled:
        return None
    return [
        types.CodeLens(
            range=view.range(lens.span),
            command=types.Command(
                title=lens.title, command=lens.command, arguments=list(lens.arguments) or None
            ),
        )
        for lens in lenses(view.snapshot, view.path)
    ]
