"""Preprocessed text by its line markers: what of it is the user's, and where each line is from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from occlsp.reports.outline import blank, line_of, line_starts

_MARKER = re.compile(rb'#(?: |line )(\d+) "((?:\\.|[^"\\])*)"[ \d]*$')
_MARKER_LINE = re.compile(rb"#(?: |line )\d")
_PRELUDE_ENDS = re.compile(rb'^# \d+ "<command-line>" 2$', re.MULTILINE)
_PRELUDE_MAX = 1 << 23


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, 1-based."""

    file: str
    line: int


class Preprocessed:
    """What the preprocessor made of a unit, of which the own part may be changed.

    The part that nvcc itself includes before the unit is left out, since nvcc puts it there
    again: so the text is compiled as any `.cu` file is. `is_own(path)` says which files may be
    changed. Changes keep the number of lines.
    """

    def __init__(self, output: bytes, is_own: Callable[[str], bool]) -> None:
        self._pieces: list[tuple[bool, bytes]] = []
        self._places: list[Place] = []
        self._split(without_prelude(output), is_own)
        self._rows_at: dict[Place, list[int]] = {}
        for row, place in enumerate(self._places):
            self._rows_at.setdefault(place, []).append(row)
        self.own = b"".join(piece for own, piece in self._pieces if own)

    @property
    def own(self) -> bytes:
        """The part that may be changed, run together."""
        return self._own

    @own.setter
    def own(self, text: bytes) -> None:
        self._own = text
        self._starts = line_starts(text)

    def whole(self) -> bytes:
        """All of it, to be compiled."""
        rows = self._own.split(b"\n")
        out: list[bytes] = []
        at = 0
        for own, piece in self._pieces:
            if own:
                count = piece.count(b"\n")
                out.extend(row + b"\n" for row in rows[at : at + count])
                at += count
            else:
                out.append(piece)
        return b"".join(out)

    def row_of(self, offset: int) -> int:
        """The number of the own line that `offset` is on: the same through all changes."""
        return line_of(self._starts, offset)

    def place_of(self, offset: int) -> Place:
        """Where the own line that `offset` is on comes from."""
        return self._places[min(self.row_of(offset), len(self._places) - 1)]

    def offset_at(self, place: Place, source: str = "", column: int | None = None) -> int | None:
        """The offset of a place in the own text; at `column` of the line that reads `source`.

        A file that is included twice has several such lines, and a macro's expansion several of
        one number: that which reads as `source`, else the first that is not blank.
        """
        first: int | None = None
        wanted = source.strip().encode("utf-8", "surrogateescape")[:200]
        for row in self._rows_at.get(place, ()):
            start = self._starts[row]
            end = self._starts[row + 1] if row + 1 < len(self._starts) else len(self._own)
            line = self._own[start:end]
            text = line.strip()
            if not text:
                continue
            start += len(line) - len(line.lstrip())
            if wanted and column is not None and text.startswith(wanted):
                return start + min(column, len(text) - 1)
            first = start if first is None else first
        return first

    def _split(self, text: bytes, is_own: Callable[[str], bool]) -> None:
        run: list[bytes] = []
        file, line, own = "", 0, False
        decisions: dict[bytes, bool] = {}
        rows = text.split(b"\n")
        for row in rows[:-1] if not rows[-1] else rows:
            marker = _MARKER.match(row) if row.startswith(b"#") else None
            if marker is not None:
                # Whether GCC calls it a system header says nothing: folders of ours are such to
                # it, and so is every line that a system header's macro expands on.
                name = marker.group(2)
                file = name.decode("utf-8", "surrogateescape")
                if name not in decisions:
                    decisions[name] = not file.startswith("<") and is_own(file)
                if decisions[name] != own and run:
                    self._pieces.append((own, b"".join(run)))
                    run = []
                line, own = int(marker.group(1)) - 1, decisions[name]
            run.append(row + b"\n")
            if own:
                self._places.append(Place(file, line))
            line += 1
        self._pieces.append((own, b"".join(run)))


def without_prelude(output: bytes) -> bytes:
    """The text from where the unit itself starts."""
    begin = 0
    for found in _PRELUDE_ENDS.finditer(output, 0, min(len(output), _PRELUDE_MAX)):
        begin = found.end() + 1
    return output[begin:]


def blank_code(text: bytes) -> bytes:
    """`text` blanked, but for its line markers and line ends."""
    rows = text.split(b"\n")
    return b"\n".join(row if _MARKER_LINE.match(row) else blank(row) for row in rows)
