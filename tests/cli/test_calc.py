"""`occlsp calc`, as a user and a script see it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner, Result

from occlsp.cli.calc import command
from occlsp.cli.calc_lines import CHUNK, LONGEST


def calc(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(command, list(arguments), input=stdin)


def document(*arguments: str) -> dict[str, Any]:
    result = calc(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def lines(*questions: dict[str, Any] | str | bytes, best: bool = False) -> list[dict[str, Any]]:
    text = b"\n".join(
        item
        if isinstance(item, bytes)
        else (item if isinstance(item, str) else json.dumps(item)).encode()
        for item in questions
    )
    result = calc("--jsonl", *(["--best"] if best else []), stdin=text)
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


KERNEL = ("--arch", "sm_90", "--block", "256", "--regs", "72", "--dynamic-smem", "40KiB")
LINE: dict[str, Any] = {"id": 1, "arch": "sm_90", "block": 256, "regs": 72, "dynamic_smem": 40960}
ANSWER: dict[str, Any] = {
    "id": 1,
    "blocks_per_sm": 3,
    "active_warps": 24,
    "max_warps": 64,
    "occupancy": 0.375,
    "limiter": "registers",
    "limiters": ["registers"],
    "limits": {"warps": 8, "blocks": 32, "registers": 3, "shared_memory": 5, "barriers": None},
    "allocated": {"registers_per_block": 18432, "shared_memory_per_block": 41984},
    "reason": None,
}


def test_text() -> None:
    result = calc(*KERNEL, "--grid", "400", "--gpu", "H100 SXM")
    assert result.exit_code == 0
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "sm_90: 256 threads × 72 registers, 0 + 40960 bytes of shared memory",
        "3 blocks per SM, 24 of 64 warps, 37.5 %, limited by registers",
        "limit          blocks         allocated per block",
        "warps               8",
        "registers           3  binds  18432 of 65536 per SM",
        "shared memory       5         41984 of 233472 bytes per SM",
        "blocks             32",
        "barriers            –",
        "registers ≤ 64 (-8) → 4 blocks, 50 %",
        "registers ≤ 48 (-24) → 5 blocks, 62.5 %",
        "1.01 waves of 396 blocks on H100 SXM (132 SMs): 2 in turn; the last one leaves 99 % of "
        "the machine idle",
        "a cooperative grid has at most 396 blocks on H100 SXM (132 SMs)",
    ]


def test_text_of_a_zero_has_the_reason() -> None:
    result = calc("--arch", "sm_90", "--block", "1024", "--regs", "72")
    assert result.exit_code == 0
    assert (
        "0 blocks fit: 1024 threads × 72 registers need 73728 of 65536 registers per block on sm_90"
        in result.stdout
    )


def test_a_lever_that_is_held_says_by_what() -> None:
    result = calc("--arch", "8.0", "--block", "256", "--regs", "32")
    assert "registers: nothing to gain by less alone: warps would still bind" in result.stdout


def test_json() -> None:
    found = document(*KERNEL)
    assert {key: found[key] for key in ANSWER if key != "id"} == {
        key: value for key, value in ANSWER.items() if key != "id"
    }
    assert (found["arch"], found["block"], found["dynamic_smem"]) == ("sm_90", 256, 40960)
    assert [(lever["resource"], lever["value"]) for lever in found["levers"]] == [
        ("registers", 64),
        ("registers", 48),
    ]


def test_best() -> None:
    found = document("--gpu", "RTX 3090", "--regs", "40", "--best", "--dynamic-smem", "4*block")
    assert (found["arch"], found["block"], found["dynamic_smem"]) == ("sm_86", 768, 3072)
    assert found["occupancy"] == 1.0
    assert found["max_cooperative_blocks"] == 164


def test_best_where_none_fits() -> None:
    found = document("--arch", "sm_90", "--regs", "300", "--best")
    assert (found["block"], found["blocks_per_sm"]) == (0, 0)
    assert found["reason"] == "0 blocks fit: 300 registers per thread, above the 255 of sm_90"


def test_text_of_no_best() -> None:
    text = calc("--arch", "sm_90", "--regs", "300", "--best").stdout
    assert text.startswith("sm_90: no block size fits with 300 registers, 0 + 0 bytes")


def test_sweep() -> None:
    found = document("--arch", "sm_90", "--regs", "72", "--dynamic-smem", "40KiB", "--sweep")
    assert [row["block"] for row in found["sweep"]] == list(range(32, 1025, 32))
    assert found["sweep"][7]["occupancy"] == 0.375
    text = calc("--arch", "sm_90", "--regs", "72", "--sweep").stdout
    assert len(text.splitlines()) == 33
    assert "registers, best" in text


def test_provisional_limits_are_said_wherever_a_number_is() -> None:
    kernel = ("--arch", "10.7", "--block", "128", "--regs", "32")
    assert "provisional limits" in calc(*kernel).stdout
    assert "provisional limits" in document(*kernel)["note"]
    assert "provisional limits" in document("--arch", "sm_107", "--regs", "32", "--sweep")["note"]
    assert "provisional limits" in lines({**LINE, "arch": "sm_107a"})[0]["note"]


def test_device_file(tmp_path: Path) -> None:
    report = {"name": "Lab", "major": 9, "minor": 0, "multiProcessorCount": 10}
    file = tmp_path / "device.json"
    file.write_text(json.dumps([report]), "utf-8")
    found = document("--device", str(file), "--block", "256", "--regs", "72", "--grid", "100,2")
    assert (found["arch"], found["gpu"]) == ("sm_90", "Lab")
    assert (found["waves"], found["full_waves"], found["tail"]) == (200 / 30, 6, 1 / 3)


@pytest.mark.parametrize("block", ["16,16", "16x16", "16,16,1", "(16, 16)", "16 × 16"])
def test_block_dimensions(block: str) -> None:
    assert document("--arch", "sm_90", "--block", block, "--regs", "72")["block"] == 256


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "--arch: missing; give an architecture like sm_90, or --gpu"),
        ("--arch sm_90 --block 1", "--regs: missing; give the registers per thread"),
        ("--arch sm_90 --regs 1", "--block: missing; give the threads per block, --best"),
        ("--arch sm_91 --block 1 --regs 1", "--arch: unknown architecture 'sm_91'; known are"),
        ("--arch sm_90 --block 0 --regs 1", "--block: 0 is too small, at least 1 is needed"),
        ("--arch sm_90 --block 1,0 --regs 1", "--block: 0 is too small, at least 1 is needed"),
        ("--arch sm_90 --block x --regs 1", "--block: 'x' is neither a number nor X,Y,Z"),
        ("--arch sm_90 --block 1 --regs -1", "--regs: -1 is too small, at least 0 is needed"),
        ("--arch sm_90 --block 1 --regs 1.5", "Invalid value for '--regs': '1.5' is not a valid"),
        ("--arch sm_90 --block 1 --regs 99999", "--regs: 99999 is absurd, at most 65535"),
        (
            "--arch sm_90 --block 65536,65536 --regs 1",
            "--block: 65536 × 65536 × 1 threads do not fit into 32 bits",
        ),
        (
            "--arch sm_90 --block 1 --regs 1 --static-smem 1.5k",
            "--static-smem: '1.5k' is not a size like 40960 or 40KiB",
        ),
        (
            "--arch sm_90 --block 1 --regs 1 --dynamic-smem 4*blok",
            "--dynamic-smem: `4*blok`, character 3: 'blok' is not known; known are block, min, max",
        ),
        ("--arch sm_90 --block 1 --regs 1 --carveout 101", "--carveout: 101 is absurd"),
        ("--arch sm_90 --block 1 --regs 1 --launch-bounds 0", "--launch-bounds: 0 is too small"),
        ("--arch sm_90 --block 1 --regs 1 --barriers -1", "--barriers: -1 is too small"),
        (
            "--arch sm_90 --block 1 --regs 1 --max-dynamic-smem -1",
            "--max-dynamic-smem: '-1' is not a size",
        ),
        ("--arch sm_90 --block 1 --regs 1 --grid 5", "--grid: give the gpu too"),
        ("--gpu T4 --block 1 --regs 1 --grid 1,70000", "--grid: 70000 blocks, at most 65535"),
        ("--gpu H100 --block 1 --regs 1", "--gpu: unknown GPU 'H100'; near are H100 SXM"),
        ("--gpu T4 --arch sm_80 --block 1 --regs 1", "--gpu: T4 is sm_75, not sm_80"),
        ("--device nowhere.json --block 1 --regs 1", "--device: nowhere.json: No such file"),
        ("--jsonl --arch sm_90", "--arch cannot go with --jsonl, whose lines hold all values"),
        ("--jsonl --json", "--json cannot go with --jsonl"),
        ("--nonsense", "No such option '--nonsense'"),
    ],
)
def test_unusable_input_is_one_line_and_status_2(arguments: str, message: str) -> None:
    result = calc(*arguments.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"occlsp: {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON: "),
        (b"\xff", "is not JSON: "),
        (b"[" * 10_000, ": "),
        (b"3", ": no JSON object with the fields of cudaDeviceProp"),
        (b"[]", ": no JSON object with the fields of cudaDeviceProp"),
        (b'{"major": 0, "minor": 0}', ": unknown architecture '0.0'; known are sm_50"),
        (b'{"minor": 0}', ": major: the device report does not say its compute capability"),
    ],
)
def test_a_device_report_that_cannot_be_used(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "device.json"
    file.write_bytes(content)
    result = calc("--device", str(file), "--block", "1", "--regs", "1")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"occlsp: --device: {file}")
    assert message in result.stderr


def test_a_line_in_and_a_line_out() -> None:
    assert lines(LINE) == [ANSWER]


def test_lines_keep_their_order_and_any_id() -> None:
    ids = [3, "x", None, [1, {"a": 2}], 2.5, True]
    assert [answer["id"] for answer in lines(*({**LINE, "id": one} for one in ids))] == ids


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"block": [16, 16]}, {"blocks_per_sm": 3}),
        ({"block": [16, 16, 1], "dynamic_smem": "160*block"}, {"blocks_per_sm": 3}),
        ({"dynamic_smem": "40KiB"}, {"blocks_per_sm": 3}),
        ({"arch": "9.0", "barriers": 0, "carveout": None}, {"blocks_per_sm": 3}),
        ({"barriers": 1}, {"limits": {**ANSWER["limits"], "barriers": 64}}),
        ({"launch_bounds": 128}, {"blocks_per_sm": 0, "limiter": "threads_per_block"}),
        ({"block": 1025}, {"limiters": ["threads_per_block", "registers"]}),
        ({"dynamic_smem": 60000, "opt_in": False}, {"limiter": "shared_memory"}),
        ({"dynamic_smem": 60000, "max_dynamic_smem": 50000}, {"limiter": "shared_memory"}),
        ({"carveout": 50}, {"limits": {**ANSWER["limits"], "shared_memory": 3}}),
        (
            {"grid": 400, "gpu": "H100 SXM"},
            {"waves": 400 / 396, "full_waves": 1, "tail": 392 / 396},
        ),
        (
            {"grid": [4, 2], "gpu": "H100 SXM", "regs": 256},
            {"waves": None, "full_waves": None, "tail": None},
        ),
    ],
)
def test_what_a_line_can_say(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    (answer,) = lines({**LINE, **changed})
    assert {key: answer[key] for key in expected} == expected
    assert (answer["reason"] is not None) == (answer["blocks_per_sm"] == 0)


def test_a_byte_order_mark_before_the_first_line() -> None:
    text = json.dumps(LINE).encode()
    assert lines(b"\xef\xbb\xbf" + text, text) == [ANSWER, ANSWER]


def test_best_of_lines() -> None:
    (answer, none) = lines(
        {"arch": "sm_86", "regs": 40, "dynamic_smem": "4*block"},
        {"arch": "sm_86", "regs": 300, "block": 128},
        best=True,
    )
    assert (answer["block"], answer["occupancy"], answer["id"]) == (768, 1.0, None)
    assert (none["block"], none["blocks_per_sm"]) == (0, 0)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("nonsense", "not JSON: "),
        ("[]", "expected `object`, got `array`"),
        ({"id": 7}, "object missing required field `arch`"),
        ({**LINE, "id": 7, "block": None}, "block: missing; give an integer or dimensions"),
        ({**LINE, "id": 7, "arch": "sm_91"}, "arch: unknown architecture 'sm_91'; known are"),
        ({**LINE, "id": 7, "regs": "72"}, "regs: expected `int`, got `str`"),
        ({**LINE, "id": 7, "regs": -1}, "regs: -1 is too small, at least 0 is needed"),
        ({**LINE, "id": 7, "block": 2**40}, f"block: {2**40} is absurd"),
        ({**LINE, "id": 7, "block": [64, 0]}, "block.y: 0 is too small, at least 1 is needed"),
        ({**LINE, "id": 7, "dynamic_smem": "4*x"}, "dynamic_smem: `4*x`, character 3: 'x' is not"),
        ({**LINE, "id": 7, "smem": 1}, "object contains unknown field `smem`"),
        ({**LINE, "id": 7, "grid": 4}, "grid: give the gpu too, whose SMs it is to fill"),
        ({**LINE, "id": 7, "gpu": "abacus"}, "gpu: unknown GPU 'abacus'; known are "),
        ({**LINE, "id": 7, "gpu": "T4"}, "gpu: T4 is sm_75, not sm_90"),
        (b'{"id": "\xff"}', ""),
        ("[" * 100_000, ""),
        ("x" * (LONGEST + 2 * CHUNK), f"a line above {LONGEST} bytes"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_bad_line_costs_only_itself(line: Any, error: str) -> None:
    before, bad, after = lines({**LINE, "id": 0}, line, {**LINE, "id": 2})
    assert (before["blocks_per_sm"], after["blocks_per_sm"]) == (3, 3)
    assert set(bad) == {"id", "error"}
    assert bad["id"] == (7 if isinstance(line, dict) else None)
    assert bad["error"].startswith(error)


def test_blank_lines_and_line_ends() -> None:
    text = json.dumps(LINE).encode()
    assert lines(text + b"\r", b"", b"  ", text) == [ANSWER, ANSWER]
    assert lines(b"") == []


def test_lines_across_chunks() -> None:
    count = 3 * CHUNK // len(json.dumps(LINE))
    answers = lines(*({**LINE, "id": number} for number in range(count)))
    assert [answer["id"] for answer in answers] == list(range(count))


def test_a_question_through_a_pipe_is_answered_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "occlsp", "calc", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(json.dumps({**LINE, "id": number}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait(timeout=10) == 0


@pytest.mark.slow
def test_memory_is_flat() -> None:
    text = b"".join(json.dumps({**LINE, "id": number}).encode() + b"\n" for number in range(50_000))
    with subprocess.Popen(
        [sys.executable, "-m", "occlsp", "calc", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        resident = psutil.Process(process.pid).memory_info
        process.stdin.write(text)
        early = resident().rss
        for _ in range(6):
            process.stdin.write(text)
        assert resident().rss - early < 4 << 20
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_help_shows_an_example() -> None:
    result = calc("--help")
    assert result.exit_code == 0
    assert "Example: occlsp calc --arch sm_90" in result.stdout


def test_null_is_as_good_as_absent() -> None:
    given = {"arch": "sm_90", "block": 256, "regs": 72}
    nulls = dict.fromkeys(["static_smem", "dynamic_smem", "opt_in", "carveout", "barriers"])
    lines = "\n".join(json.dumps(line) for line in (given, {**given, **nulls}))
    result = CliRunner().invoke(command, ["--jsonl"], input=lines)
    absent, null = result.stdout.splitlines()
    assert '"error"' not in absent
    assert null == absent
