"""All benchmarks of the project, by category."""

from __future__ import annotations

import csv
import io
import itertools
import os
import random
import shutil
import subprocess
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks import bench_occupancy, bench_reports
from tests.benchmarks.registry.model import (
    Category,
    Limit,
    Pair,
    Problem,
    Strategy,
    Unavailable,
)
from tests.occupancy.oracle import Configuration, Reference, columns, compiler, headers

ROOT = Path(__file__).parents[3]

# The core


@dataclass
class Core:
    """Configurations, and the peers that answer them."""

    work: list[bench_occupancy.Inputs]
    text: bytes
    peer: Callable[[Sequence[bench_occupancy.Inputs]], None] | None
    header: Callable[[Sequence[bench_occupancy.Inputs]], None] | None


def _core(stack: ExitStack, folder: Path) -> Core:
    work = bench_occupancy.inputs()
    return Core(
        work,
        bench_occupancy.as_lines(work),
        bench_occupancy.cuxray(),
        bench_occupancy.header(folder),
    )


def _peer(core: Core) -> None:
    if core.peer is None:
        raise Unavailable("cuxray (pip install cuxray==0.6.0)")
    core.peer(core.work)


def _header(core: Core) -> None:
    if core.header is None:
        raise Unavailable("the reference header and a C++ compiler")
    core.header(core.work)


def _ours(stack: ExitStack, folder: Path) -> list[int]:
    from occlsp.occupancy import occupancy

    return [
        occupancy("sm_90", block, registers, static, dynamic).blocks_per_sm
        for block, registers, static, dynamic in bench_occupancy.inputs(500, seed=17)
    ]


def _theirs(stack: ExitStack, folder: Path) -> list[int]:
    from occlsp.occupancy import limits

    found = headers("cuda_occupancy.h")
    if not found or not compiler():
        raise Unavailable("the reference header and a C++ compiler")
    rows = array("q")
    for block, registers, static, dynamic in bench_occupancy.inputs(500, seed=17):
        one = Configuration(limits("sm_90"), block, registers, static, dynamic)
        rows.extend(columns(one, dynamic))
    answers = Reference(found[0], folder).resident(rows).tolist()
    return [blocks for _, blocks, *_ in itertools.zip_longest(*[iter(answers)] * 10)]


OCCUPANCY = Category(
    "occupancy",
    "the core, beside its peers",
    (Problem("kernels", "2000 configurations", _core, lambda core: len(core.work), "answers"),),
    (
        Strategy("core", "core", lambda core: bench_occupancy.core(core.work)),
        Strategy("by-name", "core, by name", lambda core: bench_occupancy.core_by_name(core.work)),
        Strategy("jsonl", "calc --jsonl", lambda core: bench_occupancy.json_lines(core.text)),
        Strategy("cuxray", "cuxray", _peer),
        Strategy("header", "reference header, ctypes", _header),
    ),
    Pair("blocks per SM of the core and of the reference header", _ours, _theirs),
    (Limit("core", "cuxray", at_most=0.5), Limit("jsonl", rate=60_000)),
)

# Sources


def _sources(stack: ExitStack, folder: Path) -> list[bytes]:
    paths = [
        *sorted((ROOT / "tests" / "reports" / "kernels").glob("*.cu*")),
        *sorted((ROOT / "tests" / "examples").rglob("*.cu")),
    ]
    return [path.read_bytes() for path in paths]


def _facts(texts: list[bytes]) -> None:
    from occlsp.source.parse import parse

    for text in texts:
        parse(text)


def _tree_sitter(texts: list[bytes]) -> None:
    import tree_sitter
    import tree_sitter_cuda

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    for text in texts:
        parser.parse(text)


def _edited(stack: ExitStack, folder: Path) -> list[bytes]:
    """Texts with a line put in at seeded places."""
    pick = random.Random(3)
    found = []
    for text in _sources(stack, folder):
        line = text.find(b"\n", pick.randrange(len(text))) + 1
        found.append(text[:line] + b"int one_line;\n" + text[line:])
    return found


def _parsed_again(stack: ExitStack, folder: Path) -> list[Any]:
    from occlsp.source.parse import reparse

    before = [reparse(None, text) for text in _sources(stack, folder)]
    pairs = zip(before, _edited(stack, folder), strict=True)
    return [reparse(old, text).syntax.kernels for old, text in pairs]


def _parsed_anew(stack: ExitStack, folder: Path) -> list[Any]:
    from occlsp.source.parse import parse

    return [parse(text).kernels for text in _edited(stack, folder)]


PARSE = Category(
    "parse",
    "facts of sources, against a bare tree-sitter parse",
    (Problem("kernels", "the tests' sources", _sources, lambda texts: sum(map(len, texts)),
             "bytes"),),
    (
        Strategy("facts", "facts", _facts),
        Strategy("tree-sitter", "bare tree-sitter", _tree_sitter),
    ),
    Pair("parsing after an edit and parsing anew", _parsed_again, _parsed_anew),
    (Limit("facts", "tree-sitter"),),
)  # fmt: skip

# Reports

LOG_BYTES = 16 << 20


def _log(stack: ExitStack, folder: Path) -> Path:
    path = folder / "build.log"
    bench_reports.write_log(path, LOG_BYTES, 5000)
    return path


def _grep(path: Path) -> None:
    if shutil.which("grep") is None:
        raise Unavailable("grep")
    subprocess.run(["grep", "-c", "ptxas", str(path)], capture_output=True, check=True)


def _images(stack: ExitStack, folder: Path) -> list[Any]:
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.access(nvcc, os.X_OK):
        raise Unavailable("nvcc")
    source = ROOT / "tests" / "reports" / "kernels" / "basics.cu"
    output = folder / "basics.o"
    done = subprocess.run(
        [nvcc, "-w", "-lineinfo", "-arch=sm_90", "-c", str(source), "-o", str(output)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise Unavailable("an nvcc that compiles")
    return bench_reports.images_in(folder)


def _told(stack: ExitStack, folder: Path) -> int:
    return bench_reports.write_log(folder / "small.log", 1 << 20, 300)


def _read(stack: ExitStack, folder: Path) -> int:
    path = folder / "small.log"
    bench_reports.write_log(path, 1 << 20, 300)
    return bench_reports.read_log(path)


REPORTS = Category(
    "reports",
    "reports read: a log against grep, compiled code",
    (
        Problem("log", "a build's log of 16 MiB", _log, lambda path: path.stat().st_size, "bytes"),
        Problem(
            "cubins",
            "compiled kernels",
            _images,
            lambda images: bench_reports.read_images(images, lines=False),
            "kernels",
        ),
    ),
    (
        Strategy("read", "read", bench_reports.read_log, frozenset({"log"})),
        Strategy("grep", "grep -c", _grep, frozenset({"log"})),
        Strategy("numbers", "without line tables",
                 lambda images: bench_reports.read_images(images, lines=False),
                 frozenset({"cubins"})),
        Strategy("lines", "with line tables",
                 lambda images: bench_reports.read_images(images, lines=True),
                 frozenset({"cubins"})),
    ),
    Pair("kernels read and kernels written", _read, _told),
    (Limit("read", "grep"),),
)  # fmt: skip

# Ranking and measuring


def _space(stack: ExitStack, folder: Path) -> str:
    return f"""
kernel = "k"
arch = "sm_90"
gpu = "H100 SXM"
[space]
block_x = {list(range(32, 801, 32))}
items = {list(range(1, 21))}
stages = {list(range(1, 21))}
[model]
registers = "24 + 4*items + 2*stages"
smem_bytes = "4*block_x*stages"
[bench]
grid_x = "ceil_div(16777216, block_x*items)"
"""


def _ranked(text: str) -> Any:
    from occlsp.analysis.advice.rank import rank
    from occlsp.analysis.advice.space import read_space

    return rank(read_space(text, "space.toml"))


def _costs(stack: ExitStack, folder: Path) -> list[float]:
    return [round(one.cost, 9) for one in _ranked(_space(stack, folder)).ranked]


def _costs_directly(stack: ExitStack, folder: Path) -> list[float]:
    from occlsp.occupancy import occupancy

    def costs() -> Iterator[float]:
        for block, items, stages in itertools.product(
            range(32, 801, 32), range(1, 21), range(1, 21)
        ):
            registers, smem = 24 + 4 * items + 2 * stages, 4 * block * stages
            found = occupancy("sm_90", block, registers, 0, smem)
            if found.blocks_per_sm == 0:
                yield float("inf")
                continue
            grid = -(-16777216 // (block * items))
            yield max(1.0, grid / (found.blocks_per_sm * 132)) / found.occupancy

    return sorted(round(cost, 9) for cost in costs())


RANK = Category(
    "rank",
    "ranking a space",
    (Problem("ten-thousand", "10000 candidates", _space, lambda text: 10_000, "candidates"),),
    (Strategy("rank", "read and rank", _ranked),),
    Pair("costs and the documented formula", _costs, _costs_directly),
    (Limit("rank", at_most=2.0),),
)

LAUNCHES = 4000


def _profile(stack: ExitStack, folder: Path) -> str:
    head = (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream",'
        '"Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit",'
        '"Metric Value"\n'
    )
    metrics = (("Duration", "us", "12.5"), ("Achieved Occupancy", "%", "31.25"),
               ("Registers Per Thread", "register/thread", "72"))  # fmt: skip
    rows = [
        f'"{number}","1","app","node","k{number % 50}(float *)","1","7","(256, 1, 1)",'
        f'"(400, 1, 1)","0","9.0","S","{name}","{unit}","{value}"\n'
        for number in range(LAUNCHES)
        for name, unit, value in metrics
    ]
    return head + "".join(rows)


def _measurements(text: str) -> Any:
    from occlsp.analysis.advice.measurements.read import read_text

    return read_text(text, "profile.csv")


def _csv(text: str) -> None:
    for _ in csv.DictReader(io.StringIO(text)):
        pass


MEASURED = Category(
    "measured",
    "measurements read, against the csv module",
    (Problem("profile", f"a profile of {LAUNCHES} launches", _profile, len, "bytes"),),
    (Strategy("read", "read", _measurements), Strategy("csv", "csv.DictReader", _csv)),
    Pair(
        "launches read and launches written",
        lambda stack, folder: sum(
            len(one.durations_ns) for one in _measurements(_profile(stack, folder)).measurements
        ),
        lambda stack, folder: LAUNCHES,
    ),
    (Limit("read", "csv"),),
)

# The server


@dataclass
class Served:
    """A server with a file open, and how many requests it has had."""

    bench: Any
    number: int = 0

    def next(self) -> int:
        """Counts the requests, so that each is at another place."""
        self.number += 1
        return self.number


def _served(stack: ExitStack, folder: Path) -> Served:
    from tests.benchmarks import bench_server

    root = folder / "workspace"
    (root / "build").mkdir(parents=True)
    path = root / "made.cu"
    text = bench_server.made(2000)
    path.write_text(text, "utf-8")
    (root / "build" / "build.log").write_text(bench_server.made_log(text), "utf-8")
    os.utime(path, (1, 1))
    bench = bench_server.Bench(path, root, 1)
    stack.callback(bench.client.stop)
    bench.settle()
    return Served(bench)


SERVER = Category(
    "server",
    "latency at the client",
    (Problem("made", "a file of 2000 lines with reports", _served, lambda served: 1, "requests"),),
    (
        Strategy("hover", "hover", lambda served: served.bench.hover(served.next())),
        Strategy("edit", "edit → hints", lambda served: served.bench.edit(served.next())),
        Strategy("action", "code action", lambda served: served.bench.action(served.next())),
    ),
    limits=(
        Limit("hover", at_most=0.005),
        Limit("edit", at_most=0.015),
        Limit("action", at_most=0.020),
    ),
)

CATEGORIES = (OCCUPANCY, PARSE, REPORTS, RANK, MEASURED, SERVER)
