"""`occlsp/status`: what the server does and rests on, for status bars.

A request, with ``{"textDocument"?: {"uri"}}`` or null, which says whose folder is meant (else the
first). Also a notification to the client, on every change, where the client can use it: it says
``capabilities.experimental.occlspStatus: true``, or is one of the editors that we know to pass
over notifications that they do not know.

Both carry::

    {"state": "idle" | "scanning" | "compiling" | "error",
     "message": what runs or went wrong, in words, or null,
     "architectures": ["sm_90"], the primary first, "architecture_origin": "settings",
     "known_architectures": all that may be set,
     "trusted": true | false | null (nobody said yet),
     "compiler": "nvcc 13.0 (PATH)" | null, "compiler_missing": why and the way out | null,
     "gpu": "H100 SXM" | null, "reports": number of files that numbers were read from,
     "folder": path of the folder that this is of | null}
"""

from __future__ import annotations

from typing import Any

from occlsp.server.server import Server

METHOD = "occlsp/status"


def status(ls: Server, params: Any) -> dict[str, Any]:
    """Answers the request."""
    uri = None
    if isinstance(params, dict) and isinstance(params.get("textDocument"), dict):
        uri = params["textDocument"].get("uri")
    told: dict[str, Any] = ls.session.status(uri if isinstance(uri, str) else None)
    return told
