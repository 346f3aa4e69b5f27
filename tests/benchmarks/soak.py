"""An hour of editing, compressed in time: types, undoes, hovers, saves, switches, closes, builds.

Everything follows from a seed. What must hold: no request fails, no fault is logged, and memory
does not grow once every file has been open.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))
from client import Client, path_of, position_in, range_in

OPEN = 6
"""Files that are open at once."""
TYPED = ("1", " ", "x", "/", "\n", "// typed\n", "}", "(", '"', "<<<")
LOG = """\
ptxas info    : Compiling entry function '_Z4fillPf' for 'sm_90'
ptxas info    : Function properties for _Z4fillPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used {} registers, used 0 barriers
"""


@dataclass
class Soaked:
    """What came of it."""

    keys: int = 0
    requests: int = 0
    memory: list[tuple[int, int]] = field(default_factory=list)
    """Keys typed so far, and MiB of the server with its child then."""
    faults: list[str] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """Memory at the end by that of the middle: what fills a cache has done so by then."""
        return self.memory[-1][1] / self.memory[len(self.memory) // 2][1]


class Typist:
    """Somebody who works on some files."""

    def __init__(self, client: Client, root: Path, files: Sequence[Path], seed: int) -> None:
        """`files` lie in `root`; those that are open are written to when they are saved."""
        self.client = client
        self.root = root
        self.files = list(files)
        self.random = random.Random(seed)
        self.open: list[str] = []
        self.undo: list[tuple[str, int, str]] = []
        self.soaked = Soaked()

    def work(self, keys: int, samples: int = 12) -> Soaked:
        """Types so many keys, and measures memory so many times."""
        for uri in [self.client.open(path) for path in self.files]:
            self.client.hints(uri)
            self.client.close(uri)
        for sample in range(samples):
            while self.soaked.keys < keys * (sample + 1) // samples:
                self.act()
            self.settle()
            self.soaked.memory.append((self.soaked.keys, self.memory()))
        logged = self.client.heard("window/logMessage")
        self.soaked.faults = [told["message"] for told in logged if told["type"] == 1]
        return self.soaked

    def act(self) -> None:
        """Whatever comes next."""
        roll = self.random.random()
        if not self.open or roll < 0.01:
            self.switch()
        elif roll < 0.02:
            self.save(self.random.choice(self.open))
        elif roll < 0.022:
            self.build()
        elif roll < 0.10:
            self.look(self.random.choice(self.open))
        else:
            self.type(self.open[-1])

    def switch(self) -> None:
        """Opens a file, or goes to one that is open; closes the one that was left longest."""
        uri = self.random.choice(self.files).as_uri()
        if uri in self.open:
            self.open.remove(uri)
        else:
            self.client.open(path_of(uri))
        self.open.append(uri)
        if len(self.open) > OPEN:
            gone = self.open.pop(0)
            self.undo = [edit for edit in self.undo if edit[0] != gone]
            self.client.close(gone)

    def save(self, uri: str) -> None:
        """As an editor does after its undo."""
        while any(edit[0] == uri for edit in self.undo):
            self.take_back()
        self.client.save(uri)

    def build(self) -> None:
        """A build has written its log."""
        log = self.root / "build" / "build.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text(LOG.format(self.random.randint(8, 255)))
        change = {"uri": log.as_uri(), "type": 2}
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})

    def type(self, uri: str) -> None:
        """A key, or an undo, and what an editor asks for then."""
        text = self.client.texts[uri]
        if self.undo and self.random.random() < 0.5:
            uri = self.take_back()
        else:
            at = self.random.randrange(len(text) + 1)
            new = self.random.choice(TYPED)
            self.undo.append((uri, at, new))
            self.splice(uri, at, at, new)
        self.soaked.keys += 1
        line = self.random.randrange(1 + self.client.texts[uri].count("\n"))
        shown = {
            "start": {"line": line, "character": 0},
            "end": {"line": line + 60, "character": 0},
        }
        self.ask("textDocument/inlayHint", uri, range=shown)
        self.ask("textDocument/diagnostic", uri)

    def take_back(self) -> str:
        """Undoes what was typed last; where."""
        uri, at, new = self.undo.pop()
        self.splice(uri, at, at + len(new), "")
        return uri

    def splice(self, uri: str, start: int, end: int, new: str) -> None:
        text = self.client.texts[uri]
        self.client.change(uri, [{"range": range_in(text, start, end), "text": new}])
        self.client.texts[uri] = text[:start] + new + text[end:]

    def look(self, uri: str) -> None:
        """Hovers and asks for fixes, at a launch or a kernel where there is one."""
        text = self.client.texts[uri]
        places = [at for word in ("<<<", "__global__ void ") for at in _all(text, word)]
        at = self.random.choice(places) if places else 0
        place = position_in(text, at)
        self.ask("textDocument/hover", uri, position=place)
        self.ask("textDocument/completion", uri, position=place)
        self.ask("occlsp/explorer", uri, position=place)
        here = {"start": place, "end": place}
        self.ask("textDocument/codeAction", uri, range=here, context={"diagnostics": []})

    def ask(self, method: str, uri: str, **params: Any) -> None:
        self.client.request(method, {"textDocument": {"uri": uri}, **params}, timeout=60)
        self.soaked.requests += 1
        del self.client.notifications[:-2000]

    def settle(self) -> None:
        """Waits until nothing runs."""
        self.client.wait_for(
            lambda: self.client.request("occlsp/status", None)["state"] in ("idle", "error"), 600
        )

    def memory(self) -> int:
        """MiB of the server and its children."""
        server = psutil.Process(self.client.process.pid)
        processes = [server, *server.children(recursive=True)]
        return sum(process.memory_info().rss for process in processes) >> 20


def _all(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def copied(sources: Path, root: Path, most: int) -> list[Path]:
    """Copies the sources of a folder with kernels and headers into `root`, so that they can be
    saved to; those with kernels, at most so many, spread over all."""
    found = []
    for path in sorted(p for p in sources.rglob("*") if p.suffix in (".cu", ".cuh", ".h", ".hpp")):
        target = root / path.relative_to(sources)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        text = target.read_bytes()
        if b"__global__" in text and text.isascii():
            found.append(target)
    return found[:: max(1, len(found) // most)][:most]
