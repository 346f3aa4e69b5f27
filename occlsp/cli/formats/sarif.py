"""SARIF 2.1.0, for code scanning services: rules with help, regions, fixes, fingerprints."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from occlsp import __version__
from occlsp.analysis.findings.rule import Rule
from occlsp.analysis.results import Edit, Fix, Severity
from occlsp.cli.formats.located import Located, Region

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[Severity, str] = {
    "error": "error",
    "warning": "warning",
    "information": "note",
    "hint": "note",
}
RegionOf = Callable[[Edit], tuple[str, Region]]
"""Path to show and region of an edit."""


def sarif(
    findings: Iterable[Located], rules: Sequence[Rule], region_of: RegionOf, home: str
) -> dict[str, Any]:
    """One run with every rule and finding. `home` is the page that documents the rules."""
    index = {rule.code: number for number, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    results = [_result(found, index, seen, region_of) for found in findings]
    driver = {
        "name": "occlsp",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": home,
        "rules": [_rule(rule, home) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule, home: str) -> dict[str, Any]:
    page = rule.page.strip()
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": page.split("\n\n")[0].replace("\n", " ")},
        "helpUri": f"{home}#{rule.code}",
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.is_on},
    }


def _result(
    found: Located, index: dict[str, int], seen: Counter[str], region_of: RegionOf
) -> dict[str, Any]:
    finding = found.finding
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": _location(found.path, found.region)}],
        "partialFingerprints": {"occlsp/v1": _fingerprint(found, seen)},
        "properties": {"arch": finding.arch, "estimated": finding.estimated},
    }
    related = []
    for number, other in enumerate(finding.related, 1):
        path, region = region_of(Edit(other.path, other.span, ""))
        related.append(
            {
                "id": number,
                "message": {"text": other.message},
                "physicalLocation": _location(path, region),
            }
        )
    if related:
        result["relatedLocations"] = related
    fixes = [_fix(fix, region_of) for fix in found.fixes if fix.edits]
    if fixes:
        result["fixes"] = fixes
    return result


def _fingerprint(found: Located, seen: Counter[str]) -> str:
    """The same while the line is: not its number, so that code above may come and go."""
    text = "\0".join(
        [found.finding.code, found.path, " ".join(found.source.split()), found.finding.arch or ""]
    )
    seen[text] += 1
    return hashlib.sha256(f"{text}\0{seen[text]}".encode("utf-8", "surrogateescape")).hexdigest()[
        :32
    ]


def _fix(fix: Fix, region_of: RegionOf) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        path, region = region_of(edit)
        changes.setdefault(path, []).append(
            {"deletedRegion": _region(region), "insertedContent": {"text": edit.text}}
        )
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": replacements}
            for path, replacements in changes.items()
        ],
    }


def _location(path: str, region: Region) -> dict[str, Any]:
    return {"artifactLocation": _artifact(path), "region": _region(region)}


def _artifact(path: str) -> dict[str, Any]:
    if PurePosixPath(path).is_absolute():
        return {"uri": "file://" + quote(path)}
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _region(region: Region) -> dict[str, int]:
    return {
        "startLine": region.line,
        "startColumn": region.character + 1,
        "endLine": region.end_line,
        "endColumn": region.end_character + 1,
    }
