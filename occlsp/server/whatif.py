"""`occlsp.whatif`: the compiler's own answer for a row of launch bounds, asked in the child."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import msgspec

from occlsp.analysis import join
from occlsp.analysis.hover import kernel_text
from occlsp.analysis.sources import KernelSite
from occlsp.analysis.whatif import WhatIf
from occlsp.reports.compiled import CompileResult
from occlsp.reports.ptx import EntryPtx, NoSuchEntryError
from occlsp.reports.toolchain import Missing, find_compiler
from occlsp.reports.whatif import Row, rows, usual_bounds
from occlsp.reports.worker import Control

if TYPE_CHECKING:
    from occlsp.server.folder import Folder
    from occlsp.server.session import Session

MOST_ENTRIES = 8
"""Instantiations that are asked about."""


@dataclass(frozen=True, slots=True)
class Question:
    """Entries of one compiled unit."""

    ptx: str
    arch: str
    entries: tuple[str, ...]
    options: tuple[str, ...]
    workspaces: tuple[str, ...]
    nvcc: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of each entry, or why there are none."""

    rows: dict[str, tuple[Row, ...]]
    problem: str | None = None


def ask(question: Question, control: Control) -> Answer:
    """Runs ptxas for each entry and bound; in the child."""
    workspaces = [Path(folder) for folder in question.workspaces]
    compiler = find_compiler(question.nvcc, workspaces)
    if isinstance(compiler, Missing):
        return Answer({}, str(compiler))
    ptxas = compiler.tool("ptxas")
    if ptxas is None:
        return Answer({}, f"there is no ptxas beside {compiler.path}")
    found: dict[str, tuple[Row, ...]] = {}
    try:
        text = Path(question.ptx).read_bytes()
        for entry in question.entries:
            ptx = EntryPtx(text, entry)
            found[entry] = tuple(
                rows(
                    ptx,
                    question.arch,
                    usual_bounds(ptx.bounds),
                    ptxas=ptxas,
                    options=question.options,
                    workspaces=workspaces,
                    cancelled=control.cancelled,
                )
            )
    except (OSError, NoSuchEntryError) as error:
        return Answer(found, str(error))
    return Answer(found)


async def whatif(session: Session, path: str, kernel: str | None) -> dict[str, Any]:
    """Compiles the file if need be, asks about the kernel (None: the only one), and puts the
    answer in force for hovers and the explorer."""
    folder = session.folder(path)
    site = _kernel(folder, path, kernel)
    if isinstance(site, str):
        return _why_not(site)
    outcome = await session.compiles.compile_now(folder, path)
    if isinstance(outcome, str):
        return _why_not(outcome)
    answers: list[WhatIf] = []
    problems: list[str] = []
    for result in outcome.results:
        question = _question(session, folder, site, result)
        if isinstance(question, str):
            problems.append(question)
            continue
        answer = await session.background.call(f"{__name__}:ask", question, Answer)
        problems += [answer.problem] if answer.problem is not None else []
        answers += [WhatIf(entry, result.arch, found) for entry, found in answer.rows.items()]
    if not answers:
        return _why_not("; ".join(problems) or "the compile gave nothing to ask about")
    folder.take_whatif(answers)
    session.refresh.news()
    text = kernel_text(folder.snapshot, join.of_kernel(folder.snapshot, site))
    return {
        "ok": True,
        "message": "; ".join(problems) or None,
        "markdown": text,
        "rows": msgspec.to_builtins(answers),
    }


def _kernel(folder: Folder, path: str, name: str | None) -> KernelSite | str:
    sites: Sequence[KernelSite] = folder.snapshot.sources.kernels_of(path)
    if name is not None:
        sites = [s for s in sites if name in (s.kernel.name, s.kernel.qualified_name)]
    if not sites:
        return f"{PurePath(path).name} has no kernel {name or ''}".rstrip()
    names = list(dict.fromkeys(site.kernel.qualified_name for site in sites))
    if name is None and len(names) > 1:
        return f"which kernel? {', '.join(names)}"
    return sites[0]


def _question(
    session: Session, folder: Folder, site: KernelSite, result: CompileResult
) -> Question | str:
    if result.ptx is None:
        return result.message or f"there is no PTX for {result.arch}"
    known = {entry.entry for entry in result.entries}
    entries = [e.entry for e in join.entries_of(folder.snapshot, site) if e.entry in known]
    if not entries:
        return f"{site.kernel.name} is not instantiated for {result.arch}"
    return Question(
        result.ptx,
        result.arch,
        tuple(dict.fromkeys(entries))[:MOST_ENTRIES],
        result.ptxas_options,
        tuple(session.folders),
        folder.snapshot.settings.compile.nvcc,
    )


def _why_not(message: str) -> dict[str, Any]:
    return {"ok": False, "message": message, "markdown": None, "rows": []}
