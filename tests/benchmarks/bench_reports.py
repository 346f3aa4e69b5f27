"""How fast reports are read: kernels a second out of compiled code, and a log of a gigabyte.

`python -m tests.benchmarks.bench_reports [--megabytes 1024] [--nvcc nvcc] [--folder DIR]`
compiles `tests/reports/kernels` (and takes the cubins of DIR) for the first; the log is made in a
temporary folder and deleted again. Its lines are what builds print, one in ten ptxas's; it is
read in a process of its own, whose peak of memory is told, and `grep -c ptxas` on the same file
stands beside it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from occlsp.reports.containers import Image, find_cubins
from occlsp.reports.cubin import read_cubin
from occlsp.reports.read import read_report
from tests.reports.compare_ptxas import ARCHS, NEWER_ONLY, compile_object, sources

NOISE = (
    "[{i}/90000] Building CXX object lib/Target/CMakeFiles/unit.dir/source_{i}.cpp.o",
    "/usr/bin/c++ -DNDEBUG -Iinclude -I/usr/include/x -O3 -std=gnu++17 -o source_{i}.o -c x.cpp",
    "In file included from include/detail/header_{i}.hpp:41:",
    "include/detail/header_{i}.hpp:107:12: note: candidate: 'void f(int, const char*)'",
    "  107 | void f(int number, const char* text) {{ return g(number, text, sizeof(text)); }}",
    "      |      ^",
    "warning: unused variable 'value_{i}' [-Wunused-variable]",
    "-- Installing: /usr/local/lib/python3/site-packages/package/module_{i}/__init__.py",
    "make[2]: Leaving directory '/home/user/build/package/module_{i}'",
)
RECORD = (
    "ptxas info    : Compiling entry function '_Z{n}kernel{i}ILi256EfEvPT0_PKS0_i' for 'sm_{a}'",
    "ptxas info    : Function properties for _Z{n}kernel{i}ILi256EfEvPT0_PKS0_i",
    "    {s} bytes stack frame, {s} bytes spill stores, {s} bytes spill loads",
    "ptxas info    : Used {r} registers, used 1 barriers, {s} bytes smem, 372 bytes cmem[0]",
    "ptxas info    : Compile time = {r}.183 ms",
)


def write_log(path: Path, size: int, distinct: int) -> int:
    """Writes a log of about `size` bytes; returns how many kernels it tells of.

    Kernels repeat after `distinct`.
    """
    written = records = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            kernel = records % distinct
            number = 10_000_000 + kernel
            text = ""
            for line in RECORD:
                text += "".join(f"{noise.format(i=records)}\n" for noise in NOISE)
                text += line.format(
                    n=6 + len(str(number)), i=number, a=80, r=16 + kernel % 200, s=kernel % 97 * 4
                )
                text += "\n"
            written += file.write(text)
            records += 1
    return min(records, distinct)


def read_log(path: Path) -> int:
    """Reads the log; returns the number of its kernels."""
    return len(read_report(path).entries)


def read_images(images: Sequence[Image], *, lines: bool) -> int:
    """Reads every cubin; returns the number of kernels."""
    return sum(len(read_cubin(image.data, image.source, lines=lines).entries) for image in images)


def compile_images(nvcc: str, folder: Path) -> list[Image]:
    """The cubins of all kernels of the tests, for seven architectures."""
    images: list[Image] = []
    for source in sources():
        archs = [a for a in ARCHS if source.name not in NEWER_ONLY or int(a[3:]) >= 90]
        output = folder / f"{source.stem}.o"
        compile_object(nvcc, source, output, archs)
        images += find_cubins(output.read_bytes(), output.name, [])
    return images


def images_in(folder: Path) -> list[Image]:
    """The cubins of all compiled files in a folder."""
    return [
        image
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for image in find_cubins(path.read_bytes(), path.name, [])
    ]


def rate(images: Sequence[Image], *, lines: bool, seconds: float = 3.0) -> float:
    """Kernels a second of processor time, over at least so many seconds."""
    start = time.process_time()
    kernels = 0
    while time.process_time() - start < seconds:
        kernels += read_images(images, lines=lines)
    return kernels / (time.process_time() - start)


def _in_child(log: Path) -> None:
    start, cpu = time.perf_counter(), time.process_time()
    kernels = read_log(log)
    wall, busy = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = log.stat().st_size / 1e6
    print(
        f"read: {kernels} kernels, {wall:.1f} s ({size / wall:.0f} MB/s), processor {busy:.1f} s "
        f"({size / busy:.0f} MB/s), peak {peak:.0f} MB",
        flush=True,
    )


def measure_log(megabytes: int, distinct: int) -> None:
    """Makes the log, reads it, greps it, and deletes it."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "build.log"
        kernels = write_log(log, megabytes << 20, distinct)
        print(f"log: {log.stat().st_size / 1e6:.0f} MB, {kernels} kernels told", flush=True)
        command = [sys.executable, "-m", "tests.benchmarks.bench_reports", "--child", str(log)]
        subprocess.run(command, check=True)
        start = os.times()
        count = subprocess.run(
            ["grep", "-c", "ptxas", str(log)], capture_output=True, text=True, check=True
        ).stdout.strip()
        end = os.times()
        busy = end.children_user - start.children_user + end.children_system - start.children_system
        wall = end.elapsed - start.elapsed
        print(f"grep -c ptxas: {count} lines, {wall:.1f} s, processor {busy:.1f} s")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--distinct", type=int, nargs="+", default=[5_000, 1_000_000])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--folder", type=Path, help="compiled files, instead of compiling")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        _in_child(options.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        images = (
            images_in(options.folder)
            if options.folder
            else compile_images(options.nvcc, Path(folder))
        )
    kernels = read_images(images, lines=False)
    print(f"{kernels} kernels in {len(images)} cubins of {sum(len(i.data) for i in images)} bytes")
    for lines in (False, True):
        told = "with" if lines else "without"
        print(f"{told} line tables: {rate(images, lines=lines):.0f} a second")
    for distinct in options.distinct:
        measure_log(options.megabytes, distinct)


if __name__ == "__main__":
    main()
