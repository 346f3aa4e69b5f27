"""The answer to `occlsp/status`; see `occlsp.server.requests.status` for its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from occlsp.occupancy import ARCHITECTURES

if TYPE_CHECKING:
    from occlsp.server.compiles import Compiles
    from occlsp.server.folder import Folder


def status_of(folder: Folder | None, doing: str | None, compiles: Compiles) -> dict[str, Any]:
    """The state of the server, and what the numbers of a folder rest on."""
    compiling = compiles.running
    if compiling is not None:
        state, message = "compiling", f"compiling {compiling}"
    elif doing is not None:
        state, message = "scanning", doing
    elif compiles.problem is not None:
        state, message = "error", compiles.problem
    else:
        state, message = "idle", None
    told: dict[str, Any] = {
        "state": state,
        "message": message,
        "architectures": [],
        "architecture_origin": None,
        "known_architectures": list(ARCHITECTURES),
        "trusted": None,
        "compiler": None,
        "compiler_missing": None,
        "gpu": None,
        "reports": 0,
        "folder": None,
    }
    if folder is not None:
        snapshot = folder.snapshot
        told.update(
            architectures=list(snapshot.architectures.names),
            architecture_origin=snapshot.architectures.origin,
            trusted={"trusted": True, "untrusted": False}.get(snapshot.trust),
            compiler=folder.compiler,
            compiler_missing=folder.compiler_missing,
            gpu=snapshot.gpu,
            reports=len(folder.reports),
            folder=folder.path,
        )
    return told
