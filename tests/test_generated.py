"""Tables, schema and manifest are those that the declarations give: nobody edits them by hand."""

from __future__ import annotations

import json

from tests import generated

STALE = "is stale: run `python -m tests.generated`"


def test_schema() -> None:
    assert generated.SCHEMA.read_text("utf-8") == generated.schema(), STALE


def test_vscode_manifest() -> None:
    assert generated.PACKAGE_JSON.read_text("utf-8") == generated.package_json(), STALE


def test_readme() -> None:
    assert generated.README.read_text("utf-8") == generated.readme(), STALE


def test_an_unset_editor_setting_does_not_override_the_project() -> None:
    manifest = json.loads(generated.PACKAGE_JSON.read_text("utf-8"))
    properties = manifest["contributes"]["configuration"]["properties"]
    own = {key: value for key, value in properties.items() if key not in generated.EDITOR_ONLY}
    assert own
    assert {key for key, value in own.items() if value["default"] is not None} == set()
