"""What one request sees: a document, the snapshot that it is part of, and its positions."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types

from occlsp.analysis.snapshot import Snapshot
from occlsp.server import convert
from occlsp.server.convert import Converter
from occlsp.server.documents import Document, span_of
from occlsp.source.text import LineIndex, PositionEncoding, Span


@dataclass(frozen=True, slots=True)
class View:
    """One version of one document, with all that an answer about it rests on."""

    document: Document
    snapshot: Snapshot
    encoding: PositionEncoding
    converter: Converter

    @property
    def path(self) -> str:
        """The document's file."""
        return self.document.path

    @property
    def index(self) -> LineIndex:
        """The document's lines."""
        return self.document.index

    def offset(self, position: types.Position) -> int:
        """The byte offset of a position."""
        return self.index.offset(position.line, position.character, self.encoding)

    def span(self, range_: types.Range) -> Span:
        """The bytes of a range."""
        return span_of(self.index, range_, self.encoding)

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        return convert.range_of(self.index, span, self.encoding)
