"""What real programs launch, without a GPU: an independent check of the values of launches.

    python tests/corpus/observed.py run FOLDER --work DIR [--only TEXT] [--include DIR ...]
    python tests/corpus/observed.py compare FOLDER --work DIR [--list]

`run` builds every program of the repositories in FOLDER that builds (host code and device code up
to the compiler's own intermediate form; no more is needed), links it with `recorder.cpp` instead of
the CUDA runtime, generates what else is undefined, and runs it with a few arguments. `compare` asks
occlsp for the same launch sites: what was seen has to be among the values, or within the bounds.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from observed_compare import compare

HERE = Path(__file__).resolve().parent
NVCC = "nvcc"
COMPILE_SECONDS = 240
RUN_SECONDS = 20
MOST_UNCHANGED = 2
"""Runs in a row that show nothing new, before the other arguments are left out."""
FLAGS = ("-g", "-w", "-DNDEBUG")
HOST_FLAGS = ("-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-no-pie", "-fopenmp")
"""Fast enough for what a program checks its results with, and every call in a frame of its own."""
GO_ON = """
#include <cstdlib>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>
void occlsp_go_on(int code);
inline void occlsp_keep(void *) {}
namespace std { using ::occlsp_go_on; using ::occlsp_keep; }
#define exit(code) occlsp_go_on(code)
#define free(pointer) occlsp_keep(pointer)
#ifdef OCCLSP_UNCHECKED
#include <cmath>
#include <complex>
#undef isfinite
#define isfinite(value) false
#endif
"""
"""Kernels that do nothing give wrong results: a program that ends over one goes on launching, with
what it has freed before."""
MAIN = re.compile(rb"^[ \t]*(?:int|auto|void)\s+main\s*\(", re.MULTILINE)
UNDEFINED = re.compile(r"undefined reference to `([^']+)'")
LLMC_KERNELS = tuple((str(number),) for number in range(1, 12))


@dataclass(frozen=True)
class Program:
    """Sources that make one executable, and the arguments that it is run with."""

    name: str
    sources: tuple[Path, ...]
    includes: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    runs: tuple[tuple[str, ...], ...] = ((),)


def programs(repository: Path) -> Iterator[Program]:
    """The programs of one repository."""
    if repository.name.endswith("cuda-samples"):
        yield from _samples(repository)
        return
    if repository.name.endswith("HeCBench"):
        for makefile in sorted(repository.glob("src/*-cuda/Makefile")):
            yield from _made(makefile)
        return
    for source in sorted(repository.rglob("*.cu")):
        if MAIN.search(source.read_bytes()):
            yield _alone(repository, source)


def _samples(repository: Path) -> Iterator[Program]:
    folders = {path.parent for path in repository.glob("Samples/*/**/*.c*")}
    for folder in sorted(folders):
        found = [p for p in sorted(folder.iterdir()) if p.suffix in (".cu", ".cpp", ".c", ".cc")]
        texts = {path: path.read_bytes() for path in found}
        included = set(re.findall(rb'#\s*include\s+[<"]([^>"]+)[>"]', b"\n".join(texts.values())))
        sources = [path for path in found if path.name.encode() not in included]
        if any(MAIN.search(texts[path]) for path in sources):
            includes = (
                folder,
                folder / "inc",
                repository / "Common",
                repository / "Common/UtilNPP",
            )
            yield Program(folder.name, tuple(sources), includes)


def _made(makefile: Path) -> Iterator[Program]:
    """What a Makefile says of its program: its sources, flags, and the arguments it is run with."""
    folder = makefile.parent
    text = makefile.read_text(errors="replace").replace("\\\n", " ")
    named = re.search(r"^source\s*:?=(.*)$", text, re.MULTILINE)
    sources = [folder / name for name in (named[1].split() if named else ())]
    if not sources or not all(source.is_file() for source in sources):
        return
    options = re.findall(r"(?<=\s)-([ID])\s*([^\s$()]+)", text)
    includes = tuple((folder / value).resolve() for kind, value in options if kind == "I")
    flags = tuple(f"-D{value}" for kind, value in options if kind == "D" and value != "DEBUG")
    runs = tuple(
        tuple(str(folder / word) if (folder / word).exists() else word for word in line.split())
        for line in re.findall(r"^\t.*\./(?:\$\(program\)|main)([^\n|>&;]*)$", text, re.MULTILINE)
    )
    yield Program(folder.name, tuple(sources), (folder, *includes), flags, runs or ((),))


def _alone(repository: Path, source: Path) -> Program:
    includes = [source.parent, repository, repository / "include"]
    flags: tuple[str, ...] = ()
    runs: tuple[tuple[str, ...], ...] = ((),)
    if repository.name.endswith("llm.c") and source.parent.name == "cuda":
        # Its check leaves out what is not finite, and ends the program at the first size otherwise.
        flags = ("-DOCCLSP_UNCHECKED",)
        runs = LLMC_KERNELS
    if repository.name.endswith("cutlass"):
        includes += [repository / "tools/util/include", repository / "examples/common"]
        flags = ("--expt-relaxed-constexpr",)
        runs = ((), ("--m=256", "--n=256", "--k=256", "--iterations=1"))
    if repository.name.endswith("LeetCUDA"):
        includes += [repository / "kernels/hgemm", repository / "kernels/hgemm/utils"]
    name = str(source.relative_to(repository).with_suffix("")).replace("/", "-")
    return Program(name, (source,), tuple(includes), flags, runs)


def toolkit() -> Path:
    """The folder of the toolkit that `nvcc` belongs to, as it says itself."""
    _, output = _call([NVCC, "--dryrun", "-x", "cu", "-c", "/dev/null"], 60)
    found = re.search(r"^#\$ TOP=(.+)$", output, re.MULTILINE)
    return Path(found[1]).resolve() if found else Path("/usr/local/cuda")


class Builder:
    """Builds programs below one folder; what is built already is kept."""

    def __init__(self, work: Path, includes: list[Path], arch: str) -> None:
        self.work = work
        self.arch = arch
        top = toolkit()
        self.includes = [*includes, top / "include", top / "include/cccl"]
        work.mkdir(parents=True, exist_ok=True)
        self.go_on = work / "go_on.h"
        self.go_on.write_text(GO_ON)
        self.recorder = work / "recorder.o"
        source = HERE / "recorder.cpp"
        command = ["g++", "-c", "-g", "-w", *self._include_flags(), source, "-o", self.recorder]
        status, output = _call(command, COMPILE_SECONDS)
        if status:
            raise SystemExit(f"the recording runtime does not compile: {output}")

    def _include_flags(self, more: tuple[Path, ...] = ()) -> list[str]:
        return [f"-I{folder}" for folder in (*more, *self.includes)]

    def object_of(self, program: Program, source: Path) -> Path | None:
        """The object file of a source, or None where it does not compile."""
        key = hashlib.sha1(
            f"{source}{program}{self.arch}{FLAGS}{HOST_FLAGS}{GO_ON}".encode()
        ).hexdigest()[:12]
        target = self.work / f"{source.stem}-{key}.o"
        log = target.with_suffix(".log")
        if target.exists() or log.exists():
            return target if target.exists() else None
        flags = [*FLAGS, "-std=c++17", *program.flags, "-include", str(self.go_on)]
        flags += self._include_flags((source.parent, *program.includes))
        if source.suffix == ".cu":
            code = f"arch=compute_{self.arch},code=lto_{self.arch}"
            command = [NVCC, "-dc", "-gencode", code, "-Xcompiler", ",".join(HOST_FLAGS), *flags]
        else:
            language = "c++" if source.suffix != ".c" else "c"
            flags = flags if language == "c++" else [f for f in flags if "std=" not in f]
            command = ["g++", "-x", language, "-c", *HOST_FLAGS, *flags]
        status, output = _call([*command, source, "-o", target], COMPILE_SECONDS)
        if status:
            target.unlink(missing_ok=True)
            log.write_text(output)
            return None
        return target

    def build(self, program: Program) -> tuple[Path | None, str]:
        """The executable, or None and why there is none."""
        objects = [self.object_of(program, source) for source in program.sources]
        if not all(objects) and not any(objects):
            return None, "does not compile"
        have = [str(item) for item in objects if item is not None]
        target = self.work / f"{program.name}.exe"
        link = ["g++", "-no-pie", "-fopenmp", *have, self.recorder, "-Wl,--no-demangle"]
        _, output = _call([*link, "-o", target], 120)
        missing = sorted(set(UNDEFINED.findall(output)))
        if "main" in missing:
            return None, "main does not compile"
        stubs = target.with_suffix(".s")
        lines = [f".globl {n}\n{n}: xorl %eax,%eax\n xorpd %xmm0,%xmm0\n ret\n" for n in missing]
        stubs.write_text(".text\n" + "".join(lines) + '.section .note.GNU-stack,"",@progbits\n')
        status, output = _call([*link, stubs, "-ldl", "-o", target], 120)
        return (target, "") if status == 0 else (None, f"does not link: {output[-300:]}")


def _call(
    command: Sequence[object],
    seconds: int,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[int, str]:
    words = ["nice", *map(str, command)]
    try:
        done = subprocess.run(
            words, capture_output=True, timeout=seconds, check=False, env=env, cwd=cwd
        )
    except subprocess.TimeoutExpired:
        return 124, "took too long"
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def run(program: Program, executable: Path, work: Path) -> Path:
    """Runs a program with each of its arguments; the file of all that it launched."""
    record = work / f"{program.name}.launches"
    record.write_text("")
    record.with_suffix(".sources").write_text("\n".join(map(str, program.sources)))
    place = work / "cwd"
    place.mkdir(exist_ok=True)
    unchanged = 0
    for arguments in program.runs:
        before = record.stat().st_size
        environment = os.environ | {"OCCLSP_RECORD": str(record), "OMP_NUM_THREADS": "2"}
        status, output = _call([executable, *arguments], RUN_SECONDS, env=environment, cwd=place)
        with (work / f"{program.name}.out").open("a") as out:
            out.write(f"== {arguments} -> {status}\n{output[-2000:]}\n")
        unchanged = unchanged + 1 if record.stat().st_size == before else 0
        if unchanged >= MOST_UNCHANGED:
            break
    return record


def main() -> int:
    """Builds and runs, or compares what the runs left with what occlsp says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", default="", help="a part of the program's name")
    parser.add_argument("--repository", default="", help="a part of the repository's name")
    parser.add_argument("--include", type=Path, action="append", default=[])
    parser.add_argument("--arch", default="80")
    parser.add_argument("--some", type=int, help="no more than this many, chosen at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print every site")
    options = parser.parse_args()
    repositories = [
        path for path in sorted(options.folder.iterdir()) if options.repository in path.name
    ]
    if options.what == "compare":
        return compare(repositories, options.work, every=options.list)
    for repository in repositories:
        work = options.work / repository.name
        builder = Builder(work, options.include, options.arch)
        wanted = [one for one in programs(repository) if options.only in one.name]
        if options.some is not None and options.some < len(wanted):
            wanted = random.Random(options.seed).sample(wanted, options.some)
        for program in wanted:
            executable, why = builder.build(program)
            if executable is None:
                print(f"{repository.name} {program.name}: {why}", flush=True)
                continue
            lines = run(program, executable, work).read_text().count("\n")
            print(f"{repository.name} {program.name}: {lines} launches", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
