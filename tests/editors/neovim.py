"""A real Neovim, driven over its RPC and read from its screen."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvim
import pytest

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


def opened(neovim: Neovim, project: Path) -> None:
    """The source, with the server at work, as the plugin starts it."""
    command = f"{{ {sys.executable!r}, '-P', '-m', 'occlsp', 'serve' }}"
    neovim.lua(f"require('occlsp').setup({{ cmd = {command}, settings = {{ trusted = false }} }})")
    neovim.nvim.command(f"edit {project / 'a.cu'}")
    neovim.lua("vim.bo.filetype = 'cuda'")
    neovim.wait_for(lambda screen: line_with(screen, "__global__").endswith("37.5% · regs (72)"))


def line_with(screen: list[str], text: str) -> str:
    return next((line for line in screen if text in line), "")
