"""Register pressure: how many registers are live on each source line of a kernel.

`nvdisasm -lrm count` tells it by instruction, the line table puts instructions on lines. Spills
by line need none of this: they are in `Entry.spill_lines`.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from occlsp.reports.elf import BrokenFileError, read_elf
from occlsp.reports.linetable import LineTable
from occlsp.reports.run import run
from occlsp.reports.toolchain import Compiler, clean_environment, is_inside, is_runnable

TO_GET_ONE = "install the CUDA toolkit's nvdisasm, or `pip install nvidia-cuda-nvdisasm`"
MAX_OUTPUT = 256 << 20
_NAME = "nvdisasm.exe" if os.name == "nt" else "nvdisasm"
_SECTION = re.compile(r"^\s*\.section\s+\.text\.([\w$.]+),")
_LIVE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/.*// \|\s*(\d*)\s*\|")


@dataclass(frozen=True, slots=True)
class LinePressure:
    """Live registers on one source line."""

    file: str
    line: int
    """1-based."""
    live: int
    """The most that are live at one of the line's instructions."""
    instructions: int


@dataclass(frozen=True, slots=True)
class Pressure:
    """A kernel's lines in the order of their code; or why they are not known."""

    entry: str
    lines: tuple[LinePressure, ...] = ()
    peak: int | None = None
    """The most that are live anywhere in the kernel."""
    problem: str | None = None


def find_nvdisasm(
    compiler: Compiler | None,
    workspaces: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
) -> Path | None:
    """The compiler's own nvdisasm, else that on PATH, else that of the pip package.

    Never one that lies in a workspace.
    """
    env = os.environ if env is None else env
    own = compiler.tool("nvdisasm") if compiler is not None else None
    places = [own] if own is not None else []
    folders = [Path(folder) for folder in env.get("PATH", "").split(os.pathsep) if folder]
    places += [folder / _NAME for folder in folders if folder.is_absolute()]
    for entry in sys.path:
        if entry and Path(entry).is_absolute():
            places += sorted(Path(entry, "nvidia").glob(f"*/bin/{_NAME}"), reverse=True)
    return next((p for p in places if is_runnable(p) and not is_inside(p, workspaces)), None)


def pressure(
    cubin: bytes,
    entry: str,
    *,
    nvdisasm: Path | None,
    workspaces: Sequence[Path] = (),
    timeout: float = 30.0,
    cancelled: Callable[[], bool] | None = None,
) -> Pressure:
    """Live registers by line of the kernel `entry` (mangled) in a cubin with a line table.

    Never raises: what is missing is `Pressure.problem`, with the way out.
    """
    if nvdisasm is None:
        return Pressure(entry, problem=f"register pressure by line needs nvdisasm; {TO_GET_ONE}")
    try:
        elf = read_elf(cubin)
        rows = LineTable(elf).rows(entry)
    except (BrokenFileError, IndexError, ValueError) as error:
        return Pressure(entry, problem=f"the cubin cannot be read: {error}")
    if f".text.{entry}" not in elf.sections:
        return Pressure(entry, problem=f"the cubin has no kernel {entry}")
    if not rows:
        return Pressure(entry, problem=f"{entry} has no line table; compile with -lineinfo")
    with tempfile.TemporaryDirectory(prefix="occlsp-pressure-") as folder:
        scratch = Path(folder)
        (scratch / "kernel.cubin").write_bytes(cubin)
        done = run(
            [str(nvdisasm), "-c", "-lrm", "count", str(scratch / "kernel.cubin")],
            cwd=scratch,
            env=clean_environment(os.environ, workspaces, scratch),
            timeout=timeout,
            cancelled=cancelled,
            max_output=MAX_OUTPUT,
        )
    live = list(_live(done.stdout, entry))
    if done.failure or done.returncode != 0 or not live:
        said = done.failure or (done.stderr.strip().splitlines() or ["it lists no instructions"])[0]
        return Pressure(entry, problem=f"{nvdisasm}: {said} (cubins of 13.x need 13.2 or later)")
    return Pressure(entry, _by_line(live, rows), max(count for _, count in live))


def _live(output: str, entry: str) -> Iterator[tuple[int, int]]:
    """(offset, live registers) of each instruction of the kernel's section."""
    is_wanted = False
    for line in output.splitlines():
        section = _SECTION.match(line)
        if section is not None:
            is_wanted = section.group(1) == entry
        elif is_wanted and (found := _LIVE.match(line)):
            yield int(found.group(1), 16), int(found.group(2) or 0)


def _by_line(
    live: list[tuple[int, int]], rows: list[tuple[int, str, int]]
) -> tuple[LinePressure, ...]:
    ordered = sorted(rows, key=lambda row: row[0])
    starts = [row[0] for row in ordered]
    most: dict[tuple[str, int], tuple[int, int]] = {}
    for offset, count in live:
        index = bisect_right(starts, offset) - 1
        if index >= 0:
            place = ordered[index][1:]
            peak, instructions = most.get(place, (0, 0))
            most[place] = (max(peak, count), instructions + 1)
    return tuple(
        LinePressure(file, line, peak, instructions)
        for (file, line), (peak, instructions) in most.items()
    )
