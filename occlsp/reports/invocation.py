"""The command line of one compile: what is written where, and in which words nvcc is told."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from occlsp.reports.flags import Filtered
from occlsp.reports.toolchain import IS_WINDOWS, Compiler

ARCH = r"sm_\d{2,3}[af]?"
_PLAIN_PATH = re.compile(r"[\w\\/:. +()~-]+" if IS_WINDOWS else r"/[\w/.+@=,~%^:{}\[\]() -]+")
"""nvcc puts paths in double quotes in a shell command: nothing that those do not hold."""
_SAYABLE = re.compile(r"[^\"\\\x00-\x1f]+" if not IS_WINDOWS else r"[^\"\x00-\x1f]+")
"""Names that pass through line markers and PTX unharmed."""
COPY = "unit.cu"
"""The name of the unit's copy, also in messages and line tables where its own cannot be said."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A prepared compile, and where its products will be."""

    argv: tuple[str, ...]
    scratch: Path
    is_rdc: bool
    ptxas_options: tuple[str, ...]

    @property
    def cubin(self) -> Path:
        return self.scratch / "unit.cubin"

    @property
    def dependency_file(self) -> Path:
        return self.scratch / "unit.d"

    def code(self) -> Path | None:
        return self.cubin if self.cubin.is_file() else None

    def ptx(self) -> Path | None:
        """The PTX that the cubin was assembled from."""
        return next(iter(sorted(self.scratch.glob("*.ptx"))), None)

    def preprocessed(self) -> bytes | None:
        """What the preprocessor made for the device side."""
        found = sorted(self.scratch.glob("*.cpp1.ii")) or sorted(self.scratch.glob("*.ii"))
        return found[0].read_bytes() if found else None


def prepare(
    compiler: Compiler,
    unit: Path,
    arch: str,
    flags: Filtered,
    scratch: Path,
    text: bytes | None,
    debug: bool,
) -> Invocation:
    """Writes what the compile reads into `scratch`. Raises OSError where that cannot be."""
    host = list(flags.host)
    source = str(unit)
    if text is not None or not _PLAIN_PATH.fullmatch(source):
        source = str(_copy(unit, scratch, text))
        host = ["-iquote", str(unit.parent), *host]
    registers = [flag for flag in flags.kept if flag.startswith("--maxrregcount=")]
    ptxas = (*flags.ptxas, *registers, *(("-c",) if flags.is_rdc else ()))
    argv = [
        str(compiler.path),
        "-cubin",
        "-x",
        "cu",
        f"-arch={arch}",
        "-G" if debug else "-lineinfo",
        "-keep",
        "-keep-dir",
        ".",
        "-o",
        "unit.cubin",
        f"--relocatable-device-code={str(flags.is_rdc).lower()}",
        "-Xptxas=-v",
        *flags.kept,
        *(f"-Xptxas={word}" for word in flags.ptxas),
        *(["-ccbin", str(flags.ccbin)] if flags.ccbin else []),
        *_preprocessor(flags, host, scratch),
        source,
    ]
    return Invocation(tuple(argv), scratch, flags.is_rdc, ptxas)


def prepare_scan(
    compiler: Compiler, unit: Path, arch: str, flags: Filtered, scratch: Path, text: bytes | None
) -> Invocation:
    """A run of the preprocessor alone that lists what the unit includes, as far as it is there.

    What is missing stands in `dependency_file` as it was written: see `read_missing`.
    """
    host = list(flags.host)
    source = str(unit)
    if text is not None or not _PLAIN_PATH.fullmatch(source):
        source = str(_copy(unit, scratch, text))
        host = ["-iquote", str(unit.parent), *host]
    argv = [
        str(compiler.path),
        *("-E", "-x", "cu", f"-arch={arch}"),
        *flags.kept,
        *(["-ccbin", str(flags.ccbin)] if flags.ccbin else []),
        *_preprocessor(flags, host, scratch, ("-M", "-MG", "-MF", "unit.d")),
        source,
    ]
    return Invocation(tuple(argv), scratch, flags.is_rdc, ())


def _copy(unit: Path, scratch: Path, text: bytes | None) -> Path:
    """The unit under a name that no shell reads anything in, its own name in a line marker."""
    copy = scratch / COPY
    content = unit.read_bytes() if text is None else text
    content = content.removeprefix(b"\xef\xbb\xbf")
    name = str(unit) if _SAYABLE.fullmatch(str(unit)) else COPY
    copy.write_bytes(b"#line 1 " + _quoted(name) + b"\n" + content)
    return copy


def _preprocessor(
    flags: Filtered,
    host: list[str],
    scratch: Path,
    listing: tuple[str, ...] = ("-MD", "-MF", "unit.d"),
) -> list[str]:
    words: list[str] = []
    if IS_WINDOWS:
        words += [*listing, *_for_windows(host)]
    else:
        options = [*host, *listing]
        (scratch / "host.rsp").write_bytes(b"\n".join(_quoted(word) for word in options) + b"\n")
        words.append("-Xcompiler=@host.rsp")
    if flags.pre_includes:
        lines = [b'#include "%s"\n' % os.fsencode(name) for name in flags.pre_includes]
        (scratch / "pre.h").write_bytes(b"".join(lines))
        words += ["-include", "pre.h"]
    return words


def _for_windows(host: list[str]) -> list[str]:
    """cl.exe has no `-isystem`, and nvcc on Windows starts its tools without a shell of ours to
    guard: only words in which none reads anything."""
    plain = re.compile(r'[^"%!&|<>^`$\r\n]*')
    words = [word for word in host if plain.fullmatch(word)]
    return [
        "-I" if word in ("-iquote", "-idirafter", "-isystem") else word
        for word in words
        if word.startswith(("-D", "-U", "-I", "-i")) or not word.startswith("-")
    ]


def _quoted(word: str) -> bytes:
    """A word in double quotes, as line markers and GCC's options files both read them."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return b'"' + os.fsencode(escaped) + b'"'
