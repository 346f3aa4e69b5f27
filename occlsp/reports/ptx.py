"""PTX, cut down to one kernel and put under other bounds.

ptxas takes as long as its input is large, so a question about one kernel is asked with that
kernel alone. Line directives go too: they change no register or spill, and their tables would
have to be kept whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LINE_INFO = re.compile(rb"^[ \t]*\.(?:loc|file)\b[^\n]*$", re.MULTILINE)
_SECTION = re.compile(rb"^[ \t]*\.section\b[^{]*\{[^}]*\}", re.MULTILINE)
_MODULE = re.compile(rb"\s*\.(?:version|target|address_size)\b[^\n]*\n")
_BOUNDARY = re.compile(rb'"(?:\\.|[^"\\\n])*"|[{};]')
_BRACE = re.compile(rb"[{}]")
_ENTRY = re.compile(rb"\.entry\s+([\w$]+)")
_FUNCTION = re.compile(rb"\.func\b\s*(?:\([^()]*\)\s*)?([\w$]+)")
_VARIABLE = re.compile(rb"([\w$%]+)\s*(?:\[[^\]]*\]\s*)*(?:=.*)?;?\s*$", re.DOTALL)
_ALIAS = re.compile(rb"\s*\.alias\s+([\w$]+)")
_WORD = re.compile(rb"[A-Za-z_$%][\w$%]*")
_BOUNDS = re.compile(rb"\s*\.(?:maxntid|minnctapersm|maxnreg)\b[ \t]*[\d, \t]*")
_REQUIRED = re.compile(rb"\s*\.reqntid\b[ \t]*[\d, \t]*")
_NUMBERS = rb"\.%s\b[ \t]*([\d, \t]+)"


class NoSuchEntryError(ValueError):
    """The PTX has no entry of the name; the message says which it has."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a kernel is compiled for. None: no such bound."""

    max_threads: int | None = None
    """Threads per block, from 1 to 1024."""
    min_blocks: int | None = None
    """Blocks per SM that must fit; without `max_threads` it means nothing."""
    max_registers: int | None = None
    """Registers per thread; instead of `min_blocks`."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    text: bytes
    name: bytes | None
    is_entry: bool = False


class EntryPtx:
    """One kernel's PTX with what it calls and uses, to be put under any bounds."""

    def __init__(self, ptx: bytes, entry: str) -> None:
        """Raises NoSuchEntryError."""
        self.entry = entry
        chunks = _chunks(_without_lines(ptx))
        wanted = entry.encode()
        if not any(chunk.is_entry and chunk.name == wanted for chunk in chunks):
            names = ", ".join(c.name.decode() for c in chunks if c.is_entry and c.name)
            raise NoSuchEntryError(f"no entry {entry} in the PTX; it has {names or 'none'}")
        kept = _reachable(chunks, wanted)
        before: list[bytes] = []
        after: list[bytes] = []
        entry_text = b""
        for chunk in chunks:
            if chunk.is_entry and chunk.name == wanted and b"{" in chunk.text:
                entry_text = chunk.text
            elif chunk.name is None or (chunk.name in kept and not chunk.is_entry):
                (after if entry_text else before).append(chunk.text)
        brace = entry_text.find(b"{")
        self.bounds = _read_bounds(entry_text[:brace])
        """Those that the source gave."""
        self.required_block = _numbers(entry_text[:brace], b"reqntid")
        self._before = b"".join(before) + entry_text[:brace].rstrip()
        self._after = entry_text[brace:] + b"".join(after)

    def under(self, bounds: Bounds) -> bytes:
        """The PTX with the kernel under `bounds` and no others."""
        start = self._before.rfind(b".entry")
        signature = _BOUNDS.sub(b"", self._before[start:])
        if bounds.max_threads is not None:
            signature = _REQUIRED.sub(b"", signature)
        lines = [
            b"\n.%s %d" % (directive, value)
            for directive, value in (
                (b"maxntid", bounds.max_threads),
                (b"minnctapersm", bounds.min_blocks),
                (b"maxnreg", bounds.max_registers),
            )
            if value is not None
        ]
        return self._before[:start] + signature + b"".join(lines) + b"\n" + self._after


def _without_lines(ptx: bytes) -> bytes:
    text = _COMMENT.sub(lambda m: m.group() if m.group().startswith(b'"') else b" ", ptx)
    return _LINE_INFO.sub(b"", _SECTION.sub(b"", text))


def _chunks(text: bytes) -> list[_Chunk]:
    """The module's statements, in order."""
    found: list[_Chunk] = []
    position = 0
    while position < len(text):
        module = _MODULE.match(text, position)
        if module is not None:
            found.append(_Chunk(module.group(), None))
            position = module.end()
            continue
        end = _chunk_end(text, position)
        chunk = text[position:end]
        if chunk.strip():
            found.append(_named(chunk))
        position = end
    return found


def _chunk_end(text: bytes, start: int) -> int:
    is_initialiser = False
    position = start
    while (found := _BOUNDARY.search(text, position)) is not None:
        token = found.group()
        position = found.end()
        if token == b";":
            return position
        if token == b"{":
            is_initialiser = b"=" in text[start : found.start()]
            position = _past_braces(text, found.start())
            if not is_initialiser:
                return position
    return len(text)


def _past_braces(text: bytes, opening: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(text, opening):
        depth += 1 if brace.group() == b"{" else -1
        if depth == 0:
            return brace.end()
    return len(text)


def _named(chunk: bytes) -> _Chunk:
    head = chunk[: chunk.find(b"{")] if b"{" in chunk else chunk
    if entry := _ENTRY.search(head):
        return _Chunk(chunk, entry.group(1), is_entry=True)
    if function := _FUNCTION.search(head):
        return _Chunk(chunk, function.group(1))
    if alias := _ALIAS.match(head):
        return _Chunk(chunk, alias.group(1))
    variable = _VARIABLE.search(head.split(b"=")[0].rstrip().rstrip(b";"))
    return _Chunk(chunk, variable.group(1) if variable and b".pragma" not in head else None)


def _reachable(chunks: list[_Chunk], entry: bytes) -> set[bytes]:
    uses: dict[bytes, set[bytes]] = {}
    names = {chunk.name for chunk in chunks if chunk.name}
    for chunk in chunks:
        if chunk.name:
            words = set(_WORD.findall(chunk.text)) & names
            uses.setdefault(chunk.name, set()).update(words)
    kept: set[bytes] = set()
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept.add(name)
            waiting.extend(uses.get(name, ()))
    return kept


def _read_bounds(head: bytes) -> Bounds:
    threads = _numbers(head, b"maxntid")
    blocks, registers = _numbers(head, b"minnctapersm"), _numbers(head, b"maxnreg")
    return Bounds(
        _product(threads) if threads else None,
        blocks[0] if blocks else None,
        registers[0] if registers else None,
    )


def _numbers(head: bytes, directive: bytes) -> tuple[int, ...]:
    found = re.search(_NUMBERS % directive, head)
    return tuple(int(n) for n in re.findall(rb"\d+", found.group(1))) if found else ()


def _product(numbers: tuple[int, ...]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result
