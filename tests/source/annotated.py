"""Sources with what must be found in them written under the line that it stands in.

    check('''
    __global__ void axpy(float* y) {}
    //              ^^^^ kernel axpy
    ''')

`check` parses the text without its markers, draws the markers of what was found, and compares:
what is not marked must not be found. A marked line must be at least two columns deep.
"""

from __future__ import annotations

import re
from operator import itemgetter
from textwrap import dedent

from occlsp.source.parse import parse
from occlsp.source.syntax import Condition, Expr, FileSyntax, RawKernel, RawLaunch
from occlsp.source.text import LineIndex, Span

MARKER = re.compile(r"//\s*\^")


def check(annotated: str, **options: frozenset[str]) -> FileSyntax:
    """Asserts that the kernels and launches of a source are those that its markers say."""
    lines = dedent(annotated).strip("\n").split("\n")
    text = "\n".join(line for line in lines if not MARKER.match(line))
    syntax = parse(text.encode(), **options)
    drawn = draw(text, syntax)
    assert drawn == lines, "\n" + "\n".join(drawn)
    return syntax


def draw(text: str, syntax: FileSyntax) -> list[str]:
    index = LineIndex(text.encode())
    marks: dict[int, list[tuple[int, str]]] = {}
    for kernel in syntax.kernels:
        mark(marks, index, kernel.name_span, kernel_label(kernel))
    for launch in syntax.launches:
        mark(marks, index, launch.span, launch_label(launch))
    result = []
    for number, line in enumerate(text.split("\n")):
        result.append(line)
        result.extend(drawn for _, drawn in sorted(marks.get(number, ()), key=itemgetter(0)))
    return result


def mark(marks: dict[int, list[tuple[int, str]]], index: LineIndex, span: Span, label: str) -> None:
    line, column = index.position(span.start, "utf-32")
    width = len(index.text[span.start : span.end].decode())
    marks.setdefault(line, []).append((column, f"//{' ' * (column - 2)}{'^' * width} {label}"))


def kernel_label(kernel: RawKernel) -> str:
    parts = ["kernel", "::".join((*(part or "{}" for part in kernel.scope), kernel.name))]
    if kernel.template_arguments is not None:
        parts[-1] += f"<{texts(kernel.template_arguments)}>"
    for name in ("launch_bounds", "cluster_dims", "block_size"):
        values = getattr(kernel, name)
        if values is not None:
            parts.append(f"{name}({texts(values)})")
    if kernel.maxnreg is not None:
        parts.append(f"maxnreg({kernel.maxnreg.text})")
    parts.extend(f"+{call.text}" for call in kernel.macro_calls)
    parts.extend(["declared"] if kernel.body is None and not kernel.from_macro else [])
    parts.extend([f"from {kernel.from_macro}"] if kernel.from_macro else [])
    return " ".join((*parts, *places(kernel.in_macro, kernel.conditions)))


def launch_label(launch: RawLaunch) -> str:
    name = launch.callee_name
    if launch.template_args:
        name += f"<{texts(launch.template_args)}>"
    parts = ["launch", name, f"[{' | '.join(one.text for one in launch.config)}]"]
    return " ".join((*parts, *places(launch.in_macro, launch.conditions)))


def places(macro: str | None, conditions: tuple[Condition, ...]) -> list[str]:
    inside = [f"in {macro}"] if macro else []
    return inside + [f"if {condition.text}" for condition in conditions]


def texts(expressions: tuple[Expr, ...]) -> str:
    return ", ".join(expression.text for expression in expressions)
