"""`occlsp scan`: what CUDA sources say, with no report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from occlsp.cli.usage import OneLineCommand, Unusable


@click.command(
    cls=OneLineCommand,
    epilog="Example: occlsp scan src/ -I include -D BLOCK=256 --json",
    short_help="Print what CUDA sources say.",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@click.option("-I", "include_dirs", multiple=True, metavar="DIR", help="Look for includes here.")
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="Define a macro.")
@click.option("-j", "jobs", type=click.IntRange(1), metavar="N", help="Processes to use.")
def command(
    paths: tuple[str, ...],
    as_json: bool,
    include_dirs: tuple[str, ...],
    defines: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Print kernels, launch bounds, launches and opt-ins of CUDA sources, and their values.

    Folders are searched for .cu and .cuh files, and for C++ files that hold kernels or launches.
    """
    from occlsp.cli.scan_format import file_json, print_document
    from occlsp.reports.cache import sources_directory
    from occlsp.source.scanning import not_analysed, scan_folder
    from occlsp.source.store import Store

    root = _root(paths)
    macros = dict(_define(text) for text in defines)
    store = Store(sources_directory(), root, include_dirs, macros)
    with _progress() as done:
        workspace, errors = scan_folder(
            paths,
            root=root,
            include_dirs=include_dirs,
            defines=macros,
            jobs=jobs,
            store=store,
            told=done,
        )
    files = []
    told: list[dict[str, Any]] = [
        {"path": _shown(path), "message": message} for path, message in errors.items()
    ]
    for path in workspace.paths():
        try:
            facts = workspace.facts(path)
            text = Path(path).read_bytes()
        except OSError as error:
            told.append({"path": _shown(path), "message": f"cannot be read: {error.strerror}"})
            continue
        except Exception as error:  # a fault in one file costs that one
            told.append({"path": _shown(path), "message": not_analysed(error)})
            continue
        file = file_json(_shown(path), text, facts)
        files.append(file)
        told += [{"path": file["path"], **error} for error in file["errors"]]
    if not files and told:
        raise Unusable("; ".join(f"{item['path']}: {item['message']}" for item in told[:5]))
    # Each file tells its own errors; those of files that gave nothing can stand only here.
    document = {"files": files, "errors": told}
    if not files:
        click.echo(f"occlsp scan: no CUDA sources in {', '.join(paths)}", err=True)
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    print_document(document)


def _define(text: str) -> tuple[str, str]:
    """`NAME=VALUE`, or `NAME`, which is 1 as for a compiler."""
    name, equals, value = text.partition("=")
    if not name.isidentifier():
        raise Unusable(f"-D {text}: expected NAME or NAME=VALUE")
    return name, value if equals else "1"


def _root(paths: tuple[str, ...]) -> str | None:
    """The folder that includes are looked up from: the repository's, or the first path's."""
    first = Path(paths[0]).absolute()
    folder = first if first.is_dir() else first.parent
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists() or (candidate / "occlsp.toml").exists():
            return str(candidate)
    return str(folder)


def _shown(path: str) -> str:
    """A path as the user is used to it: relative below the current folder."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What hears of each file that is done: a line on a terminal, nothing elsewhere."""
    from occlsp.cli.check_progress import progress

    done = 0
    with progress() as show:

        def told(path: str) -> None:
            nonlocal done
            done += 1
            show(f"read {Path(path).name}", done, 0)

        yield told
