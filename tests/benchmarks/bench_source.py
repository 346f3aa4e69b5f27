"""What the facts of files cost, as ratios to a bare tree-sitter parse of the same bytes.

    python tests/benchmarks/bench_source.py facts DIRECTORY...
    python tests/benchmarks/bench_source.py edit FILE...
    python tests/benchmarks/bench_source.py scan DIRECTORY...
    python tests/benchmarks/bench_source.py again DIRECTORY...

Processor time of one core. `scan` runs `occlsp scan` and `occlsp check` as users do, from nothing
that is kept, with one process and with two: it tells their processor time together, the time that
they take, and the most memory that one of them holds. The parse is measured anew beside what is
compared with it, so that what else the machine does weighs on both.
"""

from __future__ import annotations

import gc
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import tree_sitter
import tree_sitter_cuda

from occlsp.source.finding import source_files
from occlsp.source.parse import parse
from occlsp.source.scanning import scan_folder
from occlsp.source.store import Store
from occlsp.source.workspace import Workspace

ROUNDS = 3
PLACES = 40


def cost(function: Callable[[], object], rounds: int = 1) -> float:
    """The least processor time in seconds that a call takes."""
    best = float("inf")
    for _ in range(rounds):
        before = time.process_time()
        function()
        best = min(best, time.process_time() - before)
    return best


def bare_parser() -> Callable[[bytes], object]:
    """Parses with tree-sitter and its CUDA grammar, and makes nothing of the tree."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    return parser.parse


def files_of(roots: Sequence[str]) -> dict[str, bytes]:
    """The CUDA sources below folders."""
    return {p: Path(p).read_bytes() for p, error in source_files(roots) if error is None}


def bench_facts(roots: Sequence[str]) -> None:
    """Files on their own (nothing that they include is read), and whole with what they include."""
    bare = bare_parser()
    texts = files_of(roots)
    gc.freeze()
    parsing = alone = syntax = 0.0
    ratios = []
    for path, text in texts.items():
        theirs = cost(partial(bare, text), ROUNDS)
        syntax += cost(partial(parse, text), ROUNDS)
        ours = cost(partial(facts_alone, path, text), ROUNDS)
        parsing += theirs
        alone += ours
        ratios.append(ours / theirs)
    ratios.sort()
    high = ratios[len(ratios) * 95 // 100]
    size = sum(map(len, texts.values()))
    print(f"{len(texts)} files, {size / 1e6:.1f} MB, bare parse {parsing:.2f} s")
    print(f"their syntax: {syntax / parsing:.2f} times that")
    print(f"their facts, each alone: {alone / parsing:.2f} times that")
    print(f"by file: median {statistics.median(ratios):.2f}, 95th percentile {high:.2f}")
    workspace, _ = scan_folder(roots, root=roots[0], jobs=1)
    whole = cost(partial(scan_folder, roots, root=roots[0], jobs=1))
    included = [Path(path).read_bytes() for path in workspace.loaded() - set(texts)]
    more = sum(cost(partial(bare, text), ROUNDS) for text in included)
    print(
        f"all together, {len(included)} included files read too: {whole / parsing:.2f} times "
        f"({whole / (parsing + more):.2f} times a parse of those, too)"
    )


def facts_alone(path: str, text: bytes) -> object:
    """The facts of one file, with nothing else in view."""
    workspace = Workspace(reader=None)
    workspace.update(path, text, is_open=False)
    return workspace.facts(path)


NUMBER = re.compile(rb"(?<![\w.\"'])\d+(?![\w.\"'])")
CONSTANT = re.compile(
    rb"^[ \t]*(?:#[ \t]*define[ \t]+\w+[ \t]+|(?:static |inline )*constexpr \w+ \w+ = )(\d+);?$",
    re.M,
)
TYPED = {
    "statement": b"\n  int typed = 1;",
    "comment": b"  // t",
    "word": b"\n  ty",
    "half": b"\n  if (typed",
    "brace": b"\n  {",
    "quote": b'\n  f("t',
    "unclosed comment": b"\n  /* t",
}


def edits(text: bytes) -> Iterator[tuple[str, bytes]]:
    """What somebody may type at places all over a file: the kind of edit, and the text after it."""
    for place in range(PLACES):
        at = text.find(b"\n", len(text) * (2 * place + 1) // (2 * PLACES))
        for kind, typed in TYPED.items():
            yield kind, text[:at] + typed + text[at:]
        number = NUMBER.search(text, at)
        if number is not None:
            yield "literal", text[: number.start()] + b"7" + text[number.end() :]
    yield "macro", b"#define TYPED 1\n" + text
    for constant in list(CONSTANT.finditer(text))[:PLACES]:
        yield "constant", text[: constant.start(1)] + b"7" + text[constant.end(1) :]


def bench_edit(paths: Sequence[str]) -> None:
    """New facts after an edit, and after it is taken back, by what is typed."""
    for path in paths:
        text = Path(path).read_bytes()
        workspace = Workspace(str(Path(path).parent))
        workspace.update(path, text)
        workspace.facts(path)
        gc.freeze()
        print(f"{path}: {len(text) / 1e3:.0f} KB")
        took: dict[str, list[float]] = {}
        for kind, edited in edits(text):
            for one in (edited, text):
                took.setdefault(kind, []).append(cost(partial(answer, workspace, path, one)))
        took["all"] = [time for times in took.values() for time in times]
        for kind, times in took.items():
            times.sort()
            middle, high = times[len(times) // 2], times[len(times) * 95 // 100]
            print(
                f"  {kind:17} median {middle * 1e3:5.1f} ms, 95th percentile {high * 1e3:5.1f} ms, "
                f"most {times[-1] * 1e3:5.1f} ms"
            )


def answer(workspace: Workspace, path: str, text: bytes) -> object:
    """What an editor's keystroke costs."""
    workspace.update(path, text)
    return workspace.facts(path)


def bench_scan(roots: Sequence[str]) -> None:
    """What the commands take for folders that they have not seen."""
    bare = bare_parser()
    workspace, _ = scan_folder(roots, root=roots[0], jobs=1)
    texts = {path: Path(path).read_bytes() for path in workspace.loaded()}
    sources = sum(cost(partial(bare, texts[path]), ROUNDS) for path in workspace.paths())
    whole = sum(cost(partial(bare, text), ROUNDS) for text in texts.values())
    print(
        f"{len(workspace.paths())} sources, bare parse {sources:.2f} s; "
        f"{len(texts)} files with what they include, {whole:.2f} s"
    )
    for words in (["scan", "--json"], ["check", "--format", "json"]):
        for jobs in (1, 2):
            runs = [run_command([*words, "-j", str(jobs), *roots]) for _ in range(ROUNDS)]
            processor, wall, memory = (min(values) for values in zip(*runs, strict=True))
            print(
                f"{words[0]} -j{jobs}: {processor:.2f} s of processors, {processor / sources:.2f} "
                f"times the parse of the sources, {processor / whole:.2f} times that of all; "
                f"took {wall:.2f} s ({wall / whole:.2f} times); {memory:.0f} MB"
            )


def run_command(words: Sequence[str]) -> tuple[float, float, float]:
    """Runs `occlsp` with nothing kept: its processor time and time in seconds, its memory in MB."""
    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "occlsp", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OCCLSP_CACHE_DIR": cache},
        )
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0  # as it was waited for here
        wall = time.perf_counter() - started
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024


def bench_again(roots: Sequence[str]) -> None:
    """A scan by one process with an empty store, and one that finds all in it."""
    bare = bare_parser()
    parsing = sum(cost(partial(bare, text)) for text in files_of(roots).values())
    with tempfile.TemporaryDirectory() as folder:
        for run in ("first", "second"):
            took = cost(partial(scan_with_store, roots, Path(folder)))
            print(f"{run} scan: {took:.2f} s, {took / parsing:.2f} times the bare parse")


def scan_with_store(roots: Sequence[str], folder: Path) -> None:
    """What `occlsp scan` does, without the printing."""
    workspace, _ = scan_folder(roots, root=roots[0], jobs=1, store=Store(folder, roots[0]))
    for path in workspace.paths():
        workspace.facts(path)


def main() -> int:
    benches = {"facts": bench_facts, "edit": bench_edit, "scan": bench_scan, "again": bench_again}
    if len(sys.argv) < 3 or sys.argv[1] not in benches:
        print(__doc__, file=sys.stderr)
        return 2
    gc.set_threshold(100_000, 50, 1_000)  # as the commands have it
    benches[sys.argv[1]](sys.argv[2:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
