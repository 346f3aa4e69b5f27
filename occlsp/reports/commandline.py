"""Splits command strings and options files into words, and peels launchers off a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

MAX_OPTIONS_FILE = 4 << 20
MAX_OPTIONS_FILES = 64
MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Dropped:
    """A word of a command line that is not passed on."""

    flag: str
    reason: str
    is_refused: bool = False
    """It could have run, loaded or written something; else it merely has no use here."""

    def __str__(self) -> str:
        return f"{self.flag}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Peeled:
    """A compile command without its launchers."""

    compiler: str | None
    """"nvcc", "clang++-18" as the command names it; None where it is not a CUDA compiler."""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    """The variables that `cmake -E env` sets."""
    reason: str | None = None
    """Why the command is ignored."""


_WINDOWS_COMMAND = re.compile(r'\s*"?(?:[A-Za-z]:[\\/]|\\\\|[^\s"/]+\.exe\b)', re.IGNORECASE)
_POSIX_WORD = re.compile(
    r"""(?:[^\s'"\\]+|'[^']*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)|\\.|\\\Z)+""", re.S
)
_POSIX_PART = re.compile(
    r"""'([^']*)(?:'|\Z)|"((?:[^"\\]|\\.)*)(?:"|\\?\Z)|\\(.)|([^'"\\]+)|\\\Z""", re.S
)


def split_command(text: str) -> list[str]:
    """The words of a command string, by Windows' rules where it looks like one of Windows."""
    return split_windows(text) if _WINDOWS_COMMAND.match(text) else split_posix(text)


def split_posix(text: str) -> list[str]:
    """Words by the shell's quoting, and nothing else of the shell; a half-open quote ends at the
    end."""
    return [_POSIX_PART.sub(_unquote, word) for word in _POSIX_WORD.findall(text)]


def _unquote(part: re.Match[str]) -> str:
    single, double, escaped, plain = part.groups()
    if double is not None:
        return re.sub(r'\\(["\\$`])|\\\n', lambda found: found[1] or "", double)
    if escaped is not None:
        return "" if escaped == "\n" else str(escaped)
    return single or plain or ""


def split_windows(text: str) -> list[str]:
    """Words as `CommandLineToArgvW` makes them: backslashes count only before a quote."""
    words: list[str] = []
    word = ""
    is_open = is_quoted = False
    for part in re.finditer(r'(\\*)("?)|(\s+)|([^\\"\s]+)', text):
        slashes, quote, space, plain = part.groups()
        if plain or (space and is_quoted):
            word, is_open = word + (plain or space), True
        elif space:
            if is_open:
                words.append(word)
            word, is_open = "", False
        elif quote:
            word, is_open = word + "\\" * (len(slashes) // 2), True
            if len(slashes) % 2:
                word += '"'
            else:
                is_quoted = not is_quoted
        elif slashes:
            word, is_open = word + slashes, True
    return [*words, word] if is_open else words


def peel(argv: Sequence[str]) -> Peeled:
    """Takes the known launchers off `argv`: ccache and its like, `cmake -E env`, ourselves.

    Any other program in front (a shell, a script) makes the command ignored, with the reason.
    """
    environment: dict[str, str] = {}
    words = list(argv)
    for _ in range(16):
        name = program_name(words[0]) if words else ""
        if name in _LAUNCHERS:
            words = words[1:]
        elif name == "cmake" and words[1:3] == ["-E", "env"]:
            words = _assignments(words[3:], environment)
        elif (name, *words[1:2]) == ("occlsp", "record") or (
            (name, *words[1:3]) == ("cmake", "-E", "__run_co_compile")
        ):
            if "--" not in words:
                break
            words = words[words.index("--") + 1 :]
        else:
            break
    if not words:
        return Peeled(None, reason="the command is empty")
    name = program_name(words[0])
    if not _CUDA_COMPILER.fullmatch(name):
        what = "a compiler of the host" if _HOST.fullmatch(name) else "not a compiler we know"
        return Peeled(None, reason=f"`{words[0]}` is {what}; the command is ignored")
    return Peeled(name, tuple(words[1:]), environment)


_LAUNCHERS = {"ccache", "sccache", "distcc", "icecc", "buildcache"}
_CUDA_COMPILER = re.compile(r"(nvcc|clang(\+\+)?)(-?\d+(\.\d+)*)?")
_HOST = re.compile(r"([a-z0-9_]+-)*(gcc|g\+\+|cc|c\+\+|icpx|nvc\+\+|cl|clang-cl)(-?[\d.]+)?")


def program_name(word: str) -> str:
    """The program's name in lower case without folder (of either system) and `.exe`."""
    return re.split(r"[\\/]", word)[-1].lower().removesuffix(".exe")


def _assignments(words: list[str], environment: dict[str, str]) -> list[str]:
    while words and (match := re.fullmatch(r"([A-Za-z_]\w*)=(.*)|--unset=.*|--", words[0], re.S)):
        if match[1]:
            environment[match[1]] = match[2]
        words = words[1:]
    return words


_NEXT = "\0next"
_VALUE_NEXT = re.compile(r"--?(X\w+|\w+-options|o|output-file|D|define-macro|I|include-path)")
"""Flags behind which an `@name` is their value."""


class OptionsFiles:
    """Expands `@file` and `--options-file` ourselves, so that what is in them is filtered.

    Bounded in number, size and depth; what cannot be read is told in `dropped`.
    """

    def __init__(self, directory: Path, dropped: list[Dropped]) -> None:
        self.directory = directory
        self.dropped = dropped
        self.read = 0

    def expand(self, words: Sequence[str], depth: int = 0) -> list[str]:
        expanded: list[str] = []
        position = 0
        while position < len(words):
            word = words[position]
            position += 1
            is_value = position > 1 and _VALUE_NEXT.fullmatch(words[position - 2])
            names = None if is_value else _options_files(word)
            if names is _NEXT:
                names = words[position] if position < len(words) else ""
                position += 1
            if names is None:
                expanded.append(word)
                continue
            for name in [names] if word.startswith("@") else names.split(","):
                expanded.extend(self._words_of(name, depth))
        return expanded

    def _words_of(self, name: str, depth: int) -> list[str]:
        self.read += 1
        if depth >= MAX_DEPTH or self.read > MAX_OPTIONS_FILES:
            self.dropped.append(
                Dropped(f"@{name}", "options files nest too deep or are too many", is_refused=True)
            )
            return []
        path = self.directory / name
        try:
            if not path.is_file():
                raise OSError("it is not there, or not a file")
            with path.open("rb") as stream:
                data = stream.read(MAX_OPTIONS_FILE + 1)
            if len(data) > MAX_OPTIONS_FILE:
                raise OSError("it is larger than 4 MiB")
        except (OSError, ValueError) as error:
            self.dropped.append(Dropped(f"@{name}", f"the options file cannot be read: {error}"))
            return []
        return self.expand(split_posix(_text(data)), depth + 1)


def _options_files(word: str) -> str | None:
    """The files that `word` names, `_NEXT` where the next word does, None where it is none."""
    if word.startswith("@") and len(word) > 1:
        return word[1:]
    match = re.fullmatch(r"--?(?:optf|options-file)(?:=(.*))?", word, re.S)
    if match is None:
        return None
    return _NEXT if match[1] is None else match[1]


def _text(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")
