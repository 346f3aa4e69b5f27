"""Latency of the server, measured at the client: `python tests/benchmarks/bench_server.py FILE`.

p50 and p95 of 200 requests on a real file (else a made one of 5,000 lines) with reports loaded:
hover, an edit of a launch until its new hints are there, code actions. With `--load FOLDER` the
scan of that folder, a 100 MB log and, where nvcc is there, a compile run meanwhile. Also prints
the turns of the event loop that were above 50 ms, and memory. `--clangd PATH` measures a clangd
on the same file. `--soak KEYS --load FOLDER` types so many keys in files of that folder instead,
with all that goes with it, and prints memory on the way (18,000 keys are an hour's).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))
sys.path.insert(0, str(Path(__file__).parent))
from client import Client, ServerError, position_in, range_in
from soak import Typist, copied

LIMITS = {"hover": (5, 15), "edit → hints": (15, 40), "code action": (20, 60)}
TYPING = 0.1
"""Seconds between two requests while the machine is loaded: the load takes a while, too."""
KERNEL = """
template <int N>
__global__ void __launch_bounds__(256) kernel_{i}(float *out, const float *in, int n) {{
  __shared__ float tile[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[threadIdx.x % N] = in[i];
  __syncthreads();
  for (int k = 0; k < N; ++k) {{
    // {i}: some work on the tile
    if (i < n) out[i] += tile[k] * {i}.0f;
  }}
}}
void run_{i}(float *out, const float *in, int n) {{
  constexpr int threads = 128;
  kernel_{i}<64><<<(n + threads - 1) / threads, threads, 1024>>>(out, in, n);
  kernel_{i}<128><<<dim3((n + 255) / 256), dim3(256)>>>(out, in, n);
}}
"""


def made(lines: int) -> str:
    """A CUDA source of about so many lines."""
    text = "#include <cuda_runtime.h>\n"
    number = 0
    while text.count("\n") < lines:
        text += KERNEL.format(i=number)
        number += 1
    return text


def made_log(text: str) -> str:
    """What a build would print for the kernels of a made source."""
    parts = []
    for name in re.findall(r"\bkernel_\d+\b(?=\()", text):
        for size in (64, 128):
            entry = f"_Z{len(name)}{name}ILi{size}EEvPfPKfi"
            parts.append(
                f"ptxas info    : Compiling entry function '{entry}' for 'sm_90'\n"
                f"ptxas info    : Function properties for {entry}\n"
                "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                f"ptxas info    : Used {32 + len(parts) % 60} registers, used 1 barriers, "
                f"{4 * size} bytes smem\n"
            )
    return "".join(parts)


class Bench:
    """One server, one file, and where its launches are."""

    def __init__(self, path: Path, folder: Path, count: int, home: Path | None = None) -> None:
        self.count = count
        self.client = Client(
            folder,
            home=home or folder / "home",
            arguments=("--log-level", "warning"),  # for `turns`: the client's log has a limit
            options={"trusted": True, "arch": ["sm_90"], "compile": {"timeout": 300}},
        )
        began = time.perf_counter()
        self.uri = self.client.open(path)
        hints = self.client.hints(self.uri)
        self.opened = time.perf_counter() - began
        self.hints = len(hints)
        text = self.client.texts[self.uri]
        self.launches = [m.start() for m in re.finditer("<<<", text)]
        kernels = [m.end() - 1 for m in re.finditer(r"__global__[^;{(]*?(?=\w+\s*\()", text)]
        self.places = kernels + self.launches or [0]

    def settle(self) -> None:
        """Waits until nothing runs but what is asked for."""
        self.client.wait_for(
            lambda: self.client.request("occlsp/status", None)["state"] in ("idle", "error"), 600
        )

    def position(self, number: int) -> dict[str, Any]:
        offset = self.places[number % len(self.places)]
        return position_in(self.client.texts[self.uri], offset)

    def hover(self, number: int) -> None:
        params = {"textDocument": {"uri": self.uri}, "position": self.position(number)}
        self.client.request("textDocument/hover", params)

    def action(self, number: int) -> None:
        place = self.position(number)
        params = {
            "textDocument": {"uri": self.uri},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        }
        self.client.request("textDocument/codeAction", params)

    def edit(self, number: int) -> None:
        """Types a digit into a launch (or at the start of a line), then takes it back."""
        text = self.client.texts[self.uri]
        at = self.launches[number // 2 % len(self.launches)] + 3 if self.launches else 0
        new, end = ("1", at) if number % 2 == 0 else ("", at + 1)
        self.client.change(self.uri, [{"range": range_in(text, at, end), "text": new}])
        self.client.texts[self.uri] = text[:at] + new + text[end:]
        line = position_in(text, at)["line"]
        shown = {"start": {"line": max(0, line - 40), "character": 0},
                 "end": {"line": line + 40, "character": 0}}  # fmt: skip
        params = {"textDocument": {"uri": self.uri}, "range": shown}
        self.client.request("textDocument/inlayHint", params)

    def measure(self, name: str, act: Callable[[int], None], pause: float = 0) -> dict[str, float]:
        """Milliseconds at the client, and the server's own processor time for one: on a busy
        machine that is what can be compared. Between two are `pause` seconds."""
        times = []
        process = psutil.Process(self.client.process.pid)
        before = process.cpu_times()
        for number in range(self.count):
            began = time.perf_counter()
            act(number)
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(pause)
        after = process.cpu_times()
        used = (after.user - before.user + after.system - before.system) * 1000 / self.count
        times.sort()
        found = {
            "p50": times[len(times) // 2],
            "p95": times[len(times) * 95 // 100],
            "max": times[-1],
            "cpu": used,
        }
        p50, p95 = LIMITS[name]
        print(
            f"{name:13} p50 {found['p50']:7.2f} ms  p95 {found['p95']:7.2f} ms  "
            f"max {found['max']:7.1f} ms  processor {used:6.2f} ms (p50 ≤ {p50}, p95 ≤ {p95})",
            flush=True,
        )
        return found

    def all(self, pause: float = 0) -> dict[str, dict[str, float]]:
        acts = {"hover": self.hover, "edit → hints": self.edit, "code action": self.action}
        return {name: self.measure(name, act, pause) for name, act in acts.items()}


def load_machine(bench: Bench, folder: Path, sources: Path, text: str) -> None:
    """Gives the server a scan of `sources`, a large log in `folder` and a compile to do."""
    (folder / "build").mkdir(parents=True)
    line = "[ 42%] Building CXX object some/dir/file.cpp.o -- nothing for us in this line\n"
    with (folder / "build" / "huge.log").open("w") as log:
        for _ in range(100):
            log.write(line * (1_000_000 // len(line)))
            log.write(made_log(text)[:40_000])
    added = [{"uri": path.as_uri(), "name": path.name} for path in (sources, folder)]
    event = {"added": added, "removed": []}
    bench.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    bench.client.start_request(
        "workspace/executeCommand", {"command": "occlsp.compile", "arguments": [bench.uri]}
    )


def turns(bench: Bench, since: int) -> dict[str, list[tuple[int, int]]]:
    """The turns above 50 ms that were logged after the first `since` lines: by cause, the
    milliseconds of the clock and of the processor, the longest first. Prints them."""
    found: dict[str, list[tuple[int, int]]] = {}
    for line in bench.client.errors[since:]:
        if told := re.search(r" busy for (\d+) ms \((\d+) .*\): (.*)", line.decode()):
            found.setdefault(told[3], []).append((int(told[1]), int(told[2])))
    for cause, times in found.items():
        times.sort(reverse=True)
        most = max(processor for _, processor in times)
        print(
            f"turns above 50 ms: {len(times)}, the longest {times[0][0]} ms "
            f"({most} of the processor at most): {cause}"
        )
    return found


def clangd(command: str, path: Path, folder: Path, count: int) -> None:
    """The same hover, of a clangd."""
    client = Client(folder, start=False, command=(command, "--log=error"))
    client.initialize("vscode", None, (folder,))
    uri = client.open(path)
    text = client.texts[uri]
    places = [m.start() + 3 for m in re.finditer("<<<", text)] or [0]
    times = []
    for number in range(-1, count):  # the first waits for clangd to read the file
        position = position_in(text, places[number % len(places)])
        params = {"textDocument": {"uri": uri}, "position": position}
        began = time.perf_counter()
        with contextlib.suppress(ServerError):
            client.request("textDocument/hover", params, 300)
        times.append((time.perf_counter() - began) * 1000)
    times = sorted(times[1:])
    p50, p95 = times[len(times) // 2], times[len(times) * 95 // 100]
    print(f"clangd hover  p50 {p50:7.2f} ms  p95 {p95:7.2f} ms")
    client.process.kill()


def workspace(arguments: argparse.Namespace, temporary: Path) -> tuple[Path, Path]:
    """The folder to open, and the file in it: where it lies, or a copy alone with a build log."""
    if arguments.root:
        return arguments.root.resolve(), arguments.file.resolve()
    folder = temporary / "workspace"
    (folder / "build").mkdir(parents=True)
    path = folder / (arguments.file.name if arguments.file else "made.cu")
    text = arguments.file.read_text("utf-8", "replace") if arguments.file else made(arguments.lines)
    path.write_text(text)
    log = arguments.log.read_text() if arguments.log else made_log(text)
    (folder / "build" / "build.log").write_text(log)
    os.utime(path, (1, 1))
    return folder, path


def soak(sources: Path, keys: int, seed: int) -> None:
    """Edits files of a folder for long; prints memory on the way and what went wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        root, home = Path(temporary) / "workspace", Path(temporary) / "home"
        home.mkdir()
        files = copied(sources, root, 40)
        options = {"arch": ["sm_90"], "trusted": False}
        with Client(root, home=home, options=options) as client:
            soaked = Typist(client, root, files, seed).work(keys)
    print(f"{soaked.keys} keys, {soaked.requests} requests in {len(files)} files")
    for typed, memory in soaked.memory:
        print(f"{typed:7} keys  {memory:5} MiB")
    print(f"the end by the middle: {soaked.growth:.3f}; {len(soaked.faults)} faults")
    for fault in soaked.faults[:10]:
        print(fault)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--log", type=Path, help="ptxas output for FILE")
    parser.add_argument("--root", type=Path, help="the workspace that FILE lies in")
    parser.add_argument("--compile", action="store_true", help="ask for a compile first")
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--load", type=Path, help="a folder of sources that is scanned meanwhile")
    parser.add_argument("--clangd")
    parser.add_argument("--soak", type=int, metavar="KEYS", help="edit for long; see above")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.soak:
        soak(arguments.load, arguments.soak, arguments.seed)
        return
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary) / "home"
        home.mkdir()
        folder, path = workspace(arguments, Path(temporary))
        text = path.read_text("utf-8", "replace")
        bench = Bench(path, folder, arguments.count, home)
        print(f"{len(text) >> 10} KiB, {text.count(chr(10))} lines, {bench.hints} hints; "
              f"opening until hints {bench.opened * 1000:.0f} ms")  # fmt: skip
        bench.settle()
        if arguments.compile:
            command = {"command": "occlsp.compile", "arguments": [bench.uri]}
            told = bench.client.request("workspace/executeCommand", command, 600)
            bench.settle()
            print(f"{told['message']}; {len(bench.client.hints(bench.uri))} hints")
        found: dict[str, Any] = {"before": turns(bench, 0)}
        since = len(bench.client.errors)
        found |= {"quiet": bench.all(), "long turns": turns(bench, since)}
        if arguments.load:
            since = len(bench.client.errors)
            load_machine(bench, Path(temporary) / "logs", arguments.load.resolve(), text)
            print("under load:")
            found["load"] = bench.all(TYPING)
            doing = bench.client.request("occlsp/status", None)
            print("and then:", doing["state"], doing.get("doing") or "")
            bench.settle()
            found["long turns under load"] = turns(bench, since)
        memory = psutil.Process(bench.client.process.pid).memory_info().rss
        print(f"memory {memory >> 20} MiB")
        bench.client.stop()
        if arguments.clangd:
            clangd(
                shutil.which(arguments.clangd) or arguments.clangd, path, folder, arguments.count
            )
        if arguments.json:
            print(json.dumps(found))


if __name__ == "__main__":
    main()
