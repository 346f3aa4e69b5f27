"""The texts that the client has open: immutable documents, our own incremental sync.

`pygls` would split lines where the protocol does not (form feed, U+2028), and an edit after one
would corrupt the text: so lines are those of `occlsp.source.text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lsprotocol import types

from occlsp.server import uris
from occlsp.source.text import LineIndex, PositionEncoding, Span

Change = types.TextDocumentContentChangeEvent


@dataclass(frozen=True)
class Document:
    """One version of one open text."""

    uri: str
    path: str
    version: int
    language: str
    text: bytes = field(repr=False)
    lines: LineIndex | None = field(default=None, repr=False, compare=False)
    """Those of `text`, where they are known."""

    @cached_property
    def index(self) -> LineIndex:
        """Lines and positions of the text."""
        return self.lines if self.lines is not None else LineIndex(self.text)


class Documents:
    """The open documents that are ours, by path. Others are not kept."""

    def __init__(self, encoding: PositionEncoding) -> None:
        self.encoding = encoding
        self._by_uri: dict[str, Document] = {}
        self._by_path: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._by_uri.values()))

    def __len__(self) -> int:
        return len(self._by_uri)

    @property
    def last(self) -> Document | None:
        """The one that was opened or changed last."""
        return next(reversed(self._by_uri.values()), None)

    def get(self, uri: str) -> Document | None:
        """The document that the client calls `uri`; None when it is not open or not ours."""
        found = self._by_uri.get(uri)
        if found is None and (path := uris.to_path(uri)) is not None:
            return self._by_path.get(path)  # the same file, spelt otherwise
        return found

    def at(self, path: str) -> Document | None:
        """The open document of a file."""
        return self._by_path.get(path)

    def uri(self, path: str) -> str:
        """What the client calls the file at `path`."""
        document = self._by_path.get(path)
        return document.uri if document is not None else uris.from_path(path)

    def open(self, item: types.TextDocumentItem) -> Document | None:
        """Takes an opened document; None when it is not ours."""
        path = uris.to_path(item.uri)
        if path is None or not uris.is_ours(path, item.language_id):
            return None
        return self._keep(
            Document(item.uri, path, item.version, item.language_id, encode(item.text))
        )

    def change(
        self, identifier: types.VersionedTextDocumentIdentifier, changes: Sequence[Change]
    ) -> Document | None:
        """Applies changes in order; None when the document is not open or not ours."""
        document = self.get(identifier.uri)
        if document is None:
            return None
        lines = apply(document.index, changes, self.encoding)
        known = (document.uri, document.path, identifier.version, document.language)
        return self._keep(Document(*known, lines.text, lines))

    def close(self, uri: str) -> Document | None:
        """Forgets a document; returns it, or None when it was not open."""
        document = self.get(uri)
        if document is not None:
            self._by_uri.pop(document.uri, None)
            self._by_path.pop(document.path, None)
        return document

    def _keep(self, document: Document) -> Document:
        previous = self._by_path.get(document.path)
        if previous is not None and previous.uri != document.uri:
            del self._by_uri[previous.uri]
        self._by_uri.pop(document.uri, None)
        self._by_uri[document.uri] = document
        self._by_path[document.path] = document
        return document


def encode(text: str) -> bytes:
    """UTF-8 of a text as the client sent it. A surrogate without its pair becomes U+FFFD, which
    has its length in UTF-16, so that positions hold."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def apply(index: LineIndex, changes: Sequence[Change], encoding: PositionEncoding) -> LineIndex:
    """The text after `changes`, each relative to the text that the one before it left.

    Editors send an edit at many cursors from the last to the first: then all positions can be
    read from the first line index, and the text is put together once.
    """
    pending: list[tuple[Span, bytes]] = []  # in `index`, from the last to the first
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangeWholeDocument):
            index, pending = LineIndex(encode(change.text)), []
            continue
        span = span_of(index, change.range, encoding)
        if pending and span.end >= pending[-1][0].start:
            index, pending = _splice(index, pending), []
            span = span_of(index, change.range, encoding)
        pending.append((span, encode(change.text)))
    return _splice(index, pending)


def _splice(index: LineIndex, edits: Sequence[tuple[Span, bytes]]) -> LineIndex:
    if len(edits) == 1:
        span, new = edits[0]
        return index.spliced(span.start, span.end, new)
    parts: list[bytes] = []
    start = 0
    for span, new in reversed(edits):
        parts += (index.text[start : span.start], new)
        start = span.end
    return LineIndex(b"".join((*parts, index.text[start:])))


def span_of(index: LineIndex, range_: types.Range, encoding: PositionEncoding) -> Span:
    """The bytes of a range; one that ends before it starts is taken the other way round."""
    start = index.offset(range_.start.line, range_.start.character, encoding)
    end = index.offset(range_.end.line, range_.end.character, encoding)
    return Span(min(start, end), max(start, end))
