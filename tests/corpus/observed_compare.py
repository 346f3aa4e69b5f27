"""Holds what programs were seen to launch against what occlsp says of the same launch sites."""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from occlsp.source.facts import Launch, Value, Value3
from occlsp.source.scanning import scan_folder
from occlsp.source.text import LineIndex
from occlsp.source.workspace import Workspace

Triple = tuple[int, int, int]
WHAT = ("block", "grid", "smem")
VERDICTS = ("right", "in bounds", "unknown", "wrong")


@dataclass(frozen=True)
class Seen:
    """One launch that a program made."""

    path: str
    line: int
    kernel: str
    grid: Triple
    block: Triple
    smem: int


@dataclass
class Site:
    """One place that launches, and all that was launched from it."""

    launches: list[Launch]
    seen: list[Seen] = field(default_factory=list)

    def verdict(self, what: str) -> str:
        """The worst of what is to be said of each launch that was seen here."""
        found = {_best(self.launches, seen, what) for seen in self.seen}
        return max(found, key=VERDICTS.index)

    def values(self, what: str) -> list[object]:
        """The different values that were seen."""
        return sorted({getattr(seen, what) for seen in self.seen})


def _best(launches: Iterable[Launch], seen: Seen, what: str) -> str:
    return min((_judge(launch, seen, what) for launch in launches), key=VERDICTS.index)


def _judge(launch: Launch, seen: Seen, what: str) -> str:
    if what == "smem":
        return _judge_value(launch.dynamic_smem, seen.smem)
    value: Value3 = getattr(launch, what)
    observed: Triple = getattr(seen, what)
    if value.values is not None:
        return "right" if observed in value.values else "wrong"
    low, high = value.min or (None,) * 3, value.max or (None,) * 3
    return _within(zip(low, observed, high, strict=True))


def _judge_value(value: Value, observed: int) -> str:
    if value.values is not None:
        return "right" if observed in value.values else "wrong"
    return _within([(value.min, observed, value.max)])


def _within(bounds: Iterable[tuple[int | None, int, int | None]]) -> str:
    found = list(bounds)
    if any(
        (low is not None and at < low) or (high is not None and at > high)
        for low, at, high in found
    ):
        return "wrong"
    return "in bounds" if all(high is not None for _, _, high in found) else "unknown"


def compare(repositories: list[Path], work: Path, *, every: bool) -> int:
    """Prints the table by repository, and what is wrong; 1 where something is."""
    total: Counter[str] = Counter()
    wrong: list[str] = []
    for repository in repositories:
        seen = list(_all_seen(repository, work / repository.name))
        if not seen:
            continue
        root = str(repository)
        workspace, _ = scan_folder([root], root=root)
        sites, unplaced = _placed(workspace, seen)
        counts = Counter({"sites": len(sites), "launches": len(seen), "unplaced": len(unplaced)})
        for (path, _), site in sorted(sites.items()):
            for what in WHAT:
                verdict = site.verdict(what)
                counts[f"{what} {verdict}"] += 1
                place = f"{path}:{site.seen[0].line}: {what} {verdict}"
                if verdict == "wrong":
                    wrong.append(f"{place}: {_said(site, what)}")
                elif every and len(site.values(what)) == 1 and verdict != "right":
                    print(f"{place}: {_said(site, what)}")
        for path, line in sorted(unplaced):
            print(f"{path}:{line}: no launch is known here")
        print(repository.name, _table(counts), sep="\n")
        total.update(counts)
    print("all", _table(total), *wrong, sep="\n")
    return 1 if wrong else 0


def _table(counts: Counter[str]) -> str:
    rows = [f"    {name}: {counts[name]}" for name in ("launches", "sites", "unplaced")]
    for what in WHAT:
        found = ", ".join(f"{counts[f'{what} {verdict}']} {verdict}" for verdict in VERDICTS)
        rows.append(f"    {what}: {found}")
    return "\n".join(rows)


def _said(site: Site, what: str) -> str:
    name = "dynamic_smem" if what == "smem" else what
    said = []
    for launch in site.launches:
        value = getattr(launch, name)
        known = value.values if value.values is not None else (value.min, value.max, value.why)
        said.append(f"`{' '.join(value.text.split())}` = {known}")
    return f"{'; '.join(said)}; seen {site.values(what)[:6]} {site.seen[0].kernel[:60]}"


def _placed(
    workspace: Workspace, seen: list[Seen]
) -> tuple[dict[tuple[str, int], Site], set[tuple[str, int]]]:
    lines: dict[str, list[tuple[int, int, Launch]]] = {}
    sites: dict[tuple[str, int], Site] = {}
    unplaced: set[tuple[str, int]] = set()
    known = set(workspace.paths())
    for one in seen:
        if one.path not in lines:
            lines[one.path] = list(_by_line(workspace, one.path)) if one.path in known else []
        here = [item for item in lines[one.path] if item[0] <= one.line <= item[1]]
        here = _of_kernel(here, one) or here
        if not here:
            unplaced.add((one.path, one.line))
            continue
        closest = min(last - first for first, last, _ in here)
        here = [item for item in here if item[1] - item[0] == closest]
        key = (one.path, here[0][2].span.start)
        sites.setdefault(key, Site([launch for _, _, launch in here])).seen.append(one)
    return sites, unplaced


def _of_kernel(here: list[tuple[int, int, Launch]], seen: Seen) -> list[tuple[int, int, Launch]]:
    """Of launches on the same lines those of the kernel that was seen."""
    return [
        item
        for item in here
        if item[2].kernel.split("::")[-1] in seen.kernel.split("(")[0] and item[2].kernel_known
    ]


def _by_line(workspace: Workspace, path: str) -> Iterator[tuple[int, int, Launch]]:
    index = LineIndex(Path(path).read_bytes())
    for launch in workspace.facts(path).launches:
        if launch.inactive:
            continue
        spans = [launch.span, launch.config_span, launch.callee_span]
        spans += [launch.statement_span] if launch.statement_span else []
        first = min(index.line_of(span.start) for span in spans) + 1
        last = max(index.line_of(max(span.start, span.end - 1)) for span in spans) + 1
        yield first, last, launch


def _all_seen(repository: Path, work: Path) -> Iterator[Seen]:
    for record in sorted(work.glob("*.launches")):
        rows = [line.split("|") for line in record.read_text().splitlines()]
        executable = record.with_suffix(".exe")
        listed = record.with_suffix(".sources")
        sources = listed.read_text().splitlines() if listed.exists() else []
        wanted = {address for row in rows for address in [*row[0].split(","), row[4]]}
        named = _symbols(executable, wanted)
        for frames, grid, block, smem, function in rows:
            place = _site(named, frames.split(","), str(repository), sources)
            if place is not None:
                kernel = named[function][0][0] if function in named else "?"
                yield Seen(*place, kernel, _triple(grid), _triple(block), int(smem))


def _triple(text: str) -> Triple:
    x, y, z = map(int, text.split())
    return x, y, z


def _site(
    named: dict[str, list[tuple[str, str, int]]],
    frames: list[str],
    root: str,
    sources: list[str],
) -> tuple[str, int] | None:
    """Where the launch is written: the first frame outside the runtime's own inline functions.

    Behind a `#pragma` in a template the compiler's front end gives the line of the source, but
    its own output as the file.
    """
    for frame in frames:
        for _, path, line in named.get(frame, []):
            if path.endswith(".cudafe1.cpp"):
                stem = Path(path).name.removesuffix(".cudafe1.cpp").partition("_")[2]
                own = [s for s in sources if stem.endswith(f"_{Path(s).stem}")]
                return (own[0], line) if len(own) == 1 else None
            if path.startswith(root):
                return path, line
            if "/cccl/" in path or "/thrust/" in path or "/cub/" in path:
                return None
    return None


def _symbols(executable: Path, addresses: Iterable[str]) -> dict[str, list[tuple[str, str, int]]]:
    """Function, file and line of addresses, inlined functions first, all in one call."""
    inside = sorted(a for a in addresses if a.startswith("0x") and int(a, 16) < 1 << 32)
    if not inside:
        return {}
    asked = "\n".join(inside)
    called = ["addr2line", "-e", str(executable), "-a", "-f", "-i", "-C"]
    text = subprocess.run(called, input=asked, capture_output=True, text=True, check=True).stdout
    found: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    address = ""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            address = hex(int(line, 16))
            continue
        path, _, number = next(lines).partition(":")
        digits = number.split()[0] if number else ""
        row = int(digits) if digits.isdigit() else 0
        found[address].append((line, str(Path(path).resolve()), row))
    return found
