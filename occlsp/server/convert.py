"""Our plain data as the protocol's types: the only place that makes positions of offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lsprotocol import types

from occlsp import HOME
from occlsp.analysis.results import Edit, Finding, Severity
from occlsp.server.client import Client
from occlsp.source.text import LineIndex, PositionEncoding, Span

SOURCE = "occlsp"
SEVERITIES: dict[Severity, types.DiagnosticSeverity] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}


def position(index: LineIndex, offset: int, encoding: PositionEncoding) -> types.Position:
    """The position of a byte offset."""
    return types.Position(*index.position(offset, encoding))


def range_of(index: LineIndex, span: Span, encoding: PositionEncoding) -> types.Range:
    """The range of a span."""
    return types.Range(position(index, span.start, encoding), position(index, span.end, encoding))


def end_of_line(index: LineIndex, offset: int, encoding: PositionEncoding) -> types.Position:
    """Where a hint for what stands at `offset` is drawn: the end of its line."""
    return position(index, index.line_span(index.line_of(offset)).end, encoding)


class Converter:
    """Conversion for one client; `lines` gives the line index of any file in view, `uri` what
    the client calls it."""

    def __init__(
        self,
        client: Client,
        encoding: PositionEncoding,
        lines: Callable[[str], LineIndex | None],
        uri: Callable[[str], str],
    ) -> None:
        self._client = client
        self._encoding = encoding
        self._lines = lines
        self._uri = uri

    def diagnostic(self, finding: Finding) -> types.Diagnostic | None:
        """A finding; None when its file is not in view any more."""
        index = self._lines(finding.path)
        if index is None:
            return None
        return types.Diagnostic(
            range=range_of(index, finding.span, self._encoding),
            message=finding.message,
            severity=SEVERITIES[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(f"{HOME}#{finding.code}")
            if self._client.code_description
            else None,
            source=SOURCE,
            related_information=self._related(finding) if finding.related else None,
        )

    def _related(self, finding: Finding) -> list[types.DiagnosticRelatedInformation] | None:
        if not self._client.related_information:
            return None
        found = []
        for related in finding.related:
            index = self._lines(related.path)
            if index is not None:
                place = range_of(index, related.span, self._encoding)
                found.append(
                    types.DiagnosticRelatedInformation(
                        types.Location(self._uri(related.path), place), related.message
                    )
                )
        return found

    def workspace_edit(
        self, edits: Iterable[Edit], version: Callable[[str], int | None]
    ) -> types.WorkspaceEdit | None:
        """The edits of a fix; None when one of the files is not in view any more. With versions
        where the client checks them, so that a fix for an old text is not applied."""
        by_path: dict[str, list[types.TextEdit | types.AnnotatedTextEdit]] = {}
        for edit in edits:
            index = self._lines(edit.path)
            if index is None:
                return None
            place = range_of(index, edit.span, self._encoding)
            by_path.setdefault(edit.path, []).append(types.TextEdit(place, edit.text))
        if self._client.document_changes:
            return types.WorkspaceEdit(
                document_changes=[
                    types.TextDocumentEdit(
                        types.OptionalVersionedTextDocumentIdentifier(
                            self._uri(path), version(path)
                        ),
                        changed,
                    )
                    for path, changed in by_path.items()
                ]
            )
        return types.WorkspaceEdit(
            changes={
                self._uri(path): [e for e in changed if isinstance(e, types.TextEdit)]
                for path, changed in by_path.items()
            }
        )
