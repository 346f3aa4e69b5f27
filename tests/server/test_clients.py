"""The same editing under what VS Code, Neovim and Emacs say they can: each gets what it can show,
and nothing that it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from client import CLIENTS, Client
from test_main_job import LAUNCH, log, opened, project

Start = Callable[..., Client]
EDITORS = ["vscode", "neovim", "emacs"]

__all__ = ["project"]


def converse(client: Client, project: Path) -> tuple[str, dict[str, Any]]:
    """Opens, types a launch that cannot run, asks for all that was offered, gets news."""
    uri = opened(client, project)
    client.replace(uri, "256, 40 * 1024>>>", "1024, 40 * 1024>>>")
    offered = client.initialized["capabilities"]
    if "diagnosticProvider" in offered:
        client.pull(uri)
    else:
        client.wait_for(lambda: client.published(uri))
    document = {"textDocument": {"uri": uri}}
    answers = {
        "hints": client.request(
            "textDocument/inlayHint",
            {**document, "range": {"start": pos(0), "end": pos(99)}},
        ),
        "hover": client.request("textDocument/hover", {**document, "position": pos(LAUNCH, 10)}),
        "actions": client.actions(uri, "1024, 40 * 1024>>>"),
    }
    path = project / "build" / "build.log"
    path.write_text(log(registers=80))
    changes = [{"uri": path.as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    client.wait_for(lambda: "80" in client.hover(uri, "tile<<<"))
    return uri, answers


def pos(line: int, character: int = 0) -> dict[str, int]:
    return {"line": line, "character": character}


@pytest.mark.parametrize(
    ("editor", "encoding"), [("vscode", "utf-16"), ("neovim", "utf-8"), ("emacs", "utf-32")]
)
def test_positions_are_in_the_clients_first_choice(
    start: Start, project: Path, editor: str, encoding: str
) -> None:
    """A launch after wide characters on its line: its finding starts where that client counts."""
    text = (project / "a.cu").read_text().replace("  tile<<<", "  /* ä𝄞 */ tile<<<")
    (project / "a.cu").write_text(text.replace("256, 40 * 1024>>>", "1024, 40 * 1024>>>"))
    client = start(capabilities=editor)
    assert client.initialized["capabilities"]["positionEncoding"] == encoding
    uri = client.open(project / "a.cu")
    if editor == "vscode":
        client.wait_for(lambda: client.pull(uri))
        (finding,) = client.pull(uri)
    else:
        (finding,) = client.wait_for(lambda: client.published(uri))
    before = "  /* ä𝄞 */ tile"
    units = {"utf-8": 4, "utf-16": 2, "utf-32": 1}[encoding] + {"utf-8": 2}.get(encoding, 1) - 2
    assert finding["range"]["start"]["character"] == len(before) + units


@pytest.mark.parametrize("editor", EDITORS)
def test_what_is_offered(start: Start, project: Path, editor: str) -> None:
    offered = start(capabilities=editor).initialized["capabilities"]
    assert offered["textDocumentSync"] == {
        "openClose": True, "change": 2, "willSave": False, "willSaveWaitUntil": False, "save": True
    }  # fmt: skip
    for provider in ("hoverProvider", "inlayHintProvider", "codeActionProvider"):
        assert offered[provider], provider
    assert ("codeLensProvider" in offered) == (editor != "emacs")
    assert ("diagnosticProvider" in offered) == (editor == "vscode")


@pytest.mark.parametrize("editor", EDITORS)
def test_nothing_is_sent_that_the_client_cannot_take(
    start: Start, project: Path, editor: str
) -> None:
    client = start(capabilities=editor)
    recorded = json.loads((CLIENTS / f"{editor}.json").read_text())["capabilities"]
    converse(client, project)
    asked = {method for method, _ in client.requests}
    told = {method for method, _ in client.notifications}
    workspace, document = recorded["workspace"], recorded["textDocument"]
    allowed = {
        "workspace/configuration": workspace.get("configuration"),
        "workspace/inlayHint/refresh": workspace.get("inlayHint", {}).get("refreshSupport"),
        "workspace/codeLens/refresh": workspace.get("codeLens", {}).get("refreshSupport"),
        "workspace/diagnostic/refresh": workspace.get("diagnostics", {}).get("refreshSupport"),
        "client/registerCapability": workspace["didChangeWatchedFiles"]["dynamicRegistration"],
        "window/workDoneProgress/create": recorded["window"].get("workDoneProgress"),
    }
    assert asked <= {method for method, is_allowed in allowed.items() if is_allowed}
    pulls = "diagnostic" in document and "diagnostics" in workspace
    assert ("textDocument/publishDiagnostics" in told) != pulls
    assert ("occlsp/status" in told) == (editor != "emacs"), "Emacs warns of what it does not know"


@pytest.mark.parametrize("editor", EDITORS)
def test_answers_have_what_the_client_shows(start: Start, project: Path, editor: str) -> None:
    client = start(capabilities=editor)
    uri, answers = converse(client, project)
    launch = next(h for h in answers["hints"] if h["position"]["line"] == LAUNCH)
    line = client.texts[uri].splitlines()[LAUNCH]
    assert launch["position"]["character"] == len(line), "at the end of the line"
    assert len(launch["label"]) <= 30
    resolves = editor != "emacs"
    assert ("tooltip" in launch) != resolves, "the tooltip comes when asked for, where it can be"
    if resolves:
        resolved = client.request("inlayHint/resolve", launch)
        assert "limited by" in resolved["tooltip"]["value"]
    kind = "plaintext" if editor == "emacs" else "markdown"
    assert answers["hover"]["contents"]["kind"] == kind
    picture = "![Occupancy by block size](data:image/svg+xml;base64,"
    shows_pictures = editor == "vscode"
    assert (picture in client.hover(uri, "tile<<<")) == shows_pictures
    disabled = [action for action in answers["actions"] if "disabled" in action]
    assert editor != "emacs" or not disabled
    edits = [action["edit"] for action in answers["actions"] if "edit" in action]
    key = "changes" if editor == "neovim" else "documentChanges"
    assert edits
    assert all(list(edit) == [key] for edit in edits)


def test_a_client_that_says_nothing_gets_the_least(start: Start, project: Path) -> None:
    client = start(capabilities={})
    offered = client.initialized["capabilities"]
    assert offered["positionEncoding"] == "utf-16"
    assert "inlayHintProvider" not in offered
    assert "codeActionProvider" not in offered
    uri = client.open(project / "a.cu")
    client.wait_for(lambda: "72" in (client.hover(uri, "tile<<<") or ""))
    assert client.requests == []
