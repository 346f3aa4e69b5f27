"""`workspace/executeCommand`: what a user asks for by name, from any client.

- ``occlsp.compile [uri]`` → ``{"ok", "message", "results": [{"unit", "arch", "status", "message",
  "entries", "seconds", "cached"}]}``; without a URI the document that was opened last.
- ``occlsp.setArch [name…]`` → ``{"ok", "message", "architectures"}``; no name: automatic again.
- ``occlsp.whatif [uri, kernel]`` → ``{"ok", "message", "markdown", "rows"}``: the compiler's own
  answer for a row of launch bounds; the hover and the explorer then show it too.
- ``occlsp.showReport [uri]`` → ``{"ok", "message", "markdown", "report"}``: what is known of every
  kernel of the file.
- ``occlsp.clearCache []`` → ``{"ok", "message"}``.

`message` is a line for people; a wrong argument is an error of the request.
"""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from occlsp.server.documents import Document
from occlsp.server.server import Server

Answer = dict[str, Any]


async def compile_file(ls: Server, *arguments: Any) -> Answer:
    """Compiles a file now, whatever `compile.mode` says."""
    return await ls.session.compiles.on_command(_document(ls, arguments).path)


def set_arch(ls: Server, *arguments: Any) -> Answer:
    """Shows the numbers of other architectures, until the server ends."""
    from occlsp.occupancy import UnknownArchitecture, arch_name

    names = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
    if not all(isinstance(name, str) for name in names):
        raise JsonRpcInvalidParams("occlsp.setArch: names of architectures are strings")
    try:
        for name in names:
            arch_name(name)
    except UnknownArchitecture as error:
        return {"ok": False, "message": str(error), "architectures": []}
    ls.session.set_architectures(tuple(names))
    status = ls.session.status()
    shown = ", ".join(status["architectures"])
    message = f"{shown} ({status['architecture_origin']})"
    return {"ok": True, "message": message, "architectures": status["architectures"]}


async def whatif(ls: Server, *arguments: Any) -> Answer:
    """Asks the compiler what other launch bounds would give."""
    document = _document(ls, arguments)
    kernel = arguments[1] if len(arguments) > 1 else None
    if kernel is not None and not isinstance(kernel, str):
        raise JsonRpcInvalidParams("occlsp.whatif: the kernel's name is a string")
    from occlsp.server.whatif import whatif as ask

    return await ask(ls.session, document.path, kernel)


def show_report(ls: Server, *arguments: Any) -> Answer:
    """All that is known of the kernels of a file, as one page."""
    from occlsp.analysis.show_report import show_report as analyse

    view = ls.session.view(_document(ls, arguments).uri)
    assert view is not None
    markdown = analyse(view.snapshot, view.path)
    return {"ok": True, "message": None, "markdown": markdown}


async def clear_cache(ls: Server, *arguments: Any) -> Answer:
    """Forgets what was compiled, on the disk and in memory."""
    place = await ls.session.clear_cache()
    return {"ok": True, "message": f"the cache in {place} is empty"}


def _document(ls: Server, arguments: tuple[Any, ...]) -> Document:
    """The document that the first argument names, or the one that was opened last."""
    uri = arguments[0] if arguments else None
    if uri is not None and not isinstance(uri, str):
        raise JsonRpcInvalidParams("the first argument is a URI")
    found = ls.session.documents.get(uri) if uri else ls.session.documents.last
    if found is None:
        raise JsonRpcInvalidParams(f"{uri or 'no document'} is not open, or holds no CUDA code")
    return found
