"""Measures the what-if: how often ptxas answers as recompiling does, and how much sooner.

    python tests/corpus/whatif.py UNIT.cu … [--kernels 10] [--arch sm_90]

Of the units' kernels (they must compile without compile commands) those with the most registers
are asked about, one a unit at first: launch bounds (T, 1) to (T, 8), by ptxas from the PTX, and by
recompiling. Times are the compilers' own, whatever else the machine does; the first exact row of
a kernel also pays for the preprocessing.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from occlsp.reports.cache import Cache
from occlsp.reports.compile import Context
from occlsp.reports.compile_task import defaults
from occlsp.reports.compiled import CompileResult
from occlsp.reports.exact import exact_rows
from occlsp.reports.facts import Entry
from occlsp.reports.flags import Filtered
from occlsp.reports.ladder import compile_without_commands, working_flags
from occlsp.reports.ptx import Bounds, EntryPtx
from occlsp.reports.toolchain import Missing, find_compiler
from occlsp.reports.whatif import Row, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("units", type=Path, nargs="+")
    parser.add_argument("--kernels", type=int, default=10)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--include", type=Path, action="append", default=[])
    options = parser.parse_args()
    compiler = find_compiler(None, [])
    if isinstance(compiler, Missing):
        sys.exit(str(compiler))
    base = defaults()
    for folder in options.include:
        base = replace(base, host=(*base.host, f"-I{folder.resolve()}"))
    with tempfile.TemporaryDirectory() as folder:
        context = Context(compiler, Cache(Path(folder)), timeout=300)
        known = [(unit, compiled(context, unit, options.arch, base)) for unit in options.units]
        chosen = choose(known, options.kernels)
        pairs = []
        for unit, result, entry in chosen:
            pairs += compare(context, unit, result, entry, base, options.arch)
    report(pairs, len(chosen))


def compiled(context: Context, unit: Path, arch: str, base: Filtered) -> CompileResult:
    return compile_without_commands(context, unit, arch, base, root=unit.parent)


def choose(
    known: list[tuple[Path, CompileResult]], count: int
) -> list[tuple[Path, CompileResult, Entry]]:
    """The kernels with the most registers, the first of every unit before any second."""
    ranked = []
    for unit, result in known:
        by_registers = sorted(result.entries, key=lambda e: -(e.registers or 0))
        if result.origin == "slice":
            continue
        own = [e for e in by_registers if e.file and Path(e.file).name == unit.name]
        ranked += [(place, unit, result, entry) for place, entry in enumerate(own)]
    ranked.sort(key=lambda item: (item[0], -(item[3].registers or 0)))
    return [(unit, result, entry) for _, unit, result, entry in ranked[:count]]


def compare(
    context: Context, unit: Path, result: CompileResult, entry: Entry, base: Filtered, arch: str
) -> list[tuple[Row, Row]]:
    ptxas = context.compiler.tool("ptxas")
    assert ptxas is not None
    assert result.ptx is not None
    ptx = EntryPtx(Path(result.ptx).read_bytes(), entry.entry)
    threads = ptx.bounds.max_threads or 256
    bounds = [Bounds(threads, blocks) for blocks in range(1, 9)]
    options = result.ptxas_options
    quick = timed(rows(ptx, arch, bounds, ptxas=ptxas, options=options))
    flags = working_flags(context, unit, base, unit.parent)
    exact = timed(exact_rows(context, unit, arch, flags, entry, bounds, current=ptx.bounds))
    print(f"{entry.entry[:60]} ({unit.name}): {threads} threads, {ptx.bounds}")
    for one, other in zip(quick, exact, strict=True):
        print(
            f"  ({threads}, {one.bounds.min_blocks}): {numbers(one)} in {one.took:.2f} s; "
            f"exact {numbers(other)} in {other.took:.2f} s {other.problem or ''}"
        )
    return list(zip(quick, exact, strict=True))


def timed(found: Iterator[Row]) -> list[Row]:
    """The rows, `took` replaced by the compilers' own seconds: the machine may be busy."""
    out: list[Row] = []
    before = used()
    for row in found:
        after = used()
        out.append(replace(row, took=after - before))
        before = after
    return out


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def numbers(row: Row) -> tuple[object, ...]:
    return (row.registers, row.spill_stores, row.spill_loads)


def report(pairs: list[tuple[Row, Row]], kernels: int) -> None:
    both = [(q, e) for q, e in pairs if q.registers is not None and e.registers is not None]
    equal = sum(1 for q, e in both if numbers(q) == numbers(e))
    apart = max((abs((q.registers or 0) - (e.registers or 0)) for q, e in both), default=0)
    spilling = sum(1 for q, e in both if bool(q.spill_stores) != bool(e.spill_stores))
    times = sorted(q.took for q, _ in both)
    ratios = sorted(e.took / q.took for q, e in both if q.took)
    print(f"{kernels} kernels, {len(both)} rows: {equal} equal, registers at most {apart} apart,")
    print(
        f"whether it spills differs in {spilling}; spilling rows: "
        f"{sum(1 for q, _ in both if q.spill_stores)}"
    )
    if times:
        print(f"a row takes {times[len(times) // 2]:.3f} s at the median, {times[-1]:.3f} at most;")
        print(
            f"recompiling takes {ratios[len(ratios) // 2]:.0f} times as long at the median, "
            f"{ratios[0]:.0f} at least"
        )


if __name__ == "__main__":
    main()
