"""The main job in a real Neovim: what a person sees on its screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors.neovim import LOG, Neovim, line_with, opened

pytestmark = pytest.mark.editor


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
