"""Opt the kernel into its shared memory before the launch.

cudaFuncSetAttribute(stage, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
stage<<<8, 256, 64 * 1024>>>(p, 1);
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from occlsp.analysis.cases import compute
from occlsp.analysis.findings import dynamic_smem_opt_in
from occlsp.analysis.fixes import places
from occlsp.analysis.fixes.titles import share
from occlsp.analysis.join import LaunchJoin, Row, of_launch
from occlsp.analysis.opt_in import MAY
from occlsp.analysis.results import Edit, Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import LaunchSite, SourceFile
from occlsp.source.text import Span

CODES = ("dynamic-smem-opt-in",)


def fixes(snapshot: Snapshot, site: LaunchSite) -> tuple[Fix, ...]:
    """The call inserted, or the last call before raised."""
    launch = of_launch(snapshot, site)
    row = next(
        (
            row
            for row in launch.on(snapshot.architectures.primary)
            if any(dynamic_smem_opt_in.fails(row, case) for case in row.cases)
        ),
        None,
    )
    file = snapshot.sources.file(site.path)
    if row is None or file is None or not file.text:
        return ()
    bytes_text = " ".join(site.launch.dynamic_smem.text.split())
    title = f"Opt `{row.site.kernel.name}` into {bytes_text} bytes of dynamic shared memory"
    limited = row.resources.opt_in.site
    if limited is not None:
        span = limited.attribute.value.span
        if span is None:
            return ()
        edits: tuple[Edit, ...] = (Edit(limited.path, span, bytes_text),)
        title = f"Raise the opting-in call to {bytes_text} bytes"
    else:
        why = _why_not(snapshot, file, launch)
        if why is not None:
            return (Fix(title, (), CODES, disabled=why),)
        edits = _insertion(file, site, bytes_text)
    return (Fix(f"{title}{_promise(row)}", edits, CODES, is_preferred=True),)


def _promise(row: Row) -> str:
    case = row.worst
    if case is None:
        return ""
    after = compute(row.limits, replace(row.resources, opt_in=MAY), case.block, case.dynamic_smem)
    if after is None:
        return ""
    mark = "≤ " if after.is_bound else ""
    return f": {mark}{share(after.result)} on {row.arch} (now {share(case.result)})"


def _why_not(snapshot: Snapshot, file: SourceFile, launch: LaunchJoin) -> str | None:
    site = launch.site.launch
    if places.is_in_macro(file, site):
        return "a macro makes the launch"
    if site.statement_span is None:
        return "the launch is no statement of its own"
    if site.api != "<<<>>>":
        return f"the launch is made by {site.api}, whose kernel is an expression"
    if len(launch.kernels) > 1:
        return "several kernels may be launched here"
    name = launch.kernels[0].kernel
    overloads = [
        other
        for other in snapshot.sources.named(name.qualified_name)
        if other.kernel.is_definition and other.kernel.parameters != name.parameters
    ]
    if overloads:
        return f"`{name.name}` is overloaded: the call cannot name it by its name alone"
    if name.is_template and not site.template_args:
        return "the template arguments are deduced: the call has to name them"
    return None


def _insertion(file: SourceFile, site: LaunchSite, bytes_text: str) -> tuple[Edit, ...]:
    launch = site.launch
    statement = launch.statement_span or launch.config_span
    kernel = places.text(file, Span(launch.callee_span.start, launch.config_span.start)).strip()
    call = f"{dynamic_smem_opt_in.opting_in_call(kernel, bytes_text)};"
    line = file.lines.line_span(file.lines.line_of(statement.start))
    before = file.masked[line.start : statement.start].decode("latin-1")
    newline = "\r\n" if file.text[line.end : line.end + 2] == b"\r\n" else "\n"
    if _is_single_body(file, statement):
        end = Span(statement.end, statement.end)
        start = Span(statement.start, statement.start)
        return (Edit(site.path, start, "{ " + call + " "), Edit(site.path, end, " }"))
    indent = re.match(r"[ \t]*", before)
    gap = newline + indent[0] if indent is not None and not before.strip() else " "
    return (Edit(site.path, Span(statement.start, statement.start), call + gap),)


def _is_single_body(file: SourceFile, statement: Span) -> bool:
    """Whether the statement is the body of an `if`, `else` or loop without braces."""
    head = file.masked[max(0, statement.start - 4000) : statement.start].rstrip()
    if head.endswith(b")"):
        return True
    return re.search(rb"\b(?:else|do)\Z", head) is not None
