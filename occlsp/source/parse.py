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

from occlsp.source import definitions
from occlsp.source.facts import SourceError
from occlsp.source.mask import blank, mask
from occlsp.source.reader import Reader
from occlsp.source.scanner import Scanner
from occlsp.source.syntax import FileSyntax
from occlsp.source.text import Span


def parse(text: bytes, *, aliases: frozenset[str] = frozenset()) -> FileSyntax:
    """All that a file says by itself. Never raises on input.

    `aliases` are names of macros from elsewhere that expand to `__global__`; those that the
    file defines itself are found.
    """
    masked = mask(text)
    scan = Scanner(text, masked).run()
    masked = _without(masked, scan.dead)
    names = aliases | definitions.alias_names(text, scan.defines, aliases)
    reader = Reader(text, scan, names)
    reader.read()
    return FileSyntax(
        text=text,
        kernels=tuple(reader.kernels),
        launches=tuple(reader.launches),
        calls=tuple(reader.calls),
        defines=tuple(scan.defines),
        includes=tuple(scan.includes),
        functions=tuple(reader.functions),
        constants=tuple(reader.constants),
        aliases=tuple(reader.aliases),
        errors=_errors(scan.unclosed),
        masked=masked,
        code=scan.code,
        shared=tuple(reader.shared),
        condition_starts=tuple(scan.condition_starts),
        condition_sets=tuple(scan.condition_sets),
    )


def alias_names(syntax: FileSyntax, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """The macros of a file that stand for `__global__` in a kernel's head, attributes and
    return type with it or not; `known` are such macros of other files."""
    return definitions.alias_names(syntax.text, syntax.defines, known)


def _without(masked: bytes, dead: list[Span]) -> bytes:
    if not dead:
        return masked
    result = bytearray(masked)
    for start, end in dead:
        result[start:end] = blank(end - start)
    return bytes(result)


def _errors(unclosed: list[str]) -> tuple[SourceError, ...]:
    return ()
