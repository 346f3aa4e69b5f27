"""All that `occlsp calc` tells about one configuration, and that as a JSON document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from occlsp.cli.calc_answer import Answer, Question, answer, dynamic_smem, options
from occlsp.occupancy import (
    Candidate,
    Device,
    Lever,
    Limits,
    block_threads,
    gpu,
    levers,
    max_cooperative_blocks,
    sweep,
)


@dataclass(frozen=True, slots=True)
class Report:
    """One configuration and what is known of it."""

    question: Question
    row: Limits
    machine: str | None
    """Name of the GPU or device."""
    sms: int | None
    threads: int | None
    """Threads of the block that `answer` is about, 0 where the best is none; None where only a
    sweep was asked for."""
    dynamic_smem: int
    """Bytes at that block size."""
    answer: Answer | None
    levers: tuple[Lever, ...]
    """What would gain at that block size."""
    sweep: tuple[Candidate, ...]


def report(
    question: Question, row: Limits, device: Device | None, *, best: bool, with_sweep: bool
) -> Report:
    """Asks the core. Raises `ValueError` with a message that names the field."""
    size = dynamic_smem(question)
    inputs = (question.regs, question.static_smem or 0)
    model = gpu(question.gpu) if question.gpu is not None else None
    machine, sms = (
        (model.name, model.sms) if model else (device.name, device.sms) if device else (None, None)
    )
    found: Answer | None = None
    threads: int | None = None
    gains: tuple[Lever, ...] = ()
    if best or question.block is not None:
        found = answer(question, row, sms, best=best)
        threads = block_threads(question.block or 1) if found.block is UNSET else found.block
    at_block = size(threads) if threads and callable(size) else size
    dynamic = at_block if isinstance(at_block, int) else 0
    if threads:
        gains = levers(row, threads, *inputs, dynamic, **options(question))
    table = sweep(row, *inputs, size, **options(question)) if with_sweep else ()
    return Report(question, row, machine, sms, threads, dynamic, found, gains, tuple(table))


def document(found: Report) -> bytes:
    """The report as one JSON document: the answer of `--jsonl`, and what is built on it."""
    content: dict[str, Any] = {"arch": found.row.name, "gpu": found.machine}
    if found.row.provisional is not None:
        content["note"] = found.row.provisional
    if found.threads is not None:
        content["block"] = found.threads
        content["dynamic_smem"] = found.dynamic_smem
    if found.answer is not None:
        fields = msgspec.structs.asdict(found.answer)
        content |= {
            key: value for key, value in fields.items() if value is not UNSET and key != "id"
        }
        content["levers"] = [
            {
                "resource": lever.resource,
                "now": lever.now,
                "value": lever.value,
                "change": lever.change,
                "blocks_per_sm": lever.result.blocks_per_sm,
                "occupancy": lever.result.occupancy,
                "held_by": lever.held_by,
            }
            for lever in found.levers
        ]
        if found.sms is not None:
            content["max_cooperative_blocks"] = max_cooperative_blocks(
                found.answer.blocks_per_sm, found.sms
            )
    if found.sweep:
        content["sweep"] = [
            {
                "block": one.block,
                "dynamic_smem": one.dynamic_smem,
                **msgspec.structs.asdict(one.result),
            }
            for one in found.sweep
        ]
    return msgspec.json.format(msgspec.json.encode(content), indent=2)
