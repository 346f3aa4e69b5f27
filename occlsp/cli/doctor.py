"""`occlsp doctor`: what was found and from where, and what to do about what is missing."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from occlsp import __version__

if TYPE_CHECKING:
    from occlsp.config import Settings
    from occlsp.reports.compile_commands import CompileCommands

State = Literal["ok", "note", "missing", "wrong"]
SIGNS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "note": ("·", "blue"),
    "missing": ("–", "yellow"),
    "wrong": ("✗", "red"),
}
EXAMPLE = """
\b
Example:
  occlsp doctor ~/project
"""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was looked for."""

    name: str
    state: State
    found: str
    """What was found and where, or that nothing was."""
    advice: str | None = None
    """What to do about it, where something is to be done."""


@click.command("doctor", epilog=EXAMPLE)
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--run/--no-run", default=True, help="Ask nvcc and nvidia-smi for their versions (they run)."
)
def command(folder: Path, as_json: bool, run: bool) -> None:
    """Say what occlsp finds for FOLDER: architecture, GPU, compiler, reports, settings."""
    root = Path(os.path.abspath(folder))  # noqa: PTH100  (links stay: names are shown)
    items = examine(root, may_run=run)
    if as_json:
        told = {"version": __version__, "folder": str(root), "items": [asdict(i) for i in items]}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    click.echo(f"occlsp {__version__}, Python {platform.python_version()}, {platform.platform()}")
    click.echo(f"Folder: {root}\n")
    width = max(len(item.name) for item in items)
    for item in items:
        sign, colour = SIGNS[item.state]
        click.echo(f"{click.style(sign, fg=colour)} {item.name:<{width}}  {item.found}")
        if item.advice is not None:
            click.echo(f"  {'':<{width}}  → {item.advice}")


def examine(root: Path, *, may_run: bool) -> list[Item]:
    """Looks for everything that numbers rest on. Whatever fails is an item that says so."""
    from occlsp.reports.compile_commands import find, load
    from occlsp.reports.discover import discover

    settings_items, settings = _settings(root)
    commands = load(find(root, settings.compile.commands))
    discovered = discover(root, settings.reports)
    checks: tuple[Callable[[], list[Item]], ...] = (
        lambda: settings_items,
        lambda: [_architecture(root, settings.arch, commands, discovered.files)],
        lambda: [_gpu(settings.gpu, may_run=may_run)],
        lambda: [_compiler(root, settings.compile.nvcc, may_run=may_run)],
        lambda: [_commands(commands)],
        lambda: [_reports(discovered.files, bool(settings.reports))],
        lambda: [_cache(root)],
        lambda: [_trust(root)],
    )
    return [item for check in checks for item in check()]


def _settings(root: Path) -> tuple[list[Item], Settings]:
    from occlsp.analysis.checks import CHECKS
    from occlsp.config import Settings as Defaults
    from occlsp.config import load, read_toml

    path = root / "occlsp.toml"
    source, problem = read_toml(path)
    if problem is not None:
        item = Item("settings", "wrong", problem, "mend the file; until then the defaults hold")
        return [item], Defaults()
    if source is None:
        found = f"no {path.name}: the defaults, and what the editor sets"
        return [Item("settings", "note", found)], Defaults()
    loaded = load([source], CHECKS)
    items = [Item("settings", "ok", f"{path}: {', '.join(loaded.origins) or 'nothing set'}")]
    items += [
        Item("settings", "wrong", text, "see the README's settings") for text in loaded.problems
    ]
    return items, loaded.settings


def _architecture(
    root: Path, said: tuple[str, ...], commands: CompileCommands, files: tuple[Path, ...]
) -> Item:
    from occlsp.analysis.architecture import choose
    from occlsp.config import Settings as Chosen
    from occlsp.reports.flags import Filtered
    from occlsp.reports.local_gpus import local_gpus
    from occlsp.reports.read import read_report

    flags: dict[str, None] = {}
    for command in (c for known in commands.commands.values() for c in known):
        filtered = command.filtered([root], {})
        if isinstance(filtered, Filtered):
            flags.update(dict.fromkeys(arch for arch in filtered.arches if arch != "native"))
    gpus = [gpu.arch for gpu in local_gpus()]
    reported = [e.arch for f in files[:MOST_REPORTS] for e in read_report(f).entries if e.arch]
    chosen = choose(Chosen(arch=said), list(flags), gpus, reported, "occlsp.toml")
    found = f"{', '.join(chosen.names)} (from {chosen.origin})"
    if chosen.problems:
        return Item("architecture", "wrong", found, "; ".join(chosen.problems))
    if not (said or flags or gpus or reported):
        return Item("architecture", "missing", found, 'set `arch = ["sm_…"]` in occlsp.toml')
    return Item("architecture", "ok", found)


def _gpu(said: str | None, *, may_run: bool) -> Item:
    from occlsp.occupancy import UnknownGpu, gpu
    from occlsp.reports.local_gpus import local_gpus

    advice = 'set `gpu = "…"` for waves and cooperative launches'
    if said is not None:
        try:
            return Item("GPU", "ok", f"{gpu(said).name} (from the settings)")
        except UnknownGpu as error:
            return Item("GPU", "wrong", str(error), "name a model of the table")
    found = [f"{one.name} ({one.arch})" for one in local_gpus()] or _asked(may_run)
    if not found:
        return Item("GPU", "missing", "none in this machine", advice)
    return Item("GPU", "ok", f"{', '.join(found)} (in this machine)")


def _asked(may_run: bool) -> list[str]:
    """What nvidia-smi says, where the driver's library does not."""
    tool = shutil.which("nvidia-smi") if may_run else None
    if tool is None:
        return []
    query = [tool, "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def _compiler(root: Path, setting: str | None, *, may_run: bool) -> Item:
    from occlsp.reports.toolchain import Missing, find_compiler, locate

    found = find_compiler(setting, [root]) if may_run else locate(setting, [root])
    if isinstance(found, Missing):
        return Item("compiler", "missing", found.reason, found.way_out)
    version = f" {found.version}" if found.version else ""
    text = f"{found.path.name}{version}: {found.path} (from {found.found_in})"
    if found.problem is not None:
        return Item("compiler", "wrong", text, found.problem)
    return Item("compiler", "ok", text)


def _commands(commands: CompileCommands) -> Item:
    name = "compile commands"
    if commands.path is None:
        advice = "configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, or set `compile.commands`"
        return Item(name, "missing", "no compile_commands.json: flags are guessed", advice)
    units = len(commands.units())
    found = f"{commands.path}: {len(commands.commands)} files, {units} of them CUDA"
    if commands.problems:
        return Item(name, "wrong", found, "; ".join(commands.problems))
    return Item(name, "ok", found)


MOST_REPORTS = 50
"""Report files that are read to say what is in them."""


def _reports(files: tuple[Path, ...], has_globs: bool) -> Item:
    from occlsp.reports.read import read_report

    counts = {path: len(read_report(path).entries) for path in files[:MOST_REPORTS]}
    telling = [path for path, count in counts.items() if count]
    if not telling:
        where = "the globs of `reports`" if has_globs else "build*/, out/, cmake-build-*/"
        advice = "build with -Xptxas -v into a log, name objects in `reports`, or compile on save"
        return Item("reports", "missing", f"no kernel in {len(files)} files of {where}", advice)
    kernels = sum(counts.values())
    newest = f"{telling[0]} and {len(telling) - 1} more" if len(telling) > 1 else str(telling[0])
    return Item("reports", "ok", f"{kernels} kernel entries in {newest}")


def _cache(root: Path) -> Item:
    from occlsp.reports.cache import Cache

    cache = Cache()
    units = cache.known_units(root)
    size = sum(f.stat().st_size for f in cache.directory.rglob("*") if f.is_file())
    found = f"{cache.directory}: {size >> 20} MiB, {len(units)} units of this folder"
    return Item("cache", "ok" if units else "note", found)


def _trust(root: Path) -> Item:
    import platformdirs

    path = Path(platformdirs.user_config_dir("occlsp")) / "trust.json"
    try:
        answer = json.loads(path.read_text("utf-8")).get(os.path.realpath(root))
    except FileNotFoundError:
        answer = None
    except (OSError, ValueError, AttributeError) as error:
        return Item("trust", "wrong", f"{path}: {error}", "remove the file: editors ask again")
    words = {"always": "trusted (your answer)", "never": "never (your answer)"}
    found = words.get(answer, "not asked yet: the editor says, or asks at the first compile")
    return Item("trust", "note", f"{found}; answers are in {path}")
