"""The what-if: what ptxas makes of one kernel under other launch bounds, from its current PTX.

Not always what recompiling the source gives, since the front end reads the bounds too, the blocks
per SM among them (ranges of indices, loop unrolling). Measured on ten kernels of public code, 8
rows each, 21 of them spilling, with 13.0 (by tests/corpus/whatif.py): as recompiling in 52 of 80,
the same blocks per SM in 77, registers within 8 in 79, whether anything spills differs in 1; at
the thread bound that the source has 38 of 48 are equal, at another 14 of 32. A row takes 36 ms at
the median, recompiling 24 times as long at least. As `--override-directive-values` on the whole
PTX gives in 48 of 48. `LABEL` says so wherever a row is shown; `occlsp.reports.exact` recompiles.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from occlsp.reports.ptx import Bounds, EntryPtx
from occlsp.reports.run import run
from occlsp.reports.toolchain import clean_environment

LABEL = "ptxas, from the current PTX"
EXACT_LABEL = "nvcc, the source recompiled"
MIN_BLOCKS = range(1, 9)

_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?(.*)")
_SMEM = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")
_SPILLS = r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
_IGNORED = re.compile(r"warning\s*:.*(?:minnctapersm|maxntid|maxnreg|register).*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel under one set of bounds. Numbers are None where `problem` says why."""

    bounds: Bounds
    is_current: bool = False
    """The bounds that the source gives now."""
    registers: int | None = None
    spill_stores: int | None = None
    """Bytes per thread, as `spill_loads`."""
    spill_loads: int | None = None
    static_smem: int | None = None
    """Bytes per block."""
    stack: int | None = None
    problem: str | None = None
    """Why there are no numbers, or (with numbers) that ptxas ignored a bound."""
    label: str = LABEL
    took: float = 0.0
    """Seconds."""


def usual_bounds(current: Bounds, *, threads: int | None = None) -> list[Bounds]:
    """The rows of the table: the current bounds, then 1 to 8 blocks per SM at `threads`.

    `threads` defaults to the current maximum; with neither there are rows at 256.
    """
    size = threads or current.max_threads or 256
    rows = [current, *(Bounds(size, blocks) for blocks in MIN_BLOCKS)]
    return list(dict.fromkeys(rows))


def rows(
    ptx: EntryPtx,
    arch: str,
    bounds: Iterable[Bounds],
    *,
    ptxas: Path,
    options: Sequence[str] = (),
    workspaces: Sequence[Path] = (),
    timeout: float = 60.0,
    cancelled: Callable[[], bool] | None = None,
) -> Iterator[Row]:
    """Asks ptxas once for each of `bounds`, as they are taken; ends early when cancelled.

    `options` are ptxas's own, as the unit was compiled with ("-O2", "-c" for `-rdc`).
    `timeout` in seconds, for each row. Nothing is written but in a temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix="occlsp-whatif-") as folder:
        scratch = Path(folder)
        env = clean_environment(os.environ, workspaces, scratch)
        source = scratch / "entry.ptx"
        command = [str(ptxas), "-v", f"-arch={arch}", *options, str(source)]
        for wanted in bounds:
            if cancelled is not None and cancelled():
                return
            source.write_bytes(ptx.under(wanted))
            done = run(
                [*command, "-o", str(scratch / "entry.cubin")],
                cwd=scratch,
                env=env,
                timeout=timeout,
                cancelled=cancelled,
            )
            if done.is_cancelled:
                return
            output = done.stdout + done.stderr
            row = Row(wanted, wanted == ptx.bounds, took=done.took)
            if done.failure or done.returncode != 0 or not _USED.search(output):
                yield replace(row, problem=f"ptxas: {done.failure or _first_error(output)}")
            else:
                yield _filled(row, ptx.entry, output)


def _filled(row: Row, entry: str, output: str) -> Row:
    """`row` with ptxas's record of the one entry; its callees have properties too."""
    used = _USED.search(output)
    assert used is not None
    smem = _SMEM.search(used.group(3))
    spills = re.search(rf"properties for {re.escape(entry)}\s+{_SPILLS}", output)
    ignored = _IGNORED.search(output)
    return replace(
        row,
        registers=int(used.group(1)),
        spill_stores=int(spills.group(2)) if spills else None,
        spill_loads=int(spills.group(3)) if spills else None,
        static_smem=sum(int(n) for n in smem.groups() if n) if smem else 0,
        stack=int(spills.group(1)) if spills else None,
        problem=ignored.group().strip() if ignored else None,
    )


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((x for x in lines if "error" in x or "fatal" in x), (lines or ["no answer"])[-1])
