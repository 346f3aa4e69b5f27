"""A file of measurements, of whichever format it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from occlsp.analysis.advice.measurements import details, lines, nvbench, raw, tables
from occlsp.analysis.advice.measurements.facts import Measurement, Read, grouped

MAX_BYTES = 256 << 20
FORMATS = "Nsight Compute CSV (details or raw page), NVBench JSON, or JSON lines"
MOST_CUT = 3


class NoMeasurements(ValueError):
    """A file that is none of the formats, or cannot be read; the message names it."""


def read_file(path: str | Path) -> Read:
    """The measurements in a file, one for each kernel and launch. Raises `NoMeasurements`."""
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise NoMeasurements(f"{path}: above {MAX_BYTES >> 20} MiB")
        data = file.read_bytes()
    except OSError as error:
        raise NoMeasurements(f"{path}: {error.strerror}") from None
    return read_text(decoded(data), str(path))


def read_files(paths: Iterable[str | Path]) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    """The measurements in several files, and what could not be read, one line each."""
    found: list[Measurement] = []
    problems: list[str] = []
    for path in paths:
        try:
            read = read_file(path)
        except NoMeasurements as error:
            problems.append(str(error))
            continue
        found += read.measurements
        problems += read.problems
    return tuple(found), tuple(problems)


def decoded(data: bytes) -> str:
    """Text of UTF-8, or of UTF-16 as a redirect on Windows writes it; never raises."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def read_text(text: str, source: str) -> Read:
    """As `read_file`, for a file's text."""
    if tables.is_ncu(text):
        return _ncu(text, source)
    if lines.is_lines(text):
        found, problems = lines.read(text, source)
        return Read(source, "JSON lines", tuple(grouped(found)), tuple(problems))
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            document = json.loads(text.lstrip("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise NoMeasurements(f"{source}: not JSON: {error}") from None
        if nvbench.is_nvbench(document):
            found, problems = nvbench.read(document, source)
            return Read(source, "NVBench JSON", tuple(grouped(found)), tuple(problems))
    raise NoMeasurements(f"{source}: no measurements; expected {FORMATS}")


def _ncu(text: str, source: str) -> Read:
    found: list[Measurement] = []
    problems = [f"{source}: the profiler says: {error}" for error in tables.errors(text)]
    formats: dict[str, None] = {}
    for table in tables.tables(text):
        formats["details page" if table.is_details else "raw page"] = None
        found += (details if table.is_details else raw).read(table, source)
        problems += _cut(table.cut, source)
    return Read(
        source,
        f"Nsight Compute CSV, {' and '.join(formats)}",
        tuple(grouped(found)),
        tuple(problems),
    )


def _cut(numbers: Iterable[int], source: str) -> list[str]:
    known = list(numbers)
    told = [f"{source}:{number}: the row is cut off" for number in known[:MOST_CUT]]
    more = len(known) - MOST_CUT
    return [*told, *([f"{source}: {more} more rows are cut off"] if more > 0 else [])]
