"""Measures how far the ladder gets on `.cu` files of real repositories without compile commands.

    python tests/corpus/ladder.py CORPUS --sample 220 --include DIR --out results.jsonl

CORPUS holds one folder a repository. Files are drawn in turn from each (fixed seed), compiled one
at a time with a fresh cache, and the share that yields entries is printed step by step. Nothing of
the corpus is run or written to. `--include` adds a folder of library headers (cuBLAS, cuRAND, …)
that the toolkit may lack; `--kernels` leaves out files without a kernel of their own. `--check`
also forces the slice on every file that compiles whole, once with the host's headers alone hidden
(the standard library's, and those of the repository without device code or definitions), once with
all of the repository's and the folders of `--include`, and compares the numbers. `--libraries`
names folders of third-party headers (GoogleTest, {fmt}, OpenCV): what compiles whole with them is
compared with what the ladder makes of the file without. The limit is on
the compilers' own time (`--cpu-seconds`), so that a busy machine gives the same shares. Files that
`--out` already holds are not measured again, so that a run can be ended and gone on with; `--again
STATUS` measures those again that ended so. `--summary FILE` prints the tables of earlier results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from occlsp.reports.cache import Cache
from occlsp.reports.compile import Context
from occlsp.reports.compile_task import defaults
from occlsp.reports.compiled import CompileResult
from occlsp.reports.facts import Entry
from occlsp.reports.flags import Filtered
from occlsp.reports.ladder import compile_without_commands, working_flags
from occlsp.reports.scan import missing_headers
from occlsp.reports.slicing import compile_slice
from occlsp.reports.toolchain import Missing, find_compiler

STANDARD = re.compile(
    rb"^([ \t]*#[ \t]*include[ \t]*)<(algorithm|any|array|chrono|condition_variable|cstdio|cstring"
    rb"|deque|fstream|functional|future|iomanip|iostream|iterator|list|map|memory|mutex|numeric"
    rb"|ostream|queue|random|regex|set|sstream|stdexcept|string|thread|unordered_map|unordered_set"
    rb"|vector|assert\.h|stdio\.h|stdlib\.h|string\.h|time\.h|unistd\.h|omp\.h)>",
    re.MULTILINE,
)
"""The includes of the host's own library that `--check` hides."""
DEFINES = re.compile(
    rb"__(?:device|global|host|constant|shared)__|^[ \t]*#[ \t]*define[ \t]+\w+[( \t]+\S"
    rb"|\b(?:using|typedef|enum|constexpr|template)\b"
    rb'|include[ \t]*(?:"|<(?:cu|cooperative|mma|nv))',
    re.MULTILINE,
)
"""What device code may need of a header."""
HIDEABLE = re.compile(rb'^([ \t]*#[ \t]*include[ \t]*)"([^"\n]+)"', re.MULTILINE)
"""The includes that `--check` hides: a repository's own, mostly."""
STEPS = ("bare", "guessed", "search", "mended", "fragment", "stand-ins", "slice")


def draw(corpus: Path, count: int, seed: int, *, kernels: bool) -> Iterator[tuple[Path, Path]]:
    """(repository, file), in turn from each repository; `kernels`: only files that hold one."""
    chance = random.Random(seed)
    piles = []
    for repository in sorted(path for path in corpus.iterdir() if path.is_dir()):
        files = sorted(path for path in repository.rglob("*.cu") if path.is_file())
        if kernels:
            files = [path for path in files if b"__global__" in path.read_bytes()]
        chance.shuffle(files)
        piles.append((repository, files))
    drawn = 0
    while drawn < count and any(files for _, files in piles):
        for repository, files in piles:
            if files and drawn < count:
                drawn += 1
                yield repository, files.pop()


def numbers(entry: Entry) -> tuple[object, ...]:
    return (
        entry.registers,
        entry.static_smem,
        entry.spill_stores,
        entry.spill_loads,
        entry.cumulative_stack,
        entry.barriers,
    )


def compare(full: CompileResult, sliced: CompileResult) -> dict[str, Any]:
    """How the entries that both have agree."""
    known = {entry.entry: entry for entry in full.entries}
    both = [(known[e.entry], e) for e in sliced.entries if e.entry in known]
    wrong = [
        [one.entry, numbers(one), numbers(other)]
        for one, other in both
        if numbers(one) != numbers(other)
    ]
    return {
        "full": len(full.entries),
        "sliced": len(sliced.entries),
        "both": len(both),
        "wrong": wrong,
        "took": [round(full.took, 2), round(sliced.took, 2)],
    }


class CpuLimit:
    """Says when the compilers that we started have used up their seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._asked = 0.0
        self._process = psutil.Process()
        self.start()

    def start(self) -> None:
        """From now on."""
        self._before = self._ended()
        self._is_over = False

    def used(self) -> float:
        """Seconds of ended and of living compilers."""
        total = self._ended() - self._before
        for child in self._process.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                total += sum(child.cpu_times()[:4])
        return total

    def is_over(self) -> bool:
        """To be asked often; looks twice a second."""
        now = time.monotonic()
        if now - self._asked > 0.5:
            self._asked = now
            self._is_over = self._is_over or self.used() > self._seconds
        return self._is_over

    def _ended(self) -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime


def measure(
    context: Context,
    base: Filtered,
    repository: Path,
    unit: Path,
    arch: str,
    *,
    check: bool,
    limit: CpuLimit,
    libraries: Filtered | None = None,
) -> dict[str, Any]:
    start = time.monotonic()
    limit.start()
    result = compile_without_commands(context, unit, arch, base, root=repository)
    took = time.monotonic() - start
    cpu = limit.used()
    step = result.attempts[-1].step if result.attempts else ""
    in_place = sum(1 for entry in result.entries if entry.file and Path(entry.file).is_file())
    row: dict[str, Any] = {
        "repository": repository.name,
        "unit": str(unit.relative_to(repository)),
        "status": result.status,
        "step": step,
        "entries": len(result.entries),
        "with_place": in_place,
        "took": round(took, 2),
        "cpu": round(cpu, 2),
        "message": result.message,
        "attempts": [[a.step, a.status, a.message, round(a.took, 2)] for a in result.attempts],
        "has_kernel": b"__global__" in unit.read_bytes(),
    }
    if libraries is not None and step in ("stand-ins", "slice"):
        limit.start()
        plain = replace(context, cache=None)
        full = compile_without_commands(plain, unit, arch, libraries, root=repository)
        if full.origin == "compile" and full.has_numbers:
            row["without_libraries"] = compare(full, result)
    if check and result.entries and step not in ("stand-ins", "slice", "fragment"):
        content = unit.read_bytes()
        flags = working_flags(context, unit, base, repository)
        for name, text, known in (
            ("host", without_host(content, unit), flags),
            ("all", without_own(content), defaults()),
        ):
            if text != content:
                limit.start()
                row[f"slice_{name}"] = forced_slice(context, unit, arch, known, text, result)
    return row


def without_own(content: bytes) -> bytes:
    """The unit with all of the repository's headers hidden."""
    return HIDEABLE.sub(rb'\1"hidden/\2"', content)


def without_host(content: bytes, unit: Path) -> bytes:
    """The unit with those headers hidden that only host code can need."""

    def hidden(found: re.Match[bytes]) -> bytes:
        path = unit.parent / found[2].decode("utf-8", "surrogateescape")
        if not path.is_file() or DEFINES.search(path.read_bytes()):
            return found[0]
        return found[1] + b'"hidden/' + found[2] + b'"'

    return STANDARD.sub(rb"\1<hidden/\2>", HIDEABLE.sub(hidden, content))


def forced_slice(
    context: Context, unit: Path, arch: str, flags: Filtered, text: bytes, full: CompileResult
) -> dict[str, Any]:
    """The slice of `text`, against the full compile of the unit."""
    plain = replace(context, cache=None)
    missing = missing_headers(plain, unit, arch, flags, text)
    sliced = compile_slice(plain, unit, arch, flags, missing=missing, text=text)
    return compare(full, sliced) | {"message": sliced.message}


def summary(rows: list[dict[str, Any]]) -> None:
    with_kernel = [row for row in rows if row["has_kernel"] or row["entries"]]
    print(f"\n{len(rows)} files, {len(with_kernel)} of them with a kernel")
    for name, among in (("all files", rows), ("files with a kernel", with_kernel)):
        print(f"\nshare that yields entries, {name}:")
        reached = 0
        for step in STEPS:
            reached += sum(1 for row in among if row["entries"] and row["step"] == step)
            print(f"  {step:9} {100 * reached / max(1, len(among)):5.1f} %")
    print("\nby repository (entries / files with a kernel / files):")
    for name in sorted({row["repository"] for row in rows}):
        own = [row for row in rows if row["repository"] == name]
        good = sum(1 for row in own if row["entries"])
        kernels = sum(1 for row in own if row["has_kernel"] or row["entries"])
        print(f"  {name:40} {good:3} / {kernels:3} / {len(own):3}")
    print("\nstatus:", dict(Counter(row["status"] for row in rows)))
    entries = sum(row["entries"] for row in rows)
    print(f"entries {entries}, on a file and line {sum(row['with_place'] for row in rows)}")
    times = sorted(row.get("cpu", row["took"]) for row in rows)
    if times:
        median, late = times[len(times) // 2], times[len(times) * 95 // 100]
        print(f"seconds of compilers: median {median}, p95 {late}")
    without = [row for row in rows if "without_libraries" in row]
    for step in ("stand-ins", "slice"):
        told = [row["without_libraries"] for row in without if row["step"] == step]
        _print_compared(f"{step} against full, with the libraries' headers", told)
    for name, hidden in (("host", "host headers"), ("all", "all headers of its own")):
        checked = [row[f"slice_{name}"] for row in rows if f"slice_{name}" in row]
        _print_compared(f"slice without {hidden} against full", checked)


def _print_compared(what: str, checked: list[dict[str, Any]]) -> None:
    full, both, wrong = (
        (sum(x) for x in zip(*map(counts, checked), strict=True)) if checked else (0, 0, 0)
    )
    print(f"{what}: {len(checked)} files of {full} entries, {both} in both, {wrong} differ")


def counts(checked: dict[str, Any]) -> tuple[int, int, int]:
    return checked["full"], checked["both"], len(checked["wrong"])


def _searching(flags: Filtered, folders: list[Path]) -> Filtered:
    """`flags` with more folders to search for headers."""
    return replace(flags, host=(*flags.host, *(f"-I{folder.resolve()}" for folder in folders)))


def _known(out: Path | None, again: list[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of an earlier run by repository and unit; the last of a unit counts."""
    if out is None or not out.exists():
        return {}
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    known = {(row["repository"], row["unit"]): row for row in rows}
    return {name: row for name, row in known.items() if row["status"] not in again}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sample", type=int, default=220)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--include", type=Path, action="append", default=[])
    parser.add_argument("--libraries", type=Path, action="append", default=[])
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--cpu-seconds", type=float, default=30.0)
    parser.add_argument("--summary", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--match", default="", help="only files whose path holds this")
    parser.add_argument("--kernels", action="store_true", help="only files that hold a kernel")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--again", action="append", default=[], metavar="STATUS")
    options = parser.parse_args()
    if options.summary:
        summary(list(_known(options.summary, []).values()))
        return
    limit = CpuLimit(options.cpu_seconds)
    compiler = find_compiler(None, [options.corpus])
    if isinstance(compiler, Missing):
        sys.exit(str(compiler))
    base = _searching(defaults(), options.include)
    libraries = _searching(base, options.libraries) if options.libraries else None
    known = _known(options.out, options.again)
    rows = []
    drawn = draw(options.corpus.resolve(), options.sample, options.seed, kernels=options.kernels)
    for repository, unit in drawn:
        if options.match not in str(unit):
            continue
        earlier = known.get((repository.name, str(unit.relative_to(repository))))
        if earlier is not None:
            rows.append(earlier)
            continue
        with tempfile.TemporaryDirectory(prefix="occlsp-ladder-") as folder:
            context = Context(
                compiler,
                Cache(Path(folder)),
                (options.corpus,),
                timeout=options.timeout,
                cancelled=limit.is_over,
            )
            row = measure(
                context,
                base,
                repository,
                unit,
                options.arch,
                check=options.check,
                limit=limit,
                libraries=libraries,
            )
        rows.append(row)
        print(
            f"{row['took']:6.2f} s {row['entries']:4} {row['status']:10} {row['step']:10} "
            f"{row['unit']}",
            flush=True,
        )
        if options.out:
            with options.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
    summary(rows)


if __name__ == "__main__":
    main()
