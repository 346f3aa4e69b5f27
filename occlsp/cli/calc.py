"""`occlsp calc`: the occupancy of one configuration, or of many."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from occlsp.cli.calc_answer import Question, words
from occlsp.cli.calc_lines import answer_lines
from occlsp.cli.calc_report import Report, document, report
from occlsp.cli.driver import device_properties
from occlsp.cli.usage import OneLineCommand, Unusable
from occlsp.occupancy import (
    Device,
    InvalidInput,
    gpu,
    limits,
    limits_from_device,
    parse_size,
)

DRIVER = "driver"
"""What `--device` is told for the GPU of this machine; a file of this name is `./driver`."""


@click.command(
    cls=OneLineCommand,
    epilog='Example: occlsp calc --arch sm_90 --block 256 --regs 72 --dynamic-smem "160*block" '
    '--grid 400 --gpu "H100 SXM"',
    short_help="Compute the occupancy of one configuration, or of many.",
)
@click.option("--arch", metavar="ARCH", help='Architecture, like sm_90, sm_90a or "9.0".')
@click.option("--block", metavar="T|X,Y,Z", help="Threads per block, or its dimensions.")
@click.option("--regs", type=int, metavar="N", help="Registers per thread.")
@click.option("--static-smem", metavar="SIZE", default="0", help="Static shared memory, 48KiB.")
@click.option(
    "--dynamic-smem",
    metavar="SIZE|EXPR",
    default="0",
    help="Dynamic shared memory: a size, or an expression in the block size (4*block).",
)
@click.option(
    "--opt-in/--no-opt-in",
    default=True,
    help="Whether the kernel opted into more than 48 KiB, as far as it needs (default), or not.",
)
@click.option("--max-dynamic-smem", metavar="SIZE", help="The dynamic size it opted into.")
@click.option("--carveout", type=int, metavar="PERCENT", help="Preferred shared memory carveout.")
@click.option("--barriers", type=int, metavar="N", help="Barriers, as in `used N barriers`.")
@click.option("--launch-bounds", type=int, metavar="N", help="Largest block the kernel admits.")
@click.option("--grid", metavar="N|X,Y,Z", help="Blocks of the grid, for waves (needs a GPU).")
@click.option("--gpu", metavar="NAME", help='GPU model, like "H100 SXM"; gives --arch too.')
@click.option(
    "--device",
    metavar="FILE|driver",
    help="Limits a device reports: a JSON file of its cudaDeviceProp fields (- is standard input), "
    "or `driver` to ask the CUDA driver for the first GPU of this machine.",
)
@click.option("--sweep", is_flag=True, help="All block sizes as a table.")
@click.option("--best", is_flag=True, help="The best block size instead of --block.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option(
    "--jsonl", is_flag=True, help="Read JSON objects, one a line; write one a line, in order."
)
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Compute occupancy: the same arithmetic as NVIDIA's reference header.

    Sizes are bytes, or with a unit: 40KiB, 40k. With --jsonl each line is an object like
    {"id": 1, "arch": "sm_90", "block": 256, "regs": 72, "dynamic_smem": 40960}.
    """
    if given["jsonl"]:
        _lines(ctx, given)
        return
    try:
        found = _report(given)
    except ValueError as error:
        field, colon, problem = words(error).partition(":")
        option = "--" + field.replace("_", "-").partition(".")[0]
        known = option in {name for item in ctx.command.params for name in item.opts}
        raise Unusable(f"{option if known else field}{colon}{problem}") from None
    if given["as_json"]:
        click.echo(document(found))
        return
    from occlsp.cli.calc_text import show  # rich is slow to import

    show(found)


def _report(given: dict[str, Any]) -> Report:
    """What the options ask for. Raises `ValueError`, naming the option."""
    device = _device(given["device"])
    model = gpu(given["gpu"]) if given["gpu"] is not None else None
    named = given["arch"]
    if device is not None:
        row = device.limits
        if named is not None and limits(named).name != row.name:
            raise InvalidInput("device", f"reports {row.name}, not {limits(named).name}")
    elif named is not None:
        row = limits(named)
    elif model is not None:
        row = limits(model.arch)
    else:
        raise InvalidInput("arch", "missing; give an architecture like sm_90, or --gpu")
    if given["regs"] is None:
        raise InvalidInput("regs", "missing; give the registers per thread")
    if given["block"] is None and not (given["best"] or given["sweep"]):
        raise InvalidInput("block", "missing; give the threads per block, --best or --sweep")
    question = Question(
        arch=row.name,
        regs=given["regs"],
        block=_numbers("block", given["block"]),
        static_smem=_size("static_smem", given["static_smem"]) or 0,
        dynamic_smem=given["dynamic_smem"],
        opt_in=given["opt_in"],
        max_dynamic_smem=_size("max_dynamic_smem", given["max_dynamic_smem"]),
        carveout=given["carveout"],
        barriers=given["barriers"],
        launch_bounds=given["launch_bounds"],
        grid=_numbers("grid", given["grid"]),
        gpu=given["gpu"],
    )
    return report(question, row, device, best=given["best"], with_sweep=given["sweep"])


def _lines(ctx: click.Context, given: dict[str, Any]) -> None:
    """Many at once; the other options would say twice what the lines say."""
    for name in given.keys() - {"jsonl", "best"}:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "--json" if name == "as_json" else "--" + name.replace("_", "-")
            raise Unusable(f"{option} cannot go with --jsonl, whose lines hold all values")
    answer_lines(sys.stdin.buffer, sys.stdout.buffer, best=given["best"])


def _device(file: str | None) -> Device | None:
    """The device whose properties are in `file`, or that the driver knows."""
    if file is None:
        return None
    try:
        return limits_from_device(device_properties() if file == DRIVER else _properties(file))
    except OSError as error:
        raise InvalidInput("device", f"{file}: {error.strerror or error}") from None
    except msgspec.DecodeError as error:
        raise InvalidInput("device", f"{file} is not JSON: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput("device", f"{file}: {error}") from None


def _properties(file: str) -> dict[str, Any]:
    """The object in a JSON file; a list of one device is that device."""
    text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    found = msgspec.json.decode(text)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, dict):
        raise ValueError("no JSON object with the fields of cudaDeviceProp")
    return found


def _size(field: str, text: str | None) -> int | None:
    return None if text is None else parse_size(text, field)


def _numbers(field: str, text: str | None) -> int | list[int] | None:
    """`256`, `16,16` or `16x16x1`. Raises `InvalidInput`, naming `field`."""
    if text is None:
        return None
    parts = re.split(r"\s*[,x×]\s*", text.strip().strip("()[]"))
    try:
        numbers = [int(part) for part in parts]
    except ValueError:
        raise InvalidInput(field, f"{text!r} is neither a number nor X,Y,Z") from None
    return numbers[0] if len(numbers) == 1 else numbers
