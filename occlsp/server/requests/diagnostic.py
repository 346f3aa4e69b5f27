"""`textDocument/diagnostic`: findings for clients that pull. Others get them pushed."""

from __future__ import annotations

from lsprotocol import types

from occlsp.server.server import Server


def diagnostic(
    ls: Server, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
    """All findings of a document, or that they are as they were."""
    items, result = ls.session.diagnostics(params.text_document.uri)
    if params.previous_result_id == result:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=result)
    return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=result)
