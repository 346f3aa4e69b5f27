"""Compiled files read directly: cubins and whatever holds them, whole and broken."""

from __future__ import annotations

import random
import struct
import time
from pathlib import Path

import pytest

from occlsp.reports.containers import find_cubins
from occlsp.reports.cubin import read_cubin
from occlsp.reports.elf import read_elf
from occlsp.reports.facts import Entry, Report
from occlsp.reports.merge import merge_reports
from occlsp.reports.read import read_report

BINARIES = Path(__file__).parent / "binaries"
FILES = sorted(BINARIES.iterdir())
RING, CALLER = "_Z4ringILi256EfEvPT0_PKS0_", "_Z6callerPfi"
WHOLE = {
    ("tight", "sm_80"): (32, 0, 0, 0, 0),
    (CALLER, "sm_80"): (22, 0, 64, 64, 0),
    (RING, "sm_80"): (12, 1024, 0, 0, 1),
    ("tight", "sm_90"): (32, 0, 0, 0, 0),
    (CALLER, "sm_90"): (20, 0, 64, 64, 0),
    (RING, "sm_90"): (14, 1024, 0, 0, 1),
}
"""Registers, shared memory, stack, cumulative stack, barriers."""


def rows(report: Report) -> dict[tuple[str, str | None], tuple[int | None, ...]]:
    return {
        (e.entry, e.arch): (e.registers, e.static_smem, e.stack, e.cumulative_stack, e.barriers)
        for e in report.entries
    }


def the(report: Report, name: str, arch: str) -> Entry:
    (found,) = [e for e in report.entries if (e.entry, e.arch) == (name, arch)]
    return found


@pytest.mark.parametrize("name", ["zstd.fatbin", "lz4.fatbin", "concat.fatbin"])
def test_fatbins_packed_in_every_way(name: str) -> None:
    report = read_report(BINARIES / name)
    assert rows(report) == WHOLE
    assert report.warnings == ()


def test_the_abi_of_older_toolkits() -> None:
    older = read_report(BINARIES / "abi7_118.cubin")
    assert rows(older)[RING, "sm_70"] == (12, 1024, 0, 0, 1)
    assert the(older, "tight", "sm_70").stack == 344
    assert the(older, "tight", "sm_70").spill_stores is None, "11.8 does not tell spills"
    assert the(older, RING, "sm_70").spill_stores == 0, "no stack: none"
    newer = read_report(BINARIES / "abi7_129.cubin")
    assert the(newer, "tight", "sm_80").spill_stores == 0
    assert the(newer, "tight", "sm_80").toolkit == "12.9"


def test_a_line_table_puts_kernels_on_the_line_of_their_names() -> None:
    report = read_report(BINARIES / "lines_sm90a.cubin")
    assert {e.entry: (e.file, e.line) for e in report.entries} == {
        RING: ("/tmp/occlsp-forms/source.cu", 2),
        CALLER: ("/tmp/occlsp-forms/source.cu", 15),
        "tight": ("/tmp/occlsp-forms/source.cu", 17),
    }
    assert {e.arch for e in report.entries} == {"sm_90a"}


def test_launch_bounds_and_parameters() -> None:
    tight = the(read_report(BINARIES / "lines_sm90a.cubin"), "tight", "sm_90a")
    assert (tight.max_threads, tight.max_registers, tight.parameter_bytes) == (512, 32, 20)
    assert tight.toolkit is not None
    assert tight.toolkit.startswith("13.5")


def test_without_line_tables_the_numbers_are_the_same() -> None:
    path = BINARIES / "lines_sm90a.cubin"
    assert rows(read_report(path, lines=False)) == rows(read_report(path))
    assert all(e.file is None for e in read_report(path, lines=False).entries)


def test_a_debug_build_is_marked() -> None:
    assert all(e.debug for e in read_report(BINARIES / "debug.cubin").entries)
    assert not any(e.debug for e in read_report(BINARIES / "lines_sm90a.cubin").entries)


def test_separate_compilation_is_marked_as_before_linking() -> None:
    report = read_report(BINARIES / "separate.o")
    assert not any(e.linked for e in report.entries)
    assert report.not_kernels == ("_Z6helperfi",), "a device function is no kernel"
    assert the(report, RING, "sm_90").static_smem == 1024, "a template's, before linking"
    assert the(report, CALLER, "sm_90").cumulative_stack is None
    assert the(report, CALLER, "sm_90").unit == "source.cu"


def test_a_linked_library_has_the_numbers_of_the_link() -> None:
    report = read_report(BINARIES / "linked.so")
    assert rows(report) == {
        ("tight", "sm_80"): (32, 0, 0, 0, 0),
        (CALLER, "sm_80"): (37, 0, 0, 72, 0),
        (RING, "sm_80"): (12, 1024, 0, 0, 1),
        ("tight", "sm_90"): (32, 0, 0, 0, 0),
        (CALLER, "sm_90"): (24, 0, 0, 72, 0),
        (RING, "sm_90"): (12, 1024, 0, 0, 1),
    }
    assert all(e.linked and e.spill_stores == 0 for e in report.entries)
    assert all(e.file == "/tmp/occlsp-forms/source.cu" for e in report.entries)


def test_an_archive_names_its_members() -> None:
    report = read_report(BINARIES / "library.a")
    assert {e.source for e in report.entries} == {
        f"{BINARIES / 'library.a'}(two.o)",
        f"{BINARIES / 'library.a'}(separate.o)",
    }


def test_an_executable_replaces_its_objects_when_reports_are_merged() -> None:
    reports = [read_report(BINARIES / name) for name in ("separate.o", "linked.so")]
    merged = merge_reports(reports)
    assert len(merged) == 6
    assert all(e.linked and e.source.endswith("linked.so") for e in merged)


def test_files_are_told_by_content_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.log"
    path.write_bytes((BINARIES / "zstd.fatbin").read_bytes())
    assert rows(read_report(path)) == WHOLE


def test_a_windows_object_is_searched_for_device_code(tmp_path: Path) -> None:
    path = tmp_path / "kernels.obj"
    head = b"\x64\x86\x02\x00" + b"\0" * 60
    path.write_bytes(head + (BINARIES / "lz4.fatbin").read_bytes() + b"\0" * 16)
    assert rows(read_report(path)) == WHOLE


def archive(*members: tuple[bytes, bytes]) -> bytes:
    return b"!<arch>\n" + b"".join(
        name.ljust(16)
        + b"0".ljust(32)
        + str(len(data)).encode().ljust(10)
        + b"`\n"
        + data
        + b"\n" * (len(data) % 2)
        for name, data in members
    )


def test_archives_of_other_systems_and_long_names(tmp_path: Path) -> None:
    fatbin = (BINARIES / "zstd.fatbin").read_bytes()
    path = tmp_path / "k.a"
    long_name = b"a_name_of_more_than_sixteen_bytes.o"
    path.write_bytes(
        archive(
            (b"/", b"index"),
            (b"//", long_name + b"/\n"),
            (b"/0", fatbin),
            (b"#1/8", b"bsd.o\0\0\0" + fatbin),
        )
    )
    report = read_report(path)
    assert {e.source.rpartition("(")[2] for e in report.entries} == {
        long_name.decode() + ")",
        "bsd.o)",
    }


def test_a_broken_file_is_told_with_its_name_and_the_place(tmp_path: Path) -> None:
    path = tmp_path / "cut.cubin"
    path.write_bytes((BINARIES / "lines_sm90a.cubin").read_bytes()[:700])
    (warning,) = read_report(path).warnings
    assert str(path) in warning.message
    assert "offset 0x" in warning.message


def test_one_broken_member_costs_that_member(tmp_path: Path) -> None:
    path = tmp_path / "k.a"
    good = (BINARIES / "abi7_129.cubin").read_bytes()
    path.write_bytes(archive((b"cut.o/", good[:900]), (b"good.o/", good)))
    report = read_report(path)
    assert {e.source for e in report.entries} == {f"{path}(good.o)"}
    assert [w.source for w in report.warnings] == [f"{path}(cut.o)"]


def test_code_that_is_no_machine_code_is_told(tmp_path: Path) -> None:
    data = bytearray((BINARIES / "zstd.fatbin").read_bytes())
    first = struct.unpack_from("<Q", data, 16 + 8)[0] + 64
    for at in (16, 16 + first):
        struct.pack_into("<H", data, at, 1)  # PTX
    path = tmp_path / "ptx.o"
    path.write_bytes(data)
    assert [w.message for w in read_report(path).warnings] == [
        f"{path}: only PTX or LTO code, no machine code to read"
    ]


def test_a_fatbin_that_claims_to_unpack_to_terabytes_is_refused(tmp_path: Path) -> None:
    data = bytearray((BINARIES / "zstd.fatbin").read_bytes())
    struct.pack_into("<Q", data, 16 + 0x38, 1 << 42)
    path = tmp_path / "bomb.fatbin"
    path.write_bytes(data)
    report = read_report(path)
    assert len(report.entries) == 3, "the other cubin is read"
    assert "claims" in report.warnings[0].message


def test_a_zstd_bomb_is_not_unpacked(tmp_path: Path) -> None:
    import zstandard

    bomb = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    data = bytearray((BINARIES / "zstd.fatbin").read_bytes())
    struct.pack_into("<I", data, 16 + 0x10, len(bomb))
    struct.pack_into("<Q", data, 16 + 8, len(bomb))
    payload = bytes(data[16 : 16 + 64]) + bomb
    path = tmp_path / "bomb.fatbin"
    path.write_bytes(struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, len(payload)) + payload)
    report = read_report(path)
    assert report.entries == ()


def with_last_rows(program: bytes) -> bytes:
    """A cubin whose last function in the line table has these instructions."""
    data = (BINARIES / "lines_sm90a.cubin").read_bytes()
    elf = read_elf(data)
    offset, _ = max(elf.relocations(".debug_line"))
    table = bytearray(elf.content(elf.sections[".debug_line"])[: offset + 8] + program)
    struct.pack_into("<I", table, 0, len(table) - 4)
    row = int.from_bytes(data[40:48], "little") + 64 * list(elf.by_index).index(
        elf.sections[".debug_line"]
    )
    whole = bytearray(data) + table
    struct.pack_into("<QQ", whole, row + 24, len(data), len(table))
    return bytes(whole)


def test_instructions_of_the_line_table_may_be_unknown_ones() -> None:
    inlined = b"\0\x05\x90abcd"
    report = read_cubin(with_last_rows(inlined + b"\x03\x29" + b"\x01"), "x.cubin")
    assert report.warnings == ()
    assert sorted(e.line or 0 for e in report.entries) == [15, 17, 42]


@pytest.mark.parametrize("endless", [b"\x02", b"\0", b"\x03"], ids=["advance", "extended", "line"])
def test_a_number_without_end_in_the_line_table_costs_one_kernel_its_line(endless: bytes) -> None:
    start = time.process_time()
    report = read_cubin(with_last_rows(endless + b"\xff" * (1 << 19)), "x.cubin")
    assert time.process_time() - start < 2, "read as one number it takes 16 s"
    assert rows(report) == rows(read_report(BINARIES / "lines_sm90a.cubin"))
    assert [e.line is None for e in report.entries].count(True) == 1
    (warning,) = report.warnings
    assert "x.cubin: line table: offset 0x" in warning.message
    assert "has no end" in warning.message


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_cut_off_anywhere_nothing_raises(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    part = tmp_path / path.name
    right = {(e.entry, e.arch): e.registers for e in read_report(path).entries}
    for end in range(1, len(whole), max(1, len(whole) // 60)):
        part.write_bytes(whole[:end])
        for entry in read_report(part).entries:
            assert right.get((entry.entry, entry.arch), entry.registers) == entry.registers or (
                not entry.linked  # the link's own code was cut off
            )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_flipped_bytes_never_raise(path: Path, tmp_path: Path) -> None:
    chance = random.Random(path.name)
    whole = path.read_bytes()
    images = list(find_cubins(whole, path.name, []))
    for _ in range(60):
        data = bytearray(chance.choice(images).data)
        tables = read_elf(bytes(data)).sections.values()
        for _ in range(chance.choice((1, 3, 30))):
            section = chance.choice([s for s in tables if s.size and s.offset < len(data)])
            near = chance.choice((section.offset, 0, len(data) - 700))
            at = min(len(data) - 1, max(0, near + chance.randrange(256)))
            data[at] = chance.randrange(256)
        read_cubin(bytes(data), path.name)
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 4, 64))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (tmp_path / "x").write_bytes(data)
        read_report(tmp_path / "x")
