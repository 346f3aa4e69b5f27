"""The snippet for Emacs, as it stands in `editors/README.md`, in a real Emacs with eglot."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.editors.neovim import LOG, SOURCE

pytestmark = pytest.mark.editor
README = Path(__file__).parents[2] / "editors" / "README.md"

DRIVE = r"""
(setq eglot-sync-connect 30 eglot-events-buffer-size 0 create-lockfiles nil)
(find-file (getenv "OCCLSP_TEST_FILE"))
(call-interactively #'eglot)
(defun wait-for (what)
  (let ((end (+ (float-time) 40)) value)
    (while (and (not (setq value (funcall what))) (< (float-time) end))
      (accept-process-output nil 0.1)
      (flymake-start nil))
    value))
(princ (format "MANAGED %s\n" (and (eglot-managed-p) t)))
(wait-for #'flymake-diagnostics)
(dolist (diagnostic (flymake-diagnostics))
  (princ (format "DIAGNOSTIC %s\n" (flymake-diagnostic-text diagnostic))))
(goto-char (point-min))
(search-forward "tile<<<")
(let ((hover (jsonrpc-request (eglot--current-server-or-lose)
                              :textDocument/hover (eglot--TextDocumentPositionParams))))
  (princ (format "HOVER %s\n" (plist-get (plist-get hover :contents) :value))))
"""


def eglot_is_there(emacs: str) -> bool:
    check = [emacs, "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_findings_and_hover(tmp_path: Path) -> None:
    emacs = shutil.which("emacs")
    if emacs is None or not eglot_is_there(emacs):
        assert "CI" not in os.environ, "Emacs with eglot belongs to the tests"
        pytest.skip("no Emacs with eglot on this machine")
    (tmp_path / ".git").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "build.log").write_text(LOG)
    (tmp_path / "a.cu").write_text(SOURCE.replace("256, 40", "1024, 40"))
    os.utime(tmp_path / "a.cu", (1_700_000_000, 1_700_000_000))
    snippet = re.search(r"## Emacs.*?```elisp\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert snippet is not None
    (tmp_path / "init.el").write_text("(package-initialize)\n(require 'eglot)\n" + snippet[1])
    (tmp_path / "drive.el").write_text(DRIVE)
    scripts = Path(sys.executable).parent
    result = subprocess.run(
        [emacs, "--batch", "-l", "init.el", "-l", "drive.el"],
        cwd=tmp_path,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "OCCLSP_TEST_FILE": str(tmp_path / "a.cu"),
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    said = result.stdout + result.stderr
    assert "MANAGED t" in said, said
    assert "0 blocks fit: 1024 threads × 72 registers need 73728 of 65536" in said, said
    assert "HOVER " in said, said
    assert "limited by registers" in said.partition("HOVER ")[2], said
