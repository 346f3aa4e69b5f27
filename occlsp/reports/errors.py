"""What the compiler complained of: errors of the front end, the preprocessor and ptxas, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ERROR = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): "
    r"(?:catastrophic |internal )?error(?: #[\w-]+)?: (?P<text>.*)$"
)
_FRAME = re.compile(r"\bat line (?P<line>\d+)(?: of (?P<file>\S.*?))?\s*$")
_CARET = re.compile(r"^\s*\^\s*$")
_MISSING = re.compile(
    r"fatal error: (?P<gcc>.+?): No such file or directory"
    r"|fatal error: '(?P<clang>.+?)' file not found"
    r'|could not open source file "(?P<edg>.+?)"'
)
_UNRESOLVED = re.compile(
    r"Unresolved extern (?:function|variable)|requires (?:separate compilation|-?-?rdc)"
    r"|separate compilation mode|-rdc=true",
    re.IGNORECASE,
)
_CXX20 = re.compile(r"C\+\+20|\bconcept\b.*undefined|std::span|requires-clause", re.IGNORECASE)
_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')


@dataclass(frozen=True, slots=True)
class CompilerError:
    """One error of the front end."""

    file: str
    line: int
    """1-based, by the text's line markers."""
    message: str
    source: str = ""
    """The line as the compiler printed it, without what it put before."""
    column: int | None = None
    """0-based, into `source`."""
    frames: tuple[tuple[str, int], ...] = ()
    """Where the instantiations stand that led here, innermost first."""


def front_end_errors(output: str) -> list[CompilerError]:
    """The errors in the output of nvcc's front end, in their order."""
    found: list[CompilerError] = []
    lines = output.splitlines()
    for index, line in enumerate(lines):
        head = _ERROR.match(line)
        if head is None:
            continue
        block = _block(lines, index + 1)
        file = head["file"].strip().strip('"')
        source, column = _source(block)
        found.append(
            CompilerError(
                file, int(head["line"]), head["text"], source, column, _frames(block, file)
            )
        )
    return found


def missing_header(output: str) -> str | None:
    """The header that could not be opened, as it was written in the `#include`."""
    found = _MISSING.search(output)
    return next(filter(None, found.groups())) if found else None


def undefined_names(output: str) -> set[str]:
    """Identifiers that the front end does not know."""
    return set(_UNDEFINED.findall(output))


def wants_separate_compilation(output: str) -> bool:
    """Whether the message asks for `-rdc=true`."""
    return _UNRESOLVED.search(output) is not None


def wants_newer_language(output: str) -> bool:
    """Whether the message asks for C++20."""
    return _CXX20.search(output) is not None


def first_message(output: str) -> str:
    """The first line that says what is wrong; the last line where none does."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next(
        (line for line in lines if re.search(r"\berror\b|fatal", line)), (lines or [""])[-1]
    )


def _block(lines: list[str], start: int) -> list[str]:
    """The lines that belong to a message: up to the next blank line or message."""
    block = []
    for line in lines[start : start + 400]:
        if not line.strip() or _ERROR.match(line):
            break
        block.append(line)
    return block


def _source(block: list[str]) -> tuple[str, int | None]:
    for index in range(1, len(block)):
        if _CARET.match(block[index]):
            printed = block[index - 1]
            text = printed.lstrip()
            return text, max(0, block[index].index("^") - (len(printed) - len(text)))
    return "", None


def _frames(block: list[str], file: str) -> tuple[tuple[str, int], ...]:
    found = (_FRAME.search(line) for line in block)
    return tuple(((f["file"] or file).strip('"'), int(f["line"])) for f in found if f)
