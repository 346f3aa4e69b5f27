"""What is generated from the one declaration of settings and findings.

`python -m tests.generated` writes it; `test_generated.py` fails when it is stale.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from occlsp.analysis.findings import RULES
from occlsp.config import NEVER_FROM_WORKSPACE, Settings, keys

ROOT = Path(__file__).parent.parent
PACKAGE_JSON = ROOT / "editors" / "vscode" / "package.json"
SCHEMA = ROOT / "occlsp" / "occlsp.schema.json"
README = ROOT / "README.md"

EDITOR_ONLY: dict[str, dict[str, Any]] = {
    "occlsp.interpreter": {
        "type": ["string", "null"],
        "default": None,
        "scope": "machine-overridable",
        "markdownDescription": "Python 3.10 or later for the server; else the Python extension's "
        "choice, else PATH.",
    },
    "occlsp.server.command": {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "default": None,
        "scope": "machine-overridable",
        "markdownDescription": 'The command that starts the server, such as `["occlsp", "serve"]`; '
        "else the bundled server.",
    },
    "occlsp.trace.server": {
        "type": "string",
        "enum": ["off", "messages", "verbose"],
        "default": "off",
        "scope": "window",
        "description": "Traces the messages between editor and server in the log.",
    },
}
"""Settings of the extension itself, which the server never sees."""


def schema() -> str:
    """The JSON schema of `occlsp.toml`."""
    document = msgspec.json.schema(Settings)
    definitions = document["$defs"]
    definitions["Diagnostics"]["properties"]["severity"].update(_severities())
    properties = definitions["Settings"]["properties"]
    for key in NEVER_FROM_WORKSPACE & set(properties):
        del properties[key]
    del definitions["Compile"]["properties"]["nvcc"]
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "occlsp.toml",
        **document,
    }
    return json.dumps(document, indent=2) + "\n"


def package_json() -> str:
    """The VS Code manifest with its settings section anew."""
    manifest = json.loads(PACKAGE_JSON.read_text("utf-8"))
    properties = {f"occlsp.{key}": _property(key, kind) for key, kind in keys(Settings).items()}
    del properties["occlsp.trusted"]  # the editor's own workspace trust says it
    properties["occlsp.diagnostics.severity"].update(_severities())
    manifest["contributes"]["configuration"]["properties"] = {**properties, **EDITOR_ONLY}
    manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = [
        "occlsp.compile.nvcc",
        "occlsp.compile.args",
        "occlsp.interpreter",
        "occlsp.server.command",
    ]
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def readme() -> str:
    """The README with its tables anew, each between its pair of marks."""
    text = README.read_text("utf-8")
    for name, lines in {"settings": _settings_table(), "findings": _findings()}.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        text, count = re.subn(
            pattern, lambda m, new=lines: m[1] + new + m[2], text, flags=re.DOTALL
        )
        assert count == 1, f"README.md has no place for {name}"
    return text


def _severities() -> dict[str, Any]:
    levels = ["error", "warning", "information", "hint", "off"]
    return {
        "properties": {rule.code: {"enum": levels} for rule in RULES},
        "additionalProperties": False,
    }


def _property(key: str, kind: Any) -> dict[str, Any]:
    declared = msgspec.json.schema(kind)
    declared.pop("default", None)
    description = declared.pop("description", "")
    if "anyOf" in declared:
        declared = next(part for part in declared["anyOf"] if part != {"type": "null"})
    nullable: dict[str, Any] = {**declared, "default": None}
    if "enum" in declared:
        nullable["enum"] = [*declared["enum"], None]
        nullable["type"] = ["string", "null"]
    else:
        nullable["type"] = [declared["type"], "null"]
    nullable["scope"] = "machine-overridable" if key == "compile.nvcc" else "resource"
    nullable["markdownDescription"] = description
    return nullable


def _settings_table() -> str:
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    defaults = msgspec.to_builtins(Settings())
    for key, kind in keys(Settings).items():
        value: Any = defaults
        for part in key.split("."):
            value = value[part]
        described = msgspec.json.schema(kind).get("description", "")
        shown = "" if value in (None, [], (), {}) else f"`{json.dumps(value)}`"
        rows.append(f"| `{key}` | {shown} | {described} |")
    return "\n".join(rows) + "\n"


def _findings() -> str:
    rows = ["| code | severity | when |", "|---|---|---|"]
    for rule in RULES:
        severity = rule.severity if rule.is_on else f"{rule.severity}, off by default"
        rows.append(f"| [`{rule.code}`](#{rule.code}) | {severity} | {rule.summary} |")
    pages = [f"\n#### {rule.code}\n\n{rule.page.strip()}" for rule in RULES]
    manual = "\n<details>\n<summary>What each means, and the ways out</summary>\n"
    return "\n".join([*rows, manual, *pages, "\n</details>", ""])


if __name__ == "__main__":
    SCHEMA.write_text(schema(), "utf-8")
    PACKAGE_JSON.write_text(package_json(), "utf-8")
    README.write_text(readme(), "utf-8")
