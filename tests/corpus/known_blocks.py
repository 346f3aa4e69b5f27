"""How many launch sites have a known block size, by what has to be looked at, by repository.

    python tests/corpus/known_blocks.py FOLDER [--sample N --seed S]

FOLDER holds one folder for each repository. A site is a launch as it is written; one in the body
of a `#define` counts by what is known in the body. Levels, each including the ones before: literals
alone; what the one file says; included headers and the workspace. `--sample` prints random resolved
and unresolved sites to be judged by hand.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from occlsp.source.facts import Definition, Launch
from occlsp.source.lexer import tokenize
from occlsp.source.scanning import scan_folder
from occlsp.source.text import LineIndex
from occlsp.source.workspace import Workspace


def is_literal(launch: Launch) -> bool:
    """Whether the block is written in place, with numbers only."""
    names = {token.text for token in tokenize(launch.block.text) if token.kind == "name"}
    return bool(launch.block.text) and names <= {"dim3", "unsigned", "int", "size_t"}


def written_sites(launches: tuple[Launch, ...]) -> dict[int, list[Launch]]:
    """Launches by where they are written; what a macro's use makes stands at the use."""
    sites: dict[int, list[Launch]] = defaultdict(list)
    for launch in launches:
        if not launch.inactive and not launch.hip_only:
            sites[launch.span.start].append(launch)
    return sites


def known(launches: list[Launch]) -> bool:
    """Whether the block of a site is known to be one of a few values on every variant of it."""
    return all(launch.block.values is not None for launch in launches)


def bounded(launches: list[Launch]) -> bool:
    """Whether there is at least an upper bound."""
    return all(
        launch.block.max is not None and launch.block.max[0] is not None for launch in launches
    )


def report(folder: Path, samples: list[tuple[str, Launch, bool]]) -> Counter[str]:
    """The counts of one repository."""
    root = str(folder)
    started = time.perf_counter()
    whole, errors = scan_folder([root], root=root)
    alone = Workspace(root, reader=None)
    counts: Counter[str] = Counter(errors=len(errors))
    for path in whole.paths():
        text = Path(path).read_bytes()
        sites = written_sites(whole.facts(path).launches)
        if not sites:
            continue
        alone.update(path, text)
        own = written_sites(alone.facts(path).launches)
        for start, launches in sites.items():
            first = launches[0]
            written = text[first.span.start : first.span.end] in (b"<<<", first.api.encode())
            if not written:
                counts["made by macros"] += 1
                counts["made by macros, known"] += known(launches)
                continue
            counts["sites"] += 1
            counts["in macros"] += first.in_macro
            samples.append((path, first, known(launches)))
            if known(launches):
                counts["known"] += 1
                counts["literals"] += is_literal(first)
                counts["one file"] += known(own.get(start, [])) if start in own else 0
                counts["several values"] += any(
                    len(item.block.values or ()) > 1 for item in launches
                )
            elif bounded(launches):
                counts["bounded"] += 1
    counts["seconds"] = round(time.perf_counter() - started)
    return counts


def show(path: str, launch: Launch) -> None:
    """One site, to be judged by eye."""
    text = Path(path).read_bytes()
    line = LineIndex(text).line_of(launch.span.start) + 1
    print(f"{path}:{line}: block `{' '.join(launch.block.text.split())}` = {launch.block.values}")
    if launch.block.values is None:
        print(f"    {launch.block.why}")
    definition: Definition | None = launch.block.definition
    if definition is not None:
        source = Path(definition.path).read_bytes()
        print(f"    {definition.kind} {source[slice(*definition.span)].decode('utf-8', 'replace')}")


def main() -> int:
    """Prints the table, and samples where they are wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    samples: list[tuple[str, Launch, bool]] = []
    total: Counter[str] = Counter()
    columns = ("sites", "literals", "one file", "known", "bounded", "several values", "in macros")
    print(f"{'repository':32}", *(f"{name:>14}" for name in columns))
    for folder in sorted(path for path in options.folder.iterdir() if path.is_dir()):
        counts = report(folder, samples)
        total.update(counts)
        print(f"{folder.name:32}", *(f"{counts[name]:14}" for name in columns), flush=True)
    print(f"{'all':32}", *(f"{total[name]:14}" for name in columns))
    for name in ("literals", "one file", "known", "bounded"):
        print(f"{name}: {100 * total[name] / max(1, total['sites']):.1f} %")
    chooser = random.Random(options.seed)
    for wanted in (True, False):
        found = [(path, launch) for path, launch, is_known in samples if is_known is wanted]
        for path, launch in chooser.sample(found, min(options.sample, len(found))):
            show(path, launch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
