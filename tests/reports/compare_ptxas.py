"""Compares direct reading with `ptxas -v`, over real compiles of `tests/reports/kernels`.

    python tests/reports/compare_ptxas.py [--nvcc PATH …]

compiles all kernels for seven architectures with each nvcc (default: the one on PATH), into
objects, fatbins of every kind, archives and executables, and prints what was compared, what
differed, and how many entries were put to their kernel by line table and by name.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from occlsp.reports.containers import find_cubins
from occlsp.reports.facts import Entry
from occlsp.reports.match import KernelKey, TemplateParameterKey, match_entries
from occlsp.reports.names import parse_name
from occlsp.reports.read import read_report
from occlsp.source.parse import parse

KERNELS = Path(__file__).parent / "kernels"
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
NEWER_ONLY = frozenset({"clusters.cu"})
SEPARATE = frozenset({"separate.cu", "separate_callee.cu"})
FLAGS = ("-std=c++17", "--extended-lambda", "-lineinfo", "-w", "-Xptxas", "-v", "-Xnvlink", "-v")
COMPRESSIONS = ("none", "speed", "size", "balance")
CALLEE_SAVES = frozenset({"calls", "recursion"})
"""Kernels with calls that are not inlined, whose callee saves ptxas counts as spills."""
CARRIES_BARRIERS = "13.5"
"""The release whose nvlink tells a kernel without barriers the number of the kernel before it,
which neither its code nor its cubin has."""

_RECORD = re.compile(
    r"Compiling entry function '(?P<entry>\S+)' for '(?P<arch>\w+)'\n"
    r"(?:ptxas warning.*\n)*"
    r"ptxas info    : Function properties for (?P=entry)\n"
    r"(?:ptxas warning.*\n)*"
    r" +(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores,"
    r" (?P<loads>\d+) bytes spill loads\n"
    r"ptxas info    : Used (?P<registers>\d+) registers, used (?P<barriers>\d+) barriers"
    r"(?:, (?P<cumulative>\d+) bytes cumulative stack size)?(?:, (?P<smem>\d+) bytes smem)?"
)
_LINKED = re.compile(
    r"Function properties for '(?P<entry>\S+)':(?: \(target: (?P<arch>\w+)\))?\n"
    r"nvlink info    : used (?P<registers>\d+) registers, used (?P<barriers>\d+) barriers, "
    r"(?P<cumulative>\d+) stack, (?P<smem>\d+) bytes smem"
)


@dataclass
class Totals:
    """What was compared so far."""

    compared: Counter[str] = field(default_factory=Counter)
    """Entries by the kind of file they were read from."""
    values: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    kernels: set[tuple[str, int]] = field(default_factory=set)
    """File and line of each kernel that was compared."""
    entries: set[tuple[str, str | None, str]] = field(default_factory=set)
    """Entry, architecture, toolkit."""
    by_line: Counter[str] = field(default_factory=Counter)
    by_name: Counter[str] = field(default_factory=Counter)
    open_by_name: set[str] = field(default_factory=set)


def compile_object(nvcc: str, source: Path, output: Path, archs: Sequence[str], *more: str) -> str:
    """Compiles to a host object; returns what the tools printed."""
    targets = [f"-gencode=arch=compute_{a[3:]},code={a}" for a in archs]
    separate = ["-rdc=true"] if source.name in SEPARATE else []
    command = [nvcc, *FLAGS, *targets, *separate, *more, "-c", "-o", str(output), str(source)]
    return run(command)


def run(command: Sequence[str]) -> str:
    """Runs a tool; its output, or an error that shows it."""
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def told_by_ptxas(output: str) -> dict[tuple[str, str], dict[str, int]]:
    """The numbers in the output, by entry and architecture, as one compile prints them."""
    return {
        (match["entry"], match["arch"]): {
            name: int(match[name] or 0)
            for name in (
                "registers",
                "barriers",
                "stack",
                "stores",
                "loads",
                "cumulative",
                "smem",
            )
        }
        for match in _RECORD.finditer(output)
    }


def compare(
    entries: Iterable[Entry],
    told: dict[tuple[str, str], dict[str, int]],
    totals: Totals,
    what: str,
    toolkit: str,
) -> None:
    """Compares entries that were read with what ptxas told, value by value."""
    seen = set()
    for entry in entries:
        key = (entry.entry, entry.arch or "")
        seen.add(key)
        expected = told.get(key)
        if expected is None:
            totals.differences.append(f"{what}: {key} is not in ptxas's output")
            continue
        read = {
            "registers": entry.registers,
            "barriers": entry.barriers,
            "stack": entry.stack,
            "stores": entry.spill_stores,
            "loads": entry.spill_loads,
            "cumulative": entry.cumulative_stack,
            "smem": entry.static_smem,
        }
        if not entry.linked:  # before linking ptxas tells neither
            del read["cumulative"], read["smem"]
        for name, value in read.items():
            totals.values[name] += 1
            if value != expected[name] and not _excused(name, value, entry):
                totals.differences.append(
                    f"{what}: {key}: {name} {value}, ptxas says {expected[name]}"
                )
        totals.compared[what.split(":")[0]] += 1
        totals.entries.add((*key, toolkit))
        if entry.file is not None and entry.line is not None:
            totals.kernels.add((Path(entry.file).name, entry.line))
    for key in told.keys() - seen:
        totals.differences.append(f"{what}: {key} was not read")


def _excused(name: str, value: int | None, entry: Entry) -> bool:
    base = parse_name(entry.entry).base
    if name in ("stores", "loads"):
        return base in CALLEE_SAVES
    return name == "cumulative" and value is None and base == "recursion"


def keys_of(path: Path) -> list[KernelKey]:
    """The kernels of a source, with those that `MAKE_UNARY` makes in this folder."""
    text = path.read_bytes()
    keys = [
        KernelKey(
            path=str(path),
            name_line=text[: kernel.name_span.start].count(b"\n") + 1,
            qualified_name="::".join(
                [*(part or "(anonymous namespace)" for part in kernel.scope), kernel.name]
            ),
            parameters=kernel.parameters,
            is_template=kernel.is_template,
            template_parameters=tuple(
                TemplateParameterKey(p.name, p.default, p.is_pack)
                for p in kernel.template_parameters
            ),
            template_arguments=None
            if kernel.template_arguments is None
            else tuple(argument.text for argument in kernel.template_arguments),
            is_definition=kernel.body is not None,
            from_macro=kernel.from_macro is not None,
        )
        for kernel in parse(text).kernels
        if kernel.in_macro is None
    ]
    for match in re.finditer(rb"^MAKE_UNARY\(\s*(\w+)", text, re.MULTILINE):
        line = text[: match.start()].count(b"\n") + 1
        name = match[1].decode() + "_kernel"
        keys.append(KernelKey(str(path), line, name, ("float *", "int"), from_macro=True))
    return keys


def compare_matching(entries: Iterable[Entry], keys: list[KernelKey], totals: Totals) -> None:
    """Puts entries to kernels by line table and by name, and counts where each ends."""
    mine = {Path(key.path).name for key in keys}
    for entry in entries:
        if entry.file is None or entry.line is None:
            continue
        own = Path(entry.file).name in mine
        totals.by_line["shown at a line that names it" if _names_it(entry) else "wrong line"] += 1
        if not own:
            continue
        (by_line,) = match_entries(keys, [entry])
        truth = by_line.kernel
        if truth is None or keys[truth].name_line != entry.line:
            totals.by_line[f"not matched: {entry.entry}"] += 1
            continue
        totals.by_line["matched"] += 1
        (by_name,) = match_entries(keys, [replace(entry, file=None, line=None, unit=None)])
        if by_name.kernel == truth:
            totals.by_name["matched"] += 1
        elif by_name.kernel is not None:
            totals.by_name[f"wrong: {entry.entry}"] += 1
        else:
            held = "among its candidates" if truth in by_name.kernels else "missed"
            totals.by_name[held] += 1
            totals.open_by_name.add(entry.entry)


def _names_it(entry: Entry) -> bool:
    """Whether the line of the source has the kernel's name, or the macro that makes it."""
    assert entry.file is not None and entry.line is not None
    text = Path(entry.file).read_text("utf-8", "replace").splitlines()[entry.line - 1]
    base = parse_name(entry.entry).base
    return re.search(rf"\b{base}\b", text) is not None or "MAKE_UNARY" in text or "TWO_ON" in text


def compare_file(nvcc: str, source: Path, archs: Sequence[str], work: Path, totals: Totals) -> Path:
    """Compiles one source and compares its object, and fatbins of its cubins of every kind."""
    toolkit = _release(nvcc)
    archs = [a for a in archs if source.name not in NEWER_ONLY or int(a[3:]) >= 90]
    output = work / f"{source.stem}.o"
    told = told_by_ptxas(compile_object(nvcc, source, output, archs))
    report = read_report(output)
    totals.differences += [warning.message for warning in report.warnings]
    compare(report.entries, told, totals, f"object: {toolkit} {source.name}", toolkit)
    images = []
    for number, image in enumerate(find_cubins(output.read_bytes(), str(output), [])):
        cubin = work / f"{source.stem}.{number}.cubin"
        cubin.write_bytes(image.data)
        images.append(f"--image3=kind=elf,sm={archs[number][3:]},file={cubin}")
    fatbinary = str(Path(nvcc).resolve().parent / "fatbinary")
    for mode in COMPRESSIONS:
        fatbin = work / f"{source.stem}.{mode}.fatbin"
        every = ["--compress-all"] if mode != "none" else []
        kind = ["-c"] if source.name in SEPARATE else []
        run(
            [
                fatbinary,
                "-64",
                f"--compress-mode={mode}",
                *every,
                *kind,
                *images,
                f"--create={fatbin}",
            ]
        )
        compare(read_report(fatbin).entries, told, totals, f"fatbin {mode}: {fatbin}", toolkit)
    for cubin in work.glob(f"{source.stem}.*.cubin"):
        cubin.unlink()
    return output


def compare_links(nvcc: str, objects: Sequence[Path], work: Path, totals: Totals) -> None:
    """Compares an archive of the objects, and executables linked from those with `-rdc`."""
    toolkit = _release(nvcc)
    single = {o: {_key(e): e for e in read_report(o).entries} for o in objects}
    archive = work / "all.a"
    run(["ar", "rcs", str(archive), *map(str, objects)])
    for entry in read_report(archive).entries:
        member = entry.source.rpartition("(")[2].rstrip(")")
        own = single[work / member].get(_key(entry))
        totals.compared["archive"] += 1
        if own is None or replace(own, source="", time=None) != replace(
            entry, source="", time=None
        ):
            totals.differences.append(f"archive: {entry.entry} {entry.arch} in {member} differs")
    separate = [o for o in objects if o.with_suffix(".cu").name in SEPARATE]
    if len(separate) < len(SEPARATE):
        return
    output = work / "linked"
    archs = sorted({e.arch or "" for e in read_report(separate[0]).entries})
    targets = [f"-gencode=arch=compute_{a[3:]},code={a}" for a in archs]
    printed = run([nvcc, *FLAGS, "-rdc=true", *targets, *map(str, separate), "-o", str(output)])
    told = {(m["entry"], m["arch"]): m for m in _LINKED.finditer(printed)}
    barriers = {key: e.barriers for o in separate for key, e in single[o].items()}
    for entry in read_report(output).entries:
        match = told.get((entry.entry, entry.arch or ""))
        if match is None or not entry.linked:
            totals.differences.append(f"executable: {entry.entry} {entry.arch}: not told by nvlink")
            continue
        reserve = 1024 if (entry.arch or "").startswith("sm_90") else 0
        before = barriers.get(_key(entry))
        carried = toolkit.startswith(CARRIES_BARRIERS) and before == 0
        expected = (
            int(match["registers"]),
            0 if carried else int(match["barriers"]),
            int(match["cumulative"]),
            max(0, int(match["smem"]) - reserve),
        )
        read = (entry.registers, entry.barriers, entry.cumulative_stack, entry.static_smem)
        totals.compared["executable"] += 1
        if read != expected:
            totals.differences.append(f"executable: {entry.entry} {entry.arch}: {read}, {expected}")
    for missing in told.keys() - {_key(e) for e in read_report(output).entries}:
        totals.differences.append(f"executable: {toolkit}: {missing} was not read")


def _key(entry: Entry) -> tuple[str, str | None]:
    return entry.entry, entry.arch


def _release(nvcc: str) -> str:
    match = re.search(r"V([\d.]+)", run([nvcc, "--version"]))
    return match[1] if match else nvcc


def sources() -> list[Path]:
    """All units of the folder of kernels."""
    return sorted(KERNELS.glob("*.cu"))


def main() -> int:
    """Runs everything and prints the totals; 1 where something differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", nargs="+", default=["nvcc"])
    parser.add_argument("--arch", nargs="+", default=ARCHS)
    parser.add_argument("--only", nargs="+", default=None, help="names of sources")
    options = parser.parse_args()
    totals = Totals()
    keys = [key for path in sorted(KERNELS.glob("*.cu*")) for key in keys_of(path)]
    for given in options.nvcc:
        nvcc = run(["which", given]).strip() if os.sep not in given else given
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            objects = []
            for source in sources():
                if options.only is None or source.name in options.only:
                    objects.append(compare_file(nvcc, source, options.arch, work, totals))
                    compare_matching(read_report(objects[-1]).entries, keys, totals)
                    print(
                        f"{_release(nvcc)} {source.name}: {len(totals.differences)} differ",
                        flush=True,
                    )
            compare_links(nvcc, objects, work, totals)
    print_totals(totals)
    return 1 if totals.differences else 0


def print_totals(totals: Totals) -> None:
    """Prints what was compared."""
    print(f"kernels of sources: {len(totals.kernels)}")
    print(f"compilations (entry, architecture, toolkit): {len(totals.entries)}")
    print(f"distinct entries: {len({entry for entry, _, _ in totals.entries})}")
    for title in ("compared", "values", "by_line", "by_name"):
        print(f"{title}: {dict(getattr(totals, title))}")
    print("open by name:", *sorted(totals.open_by_name), sep="\n  ")
    print(f"differences: {len(totals.differences)}", *totals.differences[:50], sep="\n  ")


if __name__ == "__main__":
    sys.exit(main())
