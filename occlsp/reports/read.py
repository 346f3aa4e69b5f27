"""Any file that may hold resource numbers, by its content and not by its name."""

from __future__ import annotations

from collections.abc import Iterable
from mmap import ACCESS_READ, mmap
from pathlib import Path
from stat import S_ISREG

from occlsp.reports.containers import find_cubins, is_container
from occlsp.reports.cubin import read_cubin
from occlsp.reports.elf import Bytes
from occlsp.reports.facts import Entry, Report, ReportWarning
from occlsp.reports.merge import merge_entries
from occlsp.reports.recorded import MARK, decode
from occlsp.reports.text import read_text

_HEAD = 4096
_WINDOWS_CODE = (b"MZ", b"\x64\x86", b"\x00\x00\xff\xff")
"""How executables and objects of Windows begin."""


def read_report(path: str | Path, *, lines: bool = True) -> Report:
    """What a file says of the resources of kernels.

    Cubins, fatbins, host objects, executables, shared libraries and archives; and text: `ptxas
    -v` in build logs of any kind, `nvlink -v`, `cuobjdump --dump-resource-usage`. `lines=False`
    leaves line tables unread. Broken, foreign and missing files never raise: the report has a
    warning that names the file and the offset in it.
    """
    source = str(path)
    try:
        status = Path(path).stat()
        if not S_ISREG(status.st_mode):
            return _unreadable(source, "not a regular file")
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
            file.seek(0)
            if head.startswith(MARK):
                return decode(file.read(), source)
            if not _is_binary(head):
                return read_text(file, head, source, time=status.st_mtime)
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                return read_binary(data, source, lines=lines, time=status.st_mtime)
    except (OSError, ValueError) as error:
        return _unreadable(source, getattr(error, "strerror", None) or str(error))


def read_reports(paths: Iterable[str | Path], *, lines: bool = True) -> list[Report]:
    """`read_report` of each; a broken file costs that one."""
    return [read_report(path, lines=lines) for path in paths]


def read_binary(
    data: Bytes, source: str, *, lines: bool = True, time: float | None = None
) -> Report:
    """All cubins in `data`, the content of a compiled file of any form."""
    problems: list[str] = []
    entries: list[Entry] = []
    warnings: list[ReportWarning] = []
    others: dict[str, None] = {}
    for image in find_cubins(data, source, problems):
        report = read_cubin(image.data, image.source, unit=image.unit, lines=lines, time=time)
        entries += report.entries
        warnings += report.warnings
        others.update(dict.fromkeys(report.not_kernels))
    warnings += [ReportWarning("truncated", problem, source=source) for problem in problems]
    return Report(source, tuple(merge_entries(entries)), tuple(warnings), tuple(others))


def _is_binary(head: bytes) -> bool:
    """Whether it is to be searched for machine code; UTF-16 text has zeros too."""
    return is_container(head) or (head.startswith(_WINDOWS_CODE) and b"\0" in head)


def _unreadable(source: str, why: str) -> Report:
    message = f"{source}: {why}; it is not read"
    return Report(source, warnings=(ReportWarning("other", message, source=source),))
