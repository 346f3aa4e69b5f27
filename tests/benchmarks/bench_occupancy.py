"""How long one answer of the core takes, beside the package cuxray and the reference header.

`python -m tests.benchmarks.bench_occupancy` prints all of it. The same inputs go to each; every
figure is the median over samples taken in turn, so that noise of the machine hits all alike.
`pip install cuxray==0.6.0` brings the peer; where it is missing its row says so.
"""

from __future__ import annotations

import ctypes
import io
import random
import statistics
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

from occlsp.cli.calc_lines import answer_lines
from occlsp.occupancy import best_block, levers, limits, occupancy, sweep
from tests.occupancy.oracle import (
    COLUMNS,
    Configuration,
    Reference,
    columns,
    compiler,
    headers,
)

Inputs = tuple[int, int, int, int]
"""Block, registers, static and dynamic shared memory."""
SAMPLES = 15
ARCH = "sm_90"


def inputs(count: int = 2_000, seed: int = 5) -> list[Inputs]:
    """Configurations as kernels have them: few that do not fit."""
    pick = random.Random(seed)
    return [
        (
            pick.choice((64, 96, 128, 192, 256, 384, 512, 1024)),
            pick.randrange(16, 129),
            pick.choice((0, 0, 1024, 16384)),
            pick.choice((0, 0, 8192, 40960)),
        )
        for _ in range(count)
    ]


def core(work: Sequence[Inputs]) -> None:
    """One call of our core for each."""
    row = limits(ARCH)
    for block, registers, static, dynamic in work:
        occupancy(row, block, registers, static, dynamic)


def core_by_name(work: Sequence[Inputs]) -> None:
    """The same, with the architecture by its name."""
    for block, registers, static, dynamic in work:
        occupancy(ARCH, block, registers, static, dynamic)


def cuxray() -> Callable[[Sequence[Inputs]], None] | None:
    """One call of cuxray's calculator for each; None where it is not installed."""
    try:
        from cuxray.archspec import lookup
        from cuxray.occupancy import compute
    except ImportError:
        return None
    spec = lookup(ARCH)

    def run(work: Sequence[Inputs]) -> None:
        for block, registers, static, dynamic in work:
            compute(spec, registers, block, static, dynamic)

    return run


def header(folder: Path) -> Callable[[Sequence[Inputs]], None] | None:
    """One call of the reference header through ctypes for each; None where it is missing.

    What is measured is the call and the reading of the answer; the inputs are laid out before.
    """
    found = headers("cuda_occupancy.h")
    if not found or not compiler():
        return None
    library = Reference(found[0], folder).library
    row = limits(ARCH)
    laid_out: dict[int, tuple[array[int], list[int]]] = {}
    answer = array("q", bytes(8 * 10))
    to, one = ctypes.c_void_p(answer.buffer_info()[0]), ctypes.c_int64(1)

    def run(work: Sequence[Inputs]) -> None:
        if id(work) not in laid_out:
            rows = array("q")
            for block, registers, static, dynamic in work:
                rows.extend(columns(Configuration(row, block, registers, static, dynamic), dynamic))
            start, step = rows.buffer_info()[0], 8 * COLUMNS
            laid_out[id(work)] = rows, [start + i * step for i in range(len(work))]
        call = library.resident
        for address in laid_out[id(work)][1]:
            call(ctypes.c_void_p(address), to, one)
            answer.tolist()

    return run


def searches(work: Sequence[Inputs]) -> None:
    """The best block, the sweep and the levers of each."""
    row = limits(ARCH)
    for block, registers, static, dynamic in work:
        best_block(row, registers, static, dynamic)
        sweep(row, registers, static, dynamic)
        levers(row, block, registers, static, dynamic)


def json_lines(text: bytes) -> None:
    """`occlsp calc --jsonl`, without the process around it."""
    answer_lines(io.BytesIO(text), io.BytesIO())


def as_lines(work: Sequence[Inputs]) -> bytes:
    """The work as JSON lines with every field that is common."""
    return b"".join(
        b'{"id": %d, "arch": "sm_90", "block": %d, "regs": %d, "static_smem": %d, '
        b'"dynamic_smem": %d}\n' % (number, *one)
        for number, one in enumerate(work)
    )


def alternating(rows: dict[str, Callable[[], None]], each: int) -> dict[str, list[float]]:
    """Microseconds an item of each row, in samples taken in turn."""
    times: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(SAMPLES):
        for name, run in rows.items():
            started = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - started) / each * 1e6)
    return times


def main() -> None:
    """Prints a row for each, and what the two promises come to."""
    work = inputs()
    text = as_lines(work)
    with tempfile.TemporaryDirectory() as folder:
        peer, reference = cuxray(), header(Path(folder))
        rows: dict[str, Callable[[], None]] = {
            "core": lambda: core(work),
            "core, by name": lambda: core_by_name(work),
            "calc --jsonl": lambda: json_lines(text),
        }
        if peer is not None:
            rows["cuxray"] = lambda: peer(work)
        if reference is not None:
            rows["reference header, ctypes"] = lambda: reference(work)
        times = alternating(rows, len(work))
        times |= alternating({"best + sweep + levers": lambda: searches(work[:100])}, 100)
    for name, samples in times.items():
        low, middle, high = statistics.quantiles(samples, n=4)
        print(f"{name:<28} {middle:8.3f} µs  (quartiles {low:.3f} – {high:.3f})")
    median = {name: statistics.median(samples) for name, samples in times.items()}
    print(f"calc --jsonl: {1e6 / median['calc --jsonl']:.0f} lines a second (at least 60000)")
    if peer is None:
        print("cuxray is not installed: pip install cuxray==0.6.0")
    else:
        print(f"core / cuxray: {median['core'] / median['cuxray']:.2f} (at most 0.5)")


if __name__ == "__main__":
    main()
