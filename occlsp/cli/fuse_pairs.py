"""The pairs of a project as `occlsp fuse` shows them, compiled where that was asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from occlsp.analysis.advice.fused_source import FusedSource, NotSimple, fused_source
from occlsp.analysis.advice.fusing import Bounds, Judgement, Part, judge
from occlsp.analysis.advice.neighbours import Overrides, Pair, pairs
from occlsp.analysis.words import listing, percent, size
from occlsp.cli.check_project import Project
from occlsp.reports.compile_task import CompileRequest, compile_one
from occlsp.reports.compiled import CompileResult
from occlsp.reports.facts import Entry
from occlsp.reports.names import parse_name
from occlsp.reports.worker import Control


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked of a project."""

    project: Project
    overrides: Overrides
    commands: Path | None
    is_verifying: bool


@dataclass(frozen=True, slots=True)
class Verified:
    """What the compiler says, or why it was not asked or gave nothing."""

    source: FusedSource | None = None
    entry: Entry | None = None
    problem: str | None = None
    apart: tuple[int | None, ...] = ()
    """Registers of the two kernels in the same compile; None where it is not certain."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair with its verdict: the model's, or with the compiler's numbers in it."""

    pair: Pair
    judgement: Judgement
    path: str
    line: int
    """1-based, of the second launch; `first_line` of the first."""
    first_line: int
    verified: Verified | None

    @property
    def place(self) -> str:
        """ "src/a.cu:12"."""
        return f"{self.path}:{self.line}"

    @property
    def names(self) -> str:
        """ "scale (line 10) and add"."""
        return f"{self.pair.first.name} (line {self.first_line}) and {self.pair.second.name}"

    @property
    def is_compiled(self) -> bool:
        """The registers and spills of the fused kernel are the compiler's."""
        return self.verified is not None and self.verified.entry is not None

    @property
    def registers(self) -> int:
        """Of the fused kernel."""
        entry = self.verified.entry if self.verified is not None else None
        known = entry.registers if entry is not None else None
        return known if known is not None else self.pair.fused.registers

    @property
    def parts(self) -> tuple[Part, ...]:
        """The kernels, with the compiler's registers where it was asked."""
        return _parts(self.pair, self.verified)

    @property
    def are_parts_estimated(self) -> bool:
        """Their registers are known neither from a report nor from this compile."""
        known = self.verified.apart if self.verified is not None else ()
        return self.pair.are_registers_estimated and (not known or None in known)

    @property
    def verdict(self) -> str:
        """ "est. beneficial: score 1.667, at least 1.05"."""
        return f"est. {self.judgement.verdict}: {self.judgement.why}"

    def factors(self) -> Iterator[tuple[str, str, str]]:
        """Every factor: its name, its value, and what it was made from."""
        pair, judgement = self.pair, self.judgement
        fused = pair.fused
        traffic = f"{fused.bytes_with:g} bytes an element with the intermediate, "
        traffic += f"{fused.bytes_without:g} without"
        shares = (
            listing(percent(share) for share in judgement.occupancies)
            if (judgement.occupancies)
            else "?"
        )
        together = judgement.fused_occupancy
        guess = "est. " if self.are_parts_estimated else ""
        apart = listing(f"{part.name} {guess}{part.registers}" for part in self.parts)
        mark = "" if self.is_compiled else "est. "
        registers = f"{mark}{self.registers} registers ({apart})"
        if together is not None:
            registers += f": {percent(together)} occupancy on {pair.limits.name} ({shares})"
        yield "base", _factor(judgement.base), traffic
        yield "registers", _factor(judgement.register_factor), registers
        yield "shared memory", _factor(judgement.smem_factor), f"{size(fused.static_smem)} static"
        yield "ILP", _factor(judgement.ilp_factor), f"{fused.operations:g} operations"
        yield "score (estimated)", _factor(judgement.score), ""

    def notes(self) -> Iterator[str]:
        """The intermediates, and what the compiler said."""
        for name in self.pair.intermediates:
            goes = "its write goes too" if name in self.pair.dropped else "its write stays"
            yield f"intermediate `{name}`: {goes}"
        if self.verified is None:
            return
        entry = self.verified.entry
        if entry is not None:
            spills = (entry.spill_stores or 0) + (entry.spill_loads or 0)
            yield f"compiled: {entry.registers} registers, {spills} bytes of spills"
        elif self.verified.problem is not None:
            yield f"not verified: {self.verified.problem}"

    def as_json(self) -> dict[str, Any]:
        """The pair as data."""
        pair, judgement = self.pair, self.judgement
        entry = self.verified.entry if self.verified is not None else None
        return {
            "path": self.path,
            "line": self.line,
            "first_line": self.first_line,
            "kernels": [side.name for side in pair.sides],
            "arch": pair.limits.name,
            "estimated": True,
            "verdict": judgement.verdict,
            "why": judgement.why,
            "score": judgement.score,
            "factors": {
                "base": judgement.base,
                "registers": judgement.register_factor,
                "shared_memory": judgement.smem_factor,
                "ilp": judgement.ilp_factor,
            },
            "occupancies": list(judgement.occupancies),
            "fused_occupancy": judgement.fused_occupancy,
            "registers": self.registers,
            "registers_estimated": not self.is_compiled,
            "kernel_registers": [part.registers for part in self.parts],
            "kernel_registers_estimated": self.are_parts_estimated,
            "static_smem": pair.fused.static_smem,
            "bytes_with": pair.fused.bytes_with,
            "bytes_without": pair.fused.bytes_without,
            "operations": pair.fused.operations,
            "intermediates": list(pair.intermediates),
            "dropped_writes": list(pair.dropped),
            "verified": self.is_compiled if self.verified is not None else None,
            "spill_stores": entry.spill_stores if entry is not None else None,
            "spill_loads": entry.spill_loads if entry is not None else None,
            "problem": self.verified.problem if self.verified is not None else None,
            **self._source(),
        }

    def _source(self) -> dict[str, Any]:
        source = self.verified.source if self.verified is not None else None
        return {
            "source": source.text if source is not None else None,
            "arguments": list(source.arguments) if source is not None else None,
        }


def judged(question: Question) -> Iterator[Judged]:
    """The pairs of all files that were asked about."""
    snapshot = question.project.snapshot
    for path in question.project.paths:
        for pair in pairs(snapshot, path, question.overrides):
            verified = _verified(question, path, pair) if question.is_verifying else None
            yield Judged(
                pair,
                _again(pair, verified, question.overrides),
                _shown(path),
                _line(question, path, pair.second.site.launch.span.start),
                _line(question, path, pair.first.site.launch.span.start),
                verified,
            )


def _again(pair: Pair, verified: Verified | None, overrides: Overrides) -> Judgement:
    """The verdict with the compiler's registers and spills in place of the estimates."""
    entry = verified.entry if verified is not None else None
    if entry is None or entry.registers is None:
        return pair.judgement
    fused = replace(
        pair.fused,
        registers=entry.registers,
        static_smem=entry.static_smem if entry.static_smem is not None else pair.fused.static_smem,
        spill_bytes=(entry.spill_stores or 0) + (entry.spill_loads or 0),
    )
    bounds = Bounds.of(pair.limits, overrides.registers, overrides.smem, overrides.threshold)
    return judge(_parts(pair, verified), fused, pair.limits, bounds)


def _parts(pair: Pair, verified: Verified | None) -> tuple[Part, ...]:
    """The kernels with the compiler's registers, where they were estimated and it was asked."""
    known = verified.apart if verified is not None and pair.are_registers_estimated else ()
    return tuple(
        replace(part, registers=registers) if registers is not None else part
        for part, registers in zip(pair.parts, known or (None, None), strict=True)
    )


def _verified(question: Question, path: str, pair: Pair) -> Verified:
    """Compiles the fused kernel behind the file that launches the pair, in a scratch folder."""
    try:
        source = fused_source(pair)
    except NotSimple as error:
        return Verified(problem=str(error))
    file = question.project.snapshot.sources.file(path)
    assert file is not None
    settings = question.project.snapshot.settings
    commands = question.commands
    if commands is not None and commands.is_dir():
        commands = commands / "compile_commands.json"
    with tempfile.TemporaryDirectory(prefix="occlsp-fuse-") as scratch:
        request = CompileRequest(
            path,
            question.project.snapshot.architectures.primary,
            str(question.project.root),
            nvcc=settings.compile.nvcc,
            commands=str(commands) if commands is not None else settings.compile.commands,
            args=settings.compile.args,
            timeout=settings.compile.timeout,
            slow=None,
            text=file.text + b"\n" + source.text.encode(),
            # Of its own: this text is not what the file is.
            cache=scratch,
        )
        result = compile_one(request, Control())
    return _found(source, pair, result)


def _found(source: FusedSource, pair: Pair, result: CompileResult) -> Verified:
    apart = tuple(_registers(result, side.name) for side in pair.sides)
    for entry in result.entries:
        if parse_name(entry.entry).base == source.name:
            return Verified(source, entry, apart=apart)
    problem = result.message or f"the compiler made no code of it ({result.status})"
    return Verified(source, None, problem)


def _registers(result: CompileResult, name: str) -> int | None:
    """Of the one kernel of a name, or of all that have it where they are the same."""
    found = {e.registers for e in result.entries if parse_name(e.entry).base == name}
    return found.pop() if len(found) == 1 else None


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _line(question: Question, path: str, offset: int) -> int:
    file = question.project.snapshot.sources.file(path)
    return file.lines.line_of(offset) + 1 if file is not None else 0


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")
