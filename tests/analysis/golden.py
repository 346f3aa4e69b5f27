"""Golden tests: what the user sees is drawn in the source.

    k<<<4, 2048>>>(p);
    // ^^^^^^^^^^^ error block-too-large: 2048 threads per block, above the 1024

The carets stand under the finding; the message has to start like that. Two findings of one line
take two lines of comment. A hint is drawn as `//: 37.5% · regs (72)` on the line that it is for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from occlsp.analysis.architecture import Architectures
from occlsp.analysis.findings import findings
from occlsp.analysis.hints import hints
from occlsp.analysis.results import Edit, Finding, Fix
from occlsp.analysis.snapshot import Snapshot
from occlsp.analysis.sources import SourceFile
from occlsp.config import Settings, Source, load
from occlsp.reports.facts import Entry, Report
from occlsp.source.text import LineIndex, Span
from occlsp.source.workspace import Workspace

PATH = "/ws/main.cu"
_MARK = re.compile(r"^(\s*)//(\s*)(\^+)\s*(error|warning|information|hint) ([a-z-]+): (.*)$")
_HINT = re.compile(r"//: (.*)$")


def entry(mangled: str, registers: int, arch: str = "sm_90", **more: object) -> Entry:
    """The compiler's numbers for a kernel, in a report of no certain age."""
    return replace(Entry(mangled, arch, registers=registers, static_smem=0, barriers=0), **more)  # type: ignore[arg-type]


def snapshot(
    source: str | dict[str, str],
    *entries: Entry,
    arch: Sequence[str] = ("sm_90",),
    gpu: str | None = None,
    settings: dict[str, object] | None = None,
) -> Snapshot:
    """A snapshot of one file, or of several by path."""
    files = {PATH: source} if isinstance(source, str) else source
    workspace = Workspace("/ws", reader=None)
    for path, text in files.items():
        workspace.update(path, text.encode())
    return Snapshot.of(
        tuple(SourceFile(workspace.facts(path), text.encode()) for path, text in files.items()),
        (Report("test", entries),),
        _settings(settings),
        Architectures(tuple(arch), "the test"),
        gpu,
    )


def _settings(values: dict[str, object] | None) -> Settings:
    loaded = load([Source("test", values or {})])
    assert not loaded.problems
    return loaded.settings


def check(source: str, *entries: Entry, path: str = PATH, **options: object) -> Snapshot:
    """Compares the findings of a source with those drawn in it, and gives the snapshot."""
    made = snapshot(source, *entries, **options)  # type: ignore[arg-type]
    assert drawn(source, findings(made, path)) == source
    return made


def drawn(source: str, found: Sequence[Finding]) -> str:
    """The source with the findings drawn into it instead of what is drawn there. Of a message
    as much is drawn as the source had, so that a test shows what matters to it."""
    clean, wanted = _undraw(source)
    index = LineIndex(source.encode())
    below: dict[int, list[str]] = {}
    for one in found:
        line, start = index.position(one.span.start, "utf-32")
        end_line, end = index.position(one.span.end, "utf-32")
        width = end - start if end_line == line else len(clean[line]) - start
        head = "//" + " " * (start - 2) if start > 1 else " " * start + "//"
        says = _as_wanted(wanted.get(line, []), one)
        below.setdefault(line, []).append(f"{head}{'^' * width} {one.severity} {one.code}: {says}")
    lines: list[str] = []
    for number, text in clean.items():
        lines += [text, *below.get(number, [])]
    return "\n".join(lines)


def _as_wanted(wanted: list[tuple[str, str]], one: Finding) -> str:
    for code, message in wanted:
        if code == one.code and one.message.startswith(message):
            return message
    return one.message


def _undraw(source: str) -> tuple[dict[int, str], dict[int, list[tuple[str, str]]]]:
    """Lines without marks by number, and the marks by the line that they are under."""
    clean: dict[int, str] = {}
    marks: dict[int, list[tuple[str, str]]] = {}
    for number, line in enumerate(source.split("\n")):
        mark = _MARK.match(line)
        if mark is None:
            clean[number] = line
        else:
            marks.setdefault(max(clean), []).append((mark[5], mark[6]))
    return clean, marks


def check_hints(source: str, *entries: Entry, **options: object) -> Snapshot:
    """Compares the hints of a source with those drawn at the ends of its lines."""
    made = snapshot(source, *entries, **options)  # type: ignore[arg-type]
    index = LineIndex(source.encode())
    labels: dict[int, list[str]] = {}
    for hint in hints(made, PATH):
        assert len(hint.label) <= 30, hint.label
        labels.setdefault(index.line_of(hint.offset), []).append(hint.label)
    lines = [_HINT.sub("", line).rstrip() for line in source.split("\n")]
    shown = [
        f"{line}  //: {' | '.join(labels[number])}" if number in labels else line
        for number, line in enumerate(lines)
    ]
    expected = [re.sub(r"\s*//: ", "  //: ", line) for line in source.split("\n")]
    assert "\n".join(shown) == "\n".join(expected)
    return made


def cursor(source: str) -> tuple[str, int]:
    """The source without its `$0`, and the byte offset where that was."""
    before, after = source.split("$0")
    return before + after, len(before.encode())


def whole(text: str, part: str) -> Span:
    """The bytes of the first occurrence of a part of a text."""
    start = text.encode().index(part.encode())
    return Span(start, start + len(part.encode()))


def applied(source: str, edits: Sequence[Edit], path: str = PATH) -> str:
    """The text after the edits of a fix in one file."""
    text = source.encode()
    for edit in sorted((e for e in edits if e.path == path), key=lambda e: e.span, reverse=True):
        text = text[: edit.span.start] + edit.text.encode() + text[edit.span.end :]
    return text.decode()


def titled(fixes: Sequence[Fix], start: str) -> Fix:
    """The one fix whose title starts like this."""
    found = [fix for fix in fixes if fix.title.startswith(start)]
    assert len(found) == 1, [fix.title for fix in fixes]
    return found[0]
