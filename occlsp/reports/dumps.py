"""What `cuobjdump --dump-resource-usage` prints, and the shared memory that the system reserves.

     Function _Z4gemmPf:
      REG:40 STACK:784 SHARED:1024 LOCAL:0 CONSTANT[0]:548 TEXTURE:0 SURFACE:0 SAMPLER:0

A function without a constant bank 0 is no kernel. Dumps of fatbins say the architecture before
each cubin; those of single cubins do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from occlsp.reports.facts import Entry

RESERVED_SHARED: Final = 1024
"""Bytes of shared memory that the system takes of each block from sm_90 on."""
FIRST_RESERVED_ARCH: Final = 90
DUMPED_WITH_RESERVE: Final = range(FIRST_RESERVED_ARCH, 1000)
LINKED_WITH_RESERVE: Final = range(FIRST_RESERVED_ARCH, 100)
"""Where `cuobjdump` and `nvlink -v` count it in: for sm_100 and later nvlink does not (13.0, 13.5),
nor does it tell of constant banks there."""
_FIRST_PARAMETER_SM90 = 528
"""Where the parameters begin in constant bank 0 from sm_90 on; 352 and less before."""

_USAGE = re.compile(r"(?:^|\s)REG:(\d+) STACK:(\d+|UNKNOWN) SHARED:(\d+) LOCAL:\d+( .*)?$")
_CONSTANT = re.compile(r"CONSTANT\[(\d+)\]:(\d+)")
_ARCH = re.compile(r"^arch = (sm_\w+)$")
_ARCH_IN_NAME = re.compile(r"sm_?(\d{2,3}[af]?)(?![0-9a-z])")


class DumpReader:
    """Takes the lines of a log and keeps what a dump in it says."""

    def __init__(self, source: str, time: float | None) -> None:
        self.entries: list[Entry] = []
        self.functions: list[str] = []
        self._source = source
        self._time = time
        self._arch: str | None = None
        self._unit: str | None = None
        self._name: str | None = None
        self._group: list[Entry] = []

    def feed(self, text: str) -> bool:
        """Takes a line; whether it was one of a dump."""
        if "REG:" in text:
            return self._usage(text)
        if text.endswith(":") and " Function " in f" {text}":
            self._name = text.partition("Function ")[2][:-1]
            return True
        if text.startswith("arch = "):
            self.flush()
            match = _ARCH.match(text)
            self._arch = match.group(1) if match else None
            self._unit = None
            return True
        if "Resource usage:" in text:
            self.flush()
            return True
        return False

    def flush(self) -> None:
        """Ends the dump of one cubin."""
        if self._group:
            self.entries += without_reserve(self._group)
            self._group = []
            self._arch = None
        self._name = None

    def _usage(self, text: str) -> bool:
        match = _USAGE.search(text)
        if match is None or self._name is None:
            return match is not None
        registers, stack, shared, rest = match.groups()
        constants = dict(_CONSTANT.findall(rest or ""))
        if "0" not in constants:
            self.functions.append(self._name)
        else:
            self._group.append(
                Entry(
                    entry=self._name,
                    arch=self._arch or arch_in_name(self._source),
                    registers=int(registers),
                    static_smem=int(shared),
                    stack=int(stack) if stack.isdigit() else None,
                    cmem={bank: int(size) for bank, size in constants.items()},
                    source=self._source,
                    origin="dump",
                    time=self._time,
                )
            )
        self._name = None
        return True


def arch_in_name(source: str) -> str | None:
    """The architecture that a file's name says, for text that does not: "k.sm_90.txt"."""
    found = set(_ARCH_IN_NAME.findall(PurePath(source).name))
    return f"sm_{found.pop()}" if len(found) == 1 else None


def without_reserve(entries: Sequence[Entry], archs: range = DUMPED_WITH_RESERVE) -> list[Entry]:
    """The entries of one cubin or link, of whose shared memory the reserve is taken off.

    `archs` are the capabilities on which the tool counts the 1024 bytes in that the system takes
    (0 or 1024 are told where the kernel has none). Something between shows that it did not.
    """
    known = {int(re.sub(r"\D", "", entry.arch) or 0) for entry in entries if entry.arch}
    if known:
        counted = all(arch in archs for arch in known)
    else:
        counted = all(entry.cmem.get("0", 0) >= _FIRST_PARAMETER_SM90 for entry in entries)
    if not counted or any(0 < (entry.static_smem or 0) < RESERVED_SHARED for entry in entries):
        return list(entries)
    return [
        replace(entry, static_smem=entry.static_smem - RESERVED_SHARED)
        if entry.static_smem
        else entry
        for entry in entries
    ]
