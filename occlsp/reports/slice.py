"""The device slice: a unit's preprocessed text, less the host code that does not compile.

Occupancy needs device code alone. Where the host part of a unit does not compile (a library's
headers are missing), the compiler itself says which statement is at fault: that statement is
blanked, lines kept, and the compiler asked again. What may be cut, so that the numbers of what
is left are those of the full compile:

- host statements and host functions, freely. A template that one of them names with arguments
  (`k<float, 4><<<…>>>(…)`) is instantiated in its place by taking its address;
- a kernel that does not compile is lost, and listed in `dropped`;
- any other device or constexpr function becomes `= delete`, and a class is left incomplete, so
  that whatever needs it fails too, and is never compiled against something else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from occlsp.reports import heads
from occlsp.reports.errors import CompilerError
from occlsp.reports.outline import Item, Outline, past_angles
from occlsp.reports.preprocessed import Place, Preprocessed, blank_code

_DEVICE = re.compile(rb"__attribute__\s*\(\(\s*_*(?:device|global)_*\s*\)\)|\bconstexpr\b")
_GLOBAL = re.compile(rb"__attribute__\s*\(\(\s*_*global_*\s*\)\)")
_QUALIFIED = re.compile(rb"(?:[A-Za-z_]\w*\s*(?:<[^<>;{}()]*>)?\s*::\s*)*$")
_CLASS_HEAD = re.compile(rb"\b(?:struct|class|union)\s+(?:alignas\s*\([^()]*\)\s*)?[A-Za-z_][\w:]*")
_CONDITION = re.compile(rb"\s*(if|while|switch|for|catch)\b(\s*constexpr\b)?\s*\(")
_WITHOUT_CONDITION = {b"for": b"for(;;) ", b"switch": b"switch(0) ", b"catch": b"catch(...) "}
_VARIABLE = re.compile(rb"\s*(?:[A-Za-z_][\w:]*[\s*&]+)+[A-Za-z_]\w*\s*=(?!=)")
_CONSTANT = re.compile(rb"\b(?:const|constexpr|auto|return|using|typedef|goto|static)\b|&")
_OUT_OF_CLASS = re.compile(rb"::\s*~?\w+\s*\(|::\s*operator\b")
_SCOPE = re.compile(r"([A-Za-z_]\w*)\s*::")
_TRAILING = re.compile(rb"(?:\s*(?:const|noexcept)\b)*")

INSTANCES = "occlsp-instances"
"""The name under which instantiations of ours stand in the text."""
SIGNATURE_ROUNDS = 2
MOST_USES = 2000
STATEMENT_ROUNDS = 4
"""After so many rounds in one host function only what it instantiates is kept."""
FUNCTION_ROUNDS = 7
"""After so many, nothing of it."""


class _Edit(NamedTuple):
    start: int
    end: int
    text: bytes


class KernelTemplate(NamedTuple):
    """A kernel template that the text defines."""

    name: str
    """Qualified by its namespaces."""
    place: Place
    """Its name token."""
    has_defaults: bool
    """All its parameters have default arguments."""


class Slice:
    """Preprocessed text that can be cut where the compiler complains."""

    def __init__(self, preprocessed: bytes, is_own: Callable[[str], bool]) -> None:
        """`is_own(path)`: whether a file may be cut; not those of the system and the toolkit."""
        self._text = Preprocessed(preprocessed, is_own)
        self._rounds: Counter[int] = Counter()
        self._signatures: Counter[int] = Counter()
        self._added: list[KernelTemplate] = []
        self._told: set[tuple[Place, str]] = set()
        self.dropped: tuple[str, ...] = ()
        """Kernels that could not be compiled, by name."""
        self.cut_count = 0
        self._load()

    def _load(self) -> None:
        self._outline = Outline(self._text.own)
        self._masked = self._outline.masked
        self._kernels = list(self._find_kernels())
        names = {self._name(item) for item in self._kernels if heads.is_template(self._head(item))}
        self._instantiable = _alternatives(names | self._host_templates())

    @property
    def text(self) -> bytes:
        """What to compile."""
        return self._text.whole() + b"".join(self._instance_lines())

    def cut(self, errors: Sequence[CompilerError]) -> bool:
        """Cuts what the errors stand in. False: no error stands where something may be cut."""
        edits: list[_Edit] = []
        touched: set[int] = set()
        refused: set[int] = set()
        unknown: set[str] = set()
        for error in errors:
            places = [(error.file, error.line), *error.frames]
            if rows := {line - 2 for file, line in places if file == INSTANCES}:
                refused |= rows
                continue
            offset = self._offset_of(error)
            if offset is not None:
                edits.extend(self._edits(offset, touched))
                unknown |= _unknown_scope(error)
        for offset in self._host_uses(unknown):
            edits.extend(self._edits(offset, touched))
        self._told.update((Place(error.file, error.line), error.message) for error in errors)
        edits = _outermost(edits)
        own = self._text.own
        for edit in reversed(edits):
            own = own[: edit.start] + edit.text + own[edit.end :]
        if edits:
            self.cut_count += len(edits)
            self._text.own = own
            self._load()
        self._added = [k for row, k in enumerate(self._added) if row not in refused]
        return bool(edits or refused)

    def _offset_of(self, error: CompilerError) -> int | None:
        """Where to cut: the host code that instantiates what fails, else the place itself.

        Host code that fails again although another that instantiates it was cut is at fault
        itself: a call that is missing, in a function that all others call.
        """
        place = Place(error.file, error.line)
        at = self._text.offset_at(place, error.source, error.column)
        is_told = (place, error.message) in self._told
        if is_told and at is not None and self._is_host_code(self._outline.chain(at)):
            return at
        frames = [self._text.offset_at(Place(*frame)) for frame in error.frames]
        known = [offset for offset in frames if offset is not None]
        for offset in reversed(known):
            if self._is_host_code(self._outline.chain(offset)):
                return offset
        return at if at is not None else next(iter(known), None)

    def _host_uses(self, scopes: set[str]) -> Iterator[int]:
        """Where host code names something in a namespace that there is not.

        The front end gives up a signature at the first; to hear of each would take a round.
        """
        names = b"|".join(re.escape(scope).encode() for scope in sorted(scopes))
        pattern = re.compile(rb"(?<![\w:])(?:%s)\s*::" % names)
        uses = pattern.finditer(self._masked) if names else iter(())
        for found in islice(uses, MOST_USES):
            if self._is_host_code(self._outline.chain(found.start())):
                yield found.start()

    # What to cut

    def _edits(self, offset: int, touched: set[int]) -> Iterator[_Edit]:
        chain = self._outline.chain(offset)
        functions = [item for item in chain if item.kind == "function"]
        device = next((item for item in functions if self._is_device(item)), None)
        if device is not None:
            yield self._cut_device(device, offset)
        elif functions:
            row = self._text.row_of(functions[0].start)
            self._rounds[row] += row not in touched
            touched.add(row)
            yield self._cut_host(functions[0], chain[-1], offset, self._rounds[row])
        elif chain:
            yield self._cut_declaration(chain)

    def _is_device(self, function: Item) -> bool:
        return _DEVICE.search(self._masked, function.start, function.head_end) is not None

    def _is_host_code(self, chain: list[Item]) -> bool:
        functions = [item for item in chain if item.kind == "function"]
        return bool(functions) and not any(self._is_device(item) for item in functions)

    def _cut_declaration(self, chain: list[Item]) -> _Edit:
        item = next((i for i in reversed(chain) if i.kind in ("class", "declaration")), chain[-1])
        owner = next((i for i in reversed(chain) if i.kind == "class"), None)
        if owner is None or (owner is not item and b"(" in self._head(item)):
            return self._blanked(item)
        # A data member that is missing would change the layout: the whole class goes.
        head = _CLASS_HEAD.search(self._masked, owner.start, owner.head_end)
        if head is None or b"typedef" in self._masked[owner.start : head.start()]:
            return self._blanked(owner)
        stop = head.end()
        if self._masked[stop : stop + 1] == b"<":
            stop = past_angles(self._masked, stop, owner.head_end) or stop
        return self._kept_until(owner, stop, b";")

    def _cut_device(self, item: Item, offset: int) -> _Edit:
        head = self._head(item)
        if _GLOBAL.search(head):
            name = self._name(item)
            if name not in self.dropped:
                self.dropped = (*self.dropped, name)
            return self._blanked(item)
        parameters = heads.parameter_list(head)
        if offset < item.head_end or parameters is None or _OUT_OF_CLASS.search(head):
            return self._blanked(item)
        trailing = _TRAILING.match(head, parameters[1])
        stop = item.start + (trailing.end() if trailing else parameters[1])
        return self._kept_until(item, stop, b" = delete;")

    def _cut_host(self, function: Item, item: Item, offset: int, rounds: int) -> _Edit:
        if offset < function.head_end:
            return self._without_signature(function, offset)
        if rounds > FUNCTION_ROUNDS:
            return self._kept_until(function, function.head_end, b"{}")
        if rounds > STATEMENT_ROUNDS or item.kind != "statement":
            instances = self._instances(function.head_end, function.end)
            return self._kept_until(function, function.head_end, b"{" + instances + b"}")
        condition = _CONDITION.match(self._masked, item.start, item.head_end)
        if condition and item.bodies and offset < item.head_end:
            text = _WITHOUT_CONDITION.get(condition.group(1), b"if(true) ")
            rest = blank_code(self._text.own[item.start : item.head_end])
            return _Edit(item.start, item.head_end, text + rest)
        text = b"{" + self._instances(item.start, item.end) + b"}"
        return (
            self._with_plain_launch(item, offset)
            or self._with_default(item, offset)
            or self._blanked(item, text)
        )

    def _with_plain_launch(self, item: Item, offset: int) -> _Edit | None:
        """A launch whose configuration is at fault gets another: what it instantiates is told
        by its arguments, and no device code by how many blocks there are."""
        start = self._masked.rfind(b"<<<", item.start, offset)
        end = self._masked.find(b">>>", offset, item.end)
        if start < 0 or end < 0 or b";" in self._masked[start:end]:
            return None
        config = self._text.own[start + 3 : end]
        if config.strip() == b"1,1" or b">>>" in config:
            return None
        return _Edit(start + 3, end, b"1,1" + blank_code(config))

    def _with_default(self, item: Item, offset: int) -> _Edit | None:
        """A plain variable keeps its declaration where only its initialiser is at fault.

        What uses it compiles on. Not for constants: one with another value would instantiate
        what the source does not.
        """
        variable = _VARIABLE.match(self._masked, item.start, item.end)
        if variable is None or offset < variable.end() or _CONSTANT.search(variable.group()):
            return None
        stop = variable.end()
        if self._text.own[stop:].lstrip().startswith(b"{}"):
            return None
        return self._kept_until(item, stop, b"{}; {" + self._instances(stop, item.end) + b"}")

    def _without_signature(self, function: Item, offset: int) -> _Edit:
        """The signature does not compile: the body is kept under one that does."""
        row = self._text.row_of(function.start)
        head = self._head(function)
        parameters = heads.parameter_list(head)
        at = offset - function.start
        stop = heads.past_templates(head)
        self._signatures[row] += 1
        if parameters is None or at < stop or self._signatures[row] > SIGNATURE_ROUNDS:
            return self._blanked(function)
        kept = b""
        if self._signatures[row] == 1:
            own = self._text.own[function.start : function.head_end]
            inside = own[parameters[0] + 1 : parameters[1] - 1]
            kept = heads.without_parameter(inside, at - parameters[0] - 1)
        own = self._text.own
        name = own[function.start : function.start + stop] + b" void occlsp_host_%d(" % row
        rest = blank_code(own[function.start + stop : function.head_end])
        return _Edit(function.start, function.head_end, name + kept + b")" + rest)

    def _kept_until(self, item: Item, stop: int, text: bytes) -> _Edit:
        return _Edit(stop, item.end, text + blank_code(self._text.own[stop : item.end]))

    def _blanked(self, item: Item, text: bytes = b"") -> _Edit:
        return self._kept_until(item, item.start, text)

    # What is instantiated

    def _instances(self, start: int, end: int) -> bytes:
        """Statements that take the address of every template that the region names."""
        if self._instantiable is None:
            return b""
        found: dict[bytes, None] = {}
        for name in self._instantiable.finditer(self._masked, start, end):
            past = past_angles(self._masked, name.end() - 1, end)
            if past is None:
                continue
            before = _QUALIFIED.search(self._masked, max(start, name.start() - 200), name.start())
            begin = before.start() if before else name.start()
            found[b" ".join(self._text.own[begin:past].split())] = None
        return b"".join(b"(void)&%s;" % instance for instance in found)

    def _head(self, item: Item) -> bytes:
        return self._masked[item.start : item.head_end]

    def _name(self, item: Item) -> str:
        return heads.function_name(self._head(item)).decode("utf-8", "replace")

    def _find_kernels(self) -> Iterator[Item]:
        for found in _GLOBAL.finditer(self._masked):
            chain = self._outline.chain(found.start())
            item = next((i for i in chain if i.kind in ("function", "declaration")), None)
            if item is not None:
                yield item

    def _host_templates(self) -> set[str]:
        names = set()
        for found in re.finditer(rb"\btemplate\s*<", self._masked):
            past = past_angles(self._masked, found.end() - 1, len(self._masked))
            if past is None:
                continue
            stop = re.compile(rb"[{;]").search(self._masked, past)
            head = self._masked[past : stop.start() if stop else past]
            if not _DEVICE.search(head) and not _CLASS_HEAD.match(head.lstrip()):
                names.add(heads.function_name(head).decode("utf-8", "replace"))
        return names - {"", "decltype", "operator"}

    def add_default_instances(self, instantiated: Iterable[Place]) -> bool:
        """Instantiates kernel templates that nothing does, where all parameters have defaults.

        `instantiated`: where entries stand. Whether there are such, and the text has changed.
        """
        known = set(instantiated)
        self._added = [k for k in self.templates() if k.has_defaults and k.place not in known]
        return bool(self._added)

    def _instance_lines(self) -> Iterator[bytes]:
        if self._added:
            yield b'# 1 "%s"\nstatic void occlsp_instances() {\n' % INSTANCES.encode()
            yield from (b"(void)&%s<>;\n" % kernel.name.encode() for kernel in self._added)
            yield b"}\n"

    def templates(self) -> Iterator[KernelTemplate]:
        """The kernel templates that are defined in the text, at namespace scope."""
        for item in self._kernels:
            head = self._head(item)
            chain = self._outline.chain(item.start)
            is_member = any(outer.kind == "class" for outer in chain)
            if item.kind != "function" or is_member or not heads.is_template(head):
                continue
            name = heads.function_name(head)
            words = [self._head(outer).split()[-1] for outer in chain if outer.kind == "scope"]
            scopes = [word for word in words if word not in (b"namespace", b"extern")]
            qualified = b"::".join([b"", *scopes, name]).decode("utf-8", "replace")
            at = re.compile(rb"\b%s\s*\(" % name).search(self._masked, item.start, item.head_end)
            place = self._text.place_of(at.start() if at else item.start)
            yield KernelTemplate(qualified, place, heads.has_all_defaults(head))


def _unknown_scope(error: CompilerError) -> set[str]:
    if not error.message.startswith('name followed by "::"') or error.column is None:
        return set()
    found = _SCOPE.match(error.source, error.column)
    return {found[1]} if found else set()


def _outermost(edits: list[_Edit]) -> list[_Edit]:
    kept: list[_Edit] = []
    for edit in sorted(set(edits), key=lambda e: (e.start, -e.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept


def _alternatives(names: set[str]) -> re.Pattern[bytes] | None:
    words = b"|".join(re.escape(name).encode() for name in sorted(names) if name)
    return re.compile(rb"\b(?:%s)\s*<(?!<<)" % words) if words else None
