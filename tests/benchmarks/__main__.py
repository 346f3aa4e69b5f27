"""The benchmarks of this project: `python -m tests.benchmarks list | run | compare`.

python -m tests.benchmarks run -o before.json
python -m tests.benchmarks run occupancy reports --samples 9
python -m tests.benchmarks compare before.json after.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from tests.benchmarks.registry.categories import CATEGORIES
from tests.benchmarks.registry.measure import Wrong, run
from tests.benchmarks.registry.model import Category
from tests.benchmarks.registry.results import compare, document, read


@click.group(help=__doc__)
def main() -> None:
    """The commands."""


@main.command("list")
def list_() -> None:
    """Lists categories, problems and strategies with their ids."""
    for category in CATEGORIES:
        click.echo(f"{category.id}: {category.label}")
        for problem in category.problems:
            click.echo(f"  problem  {problem.id}: {problem.label}")
        for strategy in category.strategies:
            click.echo(f"  strategy {strategy.id}: {strategy.label}")


@main.command("run")
@click.argument("ids", nargs=-1)
@click.option("--samples", default=7, type=click.IntRange(1), show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Results as JSON.")
def run_(ids: tuple[str, ...], samples: int, output: Path | None) -> None:
    """Runs all categories, or those with IDS, each checked for correctness first."""
    known = {category.id: category for category in CATEGORIES}
    unknown = [name for name in ids if name not in known]
    if unknown:
        raise click.UsageError(f"no category {unknown[0]!r}; there are {', '.join(known)}")
    found = [result for name in ids or known if (result := _run(known[name], samples))]
    if output is not None:
        output.write_text(json.dumps(document(found), indent=1) + "\n", "utf-8")
    sys.exit(0 if len(found) == len(ids or known) else 1)


def _run(category: Category, samples: int) -> dict[str, Any] | None:
    """None, and a message, where the results of a strategy are wrong."""
    try:
        return run(category, samples, click.echo)
    except Wrong as error:
        click.echo(str(error), err=True)
        return None


@main.command("compare")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
def compare_(before: Path, after: Path) -> None:
    """Compares the results of two commits; exit status 1 where something is slower."""
    try:
        one, other = read(before), read(after)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{one['commit']} → {other['commit']}")
    changes, alone = compare(one, other)
    for change in changes:
        click.echo(str(change))
    for name in alone:
        click.echo(f"{name}: in one of them only")
    sys.exit(1 if any(change.verdict == "slower" for change in changes) else 0)


if __name__ == "__main__":
    main()
