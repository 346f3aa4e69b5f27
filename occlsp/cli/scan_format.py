"""The output of `occlsp scan`: its JSON, and the same for people."""

from __future__ import annotations

from typing import Any

from occlsp.source.facts import Attribute, FileFacts, Kernel, Launch, LaunchBounds, Value, Value3
from occlsp.source.text import LineIndex

Json = dict[str, Any]


def file_json(path: str, text: bytes, facts: FileFacts) -> Json:
    """One file's facts; lines 1-based, characters 0-based UTF-16 units."""
    lines = LineIndex(text)
    return {
        "path": path,
        "kernels": [_kernel(kernel, lines) for kernel in facts.kernels],
        "attributes": [_attribute(attribute, lines) for attribute in facts.attributes],
        "launches": [_launch(launch, lines) for launch in facts.launches],
        "errors": [{"line": error.line, "message": error.message} for error in facts.errors],
    }


def _place(lines: LineIndex, offset: int) -> Json:
    line, character = lines.position(offset, "utf-16")
    return {"line": line + 1, "character": character}


def _value(value: Value | None) -> Json | None:
    if value is None:
        return None
    return {
        "text": value.text,
        "value": value.value,
        "values": None if value.values is None else list(value.values),
        "min": value.min,
        "max": value.max,
        "why": value.why,
    }


def _value3(value: Value3 | None) -> Json | None:
    if value is None:
        return None
    return {
        "text": value.text,
        "value": None if value.value is None else list(value.value),
        "values": None if value.values is None else [list(triple) for triple in value.values],
        "min": None if value.min is None else list(value.min),
        "max": None if value.max is None else list(value.max),
        "why": value.why,
    }


def _bounds(bounds: LaunchBounds | None) -> Json | None:
    if bounds is None:
        return None
    return {
        "max_threads": _value(bounds.max_threads),
        "min_blocks": _value(bounds.min_blocks),
        "max_blocks_per_cluster": _value(bounds.max_blocks_per_cluster),
    }


def _cluster(value: Value3 | None) -> list[Json | None] | None:
    if value is None:
        return None
    parts = [_value(part) for part in value.components[:3]]
    one = {"text": "", "value": 1, "values": [1], "min": 1, "max": 1, "why": None}
    return [*parts, *[dict(one) for _ in range(3 - len(parts))]]


def _kernel(kernel: Kernel, lines: LineIndex) -> Json:
    return {
        "name": kernel.name,
        "qualified_name": kernel.qualified_name,
        **_place(lines, kernel.name_span.start),
        "is_template": kernel.is_template,
        "is_definition": kernel.is_definition,
        "launch_bounds": _bounds(kernel.launch_bounds),
        "per_instance": [
            {
                "template_args": list(instance.template_args),
                "max_threads": _value(instance.max_threads),
                "min_blocks": _value(instance.min_blocks),
            }
            for instance in kernel.per_instance
        ],
        "maxnreg": _value(kernel.maxnreg),
        "block_size": _value3(kernel.block_size),
        "cluster_dims": _cluster(kernel.cluster_dims),
        "static_smem": kernel.static_smem,
        "uses_dynamic_smem": kernel.uses_dynamic_smem,
        "in_macro": kernel.in_macro,
        "inactive": kernel.inactive,
    }


def _attribute(attribute: Attribute, lines: LineIndex) -> Json:
    return {
        "kernel": attribute.kernel,
        "template_args": list(attribute.template_args),
        **_place(lines, attribute.span.start),
        "attribute": attribute.attribute,
        "value": _value(attribute.value),
        "in_macro": attribute.in_macro,
    }


def _launch(launch: Launch, lines: LineIndex) -> Json:
    return {
        "kernel": launch.kernel,
        "template_args": list(launch.template_args),
        **_place(lines, launch.span.start),
        "api": launch.api,
        "grid": _value3(launch.grid),
        "block": _value3(launch.block),
        "dynamic_smem": _value(launch.dynamic_smem),
        "in_macro": launch.in_macro,
        "kernel_known": launch.kernel_known,
        "candidates": list(launch.candidates),
        "inactive": launch.inactive,
        "guarded": launch.guarded,
    }


def print_document(document: Json) -> None:
    """The document for people: a table of kernels and one of launches for each file."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for file in document["files"]:
        if not file["kernels"] and not file["launches"]:
            continue
        console.print(Text(file["path"], style="bold"))
        if file["kernels"]:
            table = Table("line", "kernel", "launch bounds", "shared memory", box=None)
            for kernel in file["kernels"]:
                table.add_row(
                    str(kernel["line"]),
                    Text(kernel["qualified_name"]),
                    Text(_bounds_text(kernel)),
                    _memory_text(kernel),
                )
            console.print(table)
        if file["launches"]:
            table = Table("line", "launch", "grid", "block", "dynamic", box=None)
            for launch in file["launches"]:
                arguments = ", ".join(launch["template_args"])
                name = launch["kernel"] + (f"<{arguments}>" if arguments else "")
                table.add_row(
                    str(launch["line"]),
                    Text(name),
                    *(Text(expression_text(launch[key])) for key in ("grid", "block")),
                    Text(expression_text(launch["dynamic_smem"])),
                )
            console.print(table)
        console.print()
    for error in document["errors"]:
        line = f":{error['line']}" if "line" in error else ""
        console.print(Text(f"{error['path']}{line}: {error['message']}"))


def _bounds_text(kernel: Json) -> str:
    bounds = kernel["launch_bounds"]
    if bounds is None:
        return "–"
    if kernel["per_instance"]:
        shown = [
            f"<{', '.join(item['template_args'])}> {expression_text(item['max_threads'])}"
            for item in kernel["per_instance"][:3]
        ]
        return "; ".join(shown)
    parts = [bounds["max_threads"], bounds["min_blocks"], bounds["max_blocks_per_cluster"]]
    return ", ".join(expression_text(part) for part in parts if part is not None)


def _memory_text(kernel: Json) -> str:
    static = kernel["static_smem"]
    text = "static not known" if static is None else f"{static} B"
    return f"{text} + dynamic" if kernel["uses_dynamic_smem"] else text


def expression_text(value: Json) -> str:
    """What is known of an expression, short: the value, the values, a bound, or its text."""
    values = value["values"]
    if values is not None:
        shown = [_number(item) for item in values[:4]]
        return " or ".join(shown) + (" or …" if len(values) > 4 else "")
    bound = value["max"]
    bound = bound[0] if isinstance(bound, list) else bound
    text = " ".join(value["text"].split())
    text = text if len(text) <= 40 else text[:39] + "…"
    return f"{text} (≤ {bound})" if bound is not None else text


def _number(item: int | list[int]) -> str:
    if isinstance(item, int):
        return str(item)
    parts = list(item)
    while len(parts) > 1 and parts[-1] == 1:
        parts.pop()
    return "×".join(str(part) for part in parts)
