"""The main job in a real Neovim: what a person sees on its screen."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pynvim
import pytest

pytestmark = pytest.mark.editor
PLUGIN = Path(__file__).parents[2] / "editors" / "neovim"
SOURCE = """\
#include <cuda_runtime.h>

__global__ void tile(float *out) {
  extern __shared__ float buffer[];
  out[threadIdx.x] = buffer[threadIdx.x];
}

void run(float *out, int n) {
  cudaFuncSetAttribute(tile, cudaFuncAttributeMaxDynamicSharedMemorySize, 40 * 1024);
  tile<<<(n + 255) / 256, 256, 40 * 1024>>>(out);
}
"""
LOG = """\
ptxas info    : Compiling entry function '_Z4tilePf' for 'sm_90'
ptxas info    : Function properties for _Z4tilePf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers
"""


class Neovim:
    """A headless Neovim with a screen of 110 by 40."""

    def __init__(self, command: str, home: Path) -> None:
        self.home = home
        self._saved = dict(os.environ)
        folders = {name: str(home / name) for name in ("config", "data", "state", "cache")}
        os.environ.update({f"XDG_{name.upper()}_HOME": path for name, path in folders.items()})
        self.nvim = pynvim.attach("child", argv=[command, "--clean", "--embed", "--headless"])
        self.nvim.options["columns"] = 110
        self.nvim.options["lines"] = 40
        self.lua(f"vim.opt.runtimepath:append({str(PLUGIN)!r})")

    def lua(self, code: str) -> Any:
        """Runs Lua in the editor."""
        return self.nvim.exec_lua(code)

    def screen(self) -> list[str]:
        """The text of the screen, line by line."""
        lines: list[str] = self.lua(
            """
            vim.cmd.redraw()
            local lines = {}
            for row = 1, vim.o.lines do
              local cells = {}
              for column = 1, vim.o.columns do
                cells[column] = vim.fn.screenstring(row, column)
              end
              lines[row] = table.concat(cells):gsub("%s+$", "")
            end
            return lines
            """
        )
        return lines

    def wait_for(self, what: Callable[[list[str]], Any], timeout: float = 30) -> Any:
        """Waits until `what` is true of the screen."""
        end = time.monotonic() + timeout
        while True:
            screen = self.screen()
            found = what(screen)
            if found:
                return found
            if time.monotonic() > end:
                log = self.lua("return vim.lsp.get_log_path and vim.lsp.log.get_filename()")
                said = Path(log).read_text()[-2000:] if log and Path(log).exists() else ""
                pytest.fail("\n".join([*screen, said]))
            time.sleep(0.1)

    def close(self) -> None:
        """Quits."""
        try:
            self.nvim.command("qall!", async_=True)
            self.nvim.close()
        finally:
            os.environ.clear()
            os.environ.update(self._saved)


@pytest.fixture
def neovim(tmp_path: Path) -> Iterator[Neovim]:
    beside = Path(sys.executable).with_name("nvim")
    command = str(beside) if beside.exists() else shutil.which("nvim")
    if command is None:
        assert not os.environ.get("CI"), "Neovim belongs to the tests"
        pytest.skip("no Neovim on this machine")
    editor = Neovim(command, tmp_path / "home")
    yield editor
    editor.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "build").mkdir(parents=True)
    (folder / "occlsp.toml").write_text('arch = ["sm_90"]\n')
    (folder / "a.cu").write_text(SOURCE)
    os.utime(folder / "a.cu", (1_700_000_000, 1_700_000_000))
    (folder / "build" / "build.log").write_text(LOG)
    return folder


def opened(neovim: Neovim, project: Path) -> None:
    """The source, with the server at work, as the plugin starts it."""
    command = f"{{ {sys.executable!r}, '-P', '-m', 'occlsp', 'serve' }}"
    neovim.lua(f"require('occlsp').setup({{ cmd = {command}, settings = {{ trusted = false }} }})")
    neovim.nvim.command(f"edit {project / 'a.cu'}")
    neovim.lua("vim.bo.filetype = 'cuda'")
    neovim.wait_for(lambda screen: line_with(screen, "__global__").endswith("37.5% · regs (72)"))


def line_with(screen: list[str], text: str) -> str:
    return next((line for line in screen if text in line), "")


def test_hints_at_the_ends_of_lines_follow_the_typing(neovim: Neovim, project: Path) -> None:
    opened(neovim, project)
    launch = line_with(neovim.screen(), "tile<<<")
    assert launch.endswith(
        "tile<<<(n + 255) / 256, 256, 40 * 1024>>>(out); 37.5% · regs · 3 blk/SM"
    )

    neovim.nvim.command("10substitute/256, 256/512, 512/")
    neovim.wait_for(lambda s: line_with(s, "512, 512").endswith("25% · regs · 1 blk/SM"))
    assert "512" not in (project / "a.cu").read_text(), "before any save"


def test_the_hover_is_readable(neovim: Neovim, project: Path) -> None:
    opened(neovim, project)
    neovim.nvim.command("call cursor(10, 3)")
    neovim.lua("vim.lsp.buf.hover()")
    screen = neovim.wait_for(lambda s: s if line_with(s, "limited by registers") else None)
    assert "37.5% occupancy, 3 blocks per SM" in line_with(screen, "limited by registers")
    assert "72 per thread: 18432 of 65536" in line_with(screen, "72 per thread")


def test_a_launch_that_cannot_run_is_shown_and_fixed(neovim: Neovim, project: Path) -> None:
    opened(neovim, project)
    neovim.lua("vim.diagnostic.config({ virtual_text = false, signs = true })")
    neovim.nvim.command("10substitute/256, 40/1024, 40/")
    neovim.nvim.command("call cursor(10, 30)")
    neovim.wait_for(lambda s: "0% · regs · 0 blk/SM" in line_with(s, "tile<<<"))
    neovim.wait_for(lambda s: line_with(s, "tile<<<").startswith("E"))
    neovim.lua("vim.diagnostic.open_float()")
    neovim.wait_for(lambda s: line_with(s, "0 blocks fit: 1024 threads"))

    neovim.lua(
        """
        vim.ui.select = function(items, _, choose) choose(items[1], 1) end
        vim.lsp.buf.code_action({ context = { only = { "quickfix" } } })
        """
    )
    neovim.wait_for(lambda s: "tile<<<" in "".join(s) and "1024, 40" not in "".join(s))
    neovim.wait_for(lambda s: not line_with(s, "tile<<<").startswith("E"))


def test_a_new_log_is_seen_though_neovim_watches_no_files(neovim: Neovim, project: Path) -> None:
    """Neovim on Linux tells of no change on the disk: the server looks by itself."""
    opened(neovim, project)
    (project / "build" / "build.log").write_text(LOG.replace("Used 72", "Used 80"))
    neovim.wait_for(lambda s: line_with(s, "__global__").endswith("regs (80)"))
    (project / "build" / "more.log").write_text(LOG.replace("Used 72", "Used 128"))
    neovim.wait_for(lambda s: "128" in line_with(s, "__global__"))


def test_the_server_ends_with_the_editor(neovim: Neovim, project: Path) -> None:
    import psutil

    opened(neovim, project)
    editor = neovim.lua("return vim.uv.os_getpid()")
    servers = [
        child
        for child in psutil.Process(editor).children(recursive=True)
        if "serve" in child.cmdline()
    ]
    assert servers
    psutil.Process(editor).kill()
    _, alive = psutil.wait_procs(servers, timeout=3)
    assert not alive
