"""Text reports: every form that the tools write, in whatever it comes wrapped."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from occlsp.reports.facts import Entry, Report
from occlsp.reports.read import read_report

CASES = Path(__file__).parent / "cases"
FORMS = Path(__file__).parent / "forms"
RING, CALLER = "_Z4ringILi256EfEvPT0_PKS0_", "_Z6callerPfi"
NUMBERS = {
    "registers": "registers",
    "stack": "stack_frame",
    "spill_stores": "spill_stores",
    "spill_loads": "spill_loads",
    "static_smem": "static_smem",
    "barriers": "barriers",
    "cumulative_stack": "cumulative_stack",
    "cmem": "cmem",
}
KINDS = {
    "minnctapersm_ignored": "min-blocks-ignored",
    "wgmma_serialized": "other",
    "lmem_used": "local-memory",
    "spill": "spills",
}


def by_key(report: Report) -> dict[tuple[str, str | None], Entry]:
    entries = {(entry.entry, entry.arch): entry for entry in report.entries}
    assert len(entries) == len(report.entries), "one entry for each kernel and architecture"
    return entries


def numbers(entry: Entry) -> tuple[int | None, ...]:
    return (
        entry.registers,
        entry.static_smem,
        entry.spill_stores,
        entry.spill_loads,
        entry.stack,
        entry.cumulative_stack,
        entry.barriers,
    )


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str | bytes], Report]:
    def read_content(content: str | bytes) -> Report:
        path = tmp_path / "build.log"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_report(path)

    return read_content


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_case_from_the_field(path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text("utf-8"))
    report = read_report(path.with_name(case["file"]))
    entries = by_key(report)
    expected = {(kernel["kernel"], kernel["arch"]): kernel for kernel in case["expected_kernels"]}
    assert entries.keys() == expected.keys()
    for key, kernel in expected.items():
        found = {name: getattr(entries[key], name) for name in NUMBERS}
        assert found == {name: kernel[told] for name, told in NUMBERS.items()}, key
    assert sorted(report.not_kernels) == sorted(case["non_entry_functions"])
    warnings = {(warning.kind, warning.entry) for warning in report.warnings}
    told = {(KINDS[warning["kind"]], warning["kernel"]) for warning in case["expected_warnings"]}
    assert told <= warnings


def test_a_linked_kernel_has_the_numbers_of_the_link_and_the_spills_of_the_compile() -> None:
    entries = by_key(read_report(CASES / "rdc_then_nvlink.txt"))
    assert entries["_Z6callerPfi", "sm_86"].registers == 46
    assert entries["_Z6callerPfi", "sm_86"].linked
    tight = entries["_Z5tightPfPKfi", "sm_86"]
    assert (tight.registers, tight.spill_stores, tight.spill_loads) == (40, 936, 952)


def test_a_debug_build_is_marked() -> None:
    assert all(entry.debug for entry in read_report(CASES / "debug_G.txt").entries)


def test_an_unlinked_compile_is_marked_and_does_not_say_its_shared_memory() -> None:
    entries = by_key(read_report(FORMS / "rdc_sm90.txt"))
    assert not any(entry.linked for entry in entries.values())
    assert entries[RING, "sm_90"].static_smem is None
    assert entries[RING, "sm_90"].barriers == 1


Row = tuple[int, int | None, int | None, int | None, int | None]
"""Registers, shared memory, spill stores, stack, barriers."""
TWO_ARCHS: dict[tuple[str, str | None], Row] = {
    ("tight", "sm_80"): (32, 0, 0, 0, 0),
    (CALLER, "sm_80"): (22, 0, 0, 64, 0),
    (RING, "sm_80"): (12, 1024, 0, 0, 1),
    ("tight", "sm_100"): (32, 0, 0, 0, 0),
    (CALLER, "sm_100"): (22, 0, 0, 64, 0),
    (RING, "sm_100"): (14, 1024, 0, 0, 1),
}
LINKED: dict[tuple[str, str | None], Row] = {
    ("tight", "sm_80"): (32, 0, None, 0, 0),
    (CALLER, "sm_80"): (37, 0, None, 72, 0),
    (RING, "sm_80"): (12, 1024, None, 0, 1),
    ("tight", "sm_90"): (32, 0, None, 0, 0),
    (CALLER, "sm_90"): (24, 0, None, 72, 0),
    (RING, "sm_90"): (12, 1024, None, 0, 1),
}
PROJECT: dict[tuple[str, str | None], Row] = {
    (name, arch): (row[0], row[1], 0, 0, row[4])
    for (kernel, arch), row in LINKED.items()
    for name in (
        {"tight": ("tight", "narrow"), CALLER: (CALLER, "_Z6summerPfi")}.get(kernel)
        or (RING, "_Z4loopILi256EfEvPT0_PKS0_")
    )
}
FORM_ROWS: dict[str, dict[tuple[str, str | None], Row]] = {
    "nvcc130_two_archs": TWO_ARCHS,
    "nvcc135_sm90a": {
        ("tight", "sm_90a"): (32, 0, 0, 0, 0),
        (CALLER, "sm_90a"): (20, 0, 0, 64, 0),
        (RING, "sm_90a"): (14, 1024, 0, 0, 1),
    },
    "cppfilt": {
        ("tight", "sm_90a"): (32, 0, 0, 0, 0),
        ("caller(float*, int)", "sm_90a"): (20, 0, 0, 64, 0),
        ("void ring<256, float>(float*, float const*)", "sm_90a"): (14, 1024, 0, 0, 1),
    },
    "nvrtc_sm90": {
        ("tight", "sm_90"): (32, 0, 0, 0, 0),
        (CALLER, "sm_90"): (20, 0, 0, 64, 0),
        (RING, "sm_90"): (14, 1024, 0, 0, 1),
    },
    "ptxas129_renamed": {
        ("tight", "sm_80"): (32, 0, 0, 0, 0),
        (CALLER, "sm_80"): (22, 0, 0, 64, 0),
        (RING, "sm_80"): (12, 1024, 0, 0, 1),
    },
    "ptxas118_sm70": {
        ("tight", "sm_70"): (32, 0, 828, 344, None),
        (CALLER, "sm_70"): (24, 0, 0, 64, None),
        (RING, "sm_70"): (12, 1024, 0, 0, None),
    },
    "maxrregcount": {
        ("tight", "sm_80"): (32, 0, 0, 0, 0),
        (CALLER, "sm_80"): (21, 0, 0, 64, 0),
        (RING, "sm_80"): (12, 1024, 0, 0, 1),
    },
    "debug_sm90": {
        ("tight", "sm_90"): (23, 0, 0, 240, 0),
        (CALLER, "sm_90"): (24, 0, 0, 0, 0),
        (RING, "sm_90"): (14, 1024, 0, 0, 1),
    },
    "rdc_sm90": {
        ("tight", "sm_90"): (32, None, 0, 0, 0),
        (CALLER, "sm_90"): (24, None, 0, 0, 0),
        (RING, "sm_90"): (12, None, 0, 0, 1),
    },
    "rdc_then_nvlink_sm90": {
        ("tight", "sm_90"): (32, 0, 0, 0, 0),
        (CALLER, "sm_90"): (24, 0, 0, 0, 0),
        (RING, "sm_90"): (12, 1024, 0, 0, 1),
    },
    "nvlink_two_targets": LINKED,
    "nvlink_sm90": {key: row for key, row in LINKED.items() if key[1] == "sm_90"},
    "cuobjdump_executable": {key: (*row[:4], None) for key, row in LINKED.items()},
    "cuobjdump_object": {key: (*row[:2], None, row[3], None) for key, row in TWO_ARCHS.items()},
    "grep_compiling_used": {key: (*row[:2], None, None, row[4]) for key, row in TWO_ARCHS.items()},
    "grep_ptxas": {key: (*row[:2], None, None, row[4]) for key, row in TWO_ARCHS.items()},
    "grep_properties": {
        ("tight", None): (32, 0, 0, 0, 0),
        (CALLER, None): (20, 0, 0, 64, 0),
        (RING, None): (14, 1024, 0, 0, 1),
    },
    "cmake_ninja": PROJECT,
    "cmake_ninja_verbose": PROJECT,
    "cmake_unix": PROJECT,
    "cmake_unix_verbose": PROJECT,
}


@pytest.mark.parametrize("name", sorted(path.stem for path in FORMS.glob("*.txt")))
def test_form_of_the_real_tools(name: str) -> None:
    found = {
        key: (e.registers, e.static_smem, e.spill_stores, e.stack, e.barriers)
        for key, e in by_key(read_report(FORMS / f"{name}.txt")).items()
    }
    assert found == FORM_ROWS[name]


def test_the_architecture_of_a_dump_may_be_in_the_file_name_only(tmp_path: Path) -> None:
    text = (CASES / "cuobjdump_sm90.txt").read_text("utf-8")
    (tmp_path / "dump.txt").write_text(text)
    report = read_report(tmp_path / "dump.txt")
    assert {entry.arch for entry in report.entries} == {None}
    assert [entry.static_smem for entry in report.entries] == [4096, 1024, 0, 0, 0, 0]


@pytest.mark.parametrize(("arch", "told"), [("sm_80", 308), ("sm_90a", 1332), ("sm_120", 308)])
def test_the_reserve_is_taken_off_where_nvlink_counts_it(
    arch: str, told: int, read: Callable[[str | bytes], Report]
) -> None:
    (entry,) = read(
        f"nvlink info    : Function properties for '_Z1kPf': (target: {arch})\n"
        f"nvlink info    : used 24 registers, used 1 barriers, 88 stack, {told} bytes smem, "
        f"0 bytes lmem (target: {arch})\n"
    ).entries
    assert entry.static_smem == 308


def test_barriers_that_only_nvlink_tells_of_are_unknown(
    read: Callable[[str | bytes], Report],
) -> None:
    """13.5's nvlink tells `none`, which has no barrier, the seven of the kernel before it."""
    compiled = "".join(
        f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\n"
        f"ptxas info    : Function properties for {name}\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        f"ptxas info    : Used 8 registers, used {barriers} barriers\n"
        for name, barriers in (("nine", 7), ("none", 0))
    )
    linked = "".join(
        f"nvlink info    : Function properties for '{name}':\n"
        "nvlink info    : used 8 registers, used 7 barriers, 0 stack, 1024 bytes smem, "
        "536 bytes cmem[0], 0 bytes lmem\n"
        for name in ("nine", "none")
    )
    entries = read(compiled + linked).entries
    assert [(e.entry, e.linked, e.barriers) for e in entries] == [
        ("nine", True, 7),
        ("none", True, None),
    ]


def test_warnings_that_change_what_numbers_mean() -> None:
    kinds = [(w.kind, w.entry) for w in read_report(FORMS / "maxrregcount.txt").warnings]
    assert kinds == [
        ("maxrregcount-overridden", None),
        ("maxrregcount-overridden", CALLER),
        ("maxrregcount-overridden", RING),
        ("local-memory", CALLER),
    ]


@pytest.mark.parametrize(
    ("line", "kind", "entry"),
    [
        (
            "ptxas warning : .minnctapersm is ignored when neither .maxntid nor .reqntid is "
            "specified.",
            "min-blocks-ignored",
            None,
        ),
        (
            "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to "
            "maintain minimum register requirements.",
            "setmaxnreg-ignored",
            None,
        ),
        (
            "ptxas error   : (C7602) Insufficient registers (40) to compile instruction at line "
            "3 in function _Z1kv. Try to compile with register target of 48 or higher.",
            "insufficient-registers",
            None,
        ),
        (
            "ptxas error   : Entry function '_Z1kv' uses too much shared data (0x19000 bytes, "
            "0xc000 max)",
            "other",
            "_Z1kv",
        ),
    ],
)
def test_warning(
    line: str, kind: str, entry: str | None, read: Callable[[str | bytes], Report]
) -> None:
    assert [(w.kind, w.entry) for w in read(line + "\n").warnings] == [(kind, entry)]


def test_a_used_line_sums_what_old_toolkits_split(read: Callable[[str | bytes], Report]) -> None:
    (entry,) = read(
        "ptxas info    : Compiling entry function '_Z3oldPf' for 'sm_20'\n"
        "ptxas info    : Used 14 registers, 8+0 bytes lmem, 200+16 bytes smem, 4 bytes cmem[1]\n"
    ).entries
    assert (entry.registers, entry.static_smem, entry.cmem) == (14, 216, {"1": 4})


REAL = (FORMS / "nvcc130_two_archs.txt").read_text("utf-8")
LINES = REAL.splitlines()

WRAPPINGS: dict[str, Callable[[], bytes]] = {
    "windows line ends": lambda: REAL.replace("\n", "\r\n").encode(),
    "utf-16 of PowerShell": lambda: REAL.replace("\n", "\r\n").encode("utf-16"),
    "utf-16 without a mark": lambda: REAL.encode("utf-16-le"),
    "big-endian utf-16": lambda: b"\xfe\xff" + REAL.encode("utf-16-be"),
    "utf-8 with a mark": lambda: b"\xef\xbb\xbf" + REAL.encode(),
    "progress by carriage returns": lambda: "".join(
        f"\r[{i}/99] Building\r{line}\n" for i, line in enumerate(LINES)
    ).encode(),
    "carriage returns only": lambda: REAL.replace("\n", "\r").encode(),
    "colours": lambda: "".join(f"\x1b[1;31m{line}\x1b[0m\x1b[K\n" for line in LINES).encode(),
    "a link in a terminal": lambda: "".join(
        f"\x1b]8;;file:///x\x1b\\{line}\x1b]8;;\x07\n" for line in LINES
    ).encode(),
    "timestamps of a CI service": lambda: "".join(
        f"2026-11-30T02:0{i % 10}:11.1234567Z {line}\n" for i, line in enumerate(LINES)
    ).encode(),
    "docker": lambda: "".join(f"#12 34.{i} {line}\n" for i, line in enumerate(LINES)).encode(),
    "docker compose": lambda: "".join(f"build-1  | {line}\n" for line in LINES).encode(),
    "pip": lambda: "".join(f"      {line}\n" for line in LINES).encode(),
    "bazel": lambda: (
        "INFO: From Compiling kernels.cu:\n" + REAL + "[1,024 / 2,048] Linking\n"
    ).encode(),
    "MSBuild": lambda: "".join(f"1>  {line}\r\n" for line in LINES).encode(),
    "XLA": lambda: "".join(
        f"I0000 00:00:1700000000.1 1234 asm_compiler.cc:1] {line}\n" for line in LINES
    ).encode(),
    "noise between lines": lambda: "".join(
        f"{line}\n/home/u/k.cu(41): warning #177-D: variable was declared\n" for line in LINES
    ).encode(),
    "bytes that are no text": lambda: b"".join(
        line.encode() + b"\n\xff\xfe\x80 \xc3\x28\n" for line in LINES
    ),
    "a very long line": lambda: b"x" * 3_000_000 + b"\n" + REAL.encode(),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_wrapped(wrapping: str, read: Callable[[str | bytes], Report]) -> None:
    entries = by_key(read(WRAPPINGS[wrapping]()))
    assert {key: numbers(entry) for key, entry in entries.items()} == {
        key: numbers(entry)
        for key, entry in by_key(read_report(FORMS / "nvcc130_two_archs.txt")).items()
    }


def compile_of(names: list[str], arch: str) -> list[str]:
    """The output of one ptxas, with numbers that tell whose they are."""
    lines = ["ptxas info    : 0 bytes gmem"]
    for name in names:
        number = sum(map(ord, name + arch))
        lines += [
            f"ptxas info    : Compiling entry function '{name}' for '{arch}'",
            f"ptxas info    : Function properties for {name}",
            f"    {number} bytes stack frame, {number} bytes spill stores, 4 bytes spill loads",
            f"ptxas info    : Used {number % 255} registers, used 1 barriers, {number} bytes smem",
        ]
        if number % 3 == 0:
            lines += [
                f"ptxas info    : Function properties for helper_{name}",
                "    7 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
            ]
    return lines


def riffle(outputs: list[list[str]], chance: random.Random) -> str:
    """The lines of several outputs in one, each in its order."""
    left = [list(output) for output in outputs]
    mixed = []
    while any(left):
        mixed.append(chance.choice([lines for lines in left if lines]).pop(0))
    return "".join(f"{line}\n" for line in mixed)


@pytest.mark.parametrize("seed", range(60))
def test_mixed_lines_never_give_a_wrong_number(
    seed: int, read: Callable[[str | bytes], Report]
) -> None:
    chance = random.Random(seed)
    archs = ["sm_80", "sm_90a"] if seed % 2 else ["sm_80"]
    outputs = [
        compile_of([f"_Z{i}kernel{j}Pf" if seed % 3 else f"_Z6same{j}Pf" for j in range(3)], arch)
        for i in range(chance.choice((2, 3)))
        for arch in archs
    ]
    for entry in read(riffle(outputs, chance)).entries:
        number = sum(map(ord, entry.entry + (entry.arch or "")))
        assert numbers(entry)[:5] == (number % 255, number, number, 4, number)


def test_mixed_lines_give_no_number(read: Callable[[str | bytes], Report]) -> None:
    report = read(
        "ptxas info    : Compiling entry function '_Z1av' for 'sm_80'\n"
        "ptxas info    : Compiling entry function '_Z1bv' for 'sm_80'\n"
        "ptxas info    : Function properties for _Z1av\n"
        "ptxas info    : Function properties for _Z1bv\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 10 registers, used 0 barriers, 360 bytes cmem[0]\n"
        "ptxas info    : Used 90 registers, used 0 barriers, 360 bytes cmem[0]\n"
    )
    assert report.entries == ()
    assert [(w.kind, w.entry) for w in report.warnings] == [
        ("ambiguous", "_Z1av"),
        ("ambiguous", "_Z1bv"),
    ]


def test_what_can_be_told_apart_in_mixed_lines_is(read: Callable[[str | bytes], Report]) -> None:
    report = read(
        "ptxas info    : Compiling entry function '_Z1av' for 'sm_80'\n"
        "ptxas info    : Function properties for _Z1av\n"
        "ptxas info    : Compiling entry function '_Z1bv' for 'sm_80'\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 10 registers, used 0 barriers, 360 bytes cmem[0]\n"
        "ptxas info    : Function properties for _Z1bv\n"
        "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 90 registers, used 0 barriers, 360 bytes cmem[0]\n"
    )
    assert {e.entry: (e.registers, e.spill_stores) for e in report.entries} == {
        "_Z1av": (10, 0),
        "_Z1bv": (90, 4),
    }


def test_two_lines_run_into_one_give_no_number(read: Callable[[str | bytes], Report]) -> None:
    report = read(
        "ptxas info    : Compiling entry function '_Z1av' for 'sm_80'\n"
        "ptxas info    : Function properties for _Z1av\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 1ptxas info    : Used 90 registers, 360 bytes cmem[0]\n"
        "0 registers, 360 bytes cmem[0]\n"
    )
    assert report.entries == ()


def test_two_architectures_at_a_time_give_no_number(read: Callable[[str | bytes], Report]) -> None:
    report = read(
        "ptxas info    : Compiling entry function '_Z1av' for 'sm_80'\n"
        "ptxas info    : Compiling entry function '_Z1av' for 'sm_90'\n"
        "ptxas info    : Function properties for _Z1av\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 10 registers, used 0 barriers\n"
        "ptxas info    : Function properties for _Z1av\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 12 registers, used 0 barriers\n"
    )
    assert report.entries == ()


@pytest.mark.parametrize("end", range(0, len(REAL), 17))
def test_a_log_cut_off_anywhere_gives_no_wrong_number(
    end: int, read: Callable[[str | bytes], Report]
) -> None:
    whole = by_key(read_report(FORMS / "nvcc130_two_archs.txt"))
    for part in (REAL[:end], REAL[end:]):
        for (name, arch), entry in by_key(read(part)).items():
            right = [
                numbers(e)
                for e in whole.values()
                if e.entry == name and arch in (None, e.arch)  # the line that says it was cut off
            ]
            assert any(
                all(
                    found in (None, value) for found, value in zip(numbers(entry), row, strict=True)
                )
                for row in right
            )


def test_a_broken_off_block_costs_only_itself(read: Callable[[str | bytes], Report]) -> None:
    lost = [
        "ptxas info    : Compiling entry function '_Z4lostv' for 'sm_80'",
        "ptxas info    : Function properties for _Z4lostv",
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
    ]
    later = compile_of([f"_Z6later{i}v" for i in range(40)], "sm_80")
    report = read("".join(f"{line}\n" for line in lost + later))
    assert "_Z4lostv" not in {entry.entry for entry in report.entries}
    assert len(report.entries) >= 20, "the rest of the log is read again after a while"


def test_kernels_of_one_name_with_different_numbers_are_all_kept(
    read: Callable[[str | bytes], Report],
) -> None:
    one = compile_of(["_Z3addPf"], "sm_80")
    other = [line.replace("Used ", "Used 1") for line in one]
    report = read("".join(f"{line}\n" for line in one + other + one))
    assert len(report.entries) == 2


def test_text_without_reports_has_no_entries(read: Callable[[str | bytes], Report]) -> None:
    assert read("Hello ptxas, how many registers, info: none\n") == read("")


def test_what_is_no_file_is_told_and_not_waited_for(tmp_path: Path) -> None:
    paths = [tmp_path / "none.log", tmp_path]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        paths.append(tmp_path / "pipe")
    for path in paths:
        report = read_report(path)
        assert report.entries == ()
        assert str(path) in report.warnings[0].message


@pytest.mark.parametrize(
    "line",
    [
        "nvcc" + " -" * 300_000 + ".cux",
        "ptxas" * 150_000 + " warning",
        "info    : " + "Overriding " * 50_000,
        " Function x" * 60_000 + "REG:",
        "ptxas info    : Used " + "1 registers, " * 60_000,
        "ptxas info    : Compiling entry function '" + "' for '" * 100_000,
        "ptxas info    : Function properties for '" + "'" * 500_000,
        "    " + "1" * 800_000 + " bytes stack frame, ",
        "\x1b]" * 300_000 + "info",
        "'" + "<" * 5_000 + " info",
    ],
    ids=range(10),
)
def test_a_hostile_line_takes_no_time(line: str, read: Callable[[str | bytes], Report]) -> None:
    start = time.process_time()
    read(line + "\n" + line)
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize("seed", range(10))
def test_damaged_logs_never_raise(seed: int, read: Callable[[str | bytes], Report]) -> None:
    chance = random.Random(seed)
    texts = [path.read_bytes() for path in (*FORMS.glob("*.txt"), *CASES.glob("*.txt"))]
    for text in texts:
        data = bytearray(text)
        for _ in range(chance.choice((1, 10, 100))):
            at = chance.randrange(len(data))
            data[at : at + chance.choice((0, 1, 9))] = chance.choice(
                (b"", b"\n", b"\xff", b"\x1b[", b"9", text[:60])
            )
        read(bytes(data))
