"""From the bytes of one file to what it says: `parse`.

The truth is anchored in the text, not in a syntax tree. A tree-sitter tree of real CUDA has an
ERROR node in a third of the files, just where kernels and launches are (macros in heads,
`#if` around a brace, braced dimensions), so that everything would have to be checked against
the text anyway; and walking it costs more than reading the text directly. So: one pass blanks
comments and literals (`mask`), one machine over braces and directives knows scopes, functions
and `#if` branches (`scanner`), and each `__global__`, `<<<` and API name that is left is read
together with its surroundings (`kernels`, `launches`, `declarations`).

`#if` branches inside of one kernel head or launch are alternatives: there is one fact for each,
at the same span, whose conditions tell them apart.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from occlsp.source import definitions, incremental
from occlsp.source.branches import Scan
from occlsp.source.facts import SourceError
from occlsp.source.inside import rescan_inside
from occlsp.source.mask import blank, mask, mask_again
from occlsp.source.reader import MOST_FACTS, Facts, Reader, macro_made_kernels, place
from occlsp.source.scanner import Scanner
from occlsp.source.stepping import Step
from occlsp.source.surroundings import Surroundings
from occlsp.source.syntax import FileSyntax
from occlsp.source.text import LineIndex, Span

LARGEST = 8_000_000
"""Bytes of a file that are read at most: no CUDA source that people write is near it."""

NEARBY = 8_000
"""Bytes around an edit that are soon read again."""


class Parsed(Struct, frozen=True):
    """A parsed file with what `reparse` needs to read only what an edit changes."""

    syntax: FileSyntax
    aliases: frozenset[str]
    """As given."""
    names: frozenset[str]
    """All names for `__global__`, the file's own included."""
    mask: bytes
    scan: Scan
    facts: Facts
    step: Step | None = None
    """From the parse that it was read from."""


def parse(text: bytes, *, aliases: frozenset[str] = frozenset()) -> FileSyntax:
    """All that a file says by itself. Never raises on input.

    `aliases` are names of macros from elsewhere that expand to `__global__`; those that the
    file defines itself are found.
    """
    return reparse(None, text, aliases=aliases).syntax


def reparse(
    previous: Parsed | None, text: bytes, *, aliases: frozenset[str] = frozenset()
) -> Parsed:
    """As `parse`, reading only what changed since `previous`: the result is the same.

    Facts in front of the change are the same objects as before.
    """
    if previous is not None and previous.aliases == aliases and previous.syntax.text == text:
        return previous
    if len(text) > LARGEST:
        return _unread(text, aliases)
    if previous is not None and previous.aliases == aliases and _is_complete(previous):
        changed = _changed(previous, text)
        if changed is not None:
            return changed
    masked = mask(text)
    scan = Scanner(text, masked).run()
    names = aliases | definitions.alias_names(text, scan.defines, aliases)
    facts = Reader(text, scan.code, scan, names).read(0, len(text))
    return _parsed(text, masked, aliases, names, scan, facts)


def nearby(previous: Parsed, text: bytes, aliases: frozenset[str]) -> Parsed | None:
    """As `reparse`; None where more than a few declarations are to be read for it."""
    if previous.aliases != aliases or not _is_complete(previous) or len(text) > LARGEST:
        return None
    if previous.syntax.text == text:
        return previous
    return _changed(previous, text, NEARBY)


def _changed(previous: Parsed, text: bytes, most: int | None = None) -> Parsed | None:
    """The file after an edit; None where the edit changes what `__global__` is called, or where
    more than `most` bytes are to be read."""
    edit = typed = incremental.difference([(previous.syntax.text, text)])
    if most is not None and typed.new_end - typed.start > most:
        return None
    around = typed.start, typed.old_end
    masked = mask_again(text, previous.syntax.text, previous.mask, *around, most)
    if masked is None:
        return None
    if masked != previous.mask:  # else that is an edit of nothing, at the end of the file
        edit = typed.spanning(incremental.difference([(previous.mask, masked)]))
    if most is not None and edit.new_end - edit.start > most:
        return None
    new = rescan_inside(masked, previous.scan, previous.mask, edit)
    new = new or incremental.rescan(text, masked, previous.scan, edit, most)
    if new is None or new.scan.is_cut:
        return None
    scan = incremental.join_scans(previous.scan, new, edit)
    old_defines = incremental.replaced_defines(previous.scan, new)
    same_macros = incremental.is_same_macros(old_defines, new.scan.defines)
    if not same_macros:
        own = definitions.alias_names(text, scan.defines, previous.aliases)
        if previous.aliases | own != previous.names:
            return None
    facts, step = incremental.join_facts(text, scan, previous.facts, new, edit, previous.names)
    changed = _parsed(text, masked, previous.aliases, previous.names, scan, facts)
    if not _is_complete(changed):
        return None
    made = [*previous.syntax.kernels, *changed.syntax.kernels]
    defined = [*old_defines, *new.scan.defines]
    names = step.names.union(
        [one.name for one in defined], [one.name for one in made if one.from_macro]
    )
    return replace(changed, step=replace(step, names=names, same_macros=same_macros))


def _is_complete(parsed: Parsed) -> bool:
    """Whether no limit was reached: past one, what is read depends on where reading began."""
    facts = parsed.facts
    lists = (facts.kernels, facts.launches, facts.calls, facts.shared, facts.aliases)
    return (
        not parsed.scan.is_cut
        and all(len(found) < MOST_FACTS for found in lists)
        and parsed.scan.end == len(parsed.syntax.text)
    )


def _unread(text: bytes, aliases: frozenset[str]) -> Parsed:
    size = f"{len(text) / 1e6:.0f} MB are more than the {LARGEST / 1e6:.0f} MB that are read"
    syntax = FileSyntax(text, errors=(SourceError(size, 1),), masked=text, code=text)
    return Parsed(syntax, aliases, aliases, text, Scan(), Facts())


def _parsed(
    text: bytes,
    masked: bytes,
    aliases: frozenset[str],
    names: frozenset[str],
    scan: Scan,
    facts: Facts,
) -> Parsed:
    made = list(macro_made_kernels(Surroundings(text, scan.code, scan), facts, scan.defines))
    syntax = FileSyntax(
        text=text,
        kernels=tuple(sorted((*facts.kernels, *made), key=place) if made else facts.kernels),
        launches=tuple(facts.launches),
        calls=tuple(facts.calls),
        defines=tuple(scan.defines),
        includes=tuple(scan.includes),
        functions=tuple(facts.functions),
        constants=tuple(facts.constants),
        aliases=tuple(facts.aliases),
        errors=_errors(text, masked, scan),
        masked=_without(masked, scan.dead),
        code=scan.code,
        shared=tuple(facts.shared),
        condition_starts=tuple(scan.condition_starts),
        condition_sets=tuple(scan.condition_sets),
    )
    return Parsed(syntax, aliases, names, masked, scan, facts)


def alias_names(syntax: FileSyntax, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """The macros of a file that stand for `__global__` in a kernel's head, attributes and
    return type with it or not; `known` are such macros of other files."""
    return definitions.alias_names(syntax.text, syntax.defines, known)


def _without(masked: bytes, dead: list[Span]) -> bytes:
    if not dead:
        return masked
    result = bytearray(masked)
    for one in dead:
        result[one.start : one.end] = blank(one.end - one.start)
    return bytes(result)


def _errors(text: bytes, masked: bytes, scan: Scan) -> tuple[SourceError, ...]:
    errors = []
    tail = text[len(masked.rstrip()) :]
    opened = tail.rfind(b"/*")
    if opened >= 0 and tail.find(b"*/", opened) < 0:
        line = LineIndex(text).line_of(len(text) - len(tail) + opened) + 1
        errors.append(SourceError("a comment is not closed", line))
    if scan.is_cut:
        errors.append(SourceError("the file has more declarations than are read", 1))
    bodies = [kind for kind in scan.unclosed if kind in ("function", "enum")]
    if bodies:
        last = max(scan.blocks, key=lambda block: block.end)
        line = LineIndex(text).line_of(last.opening) + 1
        errors.append(SourceError(f"the brace of a {bodies[0]} is not closed", line))
    return tuple(errors)
