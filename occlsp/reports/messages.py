"""Reads what a compiler printed: errors with their place, ptxas's warnings, spills.

Front end (`file(12): error: …`), preprocessor (`file:12:3: fatal error: …`), ptxas (with an entry
or a PTX line, never a source line) and nvcc itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from occlsp.reports.compiled import Message
from occlsp.reports.errors import front_end_errors
from occlsp.reports.facts import ReportWarning
from occlsp.reports.toolwarnings import read_warning

MAX_MESSAGES = 50
_HOST = re.compile(r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.+)$", re.MULTILINE)
_PTXAS = re.compile(
    r"^ptxas(?:-[\d.]+)?(?: \S.*?, line \d+;)? *(?:error|fatal) *: *(?P<text>.+)$",
    re.MULTILINE,
)
_ENTRY = re.compile(r"(?:\b[Ff]unction|limit \d+ for) '([\w.$]+)'")
_NVCC = re.compile(r"^(?:nvcc|clang\S*|cicc|nvlink)\s*(?:fatal|error)? *: *(?:error: )?(.+)$", re.M)
_ARCH = re.compile(
    r"requires \.target|not supported on \.target|Unsupported gpu architecture"
    r"|not defined for option 'gpu-architecture'|unsupported CUDA gpu architecture"
    r"|requires architecture|target SM (?:arch )?(?:not|must)|not supported for the .* target"
)
_OF_ABORT = re.compile(r"Ptx assembly aborted|errors? detected in the compilation")
_PROPERTIES = re.compile(
    r"Function properties for ([\w.$]+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads"
)


@dataclass(frozen=True, slots=True)
class Spills:
    """What ptxas prints of one function's stack, in bytes per thread."""

    stack: int
    stores: int
    loads: int


def errors(output: str) -> tuple[Message, ...]:
    """The errors in the compiler's output, at most 50, each once."""
    found = [Message(e.message, e.file, e.line) for e in front_end_errors(output)]
    found += [Message(text, file, int(line)) for file, line, text in _HOST.findall(output)]
    for match in _PTXAS.finditer(output):
        entry = _ENTRY.search(match["text"])
        found.append(Message(match["text"], entry=entry[1] if entry else None))
    found += [Message(text.strip()) for text in _NVCC.findall(output)]
    real = [message for message in dict.fromkeys(found) if not _OF_ABORT.search(message.text)]
    return tuple((real or list(dict.fromkeys(found)))[:MAX_MESSAGES])


def is_not_for_arch(messages: tuple[Message, ...]) -> bool:
    """Whether all that is wrong is that the code needs another architecture."""
    return bool(messages) and all(_ARCH.search(message.text) for message in messages)


def summary(messages: tuple[Message, ...], output: str) -> str:
    """One line: the first error with its place, and how many there are."""
    if not messages:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return f"the compiler failed: {lines[-1][:300] if lines else 'it printed nothing'}"
    first = messages[0]
    place = f"{first.file}:{first.line}: " if first.file and first.line else ""
    more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
    return f"{place}{first.text[:300]}{more}"


def warnings(output: str, arch: str, source: str) -> tuple[ReportWarning, ...]:
    """ptxas's warnings that change what the numbers mean."""
    lines = dict.fromkeys(line for line in output.splitlines() if line.startswith("ptxas"))
    read = (read_warning(line, source) for line in lines)
    found = [replace(warning, arch=arch) for warning in read if warning is not None]
    return tuple(found[:MAX_MESSAGES])


def spills(output: str) -> dict[str, Spills]:
    """The spills that `ptxas -v` printed, by function; cubins hold them from 12.6 on only."""
    return {
        name: Spills(int(stack), int(stores), int(loads))
        for name, stack, stores, loads in _PROPERTIES.findall(output)
    }
