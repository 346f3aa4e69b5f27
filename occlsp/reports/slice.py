"""The device slice: a unit's preprocessed text, less the host code that does not compile.

Occupancy needs device code alone. Where the host part of a unit does not compile (a library's
headers are missing), the compiler itself says which statement is at fault: that statement is
blanked, lines kept, and the compiler asked again. What may be cut, so that the numbers of what
is left are those of the full compile:

- host statements and host functions, freely. A kernel template that one of them names with
  arguments (`k<float, 4><<<…>>>(…)`) is instantiated in its place by taking its address;
- a kernel that does not compile is lost, and listed in `dropped`;
- any other device or constexpr function becomes `= delete`, and a class is left incomplete, so
  that whatever needs it fails too, and is never compiled against something else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from occlsp.reports.errors import CompilerError
from occlsp.reports.outline import Item, Outline, blank, line_of, line_starts, past_angles

_MARKER = re.compile(rb'^#(?: |line )(\d+) "((?:\\.|[^"\\])*)"([ \d]*)$')
_MARKER_LINE = re.compile(rb"#(?: |line )\d")
_DEVICE = re.compile(
    rb"__attribute__\s*\(\(\s*(?:__)?(?:device|global)(?:__)?\s*\)\)|\bconstexpr\b"
)
_GLOBAL = re.compile(rb"__attribute__\s*\(\(\s*(?:__)?global(?:__)?\s*\)\)")
_NAME = re.compile(rb"([A-Za-z_]\w*)\s*\(")
_QUALIFIED = re.compile(rb"(?:[A-Za-z_]\w*\s*(?:<[^<>;{}()]*>)?\s*::\s*)*$")
_ATTRIBUTES = re.compile(rb"__(?:attribute|declspec)__\s*\(")
_CLASS_HEAD = re.compile(rb"\b(?:struct|class|union)\s+(?:alignas\s*\([^()]*\)\s*)?[A-Za-z_][\w:]*")
_CONDITION = re.compile(rb"\s*(if|while|switch|for|catch)\b(\s*constexpr\b)?\s*\(")
_OUT_OF_CLASS = re.compile(rb"::\s*~?\w+\s*\(|::\s*operator\b")

STATEMENT_ROUNDS = 4
"""After so many rounds in one host function only what it instantiates is kept."""
FUNCTION_ROUNDS = 7
"""After so many, nothing of it."""


class _Edit(NamedTuple):
    start: int
    end: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the text by its marker."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class KernelTemplate:
    """A kernel template of the text."""

    name: str
    """Qualified by its namespaces."""
    place: Place
    has_defaults: bool
    """All its parameters have default arguments."""


class Slice:
    """Preprocessed text that can be cut where the compiler complains.

    `preprocessed` is what `nvcc -E` wrote. The part that nvcc itself includes before the unit is
    left out, since nvcc puts it there again; so the text is compiled as any `.cu` file is.
    `is_own(path)` says whether a file may be cut (headers of the system and the toolkit may not).
    """

    def __init__(self, preprocessed: bytes, is_own: Callable[[str], bool]) -> None:
        self._pieces, self._places = _split(without_prelude(preprocessed), is_own)
        self._own = b"".join(piece for own, piece in self._pieces if own)
        self._lines_at: dict[tuple[str, int], list[int]] = {}
        for number, place in enumerate(self._places):
            self._lines_at.setdefault((place.file, place.line), []).append(number)
        self._cuts: Counter[int] = Counter()
        self._tail = b""
        self.dropped: tuple[str, ...] = ()
        """Kernels that could not be compiled, by name."""
        self.cut_count = 0
        self._load()

    def _load(self) -> None:
        self._outline = Outline(self._own)
        self._starts = line_starts(self._own)
        self._kernels = list(self._find_kernels())
        names = {name for name, _, is_template in self._kernels if is_template}
        self._instantiable = _alternatives(names | self._host_templates())

    @property
    def text(self) -> bytes:
        """What to compile."""
        rows = self._own.splitlines(keepends=True)
        out, at = [], 0
        for own, piece in self._pieces:
            count = piece.count(b"\n")
            out.append(b"".join(rows[at : at + count]) if own else piece)
            at += count if own else 0
        return b"".join([*out, self._tail])

    # What to cut

    def cut(self, errors: Iterable[CompilerError]) -> bool:
        """Cuts what the errors stand in. False: no error stands where something may be cut."""
        edits: list[_Edit] = []
        touched: set[int] = set()
        for error in errors:
            offset = self._offset_of(error)
            if offset is not None:
                edits.extend(self._edit(offset, touched))
        edits = _outermost(edits)
        for edit in reversed(edits):
            self._own = self._own[: edit.start] + edit.text + self._own[edit.end :]
        if edits:
            self.cut_count += len(edits)
            self._load()
        return bool(edits)

    def _offset_of(self, error: CompilerError) -> int | None:
        """Where to cut: the host code that instantiates what fails, else the place itself."""
        for file, line in reversed(error.frames):
            offset = self._offset_at(file, line, "", None)
            if offset is not None and self._is_host_code(self._outline.chain(offset)):
                return offset
        offset = self._offset_at(error.file, error.line, error.source, error.column)
        if offset is not None:
            return offset
        places = (self._offset_at(file, line, "", None) for file, line in error.frames)
        return next((place for place in places if place is not None), None)

    def _offset_at(self, file: str, line: int, source: str, column: int | None) -> int | None:
        rows = self._lines_at.get((file, line), [])
        if not rows:
            return None
        candidates = []
        for row in rows:
            start = self._starts[row]
            end = self._starts[row + 1] if row + 1 < len(self._starts) else len(self._own)
            text = self._own[start:end]
            if text.strip():
                indent = len(text) - len(text.lstrip())
                candidates.append((start + indent, text.strip()))
        if not candidates:
            return None
        wanted = source.strip().encode("utf-8", "surrogateescape")
        for start, text in candidates:
            if wanted and column is not None and text.startswith(wanted[:200]):
                return start + min(column, max(0, len(text) - 1))
        return candidates[0][0]

    def _is_host_code(self, chain: list[Item]) -> bool:
        return any(item.kind == "function" for item in chain) and not self._is_device(chain)

    def _is_device(self, chain: list[Item]) -> bool:
        return any(
            item.kind == "function"
            and _DEVICE.search(self._outline.masked, item.start, item.head_end)
            for item in chain
        )

    def _edit(self, offset: int, touched: set[int]) -> Iterator[_Edit]:
        chain = self._outline.chain(offset)
        if not chain:
            return
        function = next((item for item in chain if item.kind == "function"), None)
        if function is None:
            yield self._cut_declaration(chain)
        elif self._is_device(chain):
            device = next(i for i in chain if i.kind == "function" and self._is_device([i]))
            yield self._cut_device(device, offset)
        else:
            yield self._cut_host(function, chain, offset, touched)

    def _cut_declaration(self, chain: list[Item]) -> _Edit:
        item = next((i for i in reversed(chain) if i.kind in ("class", "declaration")), chain[-1])
        owner = next((i for i in reversed(chain) if i.kind == "class"), None)
        if owner is None or (owner is not item and "(" in self._head(item)):
            return self._blanked(item, b"")
        # A member that is missing would change the layout: the whole class goes.
        head = _CLASS_HEAD.search(self._outline.masked, owner.start, owner.head_end)
        if head is None or b"typedef" in self._outline.masked[owner.start : head.start()]:
            return self._blanked(owner, b"")
        stop = head.end()
        if self._outline.masked[stop : stop + 1] == b"<":
            stop = past_angles(self._outline.masked, stop, owner.head_end) or stop
        kept = self._own[owner.start : stop]
        rest = _blank_code(self._own[stop : owner.end])
        return _Edit(owner.start, owner.end, kept + b";" + rest)

    def _head(self, item: Item) -> str:
        return self._outline.masked[item.start : item.head_end].decode("utf-8", "replace")

    def _cut_device(self, item: Item, offset: int) -> _Edit:
        masked = self._outline.masked
        if _GLOBAL.search(masked, item.start, item.head_end):
            name = self._name_of(item)
            if name not in self.dropped:
                self.dropped = (*self.dropped, name)
            return self._blanked(item, b"")
        head = masked[item.start : item.head_end]
        closed = _past_parameters(head)
        if offset < item.head_end or closed is None or _OUT_OF_CLASS.search(head):
            return self._blanked(item, b"")
        stop = item.start + closed
        trailing = re.match(rb"\s*(?:const\b|noexcept\b|\s)*", masked[stop : item.head_end])
        stop += trailing.end() if trailing else 0
        rest = _blank_code(self._own[stop : item.end])
        return _Edit(item.start, item.end, self._own[item.start : stop] + b" = delete;" + rest)

    def _cut_host(self, function: Item, chain: list[Item], offset: int, touched: set[int]) -> _Edit:
        key = line_of(self._starts, function.start)
        if key not in touched:
            touched.add(key)
            self._cuts[key] += 1
        if offset < function.head_end:
            return self._without_signature(function)
        if self._cuts[key] > FUNCTION_ROUNDS:
            return self._emptied(function, b"")
        if self._cuts[key] > STATEMENT_ROUNDS:
            return self._emptied(function, self._instances(function.head_end, function.end))
        item = chain[-1]
        if item.kind != "statement":
            return self._emptied(function, self._instances(function.head_end, function.end))
        condition = _CONDITION.match(self._outline.masked, item.start, item.head_end)
        if condition and item.bodies and offset < item.head_end:
            return self._without_condition(item, condition)
        return self._blanked(item, b"{" + self._instances(item.start, item.end) + b"}")

    def _without_signature(self, function: Item) -> _Edit:
        """The signature does not compile: the body is kept under one that does."""
        number = line_of(self._starts, function.start)
        head = b"void occlsp_host_%d() " % number
        if self._cuts[number] > 1:
            return self._blanked(function, b"")
        return _Edit(
            function.start,
            function.head_end,
            head + _blank_code(self._own[function.start : function.head_end]),
        )

    def _emptied(self, function: Item, instances: bytes) -> _Edit:
        body = self._own[function.head_end : function.end]
        return _Edit(function.head_end, function.end, b"{" + instances + b"}" + _blank_code(body))

    def _without_condition(self, item: Item, condition: re.Match[bytes]) -> _Edit:
        word = condition.group(1)
        plain = {b"for": b"for(;;) ", b"switch": b"switch(0) ", b"catch": b"catch(...) "}
        text = plain.get(word, b"if(true) ")
        return _Edit(
            item.start, item.head_end, text + _blank_code(self._own[item.start : item.head_end])
        )

    def _blanked(self, item: Item, text: bytes) -> _Edit:
        return _Edit(item.start, item.end, text + _blank_code(self._own[item.start : item.end]))

    # What the cut code instantiated

    def _instances(self, start: int, end: int) -> bytes:
        """Statements that take the address of every template that the region names."""
        if self._instantiable is None:
            return b""
        masked = self._outline.masked
        found: dict[bytes, None] = {}
        for name in self._instantiable.finditer(masked, start, end):
            past = past_angles(masked, name.end() - 1, end)
            if past is None:
                continue
            qualifier = _QUALIFIED.search(masked, max(start, name.start() - 200), name.start())
            begin = qualifier.start() if qualifier else name.start()
            found[b" ".join(self._own[begin:past].split())] = None
        return b"".join(b"(void)&%s;" % instance for instance in found)

    def _find_kernels(self) -> Iterator[tuple[str, Item, bool]]:
        for found in _GLOBAL.finditer(self._outline.masked):
            chain = self._outline.chain(found.start())
            item = next((i for i in chain if i.kind in ("function", "declaration")), None)
            if item is not None:
                head = self._outline.masked[item.start : item.head_end].lstrip()
                is_template = head.startswith(b"template") and not _is_explicit(head)
                yield self._name_of(item), item, is_template

    def _host_templates(self) -> set[str]:
        names = set()
        for found in re.finditer(rb"\btemplate\s*<", self._outline.masked):
            past = past_angles(self._outline.masked, found.end() - 1, len(self._own))
            if past is None:
                continue
            stop = re.compile(rb"[{;]").search(self._outline.masked, past)
            head = self._outline.masked[past : stop.start() if stop else past]
            if b"(" in head and not _DEVICE.search(head) and not _CLASS_HEAD.match(head.lstrip()):
                name = _NAME.search(_without_attributes(head))
                if name is not None:
                    names.add(name.group(1).decode())
        return names - {"decltype", "operator"}

    def _name_of(self, item: Item) -> str:
        head = _without_attributes(self._outline.masked[item.start : item.head_end])
        name = _NAME.search(head, _past_templates(head))
        return name.group(1).decode() if name else ""

    def default_instances(self, instantiated: Iterable[Place]) -> tuple[KernelTemplate, ...]:
        """Instantiates kernel templates that nothing does, where all parameters have defaults.

        `instantiated`: where entries stand. The text changes by what is returned.
        """
        known = set(instantiated)
        added = [k for k in self.templates() if k.has_defaults and k.place not in known]
        body = b"".join(b"(void)&%s<>;" % kernel.name.encode() for kernel in added)
        if added:
            self._tail = b"\nstatic void occlsp_instances() {" + body + b"}\n"
        return tuple(added)

    def templates(self) -> Iterator[KernelTemplate]:
        """The kernel templates that are defined in the text, at namespace scope."""
        masked = self._outline.masked
        for name, item, is_template in self._kernels:
            if not is_template or item.kind != "function":
                continue
            chain = self._outline.chain(item.start)
            if any(outer.kind == "class" for outer in chain):
                continue
            scopes = (masked[outer.start : outer.head_end] for outer in chain if outer is not item)
            words = [scope.split()[-1].decode() for scope in scopes if b"namespace" in scope]
            qualified = "::".join(["", *(w for w in words if w != "namespace"), name])
            at = re.compile(rb"\b%s\s*\(" % name.encode()).search(masked, item.start)
            place = self._places[line_of(self._starts, at.start() if at else item.start)]
            yield KernelTemplate(
                qualified, place, _all_defaults(masked[item.start : item.head_end])
            )


def without_prelude(preprocessed: bytes) -> bytes:
    """The text from where the unit itself starts."""
    begin = 0
    back = re.compile(rb'^# \d+ "<command-line>" 2$', re.MULTILINE)
    for found in back.finditer(preprocessed, 0, min(len(preprocessed), 1 << 23)):
        begin = found.end() + 1
    return preprocessed[begin:]


def _split(
    text: bytes, is_own: Callable[[str], bool]
) -> tuple[list[tuple[bool, bytes]], list[Place]]:
    """Runs of lines that may be cut and that may not; and the place of each that may."""
    pieces: list[tuple[bool, bytes]] = []
    places: list[Place] = []
    run: list[bytes] = []
    file, line, own = "", 0, False
    decisions: dict[tuple[bytes, bool], bool] = {}
    for row in (
        text.splitlines(keepends=True)
        if text.endswith(b"\n")
        else (text + b"\n").splitlines(keepends=True)
    ):
        marker = _MARKER.match(row.rstrip(b"\n")) if row.startswith(b"#") else None
        if marker is not None:
            is_system = b"3" in marker.group(3).split()
            key = (marker.group(2), is_system)
            path = marker.group(2).decode("utf-8", "surrogateescape")
            if key not in decisions:
                decisions[key] = not is_system and not path.startswith("<") and is_own(path)
            if decisions[key] != own and run:
                pieces.append((own, b"".join(run)))
                run = []
            file, line, own = path, int(marker.group(1)) - 1, decisions[key]
        run.append(row)
        if own:
            places.append(Place(file, line))
        line += 1
    pieces.append((own, b"".join(run)))
    return pieces, places


def _blank_code(text: bytes) -> bytes:
    """`text` blanked, but for its line markers."""
    rows = text.split(b"\n")
    return b"\n".join(row if _MARKER_LINE.match(row) else blank(row) for row in rows)


def _outermost(edits: list[_Edit]) -> list[_Edit]:
    kept: list[_Edit] = []
    for edit in sorted(set(edits), key=lambda e: (e.start, -e.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept


def _alternatives(names: set[str]) -> re.Pattern[bytes] | None:
    if not names:
        return None
    words = b"|".join(re.escape(name).encode() for name in sorted(names))
    return re.compile(rb"\b(?:%s)\s*<(?!<<)" % words)


def _is_explicit(head: bytes) -> bool:
    """A specialisation or an explicit instantiation."""
    return re.match(rb"template\s*(?:<\s*>|[^<\s])", head) is not None


def _past_templates(head: bytes) -> int:
    position = 0
    while found := re.compile(rb"\s*template\s*<").match(head, position):
        past = past_angles(head, found.end() - 1, len(head))
        if past is None:
            break
        position = past
    return position


def _without_attributes(head: bytes) -> bytes:
    position = 0
    while found := re.compile(rb"\b__attribute__\s*(?=\()|\b__declspec\s*(?=\()").search(
        head, position
    ):
        depth, end = 0, len(head)
        for bracket in re.compile(rb"[()]").finditer(head, found.end()):
            depth += 1 if bracket.group() == b"(" else -1
            if depth == 0:
                end = bracket.end()
                break
        head = head[: found.start()] + b" " * (end - found.start()) + head[end:]
        position = end
    return head


def _past_parameters(head: bytes) -> int | None:
    plain = _without_attributes(head)
    opening = plain.find(b"(", _past_templates(plain))
    depth = 0
    for bracket in re.compile(rb"[()]").finditer(plain, max(opening, 0)):
        depth += 1 if bracket.group() == b"(" else -1
        if depth == 0:
            return bracket.end()
    return None


def _all_defaults(head: bytes) -> bool:
    found = re.compile(rb"\s*template\s*<").match(head)
    past = past_angles(head, found.end() - 1, len(head)) if found else None
    if found is None or past is None:
        return False
    parameters = _split_commas(head[found.end() : past - 1])
    return all(b"=" in p or b"..." in p for p in parameters)


def _split_commas(text: bytes) -> list[bytes]:
    parts, depth, start = [], 0, 0
    for found in re.compile(rb"[(){}\[\]<>,]").finditer(text):
        token = found.group()
        if token == b"," and depth == 0:
            parts.append(text[start : found.start()])
            start = found.end()
        elif token in b"([{<":
            depth += 1
        elif token in b")]}>":
            depth -= 1
    return [*parts, text[start:]]
