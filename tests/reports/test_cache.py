"""The cache: what is found again, what is discarded, and what a killed writer leaves."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from occlsp.reports.cache import Cache
from occlsp.reports.compiled import CompileResult
from occlsp.reports.digests import Digests, digest
from occlsp.reports.facts import Entry

HEADER = "h.cuh"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def result(unit: Path | str, *, registers: int = 32, arch: str = "sm_90") -> CompileResult:
    entry = Entry("_Z1kPf", arch, registers=registers, origin="compile")
    return CompileResult("ok", str(unit), arch, (entry,), time=time.time(), took=1.5)


def product(cache: Cache, name: str, content: bytes = b"code") -> Path:
    folder = cache.root / "scratch"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


def files(cache: Cache, kind: str = "") -> list[Path]:
    return sorted(path for path in (cache.root / kind).rglob("*") if path.is_file())


def test_what_was_stored_is_found_by_its_key(cache: Cache, tmp_path: Path) -> None:
    ptx, cubin = product(cache, "a.ptx", b"ptx"), product(cache, "a.cubin", b"cubin")
    key = digest(b"source", b"flags")
    stored = cache.store(key, result("/a.cu"), {}, ptx=ptx, cubin=cubin)

    found = Cache(cache.directory).lookup(key)
    assert found == replace(stored, is_cached=True)
    assert found.ptx is not None and Path(found.ptx).read_bytes() == b"ptx"
    assert found.cubin is not None and Path(found.cubin).read_bytes() == b"cubin"
    assert cache.lookup(digest(b"source", b"other flags")) is None


def test_a_changed_include_makes_it_unknown_and_changing_it_back_known(
    cache: Cache, tmp_path: Path
) -> None:
    header = tmp_path / HEADER
    contents = {"first": 32, "second": 40}
    for content, registers in contents.items():
        header.write_text(content)
        includes = {str(header): cache.digests.of(str(header)) or ""}
        cache.store("a" * 40, result("/a.cu", registers=registers), includes)
    for content, registers in contents.items():
        header.write_text(content)
        found = cache.lookup("a" * 40)
        assert found is not None
        assert found.entries[0].registers == registers
        assert cache.latest("/a.cu")[0].entries[0].registers == registers
    header.write_text("third")
    assert cache.lookup("a" * 40) is None
    header.unlink()
    assert cache.lookup("a" * 40) is None


def test_a_file_written_twice_within_the_clocks_grain_is_seen(tmp_path: Path) -> None:
    digests = Digests()
    path = tmp_path / "h.h"
    path.write_text("1")
    first = digests.of(str(path))
    status = path.stat()
    path.write_text("2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert digests.of(str(path)) != first


def test_the_latest_of_each_architecture_is_there_after_a_restart(cache: Cache) -> None:
    cache.store("1" * 40, result("/w/a.cu", registers=10), {})
    cache.store("2" * 40, result("/w/a.cu", registers=20), {})
    cache.store("3" * 40, result("/w/a.cu", registers=30, arch="sm_80"), {})
    cache.store("4" * 40, result("/w/sub/b.cu"), {})
    cache.store("5" * 40, result("/elsewhere/c.cu"), {})

    again = Cache(cache.directory)
    latest = {found.arch: found.entries[0].registers for found in again.latest("/w/a.cu")}
    assert latest == {"sm_90": 20, "sm_80": 30}
    assert list(again.known_units("/w")) == ["/w/a.cu", "/w/sub/b.cu"]
    assert again.latest("/w/none.cu") == ()
    assert again.took("/w/a.cu") == 1.5


def test_a_header_leads_to_the_units_that_include_it(cache: Cache) -> None:
    for number, unit in enumerate(["/w/a.cu", "/w/b.cu", "/x/c.cu"]):
        made = replace(result(unit), dependencies=(f"/w/{HEADER}",), time=float(number))
        cache.store(digest(unit.encode()), made, {})
    cache.store("9" * 40, replace(result("/w/d.cu"), dependencies=("/w/other.h",)), {})
    assert cache.units_including(f"/w/{HEADER}", "/w") == ("/w/b.cu", "/w/a.cu")
    assert cache.units_including(f"/w/{HEADER}") == ("/x/c.cu", "/w/b.cu", "/w/a.cu")
    assert cache.units_including("/w/none.h") == ()


def test_the_newest_counts_be_it_recorded_or_compiled(cache: Cache) -> None:
    def registers() -> list[int | None]:
        return [made.entries[0].registers for made in cache.latest("/w/a.cu")]

    cache.store("1" * 40, replace(result("/w/a.cu", registers=10), time=1.0), {})
    cache.keep(replace(result("/w/a.cu", registers=20), origin="record", time=2.0))
    cache.keep(replace(result("/w/a.cu", registers=30), origin="record", time=3.0))
    assert registers() == [30]
    cache.store("2" * 40, replace(result("/w/a.cu", registers=40), time=4.0), {})
    assert registers() == [40]


def test_a_debug_build_counts_where_there_is_no_other(cache: Cache) -> None:
    debug = replace(result("/w/a.cu", registers=99), is_debug=True, time=9.0)
    cache.store("1" * 40, debug, {})
    assert [made.is_debug for made in cache.latest("/w/a.cu")] == [True]
    cache.store("2" * 40, replace(result("/w/a.cu"), time=1.0), {})
    assert [made.is_debug for made in cache.latest("/w/a.cu")] == [False]


def test_a_compile_that_failed_first_is_not_known(cache: Cache) -> None:
    cache.note_took(replace(result("/w/a.cu"), entries=(), status="timeout", took=60.0))
    assert cache.known_units("/w") == {}
    assert cache.latest("/w/a.cu") == ()
    assert cache.took("/w/a.cu") == 60.0


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"\x7fELF" + data,
        lambda data: data.replace(b"cache-1", b"cache-9"),
    ],
    ids=["empty", "cut off", "changed", "foreign", "of another version"],
)
def test_a_broken_file_is_discarded_with_a_log_line(
    cache: Cache, caplog: pytest.LogCaptureFixture, damage: object
) -> None:
    cache.store("1" * 40, result("/w/a.cu"), {})
    for kind in ("results", "manifests", "index"):
        for path in files(cache, kind):
            path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    again = Cache(cache.directory)
    with caplog.at_level(logging.WARNING):
        assert again.lookup("1" * 40) is None
        assert again.latest("/w/a.cu") == ()
        assert again.known_units("/w") == {}
    assert "is discarded" in caplog.text
    again.store("1" * 40, result("/w/a.cu"), {})
    assert again.lookup("1" * 40) is not None


def test_it_stays_within_its_size_and_forgets_the_least_used(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    names = [digest(b"%d" % number) for number in range(30)]
    for number, name in enumerate(names):
        ptx = product(cache, "a.ptx", b"x" * 10_000)
        stored = cache.store(name, result(f"/w/{number}.cu"), {}, ptx=ptx)
        old = time.time() - 100_000 + number
        for path in Path(stored.ptx or "").parent.iterdir():
            os.utime(path, (old, old))
    used = cache.lookup(names[0])
    assert used is not None
    Cache(tmp_path, max_bytes=200_000).sweep()
    assert sum(path.stat().st_size for path in files(cache)) <= 200_000
    first = cache.lookup(names[0])
    assert first is not None and first.ptx is not None, "a hit renews"
    assert [name for name in names if cache.lookup(name)][-1] == names[-1]
    forgotten = cache.lookup(names[1])
    assert forgotten is None or forgotten.ptx is None


def test_foreign_files_and_strays_are_swept(cache: Cache, caplog: pytest.LogCaptureFixture) -> None:
    cache.store("1" * 40, result("/w/a.cu"), {})
    foreign = cache.root / "results" / "ab" / "holiday.jpg"
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_bytes(b"x")
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
    )
    stray = cache.root / "tmp" / f"{int(dead.stdout)}-abc"
    stray.write_bytes(b"half")
    scratch = cache.root / "scratch" / f"{int(dead.stdout)}-def"
    (scratch / "deep").mkdir(parents=True)
    ours = cache.root / "tmp" / f"{os.getpid()}-abc"
    ours.write_bytes(b"being written")
    cache.sweep()
    assert not foreign.exists() and not stray.exists() and not scratch.exists()
    assert ours.exists()
    assert "holiday.jpg" in caplog.text
    assert cache.lookup("1" * 40) is not None


def test_a_cache_that_cannot_be_written_is_an_empty_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file")
    stored = cache.store("1" * 40, result("/w/a.cu"), {})
    cache.store("2" * 40, result("/w/a.cu"), {})
    assert stored.entries[0].registers == 32
    assert cache.lookup("1" * 40) is None
    assert caplog.text.count("cannot be written") == 1


def test_clearing_removes_everything(cache: Cache) -> None:
    cache.store("1" * 40, result("/w/a.cu"), {})
    cache.clear()
    assert cache.lookup("1" * 40) is None
    assert files(cache) == []


WRITER = """
import sys, time
from pathlib import Path
from occlsp.reports.cache import Cache
from occlsp.reports.digests import digest
from occlsp.reports.compiled import CompileResult
from occlsp.reports.facts import Entry
name, folder, number = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
cache = Cache(folder)
print("ready", flush=True)
for turn in range(number):
    unit = f"/w/{turn % 7}.cu"
    entry = Entry("_Z1kPf", "sm_90", registers=turn % 7, name=name * 2000)
    made = CompileResult("ok", unit, "sm_90", (entry,), time=time.time())
    with cache.scratch() as scratch:
        (scratch / "a.ptx").write_bytes(b"x" * 20000)
        cache.store(digest(unit.encode()), made, {}, ptx=scratch / "a.ptx")
    found = cache.lookup(digest(unit.encode()))
    assert found is not None and found.entries[0].registers == turn % 7, found
    if turn % 20 == 0:
        cache.sweep()
"""


def writer(name: str, folder: Path, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, name, str(folder), str(number)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_editors_share_it_without_harm(tmp_path: Path) -> None:
    writers = [writer(name, tmp_path, 100) for name in "ab"]
    for process in writers:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "discarded" not in errors
    cache = Cache(tmp_path)
    assert len(cache.known_units("/w")) == 7
    for number in range(7):
        (latest,) = cache.latest(f"/w/{number}.cu")
        assert latest.entries[0].registers == number


def test_a_writer_killed_at_any_moment_loses_nothing_that_was_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(tmp_path)
    kept = [digest(b"kept %d" % number) for number in range(5)]
    for number, name in enumerate(kept):
        cache.store(name, result(f"/kept/{number}.cu", registers=number), {})
    for delay in (0.002, 0.01, 0.02, 0.035, 0.05, 0.08):
        process = writer("a", tmp_path, 100_000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        process.communicate()
        again = Cache(tmp_path)
        for number, name in enumerate(kept):
            found = again.lookup(name)
            assert found is not None and found.entries[0].registers == number
        for latest in again.known_units("/w"):
            assert again.latest(latest)
    assert "discarded" not in caplog.text
    cache.sweep()
    assert files(cache, "tmp") == files(cache, "scratch") == []
