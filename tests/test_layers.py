"""The layering of the architecture, held: imports go only downwards."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import occlsp

ROOT = Path(occlsp.__file__).parent
MAY_IMPORT: dict[str, set[str]] = {
    "occupancy": set(),
    "source": set(),
    "reports": set(),
    "config": set(),
    "analysis": {"occupancy", "source", "reports", "config"},
    "server": {"analysis", "occupancy", "source", "reports", "config"},
    "cli": {"analysis", "occupancy", "source", "reports", "config", "server"},
}
"""`cli` imports `server` in one place: `occlsp serve` starts it."""
PROTOCOL = {"pygls", "lsprotocol"}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_downwards(path: Path) -> None:
    layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if layer in {"__init__", "__main__"}:
        return
    for name in imports(path):
        parts = name.split(".")
        is_ours = parts[0] == "occlsp" and len(parts) > 1
        if is_ours and parts[1] not in {layer, "__version__", "HOME"}:
            assert parts[1] in MAY_IMPORT[layer], f"{path} imports {name}"
        if parts[0] in PROTOCOL:
            assert layer == "server", f"{path} imports {name}: only the server knows the protocol"


def test_only_serve_imports_the_server() -> None:
    importers = {
        path.name
        for path in (ROOT / "cli").glob("*.py")
        if any(name.startswith("occlsp.server") for name in imports(path))
    }
    assert importers <= {"serve.py"}
