"""The allow list of compiler flags: what may reach the compiler from a workspace, and in what form.

What defines, includes, selects language and architecture and optimises is kept; what runs
programs, loads plugins, reads options files or writes anywhere is dropped and told. nvcc hands
its arguments to a shell (a `-DX=$(touch y)` runs), so words with free text — macros and
folders — are kept apart in `host`, for a file that only the host preprocessor reads, and every
flag of nvcc's own matches a pattern that no shell finds anything in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from occlsp.reports.clang_flags import to_nvcc
from occlsp.reports.commandline import Dropped, OptionsFiles, split_posix
from occlsp.reports.flag_lists import (
    ALIASES,
    CUDAFE,
    FLAGS,
    HOST_KEPT,
    HOST_LOUD,
    HOST_QUIET,
    HOST_WITH_VALUE,
    OF_NO_USE,
    PTXAS_FLAGS,
    REFUSED,
    TAKES_VALUE,
    VALUES,
)
from occlsp.reports.toolchain import host_compiler, search_path

Dialect = Literal["nvcc", "clang"]


@dataclass(frozen=True, slots=True)
class Filtered:
    """The flags of a compile command that are left, sorted by who reads them."""

    kept: tuple[str, ...] = ()
    """nvcc's own flags, one word each, without architecture, debug or product."""
    host: tuple[str, ...] = ()
    """For the host preprocessor: -D, -U, -I and its like, with absolute folders; free text."""
    pre_includes: tuple[str, ...] = ()
    """Files of nvcc's `-include`, read after `cuda_runtime.h`."""
    ptxas: tuple[str, ...] = ()
    """Flags for ptxas."""
    dropped: tuple[Dropped, ...] = ()
    arches: tuple[str, ...] = ()
    """Architectures that the command compiles for, in its order: "sm_90a"; also "native"."""
    ccbin: Path | None = None
    is_debug: bool = False
    """`-G`: device code without optimisation. It is not in `kept`."""
    is_rdc: bool = False
    """Relocatable device code: numbers are those before linking."""
    is_lto: bool = False
    """Link-time optimisation, which yields no machine code. It is not in `kept`."""

    def key(self) -> tuple[str, ...]:
        """What the compile's result depends on, for the cache."""
        return (
            *self.kept,
            "\0host",
            *self.host,
            "\0include",
            *self.pre_includes,
            "\0ptxas",
            *self.ptxas,
            f"\0{self.ccbin} {self.is_rdc}",
        )

    def plus(self, other: Filtered) -> Filtered:
        """Both, `other`'s after ours."""
        return replace(
            self,
            kept=_unique(self.kept + other.kept),
            host=self.host + other.host,
            pre_includes=self.pre_includes + other.pre_includes,
            ptxas=self.ptxas + other.ptxas,
            dropped=self.dropped + other.dropped,
            arches=_unique(self.arches + other.arches),
            ccbin=other.ccbin or self.ccbin,
            is_debug=self.is_debug or other.is_debug,
            is_rdc=self.is_rdc or other.is_rdc,
            is_lto=self.is_lto or other.is_lto,
        )


def filter_flags(
    arguments: Sequence[str],
    directory: Path,
    *,
    workspaces: Sequence[Path],
    dialect: Dialect = "nvcc",
    env: Mapping[str, str] | None = None,
) -> Filtered:
    """What of a compile command's `arguments` (without the compiler) may be passed to nvcc.

    Relative folders are taken from `directory`. Nothing in `workspaces` is named as a program
    to run; it has no default, so that nobody forgets it. `env` is where `NVCC_PREPEND_FLAGS` and
    `NVCC_APPEND_FLAGS` come from, and the PATH for a bare `-ccbin` name: pass the user's
    environment updated with what the command itself sets.
    """
    env = env or {}
    sorter = _Sorter(directory, tuple(workspaces), search_path(env.get("PATH", ""), workspaces))
    files = OptionsFiles(directory, sorter.dropped)
    words = files.expand(arguments)
    if dialect == "clang":
        sorter.knows_host_flags = True
        words = to_nvcc(words, sorter.dropped)
    else:
        before, after = (
            files.expand(split_posix(env.get(name, "")))
            for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
        )
        words = [*before, *words, *after]
    sorter.sort(words)
    return sorter.result()


class _Sorter:
    def __init__(self, directory: Path, workspaces: tuple[Path, ...], search: str) -> None:
        self.directory = directory
        self.workspaces = workspaces
        self.search = search
        self.knows_host_flags = False
        self.kept: list[str] = []
        self.preprocessor: list[str] = []
        self.host_words: list[str] = []
        self.pre_includes: list[str] = []
        self.ptxas: list[str] = []
        self.dropped: list[Dropped] = []
        self.arches: list[str] = []
        self.virtual: list[str] = []
        self.ccbin: Path | None = None
        self.is_debug = self.is_rdc = self.is_lto = False

    def result(self) -> Filtered:
        from_host = self._host_flags(self.host_words)
        return Filtered(
            kept=_unique(self.kept),
            host=(*from_host, *self.preprocessor),
            pre_includes=tuple(self.pre_includes),
            ptxas=tuple(self.ptxas),
            dropped=tuple(self.dropped),
            arches=_unique(self.arches or self.virtual),
            ccbin=self.ccbin,
            is_debug=self.is_debug,
            is_rdc=self.is_rdc,
            is_lto=self.is_lto,
        )

    def sort(self, words: Sequence[str]) -> None:
        names = {_parse(word)[0] for word in words}
        if names & {"forward-unknown-to-host-compiler", "forward-unknown-opts"}:
            self.knows_host_flags = True
        position = 0
        while position < len(words):
            word = words[position]
            position += 1
            if not _is_sayable(word):
                self._refuse(repr(word), "it cannot be said to a program")
                continue
            if not word.startswith("-") or word == "-":
                continue  # an input; the unit is named by the caller
            name, value = _parse(word)
            if value is None and name in TAKES_VALUE:
                if position == len(words):
                    self._drop(word, "its value is missing")
                    continue
                value = words[position]
                position += 1
            elif self._is_host_flag_with_value(name, word) and position < len(words):
                self.host_words += [word, words[position]]
                position += 1
                continue
            self._take(word, name, value)

    def _is_host_flag_with_value(self, name: str, word: str) -> bool:
        known = name in TAKES_VALUE or name in FLAGS or name in OF_NO_USE or name in REFUSED
        return self.knows_host_flags and not known and bool(re.fullmatch(HOST_WITH_VALUE, word))

    def _take(self, word: str, name: str, value: str | None) -> None:
        shown = word if value is None or value in word else f"{word} {value}"
        handler = _HANDLERS.get(name)
        if handler is not None:
            handler(self, shown, value or "")
        elif name in FLAGS and value is None:
            self.kept.append(FLAGS[name])
        elif name in VALUES and value is not None:
            if re.fullmatch(VALUES[name], value):
                self.kept.append(f"--{name}={value}")
            else:
                self._refuse(shown, "not a value that this flag takes")
        elif name in REFUSED:
            self._refuse(shown, REFUSED[name])
        elif name in OF_NO_USE:
            self._drop(shown, "of no use for resource numbers")
        elif self.knows_host_flags:
            self.host_words.append(word)
        else:
            self._refuse(shown, "not on the list of flags that are passed on")

    def _drop(self, flag: str, reason: str) -> None:
        self.dropped.append(Dropped(flag, reason))

    def _refuse(self, flag: str, reason: str) -> None:
        self.dropped.append(Dropped(flag, reason, is_refused=True))

    # One method a flag (or a few that are alike); each is given the flag as shown and its value.

    def _define(self, flag: str, value: str) -> None:
        letter = "-U" if flag.lstrip("-").startswith(("U", "undefine")) else "-D"
        pieces = [value] if self.knows_host_flags else split_commas(value)
        for piece in pieces:
            self._host_word(letter + piece)

    def _include_folder(self, flag: str, value: str) -> None:
        letter = "-isystem" if "system" in flag.split("=")[0] else "-I"
        for folder in [value] if self.knows_host_flags else split_commas(value):
            self._folder(letter, folder, self.preprocessor)

    def _pre_include(self, flag: str, value: str) -> None:
        for name in split_commas(value):
            path = self._file(name)
            if path is None:
                self._refuse(flag, "not a regular file")
            else:
                self.pre_includes.append(path)

    def _architecture(self, flag: str, value: str) -> None:
        for found in re.findall(r"(?:sm|compute|lto)_\d+[af]?|native|all-major|all", value):
            self._target(found)

    def _generate(self, flag: str, value: str) -> None:
        match = re.search(r"code=(\S*)", value)
        self._architecture(flag, match[1] if match else value)

    def _target(self, target: str) -> None:
        kind, _, number = target.partition("_")
        self.is_lto = self.is_lto or kind == "lto"
        to = self.virtual if kind == "compute" else self.arches
        to.append(f"sm_{number}" if number else target)

    def _host_options(self, flag: str, value: str) -> None:
        for piece in split_commas(value):
            # A piece with blanks is one word to nvcc and several to the shell behind it.
            words = split_posix(piece) if re.search(r"\s-|^/.*\s/", piece) else [piece]
            self.host_words.extend(words)

    def _ptxas_options(self, flag: str, value: str) -> None:
        words = [word for piece in split_commas(value) for word in piece.split()]
        position = 0
        while position < len(words):
            word = words[position]
            position += 1
            if (
                word in PTXAS_FLAGS
                and position < len(words)
                and not words[position].startswith("-")
            ):
                word = f"{word}={words[position]}"
                position += 1
            name, _, given = word.partition("=")
            pattern = PTXAS_FLAGS.get(name)
            if re.fullmatch(r"-?-?O[0-4]", word):
                self.ptxas.append(word)
            elif name in {
                "-v",
                "--verbose",
                "-lineinfo",
                "--generate-line-info",
                "--warn-on-spills",
            }:
                self._drop(f"-Xptxas {word}", "of no use for resource numbers")
            elif pattern is not None and re.fullmatch(pattern, given):
                self.ptxas.append(word)
            else:
                self._refuse(f"-Xptxas {word}", "not on the list of flags of ptxas")

    def _cudafe_options(self, flag: str, value: str) -> None:
        for word in (word for piece in split_commas(value) for word in piece.split()):
            if re.fullmatch(CUDAFE, word):
                self.kept.append(f"-Xcudafe={word}")
            else:
                self._refuse(f"-Xcudafe {word}", "not on the list of flags of cudafe")

    def _compiler_folder(self, flag: str, value: str) -> None:
        path = (
            value if Path(value).is_absolute() or "/" not in value else str(self.directory / value)
        )
        found = host_compiler(path, self.workspaces, self.search)
        if isinstance(found, str):
            self._refuse(flag, found)
        elif not re.fullmatch(_PLAIN_PATH, str(found)):
            self._refuse(flag, "the path holds characters that a shell would read")
        else:
            self.ccbin = found

    def _relocatable(self, flag: str, value: str) -> None:
        self.is_rdc = value not in {"false", "0"}

    def _debug(self, flag: str, value: str) -> None:
        self.is_debug = True
        self._drop(flag, "a debug build; compiled without it, for the numbers of a release")

    def _link_time(self, flag: str, value: str) -> None:
        self.is_lto = True
        self._drop(flag, "it yields no machine code to read")

    def _language(self, flag: str, value: str) -> None:
        self._drop(flag, "always compiled as CUDA")

    def _host_word(self, word: str) -> None:
        if _is_sayable(word):
            self.preprocessor.append(word)
        else:
            self._refuse(repr(word), "it cannot be said to a program")

    def _folder(self, letter: str, folder: str, to: list[str]) -> None:
        if not folder or not _is_sayable(folder):
            self._refuse(f"{letter} {folder!r}", "not the name of a folder")
            return
        path = os.path.join(self.directory, folder)  # noqa: PTH118  (keeps ".." behind links)
        to.extend([f"-I{path}"] if letter == "-I" else [letter, path])

    def _file(self, name: str) -> str | None:
        """An absolute path where it is there, the name where it is searched for, None if odd."""
        path = os.path.join(self.directory, name)  # noqa: PTH118
        if not _is_sayable(path) or '"' in path:
            return None
        if os.path.lexists(path):
            return path if Path(path).is_file() else None
        return (
            name if re.fullmatch(r"[\w.][\w./+-]*", name) and not Path(name).is_absolute() else None
        )

    def _host_flags(self, words: Sequence[str]) -> list[str]:
        """The words for the host compiler that matter to its preprocessor."""
        kept: list[str] = []
        position = 0
        while position < len(words):
            word = words[position]
            position += 1
            match = re.match(HOST_WITH_VALUE, word)
            if match is None:
                self._host_flag(word, kept)
                continue
            value = word[match.end() :]
            if not value:
                if position == len(words):
                    self._drop(f"-Xcompiler {word}", "its value is missing")
                    continue
                value = words[position]
                position += 1
            self._host_value(match[0].replace("/", "-"), value, kept)
        return kept

    def _host_value(self, letter: str, value: str, kept: list[str]) -> None:
        if not _is_sayable(value):
            self._refuse(f"-Xcompiler {letter}{value!r}", "it cannot be said to a program")
        elif letter in {"-D", "-U"}:
            kept.append(letter + value)
        elif letter == "-include":
            path = self._file(value)
            if path is None:
                self._refuse(f"-Xcompiler -include {value}", "not a regular file")
            else:
                kept.extend([letter, path])
        elif letter in {"-I", "-isystem", "-iquote", "-idirafter"}:
            self._folder(letter, value, kept)
        else:
            self._refuse(f"-Xcompiler {letter} {value}", "it could run, load or write something")

    def _host_flag(self, word: str, kept: list[str]) -> None:
        if re.fullmatch(HOST_KEPT, word):
            kept.append(word)
        elif re.fullmatch(HOST_LOUD, word):
            self._refuse(f"-Xcompiler {word}", "it could run, load or write something")
        elif re.fullmatch(HOST_QUIET, word):
            self._drop(f"-Xcompiler {word}", "of no use for resource numbers")
        elif word:
            self._refuse(f"-Xcompiler {word}", "not on the list of flags of the host compiler")


_HANDLERS = {
    "define-macro": _Sorter._define,
    "undefine-macro": _Sorter._define,
    "include-path": _Sorter._include_folder,
    "system-include": _Sorter._include_folder,
    "pre-include": _Sorter._pre_include,
    "gpu-architecture": _Sorter._architecture,
    "gpu-code": _Sorter._architecture,
    "generate-code": _Sorter._generate,
    "compiler-options": _Sorter._host_options,
    "ptxas-options": _Sorter._ptxas_options,
    "cudafe-options": _Sorter._cudafe_options,
    "compiler-bindir": _Sorter._compiler_folder,
    "relocatable-device-code": _Sorter._relocatable,
    "device-c": _Sorter._relocatable,
    "device-w": _Sorter._relocatable,
    "device-debug": _Sorter._debug,
    "dlink-time-opt": _Sorter._link_time,
    "lto": _Sorter._link_time,
    "x": _Sorter._language,
}


def _is_sayable(word: str) -> bool:
    """Whether a word survives the way: one line, no zero, and bytes that there are."""
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        return False
    return not re.search(r"[\0\r\n]", word)


def split_commas(value: str) -> list[str]:
    """The pieces that nvcc makes of a list: at commas, except behind a backslash."""
    pieces = re.findall(r"(?:[^,\\]|\\.|\\\Z)+", value, re.DOTALL)
    return [piece.replace("\\,", ",") for piece in pieces]


_PLAIN_PATH = r"[\w/.+:\\ ()-]+" if os.name == "nt" else r"[\w/.+-]+"
"""nvcc puts the host compiler's path into a shell command as it is."""

_JOINED = re.compile(
    r"-(D|U|I|L|l|isystem|O(?=[0-3]$)|m(?=64$)|x(?=cu$|c$|c\+\+$)|t(?=\d+$))(?=.)", re.DOTALL
)


def _parse(word: str) -> tuple[str, str | None]:
    """The long name of a flag of nvcc (all take one or two dashes), and its value if attached."""
    name, equals, value = word.lstrip("-").partition("=")
    long_name = ALIASES.get(name, name)
    if long_name in TAKES_VALUE or long_name in FLAGS or long_name in OF_NO_USE:
        return long_name, value if equals else None
    match = _JOINED.match(word)
    if match is not None:
        return ALIASES.get(match[1], match[1]), word[match.end() :]
    return long_name, value if equals else None


def _unique(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
