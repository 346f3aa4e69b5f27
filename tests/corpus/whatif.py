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
from typing import NamedTuple

from occlsp.occupancy import occupancy
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


class Pair(NamedTuple):
    """One row, asked both ways."""

    kernel: str
    is_own_size: bool
    """The source gives the kernel the same bound on threads."""
    quick: Row
    exact: Row


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
        pairs: list[Pair] = []
        for unit, result, entry in chosen:
            pairs += compare(context, unit, result, entry, base, options.arch)
    report(pairs, len(chosen), options.arch)


def compiled(context: Context, unit: Path, arch: str, base: Filtered) -> CompileResult:
    return compile_without_commands(context, unit, arch, base, root=root_of(unit))


def root_of(unit: Path) -> Path:
    """The folder of the repository: the nearest with a licence, else the unit's own."""
    return next((path for path in unit.parents if any(path.glob("LICEN[SC]E*"))), unit.parent)


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
) -> list[Pair]:
    ptxas = context.compiler.tool("ptxas")
    assert ptxas is not None
    assert result.ptx is not None
    ptx = EntryPtx(Path(result.ptx).read_bytes(), entry.entry)
    threads = ptx.bounds.max_threads or 256
    bounds = [Bounds(threads, blocks) for blocks in range(1, 9)]
    options = result.ptxas_options
    quick = timed(rows(ptx, arch, bounds, ptxas=ptxas, options=options))
    flags = working_flags(context, unit, base, root_of(unit))
    exact = timed(exact_rows(context, unit, arch, flags, entry, bounds, current=ptx.bounds))
    print(f"{entry.entry[:60]} ({unit.name}): {threads} threads, {ptx.bounds}")
    for one, other in zip(quick, exact, strict=True):
        print(
            f"  ({threads}, {one.bounds.min_blocks}): {numbers(one)} in {one.took:.2f} s; "
            f"exact {numbers(other)} in {other.took:.2f} s {other.problem or ''}"
        )
    own = ptx.bounds.max_threads == threads
    name = f"{entry.entry} ({unit.name})"
    return [Pair(name, own, one, other) for one, other in zip(quick, exact, strict=True)]


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


def report(pairs: list[Pair], kernels: int, arch: str) -> None:
    both = [p for p in pairs if p.quick.registers is not None and p.exact.registers is not None]
    print(f"\n{kernels} kernels, {len(both)} rows with numbers of {len(pairs)}")
    equality("all rows", both, arch)
    equality("at the kernel's own bound on threads", [p for p in both if p.is_own_size], arch)
    equality("at another", [p for p in both if not p.is_own_size], arch)
    print(f"spilling rows: {sum(1 for p in both if p.quick.spill_stores)}")
    times = sorted(p.quick.took for p in both)
    if times:
        print(f"a row takes {times[len(times) // 2]:.3f} s at the median, {times[-1]:.3f} at most;")
        ratios = sorted(p.exact.took / p.quick.took for p in both if p.quick.took)
        print(
            f"recompiling takes {ratios[len(ratios) // 2]:.0f} times as long at the median, "
            f"{ratios[0]:.0f} at least; by kernel:"
        )
    for name in dict.fromkeys(p.kernel for p in both):
        own = [p for p in both if p.kernel == name]
        quick, exact = sum(p.quick.took for p in own), sum(p.exact.took for p in own)
        print(f"  {exact / quick:6.1f} times, {1000 * quick / len(own):4.0f} ms a row  {name[:70]}")


def equality(title: str, pairs: list[Pair], arch: str) -> None:
    equal = sum(1 for p in pairs if numbers(p.quick) == numbers(p.exact))
    near = sum(1 for p in pairs if distance(p) <= 8)
    spilling = sum(1 for p in pairs if bool(p.quick.spill_stores) == bool(p.exact.spill_stores))
    blocks = sum(1 for p in pairs if resident(p.quick, arch) == resident(p.exact, arch))
    apart = max((distance(p) for p in pairs), default=0)
    print(
        f"{title}: {equal} of {len(pairs)} equal; blocks per SM in {blocks}, whether it spills in "
        f"{spilling}; registers within 8 in {near}, {apart} apart at most"
    )


def distance(pair: Pair) -> int:
    return abs((pair.quick.registers or 0) - (pair.exact.registers or 0))


def resident(row: Row, arch: str) -> int:
    """Blocks per SM at the row's threads, by registers and static shared memory."""
    threads = row.bounds.max_threads or 256
    smem = row.static_smem or 0
    return occupancy(arch, threads, row.registers or 0, static_smem=smem).blocks_per_sm


if __name__ == "__main__":
    main()
