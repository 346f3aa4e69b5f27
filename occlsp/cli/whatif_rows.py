"""What `occlsp whatif` answers: the compiler's rows, joined with the occupancy that they give."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from occlsp.analysis.whatif import bounds_text
from occlsp.analysis.words import LONG, percent
from occlsp.cli.check_project import root_of
from occlsp.cli.usage import Unusable
from occlsp.config import load, read_toml
from occlsp.occupancy import Occupancy, occupancy
from occlsp.reports.compile import Context
from occlsp.reports.compile_task import (
    CompileRequest,
    base_flags,
    command_flags,
    compile_one,
    context_of,
)
from occlsp.reports.compiled import CompileResult
from occlsp.reports.exact import exact_rows
from occlsp.reports.facts import Entry
from occlsp.reports.ladder import working_flags
from occlsp.reports.names import demangle, parse_name
from occlsp.reports.ptx import Bounds, EntryPtx, NoSuchEntryError
from occlsp.reports.toolchain import Missing
from occlsp.reports.whatif import Row, rows, usual_bounds
from occlsp.reports.worker import Control

DEFAULT_ARCH = "sm_90"
DEFAULT_BLOCK = 256
MOST_ENTRIES = 8
"""Instantiations that are asked about."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the command line asked for."""

    file: Path
    kernel: str
    arch: str | None = None
    block: int | None = None
    dynamic_smem: int = 0
    max_registers: tuple[int, ...] = ()
    is_exact: bool = False
    commands: Path | None = None


@dataclass(frozen=True, slots=True)
class AnsweredRow:
    """One row and the occupancy that it gives."""

    row: Row
    threads: int
    result: Occupancy | None
    is_best: bool = False
    """No other row beats it in both occupancy and spills."""

    @property
    def bounds_text(self) -> str:
        return bounds_text(self.row)

    @property
    def spill_bytes(self) -> int:
        """Stores and loads together."""
        return (self.row.spill_stores or 0) + (self.row.spill_loads or 0)

    def cells(self) -> list[str]:
        """The row for a table."""
        mark = ("▸" if self.row.is_current else " ") + ("★" if self.is_best else " ")
        if self.row.registers is None or self.result is None:
            return [mark, self.bounds_text, "–", "–", "–", "–", "–"]
        limiters = [LONG[name] for name in self.result.limiters]
        return [
            mark,
            self.bounds_text,
            str(self.row.registers),
            str(self.spill_bytes),
            str(self.result.blocks_per_sm),
            percent(self.result.occupancy),
            ", ".join(limiters),
        ]

    def as_json(self) -> dict[str, Any]:
        row, result = self.row, self.result
        return {
            "max_threads": row.bounds.max_threads,
            "min_blocks": row.bounds.min_blocks,
            "max_registers": row.bounds.max_registers,
            "is_current": row.is_current,
            "is_best": self.is_best,
            "block": self.threads,
            "registers": row.registers,
            "spill_stores": row.spill_stores,
            "spill_loads": row.spill_loads,
            "static_smem": row.static_smem,
            "blocks_per_sm": result.blocks_per_sm if result else None,
            "occupancy": result.occupancy if result else None,
            "limiter": result.limiter if result else None,
            "problem": row.problem,
            "label": row.label,
        }


@dataclass(frozen=True, slots=True)
class Answered:
    """The rows of one entry."""

    entry: str
    name: str
    arch: str
    rows: tuple[AnsweredRow, ...]

    @property
    def block_text(self) -> str:
        sizes = sorted({row.threads for row in self.rows})
        return f"{', '.join(str(size) for size in sizes)} threads per block"

    @property
    def label(self) -> str:
        return self.rows[0].row.label if self.rows else ""

    def as_json(self) -> dict[str, Any]:
        return {
            "entry": self.entry,
            "name": self.name,
            "arch": self.arch,
            "rows": [row.as_json() for row in self.rows],
        }


def answer(question: Question) -> Iterator[Answered]:
    """Compiles the file and asks about each instantiation. Raises Unusable."""
    request = _request(question)
    context = context_of(request, Control())
    if isinstance(context, Missing):
        raise Unusable(str(context))
    result = compile_one(request, Control())
    if not result.entries:
        raise Unusable(f"{question.file}: {result.message or 'the compile gave no kernel'}")
    entries = [entry for entry in result.entries if is_named(entry, question.kernel)]
    if not entries:
        names = dict.fromkeys(parse_name(entry.entry).qualified for entry in result.entries)
        raise Unusable(
            f"{question.file} has no kernel {question.kernel}; it has {', '.join(names)}"
        )
    for entry in entries[:MOST_ENTRIES]:
        yield _answered(question, request, context, result, entry)


def is_named(entry: Entry, name: str) -> bool:
    """Whether `name` means the entry: mangled, qualified or not, with or without arguments."""
    if name == entry.entry:
        return True
    parsed = parse_name(entry.entry)
    wanted, opening, arguments = name.replace(" ", "").partition("<")
    if wanted not in (parsed.qualified.replace(" ", ""), parsed.base):
        return False
    given = ",".join(parsed.arguments or ()).replace(" ", "")
    return not opening or arguments.removesuffix(">") == given


def _request(question: Question) -> CompileRequest:
    root = root_of(question.file)
    found, problem = read_toml(root / "occlsp.toml")
    if problem is not None:
        raise Unusable(problem)
    settings = load([found] if found is not None else []).settings
    commands = settings.compile.commands
    if question.commands is not None:
        path = question.commands
        commands = str(path / "compile_commands.json" if path.is_dir() else path)
    return CompileRequest(
        os.path.abspath(question.file),  # noqa: PTH100  (links stay: the line table names it so)
        question.arch or next(iter(settings.arch), DEFAULT_ARCH),
        str(root),
        nvcc=settings.compile.nvcc,
        commands=commands,
        args=settings.compile.args,
        timeout=settings.compile.timeout,
        slow=None,
    )


def _answered(
    question: Question,
    request: CompileRequest,
    context: Context,
    result: CompileResult,
    entry: Entry,
) -> Answered:
    if result.ptx is None:
        raise Unusable(f"{question.file}: the compile kept no PTX to ask about")
    try:
        ptx = EntryPtx(Path(result.ptx).read_bytes(), entry.entry)
    except (OSError, NoSuchEntryError) as error:
        raise Unusable(f"{question.file}: {error}") from None
    wanted = usual_bounds(ptx.bounds, threads=question.block)
    wanted += [Bounds(ptx.bounds.max_threads, None, count) for count in question.max_registers]
    ask = _exactly if question.is_exact else _quickly
    compiled = tuple(ask(request, context, result, entry, ptx, wanted))
    joined = [_joined(question, request.arch, entry, ptx, row) for row in compiled]
    marked = (replace(one, is_best=_is_best(one, joined)) for one in joined)
    return Answered(entry.entry, demangle(entry.entry), request.arch, tuple(marked))


def _quickly(
    request: CompileRequest,
    context: Context,
    result: CompileResult,
    entry: Entry,
    ptx: EntryPtx,
    wanted: list[Bounds],
) -> Iterator[Row]:
    ptxas = context.compiler.tool("ptxas")
    if ptxas is None:
        raise Unusable(f"there is no ptxas beside {context.compiler.path}")
    return rows(
        ptx,
        request.arch,
        wanted,
        ptxas=ptxas,
        options=result.ptxas_options,
        workspaces=context.workspaces,
        timeout=request.timeout,
    )


def _exactly(
    request: CompileRequest,
    context: Context,
    result: CompileResult,
    entry: Entry,
    ptx: EntryPtx,
    wanted: list[Bounds],
) -> Iterator[Row]:
    if result.origin in ("standins", "slice"):
        raise Unusable(f"{request.unit} does not compile as it is, so that it cannot be recompiled")
    unit = Path(request.unit)
    flags, refused = command_flags(request)
    if flags is None:
        base = base_flags(request, context.compiler, refused)
        flags = working_flags(context, unit, base, Path(request.root))
    return exact_rows(context, unit, request.arch, flags, entry, wanted, current=ptx.bounds)


def _joined(question: Question, arch: str, entry: Entry, ptx: EntryPtx, row: Row) -> AnsweredRow:
    block = question.block or row.bounds.max_threads or ptx.bounds.max_threads or DEFAULT_BLOCK
    if row.bounds.max_threads is not None:
        block = min(block, row.bounds.max_threads)
    if row.registers is None:
        return AnsweredRow(row, block, None)
    static = row.static_smem if row.static_smem is not None else entry.static_smem or 0
    result = occupancy(
        arch, block, row.registers, static, question.dynamic_smem, barriers=entry.barriers
    )
    return AnsweredRow(row, block, result)


def _is_best(one: AnsweredRow, others: list[AnsweredRow]) -> bool:
    if one.result is None:
        return False
    ours = (one.result.active_warps, -one.spill_bytes)
    for other in others:
        if other.result is not None:
            theirs = (other.result.active_warps, -other.spill_bytes)
            if theirs != ours and theirs[0] >= ours[0] and theirs[1] >= ours[1]:
                return False
    return True
