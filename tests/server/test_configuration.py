"""Settings: where they come from, which wins, and what a bad one costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from client import Client
from test_main_job import LAUNCH, SOURCE, log

Start = Callable[..., Client]


def architectures(client: Client, path: Path | None = None) -> list[str]:
    params = None if path is None else {"textDocument": {"uri": path.as_uri()}}
    found: list[str] = client.request("occlsp/status", params)["architectures"]
    return found


def test_later_sources_win_and_null_is_not_set(start: Start, workspace: Path) -> None:
    (workspace / "occlsp.toml").write_text('arch = ["sm_70"]\n')
    assert architectures(start()) == ["sm_70"]
    assert architectures(start(options={"arch": ["sm_80"]})) == ["sm_80"]
    options = {"arch": ["sm_80"]}
    assert architectures(start(options=options, settings={"arch": ["sm_86"]})) == ["sm_86"]
    assert architectures(start(options={"arch": None}, settings={"arch": None})) == ["sm_70"]


def test_each_folder_has_its_own(start: Start, tmp_path: Path, home: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, arch in ((one, "sm_80"), (two, "sm_90")):
        folder.mkdir()
        (folder / "occlsp.toml").write_text(f'arch = ["{arch}"]\n')
        (folder / "a.cu").write_text(SOURCE)
    client = start(None, roots=(one, two))
    for folder in (one, two):
        client.open(folder / "a.cu")
    assert architectures(client, one / "a.cu") == ["sm_80"]
    assert architectures(client, two / "a.cu") == ["sm_90"]
    removed = [{"uri": one.as_uri(), "name": "one"}]
    change = {"event": {"added": [], "removed": removed}}
    client.notify("workspace/didChangeWorkspaceFolders", change)
    assert client.hints((two / "a.cu").as_uri())


def test_a_file_outside_all_folders_belongs_to_its_project(start: Start, tmp_path: Path) -> None:
    project = tmp_path / "elsewhere"
    (project / "deep").mkdir(parents=True)
    (project / "occlsp.toml").write_text('arch = ["sm_75"]\n')
    (project / "deep" / "a.cu").write_text(SOURCE)
    client = start()
    client.open(project / "deep" / "a.cu")
    path = project / "deep" / "a.cu"
    client.wait_for(lambda: architectures(client, path) == ["sm_75"])
    assert client.request("occlsp/status", {"textDocument": {"uri": path.as_uri()}})[
        "folder"
    ] == str(project)


def test_a_bad_setting_costs_itself_alone(start: Start, workspace: Path) -> None:
    path = workspace / "occlsp.toml"
    path.write_text('[diagnostics]\nlow_occupancy = 250\n[hints]\nkernels = "yes"\n')
    client = start(options={"arch": ["sm_80"], "colour": "red"})
    assert architectures(client) == ["sm_80"]
    problems = client.wait_for(lambda: client.published(path.as_uri()))
    assert [p["range"]["start"]["line"] for p in problems] == [1, 3]
    assert all(p["severity"] == 2 for p in problems)
    assert "initializationOptions: unknown setting `colour`" in client.log()
    path.write_text("")
    changes = [{"uri": path.as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    client.wait_for(lambda: client.published(path.as_uri()) == [])


def test_a_broken_file_is_told_with_its_place(start: Start, workspace: Path) -> None:
    path = workspace / "occlsp.toml"
    path.write_text('arch = ["sm_80"]\n\nhints = }\n')
    client = start()
    (problem,) = client.wait_for(lambda: client.published(path.as_uri()))
    assert problem["range"]["start"]["line"] == 2
    assert architectures(client) == ["sm_90"]


def test_odd_settings_are_no_fault(start: Start, workspace: Path) -> None:
    for odd in (3, "text", [1], [], {"occlsp": 3}):
        client = start(settings=odd)
        assert architectures(client) == ["sm_90"]
        client.stop()


def test_settings_that_are_pushed(start: Start, workspace: Path) -> None:
    """A client that cannot be asked tells with the notification, in the section or flat."""
    client = start(capabilities={})
    for settings in ({"occlsp": {"arch": ["sm_80"]}}, {"arch": ["sm_86"]}):
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        wanted = settings.get("occlsp", settings)["arch"]
        client.wait_for(lambda wanted=wanted: architectures(client) == wanted)


def test_a_client_that_watches_nothing_sees_changes_too(start: Start, workspace: Path) -> None:
    (workspace / "a.cu").write_text(SOURCE)
    client = start(capabilities="neovim")
    uri = client.open(workspace / "a.cu")
    (workspace / "occlsp.toml").write_text('arch = ["sm_80"]\n')
    client.wait_for(lambda: architectures(client) == ["sm_80"])
    (workspace / "logs").mkdir()
    (workspace / "logs" / "b.log").write_text(log(arch="sm_80"))
    (workspace / "occlsp.toml").write_text('arch = ["sm_80"]\nreports = ["logs/*"]\n')
    client.wait_for(lambda: "regs" in client.hints(uri).get(LAUNCH, "").replace("regs unk", ""))
    (workspace / "logs" / "b.log").write_text(log(registers=255, arch="sm_80"))
    client.wait_for(lambda: client.hints(uri)[LAUNCH].startswith("12.5%"))
