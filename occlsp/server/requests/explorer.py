"""`occlsp/explorer`: the curves, limits and levers of the kernel at a position.

Request: ``{"textDocument": {"uri"}, "position", "override"?: {"block", "registers",
"dynamic_smem"}}`` (what sliders are set to; absent: as in the source and the report).
Answer: null where there is no kernel, else `occlsp.analysis.results.Explorer` with its names,
without `path` and with `range` for `span`; each fix has its `edit`, a WorkspaceEdit, for `edits`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from lsprotocol import types
from msgspec import structs
from pygls.exceptions import JsonRpcInvalidParams

from occlsp.analysis.explorer import explorer as explore
from occlsp.server.server import Server

METHOD = "occlsp/explorer"


def explorer(ls: Server, params: Any) -> dict[str, Any] | None:
    """Answers the request; malformed parameters are refused."""
    uri, position, override = _read(params)
    view = ls.session.view(uri)
    if view is None:
        return None
    found = explore(view.snapshot, view.path, view.offset(position), override)
    if found is None:
        return None
    answer: dict[str, Any] = msgspec.to_builtins(structs.replace(found, fixes=()))
    del answer["path"], answer["span"]
    answer["range"] = view.range(found.span)
    answer["fixes"] = [
        {
            "block": fix.block,
            "title": fix.title,
            "edit": view.converter.workspace_edit(fix.edits, ls.session.version),
            "disabled": fix.disabled,
            "is_preferred": fix.is_preferred,
        }
        for fix in found.fixes
    ]
    return answer


def _read(params: Any) -> tuple[str, types.Position, dict[str, int]]:
    try:
        uri = params["textDocument"]["uri"]
        position = types.Position(
            _number(params["position"]["line"]), _number(params["position"]["character"])
        )
        override = {
            name: _number(value)
            for name, value in (params.get("override") or {}).items()
            if name in ("block", "registers", "dynamic_smem") and value is not None
        }
        if not isinstance(uri, str):
            raise TypeError("uri is a string")
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise JsonRpcInvalidParams(f"{METHOD}: {error!r}") from error
    return uri, position, override


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**31:
        raise ValueError(f"{value!r} is no number from 0 to 2^31-1")
    return int(value)
