"""NVIDIA's reference header as the oracle: found where it is installed, compiled, compared with.

`python -m tests.occupancy.oracle --full` compares at least two million random configurations and
the whole grid of block sizes × registers; the tests compare a fixed sample. The header's text is
nowhere in this repository, only its answers are asked for.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from occlsp.occupancy import (
    ARCHITECTURES,
    Limits,
    Occupancy,
    available_dynamic_smem,
    best_block,
    limits,
    occupancy,
)

HERE = Path(__file__).parent
NO_LIMIT = 2**31 - 1
UNCAPPED = 2**31 - 1
"""A dynamic limit above any: the kernel has opted into whatever it needs."""
BITS = {"warps": 1, "registers": 2, "shared_memory": 4, "blocks": 8, "barriers": 16}
"""The header's names for what limits."""


def headers(name: str) -> list[Path]:
    """The folders that hold `name`: of the installed packages first, then of toolkits."""
    found: list[Path] = []
    for package in ("nvidia-cuda-runtime", "nvidia-cuda-cccl"):
        try:
            files = importlib.metadata.files(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            path = Path(str(file.locate()))
            if path.as_posix().endswith(f"/{name}"):
                found.append(path)
    roots = [Path(os.environ[key]) for key in ("CUDA_HOME", "CUDA_PATH") if key in os.environ]
    roots += sorted(Path("/usr/local").glob("cuda*"), reverse=True)
    for root, under in itertools.product(roots, ("include", "include/cccl")):
        if (root / under / name).is_file():
            found.append(root / under / name)
    depth = name.count("/") + 1
    return list(dict.fromkeys(path.resolve().parents[depth - 1] for path in found))


def compiler() -> str | None:
    """The C++ compiler."""
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@dataclass(frozen=True)
class Configuration:
    """One launch as the tests write it, in terms of both sides."""

    row: Limits
    block: int
    registers: int
    static_smem: int = 0
    dynamic_smem: int = 0
    opt_in: bool = True
    max_dynamic_smem: int | None = None
    carveout: int | None = None
    barriers: int = 0
    launch_bounds: int | None = None
    resident: int = 1
    dynamic_per_thread: int = 0


class Reference:
    """The compiled header."""

    def __init__(self, include: Path, folder: Path) -> None:
        self.include = include
        library = folder / f"reference{abs(hash(include))}.so"
        subprocess.run(
            [
                str(compiler()),
                *("-std=c++14", "-O2", "-shared", "-fPIC", f"-I{include}"),
                *(str(HERE / "reference.cpp"), "-o", str(library)),
            ],
            check=True,
        )
        self.library = ctypes.CDLL(str(library))

    def resident(self, rows: array[int]) -> array[int]:
        """Status, blocks, factors, the five limits, allocated registers and bytes of each."""
        return self._call(self.library.resident, rows, 10)

    def best(self, rows: array[int]) -> array[int]:
        """The best block size of each and its blocks per SM."""
        return self._call(self.library.best, rows, 2)

    def available(self, rows: array[int]) -> array[int]:
        """The available dynamic shared memory of each, -1 for none."""
        return self._call(self.library.available, rows, 1)

    @staticmethod
    def _call(function: ctypes._NamedFuncPointer, rows: array[int], width: int) -> array[int]:
        count = len(rows) // COLUMNS
        out = array("q", bytes(8 * width * count))
        address = ctypes.c_void_p
        function(
            address(rows.buffer_info()[0]), address(out.buffer_info()[0]), ctypes.c_int64(count)
        )
        return out


COLUMNS = 21


def device_columns(row: Limits) -> tuple[int, ...]:
    """The columns of a configuration that the device gives."""
    return (
        row.major,
        row.minor,
        row.threads_per_block,
        row.threads_per_sm,
        row.registers_per_block,
        row.registers_per_sm,
        row.smem_per_block,
        row.smem_per_sm,
        row.smem_per_block_optin,
        row.smem_reserved,
    )


DEVICES = {name: device_columns(limits(name)) for name in ARCHITECTURES}


def columns(c: Configuration, most_dynamic: int) -> tuple[int, ...]:
    """All columns; `most_dynamic` is what the kernel has opted into where `c` does not say."""
    return (
        *DEVICES[c.row.name],
        c.launch_bounds or 0,
        c.registers,
        c.static_smem,
        c.opt_in,
        most_dynamic if c.max_dynamic_smem is None else c.max_dynamic_smem,
        c.barriers,
        -1 if c.carveout is None else c.carveout,
        c.block,
        c.dynamic_smem,
        c.resident,
        c.dynamic_per_thread,
    )


def ours(c: Configuration, *, with_bounds: bool = True) -> Occupancy:
    """Our answer."""
    return occupancy(
        c.row,
        c.block,
        c.registers,
        c.static_smem,
        c.dynamic_smem,
        opt_in=c.opt_in,
        max_dynamic_smem=c.max_dynamic_smem,
        carveout=c.carveout,
        barriers=c.barriers,
        launch_bounds=c.launch_bounds if with_bounds else None,
    )


def in_the_headers_words(result: Occupancy) -> tuple[int, ...]:
    """Our answer as the header writes it, its known differences applied.

    The header knows no `threads_per_block`: it says warps, with a warp limit of zero. Where the
    barriers bind lower than all else its factors still name what bound before.
    """
    found = result.limits
    registers = NO_LIMIT if found.registers is None else found.registers
    smem = NO_LIMIT if found.shared_memory is None else found.shared_memory
    barriers = NO_LIMIT if found.barriers is None else found.barriers
    before = min(found.warps, found.blocks, registers, smem)
    factors = sum(BITS[name] for name in result.limiters if name != "threads_per_block")
    if result.limiter == "threads_per_block":
        factors |= BITS["warps"]
    elif barriers < before:
        values = {
            "warps": found.warps,
            "registers": registers,
            "shared_memory": smem,
            "blocks": found.blocks,
        }
        factors |= sum(BITS[name] for name, value in values.items() if value == before)
    return (
        0,
        result.blocks_per_sm,
        factors,
        found.warps,
        found.blocks,
        registers,
        smem,
        barriers,
        result.allocated.registers_per_block,
        result.allocated.shared_memory_per_block,
    )


class DifferenceError(AssertionError):
    """The first configuration on which the two disagree."""


def _same(what: str, batch: list[Configuration], mine: array[int], theirs: array[int]) -> None:
    if mine == theirs:
        return
    width = len(theirs) // len(batch)
    for i, c in enumerate(batch):
        here = slice(i * width, (i + 1) * width)
        if mine[here] != theirs[here]:
            raise DifferenceError(
                f"{what}: {c}: ours {list(mine[here])}, theirs {list(theirs[here])}"
            )


def compare_resident(reference: Reference, batch: list[Configuration]) -> None:
    """Blocks, every limit, the binding set, the allocation. Raises `DifferenceError`.

    The launch bounds, which the header ignores here, are left out; a test of their own has them.
    """
    mine, rows = array("q"), array("q")
    for c in batch:
        mine.extend(in_the_headers_words(ours(c, with_bounds=False)))
        rows.extend(columns(c, c.dynamic_smem))
    _same("resident blocks", batch, mine, reference.resident(rows))


def compare_best(reference: Reference, batch: list[Configuration]) -> None:
    """The best block size and its blocks per SM. Raises `DifferenceError`."""
    mine, rows = array("q"), array("q")
    for c in batch:
        base, slope = c.dynamic_smem, c.dynamic_per_thread
        found = best_block(
            c.row,
            c.registers,
            c.static_smem,
            (lambda block, base=base, slope=slope: base + slope * block) if slope else base,
            opt_in=c.opt_in,
            max_dynamic_smem=c.max_dynamic_smem,
            carveout=c.carveout,
            barriers=c.barriers,
            launch_bounds=c.launch_bounds,
        )
        mine.extend((found.block, found.result.blocks_per_sm) if found else (0, 0))
        rows.extend(columns(c, UNCAPPED))
    _same("best block size", batch, mine, reference.best(rows))


def compare_available(reference: Reference, batch: list[Configuration]) -> None:
    """The available dynamic shared memory. Raises `DifferenceError`."""
    mine, rows = array("q"), array("q")
    for c in batch:
        found = available_dynamic_smem(
            c.row,
            c.resident,
            c.block,
            c.registers,
            c.static_smem,
            opt_in=c.opt_in,
            max_dynamic_smem=c.max_dynamic_smem,
            carveout=c.carveout,
            barriers=c.barriers,
        )
        mine.append(-1 if found is None else found)
        rows.extend(columns(c, UNCAPPED))
    _same("available dynamic shared memory", batch, mine, reference.available(rows))


def random_configurations(seed: int, count: int) -> Iterator[Configuration]:
    """Configurations with every option, dense around the limits."""
    pick = random.Random(seed)
    rows = [limits(name) for name in ARCHITECTURES]
    chance, below, choice = pick.random, pick.randrange, pick.choice

    def smem(row: Limits) -> int:
        kind = chance()
        if kind < 0.4:
            return 0
        if kind < 0.6:
            return below(4096)
        if kind < 0.8:
            return below(row.smem_per_sm + 2048)
        edge = choice((row.smem_per_block, row.smem_per_block_optin, row.smem_per_sm))
        return max(0, edge // below(1, 9) + below(-300, 300))

    for _ in range(count):
        row = choice(rows)
        yield Configuration(
            row,
            block=32 * below(1, 33) if chance() < 0.4 else below(1, 1100),
            registers=below(256),
            static_smem=smem(row),
            dynamic_smem=smem(row),
            opt_in=chance() < 0.7,
            max_dynamic_smem=smem(row) if chance() < 0.3 else None,
            carveout=below(101) if chance() < 0.4 else None,
            barriers=below(20) if chance() < 0.4 else 0,
            launch_bounds=below(1, 1100) if chance() < 0.3 else None,
            resident=below(1, 9) if chance() < 0.7 else below(1, 33),
            dynamic_per_thread=below(1, 80) if chance() < 0.3 else 0,
        )


SMEM_SIZES = (0, 9000, 40960, 100 * 1024)


def grid(blocks: Iterable[int], registers: Iterable[int]) -> Iterator[list[Configuration]]:
    """Block sizes × registers for every capability at a few shared-memory sizes, in batches."""
    registers = list(registers)
    for name, smem, block in itertools.product(ARCHITECTURES, SMEM_SIZES, blocks):
        base = Configuration(limits(name), block, 0, smem)
        yield [replace(base, registers=count) for count in registers]


def batches(items: Iterable[Configuration], size: int = 20_000) -> Iterator[list[Configuration]]:
    """Lists of at most `size`."""
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def main() -> None:
    """The whole comparison, with its progress and its counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="two million, and the whole grid")
    parser.add_argument("--random", type=int, help="number of random configurations")
    parser.add_argument("--seed", type=int, default=13)
    chosen = parser.parse_args()
    count = chosen.random if chosen.random is not None else 2_000_000 if chosen.full else 50_000
    include = headers("cuda_occupancy.h")
    if not include or not compiler():
        sys.exit("needs a C++ compiler, and cuda_occupancy.h: pip install nvidia-cuda-runtime")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        reference = Reference(include[0], Path(folder))
        done = 0
        for batch in batches(random_configurations(chosen.seed, count)):
            compare_resident(reference, batch)
            compare_best(reference, batch)
            compare_available(reference, batch)
            done += len(batch)
            _progress(f"{done} random configurations")
        points = 0
        for batch in grid(range(1, 1025, 1 if chosen.full else 31), range(256)):
            compare_resident(reference, batch)
            points += len(batch)
            if points % (1 << 16) == 0:
                _progress(f"{points} points of the grid")
    print(
        f"{include[0]}\n{done} random configurations and {points} points of the grid, "
        f"0 differences, {time.monotonic() - started:.0f} s"
    )


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<40}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
